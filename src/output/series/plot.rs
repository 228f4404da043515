//! One plot: readings to SVG.
//! In: readings by step, a size. Out: an `<svg>` and nothing that runs. Left to neighbours: which readings (`panels`),
//! their places on an axis (`axis`), the page around it and its colours (`page`).
//!
//! A reading that is not finite or absent is never drawn as a number: the line breaks, and a mark at the foot says which.

use std::fmt::Write;

use crate::output::html::{Axis, escape, nice_step, superscript};

/// What was read at a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reading {
    /// A finite number.
    Number(f64),
    NotFinite,
    /// Recorded as having none: a parameter without gradient.
    NoGradient,
    NotRecorded,
}

impl Reading {
    /// What was recorded as `value`: absent only because it is not finite.
    pub(super) fn of(value: Option<f64>) -> Self {
        value.filter(|v| v.is_finite()).map_or(Reading::NotFinite, Reading::Number)
    }

    pub(super) fn number(self) -> Option<f64> {
        if let Reading::Number(value) = self { Some(value) } else { None }
    }
}

/// A reading at its step, with what a pointer on it shows.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub step: i64,
    pub reading: Reading,
    pub tip: String,
}

/// Steps as the ticks below a plot: the captured ones where they are few, else round ones.
fn step_ticks(steps: &[i64], x: impl Fn(i64) -> f64) -> Vec<(f64, String)> {
    const APART: f64 = 8.0;
    let (Some(&first), Some(&last)) = (steps.first(), steps.last()) else { return Vec::new() };
    let candidates: Vec<i64> = if steps.len() <= 12 {
        // The ends first: where labels would touch, those between give way.
        [first, last].iter().chain(steps).copied().collect()
    } else {
        let step = nice_step((last - first) as f64 / 6.0).max(1.0);
        let (from, to) = ((first as f64 / step).ceil() as i64, (last as f64 / step).floor() as i64);
        (from..=to).map(|i| (i as f64 * step) as i64).collect()
    };
    let mut taken: Vec<(f64, f64)> = Vec::new();
    let mut ticks = Vec::new();
    for step in candidates {
        let label = step.to_string();
        let half = label.len() as f64 * DIGIT / 2.0;
        let (from, to) = (x(step) - half, x(step) + half);
        if taken.iter().all(|(a, b)| to + APART < *a || from - APART > *b) {
            taken.push((from, to));
            ticks.push((x(step), label));
        }
    }
    ticks
}

/// Extent of a plot, in CSS pixels at its natural size.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub width: f64,
    pub height: f64,
}

/// Width of a digit of a tick label.
const DIGIT: f64 = 6.2;
/// Least room for the labels of ticks.
const LEFT: f64 = 46.0;
const RIGHT: f64 = 14.0;
const BOTTOM: f64 = 24.0;

/// Up to so many points each is a dot that says what it is.
const DOTS: usize = 200;
/// Up to so many points a line joins them; more are drawn as the range of each pixel.
const LINE: usize = 600;
/// Marks at the foot are at least so far apart.
const MARK_APART: f64 = 6.0;

