//! The picture that a person wants first: every run as a dot in the order in which the runs started.
//! In: the document. Out: SVG of bounded size. Left to neighbours: the interval below it (`strip`), words (the module
//! above).
//!
//! Two colours that every eye tells apart (blue and vermilion of Okabe & Ito 2008), and two shapes for where there is none.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::analysis::statistics::Side;
use crate::output::compare::{Comparison, RunOut, words};
use crate::output::html::{Axis, escape, nice_step};
use crate::text::duration;

/// Extent in CSS pixels at its natural size.
pub(super) const WIDTH: f64 = 1150.0;
const HEIGHT: f64 = 340.0;
/// Room for tick labels, and for what the medians are called.
const LEFT: f64 = 62.0;
const RIGHT: f64 = 158.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 46.0;

/// Runs that are drawn; of more, every second, third and so on.
const DOTS: usize = 2_000;
/// Up to so many runs each dot says which run it is.
const TOLD: usize = 400;
/// Runs that stand apart and are called by their place.
const CALLED: usize = 12;

/// One run in the order of all.
pub(in crate::output::compare) struct Dot<'a> {
    /// From 1.
    pub place: usize,
    pub side: Side,
    pub run: &'a RunOut,
    pub apart: bool,
}

/// All runs in the order in which they started.
pub(in crate::output::compare) fn dots(c: &Comparison) -> Vec<Dot<'_>> {
    let (mut baseline, mut candidate) = (c.inputs.baseline.iter(), c.inputs.candidate.iter());
    let next = |(at, letter): (usize, char)| {
        let (side, run, apart) = match letter {
            'A' => (Side::Baseline, baseline.next()?, &c.design.baseline_outliers),
            _ => (Side::Candidate, candidate.next()?, &c.design.candidate_outliers),
        };
        Some(Dot { place: at + 1, side, run, apart: apart.contains(&run.run_id) })
    };
    c.design.sequence.chars().enumerate().filter_map(next).collect()
}

/// The class of a cohort's marks.
pub(super) fn class(side: Side) -> &'static str {
    if side == Side::Baseline { "a" } else { "b" }
}

/// A cohort's mark about a place.
pub(super) fn mark(side: Side, x: f64, y: f64, size: f64) -> String {
    match side {
        Side::Baseline => format!("<circle class=\"a\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{size:.1}\""),
        Side::Candidate => {
            // A diamond looks as large as a circle when it is a little wider.
            let half = size * 1.25;
            let top = y - half;
            format!(
                "<path class=\"b\" d=\"M{x:.1} {top:.1}l{half:.1} {half:.1}l-{half:.1} {half:.1}l-{half:.1} -{half:.1}z\""
            )
        }
    }
}

/// The unit in which times of this size are read, in nanoseconds, and its name.
pub(super) fn unit(ns: f64) -> (f64, &'static str) {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    units.into_iter().find(|(size, _)| ns.abs() >= *size).unwrap_or((1.0, "ns"))
}

