//! What terminal, page and Markdown say alike: names, numbers with their signs, sentences, lists of rows.
//! In: the document. Out: plain text that may hold text of a trace. Left to neighbours: making it harmless for their
//! readers (`text`, `page`, `markdown`), the verdict (`headline`).

use super::headline::signed;
use super::{Change, Comparison, Request};
use crate::output::documents::Bounded;
use crate::output::report::markdown::value;
use crate::output::terminal::shell_word;
use crate::text::{bytes, count, duration};

/// Bundles of a cohort that a command repeats.
const REPEATED: usize = 12;
/// Longest implementation id that stands for its cohort, in characters.
const NAME: usize = 20;
/// Dimensions of a shape.
const DIMENSIONS: usize = 8;

/// What the numbers of a list are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unit {
    Time,
    Bytes,
    Number,
}

impl Unit {
    pub fn show(self, x: f64) -> String {
        match self {
            Unit::Time => duration(x),
            Unit::Bytes => bytes(x),
            Unit::Number => value(x),
        }
    }

    /// With its sign, unless it is zero.
    pub fn signed(self, x: f64) -> String {
        let sign = if x < 0.0 { "-" } else { "+" };
        if x == 0.0 { self.show(0.0) } else { format!("{sign}{}", self.show(x.abs())) }
    }

    /// Two bounds, with their unit once if it is the same.
    pub fn range(self, lower: f64, upper: f64) -> String {
        let (lower, upper) = (self.signed(lower), self.signed(upper));
        match (lower.split_once(' '), upper.split_once(' ')) {
            (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} … {upper}"),
            _ => format!("{lower} … {upper}"),
        }
    }

    /// What less and more of it mean.
    pub fn sides(self) -> (&'static str, &'static str) {
        if self == Unit::Time { ("faster", "slower") } else { ("less", "more") }
    }
}

/// A row of a list under its name.
pub(super) struct Line<'a> {
    pub name: String,
    pub change: &'a Change,
}

/// Rows of one kind.
pub(super) struct List<'a> {
    pub id: &'static str,
    pub title: &'static str,
    /// What the first column holds.
    pub column: &'static str,
    /// What a row is.
    pub about: &'static str,
    pub unit: Unit,
    pub total: usize,
    pub lines: Vec<Line<'a>>,
}

/// Lists of changes that have rows, those that explain the time first.
pub(super) fn lists(c: &Comparison) -> Vec<List<'_>> {
    fn lines<'a, R>(of: &'a Bounded<R>, row: impl Fn(&'a R) -> (String, &'a Change)) -> (usize, Vec<Line<'a>>) {
        let line = |r| {
            let (name, change) = row(r);
            Line { name, change }
        };
        (of.total, of.rows.iter().map(line).collect())
    }
    let list = |id, title, column, about, unit, (total, lines)| List { id, title, column, about, unit, total, lines };
    let label = |row: &super::LabelChange| row.label.clone();
    let all = [
        list(
            "labels",
            "Own time by label",
            "label",
            "Host time in a label’s spans outside their child spans, within the measured region.",
            Unit::Time,
            lines(&c.labels, |row| (label(row), &row.change)),
        ),
        list(
            "operations",
            "Operations",
            "operation",
            "Host time of each kind of operation (name, shape, element type) within the measured region.",
            Unit::Time,
            lines(&c.operations, |row| (operation(&row.name, &row.shape, &row.dtype), &row.change)),
        ),
        list(
            "memory",
            "Memory",
            "peak",
            "The peak of logical memory, as far as the programs recorded it.",
            Unit::Bytes,
            lines(&c.memory, |row| (label(row), &row.change)),
        ),
        list(
            "gradients",
            "Gradient norms",
            "gradient",
            "L2 norm of each gradient. Both implementations should compute the same.",
            Unit::Number,
            lines(&c.gradients, |row| (label(row), &row.change)),
        ),
    ];
    all.into_iter().filter(|list| !list.lines.is_empty()).collect()
}

/// `matmul 8×256×32 f32`.
fn operation(name: &str, shape: &[i64], dtype: &str) -> String {
    let mut sizes: Vec<String> = shape.iter().take(DIMENSIONS).map(i64::to_string).collect();
    if shape.len() > DIMENSIONS {
        sizes.push("…".to_owned());
    }
    let shape = if sizes.is_empty() { "scalar".to_owned() } else { sizes.join("×") };
    format!("{name} {shape} {dtype}")
}

/// The interval of a row, or why it has none.
pub(super) fn interval(change: &Change, unit: Unit, runs: (usize, usize)) -> String {
    match (&change.confidence_interval, change.without_interval) {
        (Some(b), _) => unit.range(b.lower_delta, b.upper_delta),
        (None, Some("not_in_every_run")) if (change.baseline.runs, change.candidate.runs) == runs => {
            "not known in every run".to_owned()
        }
        (None, Some("not_in_every_run")) => {
            format!("in {} of {}, {} of {} runs", change.baseline.runs, runs.0, change.candidate.runs, runs.1)
        }
        (None, Some("ineligible")) | (None, None) => "-".to_owned(),
        (None, Some(why)) => why.replace('_', " "),
    }
}