/// Draws `main` and, faint behind it, `other`, over the steps of all captures.
pub(super) fn svg(size: Size, steps: &[i64], main: &[Point], other: &[Point], title: &str) -> String {
    let numbers = main.iter().chain(other).filter_map(|p| p.reading.number());
    let axis = Axis::new(numbers, if size.height > 180.0 { 5 } else { 4 });
    let (first, last) = (steps.first().copied().unwrap_or(0), steps.last().copied().unwrap_or(0));
    let note = match (axis.log, axis.power) {
        (true, _) => "logarithmic scale".to_owned(),
        (false, 0) => String::new(),
        (false, power) => format!("× 10{}", superscript(power)),
    };
    let longest = axis.ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
    let left = LEFT.max(longest as f64 * DIGIT + 12.0);
    let top = if note.is_empty() { 10.0 } else { 26.0 };
    let (inner, foot) = (size.width - left - RIGHT, size.height - BOTTOM);
    let x = |step: i64| match last > first {
        // Not `last - first` as integers: steps may lie as far apart as there are numbers.
        true => left + 6.0 + (inner - 12.0) * ((step as f64 - first as f64) / (last as f64 - first as f64)),
        false => left + inner / 2.0,
    };
    let y = |number: f64| foot - (foot - top) * axis.place(number);
    let mut out = String::new();
    let Size { width, height } = size;
    let title = escape(title);
    let _ = write!(out, "<svg role=\"img\" viewBox=\"0 0 {width} {height}\" aria-label=\"{title}\">");
    for (place, label) in &axis.ticks {
        let at = foot - (foot - top) * place;
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{left:.1} {at:.1}H{:.1}\"/><text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
            width - RIGHT,
            left - 6.0,
            at + 3.5
        );
    }
    let _ = write!(out, "<path class=\"axis\" d=\"M{left:.1} {foot:.1}H{:.1}\"/>", width - RIGHT);
    for (at, label) in step_ticks(steps, x) {
        let _ = write!(
            out,
            "<path class=\"axis\" d=\"M{at:.1} {foot:.1}v4\"/><text class=\"x\" x=\"{at:.1}\" y=\"{:.1}\">{label}</text>",
            foot + 16.0
        );
    }
    if !note.is_empty() {
        let _ = write!(out, "<text class=\"note\" x=\"{:.1}\" y=\"9\">{note}</text>", 2.0);
    }
    if axis.ticks.is_empty() {
        let _ = write!(
            out,
            "<text class=\"none\" x=\"{:.1}\" y=\"{:.1}\">no finite number to draw</text>",
            left + inner / 2.0,
            (top + foot) / 2.0
        );
    }
    curve(&mut out, "other", other, x, y);
    curve(&mut out, "main", main, x, y);
    marks(&mut out, main, x, foot);
    out.push_str("</svg>");
    out
}

/// The line through the numbers, broken where a reading is none, and the dots on it.
fn curve(out: &mut String, class: &str, points: &[Point], x: impl Fn(i64) -> f64, y: impl Fn(f64) -> f64) {
    let path = if points.len() <= LINE { joined(points, &x, &y) } else { ranges(points, &x, &y) };
    if !path.is_empty() {
        let _ = write!(out, "<path class=\"{class}\" d=\"{path}\"/>");
    }
    if points.len() > DOTS {
        return;
    }
    let radius = if points.len() > 60 { 1.6 } else { 2.6 };
    for point in points {
        if let Some(number) = point.reading.number() {
            let (cx, cy, tip) = (x(point.step), y(number), escape(&point.tip));
            let _ = write!(
                out,
                "<circle class=\"{class}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"{radius}\"><title>{tip}</title></circle>"
            );
        }
    }
}

fn joined(points: &[Point], x: impl Fn(i64) -> f64, y: impl Fn(f64) -> f64) -> String {
    let mut path = String::new();
    let mut pen_down = false;
    for (index, point) in points.iter().enumerate() {
        let Some(number) = point.reading.number() else {
            pen_down = false;
            continue;
        };
        let command = if pen_down { 'L' } else { 'M' };
        let _ = write!(path, "{command}{:.1} {:.1}", x(point.step), y(number));
        let alone = !pen_down && points.get(index + 1).is_none_or(|next| next.reading.number().is_none());
        if alone {
            // A stroke of no length with round ends: a dot.
            path.push_str("h0");
        }
        pen_down = true;
    }
    path
}

/// For each column of pixels the range of the numbers in it.
fn ranges(points: &[Point], x: impl Fn(i64) -> f64, y: impl Fn(f64) -> f64) -> String {
    let mut path = String::new();
    let mut column: Option<(i64, f64, f64)> = None;
    let mut draw = |column: Option<(i64, f64, f64)>| {
        if let Some((at, top, bottom)) = column {
            let _ = write!(path, "M{at} {top:.1}V{bottom:.1}");
        }
    };
    for point in points {
        let Some(number) = point.reading.number() else { continue };
        let (at, y) = (x(point.step).round() as i64, y(number));
        column = match column {
            Some((same, top, bottom)) if same == at => Some((at, top.min(y), bottom.max(y))),
            before => {
                draw(before);
                Some((at, y, y))
            }
        };
    }
    draw(column);
    path
}