/// Every run as a dot, pairs joined, medians as lines; nothing if no wall time is known.
pub(super) fn svg(c: &Comparison) -> String {
    let dots = dots(c);
    let walls: Vec<f64> = dots.iter().filter_map(|d| Some(d.run.outer_wall_time_ns? as f64)).collect();
    let Some(most) = walls.iter().copied().reduce(f64::max) else { return String::new() };
    let (size, name) = unit(most);
    let axis = Axis::new(walls.iter().map(|ns| ns / size), 5);
    let (foot, end) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    let inset = 18.0;
    let x = |place: usize| {
        let share = if dots.len() > 1 { (place - 1) as f64 / (dots.len() - 1) as f64 } else { 0.5 };
        LEFT + inset + (end - LEFT - 2.0 * inset) * share
    };
    let y = |ns: f64| foot - (foot - TOP) * axis.place(ns / size);
    let mut out = format!(
        "<svg role=\"img\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" aria-labelledby=\"runs-title runs-text\"><title id=\"runs-title\">Wall \
         time of every run</title><desc id=\"runs-text\">{}</desc>",
        escape(&described(c, dots.len()))
    );
    frame(&mut out, &axis, name, foot, end);
    ticks(&mut out, dots.len(), foot, &x);
    pairs(&mut out, &dots, &x, &y);
    medians(&mut out, c, end, &y);
    let every = dots.len().div_ceil(DOTS).max(1);
    let radius = match dots.len() {
        0..=60 => 5.5,
        61..=300 => 3.6,
        _ => 2.2,
    };
    let shown: Vec<&Dot<'_>> = dots.iter().step_by(every).collect();
    for dot in shown {
        let Some(ns) = dot.run.outer_wall_time_ns else { continue };
        let (x, y) = (x(dot.place), y(ns as f64));
        out.push_str(&mark(dot.side, x, y, radius));
        if dots.len() <= TOLD {
            let _ = write!(out, "><title>{}</title></{}>", escape(&told(dot)), element(dot.side));
        } else {
            out.push_str("/>");
        }
        if dot.apart {
            let _ = write!(out, "<circle class=\"ring\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\"/>", radius + 5.0);
        }
    }
    let apart: Vec<&Dot<'_>> = dots.iter().filter(|d| d.apart).collect();
    if apart.len() <= CALLED {
        let places = apart.iter().filter_map(|d| Some((d.place, x(d.place), y(d.run.outer_wall_time_ns? as f64))));
        call(&mut out, &places.collect::<Vec<_>>(), end);
    }
    out.push_str("</svg>");
    out
}

/// Runs by their places in the order, each beside its ring where nothing else is.
fn call(out: &mut String, rings: &[(usize, f64, f64)], end: f64) {
    const GAP: f64 = 15.0;
    const LINE: f64 = 16.0;
    let mut taken: Vec<(f64, f64, f64)> = rings.iter().map(|(_, x, y)| (x - 11.0, x + 11.0, *y)).collect();
    for (place, x, y) in rings {
        let text = format!("run {place}");
        let wide = text.len() as f64 * 7.5;
        let tries = [(x + GAP, *y), (x - GAP - wide, *y), (x - wide / 2.0, y - 20.0), (x - wide / 2.0, y + 20.0)];
        let free = |(from, at): &&(f64, f64)| {
            let clear = taken.iter().all(|(a, b, line)| from + wide < *a || from > b || (at - line).abs() >= LINE);
            clear && *from > LEFT && from + wide < end
        };
        if let Some((from, at)) = tries.iter().find(free) {
            let _ = write!(out, "<text class=\"called\" x=\"{from:.1}\" y=\"{:.1}\">{text}</text>", at + 4.0);
            taken.push((*from, from + wide, *at));
        }
    }
}

fn element(side: Side) -> &'static str {
    if side == Side::Baseline { "circle" } else { "path" }
}

/// What a pointer on a dot shows.
fn told(dot: &Dot<'_>) -> String {
    let wall = dot.run.outer_wall_time_ns.map_or("unknown".to_owned(), |ns| duration(ns as f64));
    let pair = dot.run.pair_id.as_ref().map_or(String::new(), |pair| format!(", {pair}"));
    let apart = if dot.apart { ", stands apart" } else { "" };
    format!("run {}, {}{pair}: {wall}{apart} ({})", dot.place, dot.side.as_str(), dot.run.run_id)
}

/// The picture for who cannot see it.
fn described(c: &Comparison, runs: usize) -> String {
    let time = |ns: Option<f64>| ns.map_or("unknown".to_owned(), duration);
    let paired = if c.paired { " Lines join the runs of a pair." } else { "" };
    let apart = c.design.baseline_outliers.len() + c.design.candidate_outliers.len();
    format!(
        "{runs} runs from left to right in the order in which they started; a circle is a run of the baseline, a diamond one \
         of the candidate. Medians: baseline {}, candidate {}. Runs that stand apart, ringed: {apart}.{paired}",
        time(c.baseline.median_ns),
        time(c.candidate.median_ns)
    )
}

