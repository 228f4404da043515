//! The difference on an axis with zero: of the whole under the picture, of each row in its table.
//! In: deltas and bounds. Out: SVG. Left to neighbours: the runs (`picture`), the tables (`rows`).

use std::fmt::Write;

use super::picture::{WIDTH, unit};
use crate::output::compare::{Change, Comparison, words::Unit};
use crate::output::html::{Axis, escape, superscript};

const HEIGHT: f64 = 144.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 158.0;
/// Where the interval lies, the deltas of pairs, the axis.
const BAR: f64 = 58.0;
const PAIRS: f64 = 82.0;
const FOOT: f64 = 104.0;
/// Deltas of pairs that are drawn.
const DELTAS: usize = 1_000;

/// The interval of the whole, with the threshold and the deltas of pairs; nothing if no delta is known.
pub(super) fn whole(c: &Comparison) -> String {
    let Some(delta) = c.median_delta_ns else { return String::new() };
    // In percent of the baseline's median where that is known: what people compare.
    let base = c.baseline.median_ns.filter(|m| *m > 0.0);
    let (scale, name) = base.map_or_else(|| unit(delta), |median| (median / 100.0, "%"));
    let scaled = |ns: f64| ns / scale;
    let bounds = c.confidence_interval.as_ref().map(|i| (scaled(i.lower_delta_ns), scaled(i.upper_delta_ns)));
    let threshold = c.threshold_percent.filter(|_| base.is_some());
    let deltas: Vec<f64> =
        c.pairs.iter().flatten().filter_map(|p| Some(scaled(p.delta_ns? as f64))).take(DELTAS).collect();
    let mut numbers = vec![0.0, scaled(delta)];
    numbers.extend(bounds.iter().flat_map(|(lower, upper)| [*lower, *upper]));
    numbers.extend(threshold.iter().flat_map(|t| [-t, *t]));
    numbers.extend(&deltas);
    // Room on both sides of zero, so that both directions have their name.
    let reach = numbers.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    numbers.extend([-0.12 * reach, 0.12 * reach]);
    let axis = Axis::new(numbers.iter().copied().filter(|n| n.is_finite()), 8);
    let end = WIDTH - RIGHT;
    let x = |value: f64| LEFT + (end - LEFT) * axis.place(value);
    let zero = x(0.0);
    let mut out = format!(
        "<svg role=\"img\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" aria-labelledby=\"delta-title delta-text\"><title \
         id=\"delta-title\">Difference between the cohorts</title><desc id=\"delta-text\">{}</desc>",
        escape(&c.headline)
    );
    if let Some(t) = threshold {
        let (from, to) = (x(-t), x(t));
        let _ = write!(
            out,
            "<path class=\"band\" d=\"M{from:.1} 26H{to:.1}V{FOOT}H{from:.1}z\"/><text x=\"{:.1}\" y=\"37\">threshold ±{t} \
             %</text>",
            to + 6.0
        );
    }
    for (place, label) in &axis.ticks {
        let at = LEFT + (end - LEFT) * place;
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{at:.1} 40V{FOOT}\"/><text class=\"x\" x=\"{at:.1}\" y=\"{}\">{label}</text>",
            FOOT + 16.0
        );
    }
    let power = if axis.power == 0 { String::new() } else { format!(" × 10{}", superscript(axis.power)) };
    let of = if base.is_some() { "% of the baseline’s median" } else { name };
    let _ = write!(
        out,
        "<path class=\"axis\" d=\"M{LEFT} {FOOT}H{end}\"/><path class=\"zero\" d=\"M{zero:.1} 18V{FOOT}\"/><text class=\"y\" \
         x=\"{:.1}\" y=\"14\">◂ candidate faster</text><text x=\"{:.1}\" y=\"14\">candidate slower ▸</text><text class=\"x\" \
         x=\"{:.1}\" y=\"{}\">difference in {}{power}</text>",
        zero - 8.0,
        zero + 8.0,
        (LEFT + end) / 2.0,
        HEIGHT - 2.0,
        escape(of)
    );
    for delta in deltas {
        let _ = write!(out, "<circle class=\"delta\" cx=\"{:.1}\" cy=\"{PAIRS}\" r=\"3.2\"/>", x(delta));
    }
    let middle = x(scaled(delta));
    if let Some((lower, upper)) = bounds {
        let (from, to) = (x(lower), x(upper));
        let _ = write!(
            out,
            "<path class=\"whole\" d=\"M{from:.1} {BAR}H{to:.1}\"/><path class=\"end\" d=\"M{from:.1} {:.1}v14M{to:.1} \
             {:.1}v14\"/>",
            BAR - 7.0,
            BAR - 7.0
        );
    }
    let hollow = if bounds.is_some() { "" } else { " hollow" };
    let _ = write!(out, "<circle class=\"middle{hollow}\" cx=\"{middle:.1}\" cy=\"{BAR}\" r=\"6\"/>");
    let said = c.median_delta_percent.map_or_else(|| Unit::Time.signed(delta), |p| format!("{p:+.1} %"));
    let level = match &c.confidence_interval {
        Some(i) => format!("{:.1} % interval", 100.0 * i.true_level),
        None => "no interval".to_owned(),
    };
    let _ = write!(
        out,
        "<text class=\"said\" x=\"{0:.1}\" y=\"{1:.1}\">{2}</text><text x=\"{0:.1}\" y=\"{3:.1}\">{4}</text>",
        end + 10.0,
        BAR + 1.0,
        escape(&said),
        BAR + 16.0,
        escape(&level)
    );
    if !c.pairs.as_ref().is_none_or(Vec::is_empty) {
        let _ = write!(out, "<text x=\"0\" y=\"{:.1}\">pairs</text>", PAIRS + 4.0);
    }
    out.push_str("</svg>");
    out
}

