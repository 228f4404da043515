//! The interval that the verdict rests on.
//! In: two ascending cohorts, or ascending paired deltas. Out: bounds, how they were had, and how often they hold. Left
//! to neighbours: the parts it is made of (`bootstrap`, `shift`), the verdict.

use super::bootstrap::{Method, Resampler};
use super::shift::{LevelKind, Shift};
use super::summary::median_of_sorted;

/// What the interval is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Median of the candidate less that of the baseline.
    DifferenceOfMedians,
    /// Median of candidate − baseline over the pairs.
    MedianOfPairedDeltas,
}

impl Statistic {
    pub fn as_str(self) -> &'static str {
        match self {
            Statistic::DifferenceOfMedians => "difference_of_medians",
            Statistic::MedianOfPairedDeltas => "median_of_paired_deltas",
        }
    }
}

/// The level that is asked for.
pub const NOMINAL_LEVEL: f64 = 0.95;

/// Fewest runs a cohort whose interval reaches the nominal level: 1 − 2 / C(8, 4) = 97.1 %.
const RUNS_NEEDED: usize = 4;

/// Fewest pairs whose interval reaches it: 1 − 2 / 2⁶ = 96.9 %; 5 pairs reach 93.75 %.
const PAIRS_NEEDED: usize = 6;

/// An interval, in the unit of the samples, candidate − baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub lower: f64,
    pub upper: f64,
    pub statistic: Statistic,
    pub method: Method,
    /// Distinct resamples enumerated, or resamples drawn; 0 for pairs, which are not resampled.
    pub resamples: u64,
    /// Only if drawn.
    pub seed: Option<u64>,
    /// 0.95.
    pub nominal_level: f64,
    /// How often the interval covers, as far as it is known: see `level_kind`.
    pub level: f64,
    pub level_kind: LevelKind,
    /// Runs a cohort, or pairs, from which on the level is at least nominal; only if it is not.
    pub runs_needed_for_95: Option<usize>,
}

impl Interval {
    /// The bounds in percent of `median`; `None` unless it is above zero.
    pub fn percent_of(&self, median: f64) -> Option<(f64, f64)> {
        Some((percent(self.lower, median)?, percent(self.upper, median)?))
    }

    /// The larger distance from `estimate` to a bound: a change by more than this would have been told from none.
    pub fn reach(&self, estimate: f64) -> f64 {
        (estimate - self.lower).max(self.upper - estimate)
    }
}

/// `part` in percent of `whole`; `None` unless `whole` is above zero and the result a finite number.
pub(super) fn percent(part: f64, whole: f64) -> Option<f64> {
    Some(100.0 * (part / whole)).filter(|p| whole > 0.0 && p.is_finite())
}

/// The least interval that contains the bootstrap's, the exact one of `shift` and the estimate. `None` for an empty
/// cohort.
pub(super) fn of_cohorts(
    resampler: &mut Resampler,
    baseline: &[f64],
    candidate: &[f64],
    shift: &Shift,
) -> Option<Interval> {
    let quantiles = resampler.quantiles(baseline, candidate)?;
    let estimate = median_of_sorted(candidate) - median_of_sorted(baseline);
    let (lower, upper) = hull(shift, quantiles.lower.min(estimate), quantiles.upper.max(estimate));
    let same = (lower, upper) == (shift.lower, shift.upper);
    Some(Interval {
        lower,
        upper,
        statistic: Statistic::DifferenceOfMedians,
        method: quantiles.method,
        resamples: quantiles.resamples,
        seed: quantiles.seed,
        nominal_level: NOMINAL_LEVEL,
        level: shift.level,
        level_kind: if same || shift.level_kind != LevelKind::Exact { shift.level_kind } else { LevelKind::AtLeast },
        runs_needed_for_95: (shift.level < NOMINAL_LEVEL).then_some(RUNS_NEEDED),
    })
}

fn hull(shift: &Shift, lower: f64, upper: f64) -> (f64, f64) {
    (shift.lower.min(lower), shift.upper.max(upper))
}

/// The exact interval of `shift`, widened to contain the median delta if it must.
pub(super) fn of_pairs(deltas: &[f64], shift: &Shift) -> Interval {
    let median = median_of_sorted(deltas);
    let (lower, upper) = hull(shift, median, median);
    Interval {
        lower,
        upper,
        statistic: Statistic::MedianOfPairedDeltas,
        method: Method::OrderStatistics,
        resamples: 0,
        seed: None,
        nominal_level: NOMINAL_LEVEL,
        level: shift.level,
        level_kind: shift.level_kind,
        runs_needed_for_95: (shift.level < NOMINAL_LEVEL).then_some(PAIRS_NEEDED),
    }
}
