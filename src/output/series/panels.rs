//! What each plot of a series shows, and what it says in words.
//! In: the document. Out: panels, one after the other: a title, readings, first, last, lowest and highest number, what is
//! not a number. Left to neighbours: drawing them (`plot`), the page (`page`).

use std::fmt::Write;

use super::plot::{Point, Reading};
use super::{GradientPoint, Series, TensorPoint};
use crate::output::html::superscript;
use crate::text::{count, duration};

/// One plot with its words.
pub(super) struct Panel {
    /// A label, as it was recorded.
    pub title: String,
    /// What is drawn of it, and its unit.
    pub what: String,
    pub main: Vec<Point>,
    /// Drawn faint behind it; empty: nothing.
    pub other: Vec<Point>,
    pub unit: Unit,
}

/// How numbers are shown.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Unit {
    /// Drawn in this many ns, called so.
    Time(f64, &'static str),
    Value,
}

impl Unit {
    /// A drawn number in words.
    pub(super) fn show(self, number: f64) -> String {
        match self {
            Unit::Time(ns, _) => duration(number * ns),
            Unit::Value => value(number),
        }
    }
}

/// A number in four digits.
pub(super) fn value(x: f64) -> String {
    let size = x.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if (1e-3..1e6).contains(&size) {
        let whole = size.log10().floor() as i32;
        let digits = usize::try_from(3 - whole).unwrap_or(0);
        let text = format!("{x:.digits$}");
        return match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        };
    }
    let text = format!("{x:.3e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    format!("{mantissa}×10{}", superscript(exponent.parse().unwrap_or(0)))
}

/// What a capture of this phase is called.
pub(super) fn unit_of_steps(series: &Series) -> &'static str {
    if series.phase == "train" { "update" } else { "invocation" }
}

/// The steps of a series, by step.
pub(super) fn steps(series: &Series) -> Vec<i64> {
    series.inputs.iter().map(|i| i.capture_step).collect()
}

/// Wall time of every capture.
pub(super) fn wall(series: &Series) -> Panel {
    let at = unit_of_steps(series);
    let longest = series.outer_wall_time.iter().filter_map(|p| p.outer_wall_time_ns).max().unwrap_or(0);
    let (ns, name) = match longest {
        n if n >= 1_000_000_000 => (1e9, "s"),
        n if n >= 1_000_000 => (1e6, "ms"),
        n if n >= 1_000 => (1e3, "µs"),
        _ => (1.0, "ns"),
    };
    let point = |p: &super::WallPoint| {
        let step = p.capture_step;
        let (reading, tip) = match p.outer_wall_time_ns {
            Some(wall) => (Reading::Number(wall as f64 / ns), format!("{at} {step}: {}", duration(wall as f64))),
            None => (Reading::NotRecorded, format!("{at} {step}: not claimed, the capture is not valid")),
        };
        Point { step, reading, tip }
    };
    Panel {
        title: "Outer wall time".to_owned(),
        what: format!("of the measured region, {name}"),
        main: series.outer_wall_time.iter().map(point).collect(),
        other: Vec::new(),
        unit: Unit::Time(ns, name),
    }
}

/// For every step the points of a label, or that there is none.
fn by_step<P>(
    steps: &[i64],
    points: &[P],
    step_of: impl Fn(&P) -> i64,
    at: &str,
    mut add: impl FnMut(Result<&P, Point>),
) {
    let mut points = points.iter().peekable();
    for &step in steps {
        let mut found = false;
        while let Some(point) = points.next_if(|p| step_of(p) <= step) {
            add(Ok(point));
            found = true;
        }
        if !found {
            let tip = format!("{at} {step}: not recorded");
            add(Err(Point { step, reading: Reading::NotRecorded, tip }));
        }
    }
}

/// One value for each point: what is read of it, and in words.
fn single<P>(
    series: &Series,
    points: &[P],
    step_of: impl Fn(&P) -> i64,
    read: impl Fn(&P) -> (Reading, String),
) -> Vec<Point> {
    let at = unit_of_steps(series);
    let mut main = Vec::new();
    let shown = |p: &P| {
        let (step, (reading, what)) = (step_of(p), read(p));
        Point { step, reading, tip: format!("{at} {step}: {what}") }
    };
    by_step(&steps(series), points, &step_of, at, |point| main.push(point.map_or_else(|absent| absent, shown)));
    main
}

