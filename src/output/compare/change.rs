//! Where the change lies: the same comparison, row by row.
//! In: what each run has of each label, operation, gradient. Out: rows with interval and p, those that certainly changed
//! most first. Left to neighbours: the primary metric, which no correction for many rows concerns.

use schemars::JsonSchema;
use serde::Serialize;

use super::inputs::{Cell, OpKey, Table};
use crate::analysis::statistics::{RowComparer, benjamini_hochberg, holm, median};
use crate::output::documents::Bounded;
use crate::text::shorten;

/// What one cohort has of a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Have {
    /// Runs that recorded it.
    pub runs: usize,
    /// Median over these runs of how often a run did.
    pub median_count: f64,
    /// Median of the runs' values; null: none is known.
    pub median: Option<f64>,
}

/// The bounds of a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Bounds {
    pub lower_delta: f64,
    pub upper_delta: f64,
    pub level: f64,
    /// `exact`, `at_least` or `approximate`.
    pub level_kind: &'static str,
}

/// How a row changed. Values are in the unit of its list; deltas are candidate less baseline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    pub baseline: Have,
    pub candidate: Have,
    /// Difference of the medians; of pairs, the median delta. Null where one cohort has no value.
    pub median_delta: Option<f64>,
    pub median_delta_percent: Option<f64>,
    /// The delta over that of the whole, where the verdict says that the whole changed.
    pub share_of_change: Option<f64>,
    /// Null unless the cohorts are comparable and every run of both has a value.
    pub confidence_interval: Option<Bounds>,
    /// Mann-Whitney; of pairs, Wilcoxon's signed ranks.
    pub p: Option<f64>,
    /// Adjusted for all rows of the list (Holm).
    pub p_holm: Option<f64>,
    /// The share of false findings to expect among the rows at or below it (Benjamini and Hochberg).
    pub q_benjamini_hochberg: Option<f64>,
    /// `ineligible`, `only_in_baseline`, `only_in_candidate`, `not_in_every_run`: why there is no interval.
    pub without_interval: Option<&'static str>,
}

/// A label's own time: host time in its spans outside their child spans, within the measured region. Unit: ns.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LabelChange {
    pub label: String,
    #[serde(flatten)]
    pub change: Change,
}

/// Host time of one kind of operation within the measured region. Unit: ns.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OperationChange {
    pub name: String,
    pub shape: Vec<i64>,
    pub dtype: String,
    #[serde(flatten)]
    pub change: Change,
}

/// What all rows share.
pub(super) struct Context<'a> {
    pub baseline: usize,
    pub candidate: usize,
    /// Of each pair the positions of its runs in their cohorts; empty: not paired.
    pub pairs: &'a [(usize, usize)],
    /// Whether there may be intervals.
    pub comparable: bool,
    /// Delta of the whole, where it is certain.
    pub whole: Option<f64>,
    /// Rows that are shown.
    pub limit: usize,
}

