//! Whether both implementations compute the same: what each label's values come to.
//! In: summaries of each run. Out: ratios by label, labels that one side alone has. Left to neighbours: times.
//!
//! Said even where times may not be compared: a step that became fast by computing something else is no faster step.

use schemars::JsonSchema;
use serde::Serialize;

use super::inputs::{Cell, Table};
use crate::output::documents::{Bounded, Cut};
use crate::text::shorten;

/// Tensor summaries of both cohorts, `a` the baseline and `b` the candidate. A label's summaries within a run are averaged,
/// then the runs are.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TensorComparison {
    /// Runs of each cohort.
    pub baseline_runs: usize,
    pub candidate_runs: usize,
    /// How many labels both have, and how many are here.
    pub matched_cut: Cut,
    /// Labels that both have; those whose number of non-finite elements changed first, then the largest ratios either way.
    pub matched: Vec<TensorRow>,
    /// Labels that the baseline alone has.
    pub unmatched_a: Bounded<String>,
    /// Labels that the candidate alone has.
    pub unmatched_b: Bounded<String>,
}

/// One label.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TensorRow {
    pub label: String,
    /// Null: never known, as of tensors with a non-finite element.
    pub rms_a: Option<f64>,
    pub rms_b: Option<f64>,
    /// Candidate over baseline; null unless both are known and the baseline's is above zero.
    pub rms_ratio: Option<f64>,
    pub abs_max_ratio: Option<f64>,
    /// NaN or infinite elements, over all runs.
    pub non_finite_a: i64,
    pub non_finite_b: i64,
    /// Whether a run of one cohort has more of them on average than a run of the other.
    pub non_finite_changed: bool,
    /// Summaries, over all runs.
    pub samples_a: i64,
    pub samples_b: i64,
    /// Runs that recorded the label.
    pub runs_a: usize,
    pub runs_b: usize,
}

/// Compares the labels; the first runs are those of the baseline.
pub(super) fn compare(table: &Table<String>, baseline: usize, candidate: usize, limit: usize) -> TensorComparison {
    let mut matched = Vec::new();
    let (mut alone_a, mut alone_b) = (Vec::new(), Vec::new());
    for (label, cells) in table {
        let (a, b) = cells.split_at(cells.partition_point(|cell| cell.run < baseline));
        match (a.is_empty(), b.is_empty()) {
            (false, false) => matched.push(row(label, a, b)),
            (false, true) => alone_a.push(shorten(label)),
            _ => alone_b.push(shorten(label)),
        }
    }
    matched.sort_by(|x, y| {
        let key = |row: &TensorRow| (row.non_finite_changed, distance(row.rms_a, row.rms_b));
        key(y).partial_cmp(&key(x)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let matched = Bounded::first(matched, limit);
    TensorComparison {
        baseline_runs: baseline,
        candidate_runs: candidate,
        matched_cut: matched.cut(),
        matched: matched.rows,
        unmatched_a: Bounded::first(alone_a, limit),
        unmatched_b: Bounded::first(alone_b, limit),
    }
}

/// How far two values are from equal, whichever is the larger: the cohorts turned round have the same order. From zero
/// to anything is the farthest.
fn distance(a: Option<f64>, b: Option<f64>) -> f64 {
    let Some((a, b)) = a.zip(b).map(|(a, b)| (a.abs(), b.abs())).filter(|(a, b)| a != b) else { return 0.0 };
    a.max(b) / a.min(b) - 1.0
}

/// Whether a run of one cohort has more non-finite elements on average than a run of the other. A cohort that never
/// recorded any such thing has none.
pub(super) fn non_finite_changed(a: &[Cell], b: &[Cell]) -> bool {
    let sum = |cells: &[Cell]| cells.iter().map(|cell| i128::from(cell.non_finite)).sum::<i128>();
    // Averages, compared without dividing.
    sum(a) * b.len().max(1) as i128 != sum(b) * a.len().max(1) as i128
}

fn row(label: &str, a: &[Cell], b: &[Cell]) -> TensorRow {
    let mean = |values: Vec<f64>| Some(values.iter().sum::<f64>() / values.len() as f64).filter(|m| m.is_finite());
    let rms = |cells: &[Cell]| mean(cells.iter().filter_map(|cell| cell.value).collect());
    let largest = |cells: &[Cell]| mean(cells.iter().filter_map(|cell| cell.second).collect());
    let ratio = |a: Option<f64>, b: Option<f64>| {
        let (a, b) = a.zip(b)?;
        // Two zeros are the same.
        if a == b { Some(1.0) } else { Some(b / a).filter(|r| a > 0.0 && r.is_finite()) }
    };
    let sum = |cells: &[Cell], of: fn(&Cell) -> i64| cells.iter().map(of).fold(0, i64::saturating_add);
    let non_finite = |cells: &[Cell]| sum(cells, |cell| cell.non_finite);
    TensorRow {
        label: shorten(label),
        rms_a: rms(a),
        rms_b: rms(b),
        rms_ratio: ratio(rms(a), rms(b)),
        abs_max_ratio: ratio(largest(a), largest(b)),
        non_finite_a: non_finite(a),
        non_finite_b: non_finite(b),
        non_finite_changed: non_finite_changed(a, b),
        samples_a: sum(a, |cell| cell.count),
        samples_b: sum(b, |cell| cell.count),
        runs_a: a.len(),
        runs_b: b.len(),
    }
}