/// Norms of one gradient.
pub(super) fn gradient(series: &Series, label: &str, points: &[GradientPoint]) -> Panel {
    let read = |p: &GradientPoint| match (p.state.as_str(), p.norm) {
        ("missing", _) => (Reading::NoGradient, "no gradient".to_owned()),
        ("present" | "zero", Some(norm)) if norm.is_finite() => (Reading::Number(norm), value(norm)),
        _ => (Reading::NotFinite, "not finite".to_owned()),
    };
    let main = single(series, points, |p| p.capture_step, read);
    Panel { title: label.to_owned(), what: "L2 norm".to_owned(), main, other: Vec::new(), unit: Unit::Value }
}

/// Whether these are scalars: one element and no shape, each of them.
pub(super) fn are_scalars(points: &[TensorPoint]) -> bool {
    points.iter().all(|p| p.shape.is_empty() && p.elements == 1)
}

/// Values of one scalar.
pub(super) fn scalar(series: &Series, label: &str, points: &[TensorPoint]) -> Panel {
    let read = |p: &TensorPoint| {
        let reading = Reading::of(p.mean);
        let what = reading.number().map_or_else(|| non_finite(p), value);
        (reading, what)
    };
    let main = single(series, points, |p| p.capture_step, read);
    Panel { title: label.to_owned(), what: "value".to_owned(), main, other: Vec::new(), unit: Unit::Value }
}

/// RMS and largest absolute value of one tensor.
pub(super) fn tensor(series: &Series, label: &str, points: &[TensorPoint]) -> Panel {
    let at = unit_of_steps(series);
    let (mut main, mut other) = (Vec::new(), Vec::new());
    by_step(
        &steps(series),
        points,
        |p| p.capture_step,
        at,
        |point| match point {
            Err(absent) => {
                other.push(absent.clone());
                main.push(absent);
            }
            Ok(p) => {
                let part = |name: &str, x: Option<f64>| x.map(|x| format!("{name} {}", value(x)));
                let mut parts = match Reading::of(p.rms) {
                    Reading::Number(_) => {
                        vec![part("RMS", p.rms), part("largest |x|", p.abs_max), part("mean", p.mean)]
                    }
                    _ => vec![
                        Some(non_finite(p)),
                        part("finite part: RMS", p.finite_rms),
                        part("largest |x|", p.finite_abs_max),
                    ],
                };
                parts.push((p.non_finite == 0).then(|| format!("{} elements", count(p.elements.unsigned_abs()))));
                let parts: Vec<String> = parts.into_iter().flatten().collect();
                let tip = format!("{at} {}: {}", p.capture_step, parts.join(", "));
                other.push(Point { step: p.capture_step, reading: Reading::of(p.abs_max), tip: tip.clone() });
                main.push(Point { step: p.capture_step, reading: Reading::of(p.rms), tip });
            }
        },
    );
    Panel { title: label.to_owned(), what: form(points), main, other, unit: Unit::Value }
}

/// Type and shape where they are the same in all captures.
fn form(points: &[TensorPoint]) -> String {
    let Some(first) = points.first() else { return String::new() };
    if points.iter().any(|p| p.dtype != first.dtype || p.shape != first.shape) {
        return "RMS; several types or shapes".to_owned();
    }
    let shape: Vec<String> = first.shape.iter().map(i64::to_string).collect();
    format!("RMS of {} [{}]", first.dtype, shape.join(", "))
}

/// How many elements are not finite, and of which kind.
fn non_finite(p: &TensorPoint) -> String {
    let counted =
        |n: Option<i64>, name: &str| n.filter(|n| *n > 0).map(|n| format!("{} {name}", count(n.unsigned_abs())));
    let kinds: Vec<String> =
        [counted(p.nan, "NaN"), counted(p.pos_inf, "+inf"), counted(p.neg_inf, "-inf")].into_iter().flatten().collect();
    let mut text = match (p.non_finite, p.elements) {
        (0, _) => "beyond the range of numbers".to_owned(),
        (1, 1) => "not finite".to_owned(),
        (n, of) => format!("{} of {} not finite", count(n.unsigned_abs()), count(of.unsigned_abs())),
    };
    if !kinds.is_empty() {
        let _ = write!(text, " ({})", kinds.join(", "));
    }
    text
}