/// Extent of a row's graphic.
const BARS: f64 = 250.0;
const LINE: f64 = 18.0;

/// The axis that the rows of a list share.
pub(super) struct Shared {
    axis: Axis,
    scale: f64,
    unit: &'static str,
}

impl Shared {
    /// Of rows that are shown; `None` if none has a delta.
    pub fn of<'a>(unit: Unit, changes: impl Iterator<Item = &'a Change> + Clone) -> Option<Self> {
        let numbers = changes.flat_map(|change| {
            let bounds = change.confidence_interval.map(|b| [b.lower_delta, b.upper_delta]);
            bounds.into_iter().flatten().chain(shift(change)).filter(|n| n.is_finite()).collect::<Vec<f64>>()
        });
        let most = numbers.clone().fold(0.0f64, |most, x| most.max(x.abs()));
        if most == 0.0 {
            return None;
        }
        let (scale, name) = match unit {
            Unit::Time => super::picture::unit(most),
            Unit::Bytes => binary(most),
            Unit::Number => (1.0, ""),
        };
        let numbers: Vec<f64> = numbers.map(|n| n / scale).chain([0.0]).collect();
        Some(Self { axis: Axis::new(numbers.iter().copied(), 3), scale, unit: name })
    }

    fn x(&self, value: f64) -> f64 {
        8.0 + (BARS - 16.0) * self.axis.place(value / self.scale)
    }

    /// The ticks, for the column's head.
    pub fn head(&self) -> String {
        let mut out = format!("<svg class=\"bars\" viewBox=\"0 0 {BARS} 14\" aria-hidden=\"true\">");
        let mut last = f64::NEG_INFINITY;
        let power = if self.axis.power == 0 { String::new() } else { format!("e{}", self.axis.power) };
        for (place, label) in &self.axis.ticks {
            let at = 8.0 + (BARS - 16.0) * place;
            let unit = if label.trim_matches(['0', '.']).is_empty() { "" } else { self.unit };
            let power = if unit.is_empty() && !self.unit.is_empty() { "" } else { power.as_str() };
            let label = format!("{label}{power} {unit}");
            let half = label.trim().chars().count() as f64 * 3.1;
            if at - half > last + 6.0 {
                let _ = write!(out, "<text class=\"x\" x=\"{at:.1}\" y=\"11\">{}</text>", escape(label.trim()));
                last = at + half;
            }
        }
        out.push_str("</svg>");
        out
    }

    /// One row: its interval about its delta, or all of what one cohort alone has.
    pub fn row(&self, change: &Change) -> String {
        let mut out =
            format!("<svg class=\"bars\" viewBox=\"0 0 {BARS} {LINE}\" aria-hidden=\"true\"><path class=\"grid\" d=\"");
        for (place, _) in &self.axis.ticks {
            let _ = write!(out, "M{:.1} 0V{LINE}", 8.0 + (BARS - 16.0) * place);
        }
        let (zero, half) = (self.x(0.0), LINE / 2.0);
        let _ = write!(out, "\"/><path class=\"zero\" d=\"M{zero:.1} 0V{LINE}\"/>");
        if let Some(shift) = shift(change) {
            let at = self.x(shift);
            match change.confidence_interval {
                Some(bounds) => {
                    let sure = if bounds.lower_delta > 0.0 || bounds.upper_delta < 0.0 { "sure" } else { "unsure" };
                    let (from, to) = (self.x(bounds.lower_delta), self.x(bounds.upper_delta));
                    let _ = write!(
                        out,
                        "<path class=\"bar {sure}\" d=\"M{from:.1} {half}H{to:.1}\"/><circle class=\"{sure}\" cx=\"{at:.1}\" \
                         cy=\"{half}\" r=\"4\"/>"
                    );
                }
                None if change.median_delta.is_none() => {
                    let _ = write!(out, "<path class=\"alone\" d=\"M{zero:.1} 5H{at:.1}V13H{zero:.1}z\"/>");
                }
                None => {
                    let _ = write!(out, "<circle class=\"middle hollow\" cx=\"{at:.1}\" cy=\"{half}\" r=\"4\"/>");
                }
            }
        }
        out.push_str("</svg>");
        out
    }
}

/// The delta, or what one cohort alone has with the sign of its coming or going.
pub(super) fn shift(change: &Change) -> Option<f64> {
    change.median_delta.or(match change.without_interval {
        Some("only_in_baseline") => change.baseline.median.map(|m| -m),
        Some("only_in_candidate") => change.candidate.median,
        _ => None,
    })
}

fn binary(bytes: f64) -> (f64, &'static str) {
    let units = [(1024f64.powi(3), "GiB"), (1024f64.powi(2), "MiB"), (1024.0, "KiB")];
    units.into_iter().find(|(size, _)| bytes.abs() >= *size).unwrap_or((1.0, "B"))
}