fn frame(out: &mut String, axis: &Axis, unit: &str, foot: f64, end: f64) {
    for (place, label) in &axis.ticks {
        let at = foot - (foot - TOP) * place;
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{end}\"/><text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
            LEFT - 8.0,
            at + 4.0
        );
    }
    let scale = if axis.log { ", logarithmic" } else { "" };
    let _ = write!(
        out,
        "<path class=\"axis\" d=\"M{LEFT} {foot}H{end}\"/><text x=\"0\" y=\"12\">wall time of the measured region in \
         {unit}{scale}</text><text class=\"x\" x=\"{:.1}\" y=\"{:.1}\">runs in the order in which they started</text>",
        (LEFT + end) / 2.0,
        HEIGHT - 6.0
    );
}

/// Places of runs below the plot: each where they are few, else round ones.
fn ticks(out: &mut String, runs: usize, foot: f64, x: &impl Fn(usize) -> f64) {
    let step = if runs <= 24 { 1 } else { nice_step(runs as f64 / 12.0).max(1.0) as usize };
    let places = std::iter::once(1).chain((1..=runs).filter(|place| step == 1 || place % step == 0));
    let mut last = 0;
    for place in places.filter(|place| *place <= runs) {
        if place != last && (last == 0 || step == 1 || place - last > step / 3) {
            let at = x(place);
            let _ = write!(out, "<text class=\"x\" x=\"{at:.1}\" y=\"{:.1}\">{place}</text>", foot + 17.0);
            last = place;
        }
    }
}

/// A line from one run of a pair to the other.
fn pairs(out: &mut String, dots: &[Dot<'_>], x: &impl Fn(usize) -> f64, y: &impl Fn(f64) -> f64) {
    let mut first: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    let mut path = String::new();
    for dot in dots.iter().take(DOTS) {
        let (Some(pair), Some(ns)) = (dot.run.pair_id.as_deref(), dot.run.outer_wall_time_ns) else { continue };
        let here = (x(dot.place), y(ns as f64));
        match first.remove(pair) {
            None => drop(first.insert(pair, here)),
            Some((from_x, from_y)) => {
                let _ = write!(path, "M{from_x:.1} {from_y:.1}L{:.1} {:.1}", here.0, here.1);
            }
        }
    }
    if !path.is_empty() {
        let _ = write!(out, "<path class=\"pair\" d=\"{path}\"/>");
    }
}

/// The medians, called by name where they end.
fn medians(out: &mut String, c: &Comparison, end: f64, y: &impl Fn(f64) -> f64) {
    const APART: f64 = 32.0;
    let names = words::names(c);
    let mut lines: Vec<(f64, Side, f64)> =
        [(Side::Baseline, c.baseline.median_ns), (Side::Candidate, c.candidate.median_ns)]
            .into_iter()
            .filter_map(|(side, median)| Some((y(median?), side, median?)))
            .collect();
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut labels: Vec<f64> = lines.iter().map(|(at, ..)| *at).collect();
    if let [above, below] = labels.as_mut_slice()
        && *below - *above < APART
    {
        let middle = (*above + *below) / 2.0;
        (*above, *below) = (middle - APART / 2.0, middle + APART / 2.0);
    }
    for ((at, side, median), label) in lines.into_iter().zip(labels) {
        let (class, name) = (class(side), names[usize::from(side == Side::Candidate)]);
        let _ = write!(
            out,
            "<path class=\"median {class}\" d=\"M{LEFT} {at:.1}H{end}\"/><text class=\"name {class}\" x=\"{:.1}\" \
             y=\"{:.1}\">{}</text><text x=\"{:.1}\" y=\"{:.1}\">median {}</text>",
            end + 10.0,
            label - 2.0,
            escape(&duration(median)),
            end + 10.0,
            label + 12.0,
            escape(name)
        );
    }
}