/// What is not finite, and what is absent, at the foot of the plot.
fn marks(out: &mut String, points: &[Point], x: impl Fn(i64) -> f64, foot: f64) {
    let mut last: Option<(f64, bool)> = None;
    for point in points {
        let not_finite = match point.reading {
            Reading::Number(_) => continue,
            Reading::NotFinite => true,
            Reading::NoGradient | Reading::NotRecorded => false,
        };
        let at = x(point.step);
        if last.is_some_and(|(before, same)| same == not_finite && at - before < MARK_APART) {
            continue;
        }
        last = Some((at, not_finite));
        let tip = escape(&point.tip);
        let _ = match not_finite {
            true => write!(
                out,
                "<path class=\"bad\" d=\"M{:.1} {:.1}h9l-4.5 -8z\"><title>{tip}</title></path>",
                at - 4.5,
                foot - 1.0
            ),
            false => write!(
                out,
                "<path class=\"gone\" d=\"M{:.1} {:.1}l6 6m0 -6l-6 6\"><title>{tip}</title></path>",
                at - 3.0,
                foot - 8.0
            ),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(readings: &[Reading]) -> Vec<Point> {
        let point =
            |(i, r): (usize, &Reading)| Point { step: i as i64 + 1, reading: *r, tip: format!("tip {}", i + 1) };
        readings.iter().enumerate().map(point).collect()
    }

    #[test]
    fn a_gap_breaks_the_line_and_leaves_a_mark() {
        use Reading::{NotFinite, NotRecorded, Number};
        let points = points(&[Number(1.0), Number(2.0), NotFinite, Number(3.0), NotRecorded, Number(4.0), Number(5.0)]);
        let path = joined(&points, |step| step as f64, |number| number);
        assert_eq!(path, "M1.0 1.0L2.0 2.0M4.0 3.0h0M6.0 4.0L7.0 5.0");
        let steps: Vec<i64> = (1..=7).collect();
        let svg = svg(Size { width: 360.0, height: 170.0 }, &steps, &points, &[], "title");
        assert_eq!(svg.matches("<circle").count(), 5, "{svg}");
        assert_eq!((svg.matches("class=\"bad\"").count(), svg.matches("class=\"gone\"").count()), (1, 1), "{svg}");
        assert!(svg.contains("<title>tip 3</title>") && svg.contains("<title>tip 5</title>"), "{svg}");
    }

    #[test]
    fn a_plot_stays_small_whatever_it_shows() {
        use Reading::{NotFinite, Number};
        let many: Vec<Reading> = (0..100_000).map(|i| if i % 2 == 0 { Number(i as f64) } else { NotFinite }).collect();
        let steps: Vec<i64> = (1..=100_000).collect();
        let svg = svg(Size { width: 360.0, height: 170.0 }, &steps, &points(&many), &[], "title");
        assert!(svg.len() < 32 << 10, "{}", svg.len());
    }

    #[test]
    fn labels_below_a_plot_do_not_touch() {
        let ticks = |steps: &[i64]| -> Vec<String> {
            step_ticks(steps, |step| step as f64 * 3.0).into_iter().map(|(_, label)| label).collect()
        };
        // At 3 pixels a step, 1 and 5 are 12 apart: 5 gives way to the first.
        assert_eq!(ticks(&[1, 5, 10, 20, 40, 80]), ["1", "80", "10", "20", "40"]);
        assert_eq!(ticks(&[7]), ["7"]);
        assert_eq!(ticks(&(1..=100).collect::<Vec<_>>()), ["20", "40", "60", "80", "100"]);
    }
}