impl Context<'_> {
    /// The rows of a table of times.
    pub fn times<K, R>(&self, table: &Table<K>, row: impl Fn(&K, Change) -> R) -> Bounded<R> {
        self.rows(table, self.whole, row)
    }

    /// The rows of a table of anything else: no share of the time.
    pub fn values<K, R>(&self, table: &Table<K>, row: impl Fn(&K, Change) -> R) -> Bounded<R> {
        self.rows(table, None, row)
    }

    fn rows<K, R>(&self, table: &Table<K>, whole: Option<f64>, row: impl Fn(&K, Change) -> R) -> Bounded<R> {
        let mut comparer = RowComparer::new();
        let mut rows: Vec<(&K, Change)> =
            table.iter().map(|(key, cells)| (key, self.change(&mut comparer, cells, whole))).collect();
        adjust(&mut rows);
        // Ascending by key before: equal rows keep that order.
        rows.sort_by(|(_, a), (_, b)| weight(b).partial_cmp(&weight(a)).unwrap_or(std::cmp::Ordering::Equal));
        let total = rows.len();
        let shown = rows.into_iter().take(self.limit).map(|(key, change)| row(key, change)).collect();
        Bounded::part(shown, total)
    }

    fn change(&self, comparer: &mut RowComparer, cells: &[Cell], whole: Option<f64>) -> Change {
        let at = cells.partition_point(|cell| cell.run < self.baseline);
        let (b, c) = cells.split_at(at);
        let (baseline, candidate) = (have(b), have(c));
        let whole_of = |cells: &[Cell], runs: usize, first: usize| -> Option<Vec<f64>> {
            let values: Option<Vec<f64>> = cells.iter().map(|cell| cell.value).collect();
            let each = cells.iter().enumerate().all(|(at, cell)| cell.run == first + at);
            values.filter(|values| each && values.len() == runs)
        };
        let contrast =
            whole_of(b, self.baseline, 0).zip(whole_of(c, self.candidate, self.baseline)).and_then(|(b, c)| {
                match (self.comparable, self.pairs.is_empty()) {
                    (false, _) => None,
                    (true, true) => comparer.compare(&b, &c),
                    (true, false) => {
                        let of =
                            |pick: &dyn Fn(&(usize, usize)) -> f64| self.pairs.iter().map(pick).collect::<Vec<f64>>();
                        comparer.compare_paired(&of(&|(at, _)| b[*at]), &of(&|(_, at)| c[*at]))
                    }
                }
            });
        let delta = match &contrast {
            Some(contrast) => Some(contrast.difference),
            None => candidate.median.zip(baseline.median).map(|(c, b)| c - b),
        };
        let percent = delta.zip(baseline.median).filter(|(_, median)| *median > 0.0).map(|(d, m)| 100.0 * (d / m));
        let without_interval = match (&contrast, b.is_empty(), c.is_empty()) {
            (Some(_), ..) => None,
            (None, false, true) => Some("only_in_baseline"),
            (None, true, false) => Some("only_in_candidate"),
            _ if !self.comparable => Some("ineligible"),
            _ => Some("not_in_every_run"),
        };
        Change {
            baseline,
            candidate,
            median_delta: delta,
            median_delta_percent: percent.filter(|p| p.is_finite()),
            share_of_change: delta.zip(whole).map(|(d, w)| d / w).filter(|s| s.is_finite()),
            confidence_interval: contrast.map(|contrast| Bounds {
                lower_delta: contrast.interval.lower,
                upper_delta: contrast.interval.upper,
                level: contrast.interval.level,
                level_kind: contrast.interval.level_kind.as_str(),
            }),
            p: contrast.map(|contrast| contrast.rank_test.p),
            p_holm: None,
            q_benjamini_hochberg: None,
            without_interval,
        }
    }
}

fn have(cells: &[Cell]) -> Have {
    let counts: Vec<f64> = cells.iter().map(|cell| cell.count as f64).collect();
    let values: Vec<f64> = cells.iter().filter_map(|cell| cell.value).collect();
    Have { runs: cells.len(), median_count: median(&counts).unwrap_or_default(), median: median(&values) }
}

fn adjust<K>(rows: &mut [(K, Change)]) {
    let p: Vec<f64> = rows.iter().filter_map(|(_, change)| change.p).collect();
    let (Some(holm), Some(q)) = (holm(&p), benjamini_hochberg(&p)) else { return };
    for ((_, change), (holm, q)) in rows.iter_mut().filter(|(_, change)| change.p.is_some()).zip(holm.iter().zip(&q)) {
        change.p_holm = Some(*holm);
        change.q_benjamini_hochberg = Some(*q);
    }
}

/// How much certainly changed: the bound nearest to zero of an interval without it, all of what one cohort alone has;
/// then how much seems to have changed.
fn weight(change: &Change) -> (f64, f64) {
    let seems = change.median_delta.unwrap_or_default().abs();
    let certain = match (change.confidence_interval, change.without_interval) {
        (Some(bounds), _) => bounds.lower_delta.max(-bounds.upper_delta).max(0.0),
        (None, Some("only_in_baseline")) => change.baseline.median.unwrap_or_default().abs(),
        (None, Some("only_in_candidate")) => change.candidate.median.unwrap_or_default().abs(),
        _ => 0.0,
    };
    (certain, seems)
}

/// A label's row.
pub(super) fn label(label: &str, change: Change) -> LabelChange {
    LabelChange { label: shorten(label), change }
}

/// An operation's row.
pub(super) fn operation(key: &OpKey, change: Change) -> OperationChange {
    let (name, shape, dtype) = key;
    OperationChange { name: shorten(name), shape: shape.clone(), dtype: shorten(dtype), change }
}