/// The verdict in a few words, and what it rests on: the two parts of the headline.
pub(super) fn verdict(c: &Comparison) -> (&str, &str) {
    c.headline.split_once(": ").unwrap_or((&c.headline, ""))
}

/// What the cohorts are called where there is little room: by their implementations, if that tells them apart.
pub(super) fn names(c: &Comparison) -> [&str; 2] {
    fn short(id: &Option<String>) -> Option<&str> {
        id.as_deref().filter(|id| id.chars().count() <= NAME && !id.trim().is_empty())
    }
    match (short(&c.baseline_implementation_id), short(&c.candidate_implementation_id)) {
        (Some(baseline), Some(candidate)) if baseline != candidate => [baseline, candidate],
        _ => ["baseline", "candidate"],
    }
}

/// `baseline (naive)`.
pub(super) fn cohort(name: &str, id: Option<&str>) -> String {
    id.map_or_else(|| name.to_owned(), |id| format!("{name} ({id})"))
}

/// How the interval of the whole was had.
pub(super) fn how(c: &Comparison) -> Option<String> {
    let interval = c.confidence_interval.as_ref()?;
    let level = format!("{:.2} %", 100.0 * interval.true_level);
    let level = match interval.true_level_kind {
        "exact" => format!("true level {level}, exact"),
        "at_least" => format!("true level at least {level}"),
        _ => format!("true level about {level}"),
    };
    let drawn = interval.seed.map_or(String::new(), |seed| format!(", seed {seed}"));
    let method = match interval.method {
        "exact_enumeration" => format!("all {} distinct resamples", count(interval.resamples)),
        "sampled" => format!("{} resamples{drawn}", count(interval.resamples)),
        other => other.replace('_', " "),
    };
    Some(format!(
        "{}: {}; {method}, {level}",
        interval.statistic.replace('_', " "),
        Unit::Time.range(interval.lower_delta_ns, interval.upper_delta_ns)
    ))
}

/// Second opinions: what it is, its p, how that was had, and more.
pub(super) fn tests(c: &Comparison) -> Vec<[String; 4]> {
    let Some(t) = &c.tests else { return Vec::new() };
    let p = |p: f64| if p < 0.00005 { "< 0.0001".to_owned() } else { format!("{p:.4}") };
    let shift = format!(
        "Hodges-Lehmann shift {}, {} ({:.2} %)",
        signed(t.shift_ns),
        Unit::Time.range(t.shift_lower_ns, t.shift_upper_ns),
        100.0 * t.shift_level
    );
    let (ranks, moved) = match t.rank_test {
        "mann_whitney" => ("Mann-Whitney, of ranks", "Permutation of runs, of means"),
        _ => ("Wilcoxon, of signed ranks", "Permutation of signs, of means"),
    };
    let mut all = vec![
        [ranks.to_owned(), p(t.rank_p), t.rank_p_kind.replace('_', " "), shift],
        [
            moved.to_owned(),
            p(t.permutation_p),
            t.permutation_p_kind.replace('_', " "),
            format!("{} arrangements", count(t.permutation_arrangements)),
        ],
    ];
    if let Some(welch) = t.welch_log {
        let more = format!(
            "t = {:.2}, {:.1} degrees of freedom; geometric means differ by {:+.1} %",
            welch.t, welch.degrees_of_freedom, welch.percent
        );
        all.push(["Welch, of logarithms".to_owned(), p(welch.p), "Student’s t".to_owned(), more]);
    }
    all
}

/// `pairs` or `runs a cohort`.
pub(super) fn runs(c: &Comparison) -> &'static str {
    if c.paired { "pairs" } else { "runs a cohort" }
}

/// Effects in percent, each with the runs that would show it.
pub(super) fn needed(needed: &[super::RunsNeeded]) -> Vec<(String, String)> {
    let each =
        |n: &super::RunsNeeded| (format!("{} %", n.effect_percent), n.runs.map_or("over a million".to_owned(), count));
    needed.iter().map(each).collect()
}

/// What changed from run to run.
pub(super) fn drift(drift: Option<&super::DriftOut>) -> String {
    drift.map_or("unknown".to_owned(), |drift| {
        let slope = drift.percent_per_run.map_or_else(|| signed(drift.ns_per_run), |p| format!("{p:+.2} %"));
        format!("{slope} a run (p = {:.3})", drift.p)
    })
}

/// The command that gives the numbers, and those that give the rows behind them.
pub(super) fn commands(request: &Request) -> [String; 3] {
    let words = |paths: &[std::path::PathBuf]| {
        let words: Vec<String> = paths.iter().map(|path| shell_word(&path.display().to_string())).collect();
        if words.is_empty() || words.len() > REPEATED { "BUNDLE...".to_owned() } else { words.join(" ") }
    };
    let mut command = format!(
        "candle-graph compare --baseline {} --candidate {}",
        words(&request.baseline),
        words(&request.candidate)
    );
    if let Some(threshold) = request.threshold_percent {
        command += &format!(" --threshold {threshold}");
    }
    if request.unverified {
        command += " --unverified-traces";
    }
    let all: Vec<std::path::PathBuf> = request.baseline.iter().chain(&request.candidate).cloned().collect();
    let rows = |query: &str| format!("candle-graph sql {} --query {query} --format csv", words(&all));
    [command + " --all -o comparison.json", rows("cohort_labels"), rows("cohort_ops")]
}