/// First, last, lowest and highest number with its step; the only one where there is one; nothing where there is none.
pub(super) fn facts(panel: &Panel) -> Vec<(&'static str, i64, f64)> {
    let numbers: Vec<(i64, f64)> = panel.main.iter().filter_map(|p| Some((p.step, p.reading.number()?))).collect();
    // The earliest of equals.
    let best = |better: fn(f64, f64) -> bool| {
        let best = numbers.iter().copied().reduce(|best, next| if better(next.1, best.1) { next } else { best });
        best.unwrap_or_default()
    };
    match numbers[..] {
        [] => Vec::new(),
        [(step, only)] => vec![("only", step, only)],
        [first, .., last] => {
            [("first", first), ("last", last), ("lowest", best(|a, b| a < b)), ("highest", best(|a, b| a > b))]
                .map(|(name, (step, number))| (name, step, number))
                .to_vec()
        }
    }
}

/// What is not a number, in words: each kind with its steps.
pub(super) fn gaps(panel: &Panel, at: &str) -> Vec<String> {
    let kinds = [
        (Reading::NotFinite, "not finite"),
        (Reading::NoGradient, "no gradient"),
        (Reading::NotRecorded, "not recorded"),
    ];
    kinds
        .into_iter()
        .filter_map(|(kind, words)| {
            let mut steps: Vec<i64> = panel.main.iter().filter(|p| p.reading == kind).map(|p| p.step).collect();
            steps.dedup();
            (!steps.is_empty()).then(|| format!("{words} at {}", some_steps(&steps, at)))
        })
        .collect()
}

/// `update 5`, `updates 5, 10 and 20`, or the first few and how many more.
fn some_steps(steps: &[i64], at: &str) -> String {
    const NAMED: usize = 4;
    let names: Vec<String> = steps.iter().take(NAMED).map(i64::to_string).collect();
    match (steps.len(), names.split_last()) {
        (1, _) | (_, None) => format!("{at} {}", names.join("")),
        (n, _) if n > NAMED => format!("{at}s {} and {} more", names.join(", "), count((n - NAMED) as u64)),
        (_, Some((last, before))) => format!("{at}s {} and {last}", before.join(", ")),
    }
}

/// A panel as one sentence, for those who do not see it.
pub(super) fn sentence(panel: &Panel, at: &str) -> String {
    let mut parts = vec![format!("{}, {}", crate::text::shorten(&panel.title), panel.what)];
    let facts = facts(panel);
    if facts.is_empty() {
        parts.push("no finite number".to_owned());
    }
    parts.extend(facts.into_iter().map(|(name, step, x)| format!("{name} {} at {at} {step}", panel.unit.show(x))));
    parts.extend(gaps(panel, at));
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        for (x, text) in [
            (0.0, "0"),
            (2.5, "2.5"),
            (-2.34567, "-2.346"),
            (0.0123456, "0.01235"),
            (123456.7, "123457"),
            (1e6, "1×10⁶"),
            (-1.5e-7, "-1.5×10⁻⁷"),
            (100.0, "100"),
        ] {
            assert_eq!(value(x), text);
        }
    }

    #[test]
    fn steps_in_words() {
        assert_eq!(some_steps(&[5], "update"), "update 5");
        assert_eq!(some_steps(&[5, 10], "update"), "updates 5 and 10");
        assert_eq!(some_steps(&[1, 2, 3, 4], "update"), "updates 1, 2, 3 and 4");
        assert_eq!(some_steps(&[1, 2, 3, 4, 5, 6], "update"), "updates 1, 2, 3, 4 and 2 more");
    }

    #[test]
    fn what_was_not_recorded_is_a_gap_and_no_number() {
        let point = |step, reading| Point { step, reading, tip: String::new() };
        let main = vec![
            point(1, Reading::NotRecorded),
            point(2, Reading::Number(4.0)),
            point(3, Reading::NotFinite),
            point(3, Reading::NotFinite),
            point(4, Reading::Number(1.0)),
            point(5, Reading::Number(4.0)),
        ];
        let panel = Panel { title: "t".to_owned(), what: "value".to_owned(), main, other: vec![], unit: Unit::Value };
        assert_eq!(facts(&panel), [("first", 2, 4.0), ("last", 5, 4.0), ("lowest", 4, 1.0), ("highest", 2, 4.0)]);
        assert_eq!(gaps(&panel, "update"), ["not finite at update 3", "not recorded at update 1"]);
    }
}
