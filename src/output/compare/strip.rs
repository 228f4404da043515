//! The picture as a strip of text: runs as dots on an axis of time, the interval on an axis with zero.
//! In: the document. Out: lines of at most 80 columns that hold no text of a trace. Left to neighbours: the drawn picture
//! (`page`).

use std::fmt::Write;

use super::words::Unit;
use super::{CohortOut, Comparison};
use crate::text::duration;

/// Columns of the strip; names stand before it.
const WIDE: usize = 61;

/// Both cohorts and the interval; `None` if a cohort has no known wall time.
pub(super) fn text(c: &Comparison) -> Option<String> {
    let walls = || c.baseline.samples_ns.iter().chain(&c.candidate.samples_ns);
    let (low, high) = (*walls().min()? as f64, *walls().max()? as f64);
    let (b, n) = (c.baseline.median_ns?, c.candidate.median_ns?);
    let mut out = String::new();
    let _ = writeln!(out, "           {}", ends(&duration(low), &duration(high)));
    for (name, of, median) in [("baseline ", &c.baseline, b), ("candidate", &c.candidate, n)] {
        let _ = writeln!(out, "{name}  {}", cohort(of, median, low, high));
    }
    if let (Some(interval), Some(delta)) = (&c.confidence_interval, c.median_delta_ns) {
        let (lower, upper) = (interval.lower_delta_ns, interval.upper_delta_ns);
        let (low, high) = (lower.min(0.0), upper.max(0.0));
        let mut line = vec![' '; WIDE];
        (place(lower, low, high)..=place(upper, low, high)).for_each(|at| line[at] = '─');
        line[place(0.0, low, high)] = '0';
        line[place(lower, low, high)] = '├';
        line[place(upper, low, high)] = '┤';
        line[place(delta, low, high)] = '●';
        let _ = writeln!(out, "\n           {}", ends(&Unit::Time.signed(low), &Unit::Time.signed(high)));
        let _ = writeln!(out, "change     {}", line.into_iter().collect::<String>().trim_end());
    }
    Some(out)
}

/// What stands at both ends of the strip.
fn ends(low: &str, high: &str) -> String {
    let space = WIDE.saturating_sub(low.chars().count() + high.chars().count());
    format!("{low}{}{high}", " ".repeat(space))
}

fn place(x: f64, low: f64, high: f64) -> usize {
    let share = if high > low { (x - low) / (high - low) } else { 0.5 };
    ((share.clamp(0.0, 1.0) * (WIDE - 1) as f64).round() as usize).min(WIDE - 1)
}

/// A dot where one run is, a number where several are, the median as a line between them.
fn cohort(of: &CohortOut, median: f64, low: f64, high: f64) -> String {
    let mut runs = [0usize; WIDE];
    of.samples_ns.iter().for_each(|ns| runs[place(*ns as f64, low, high)] += 1);
    let mark = |n: &usize| match n {
        0 => ' ',
        1 => '●',
        2..=9 => char::from(b'0' + u8::try_from(*n).unwrap_or(9)),
        _ => '#',
    };
    let mut line: Vec<char> = runs.iter().map(mark).collect();
    let at = place(median, low, high);
    if line[at] == ' ' {
        line[at] = '│';
    }
    line.into_iter().collect::<String>().trim_end().to_owned()
}
