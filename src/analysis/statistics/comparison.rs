//! Two cohorts side by side, everything that is said of them.
//! In: samples of each, in any order (of pairs: in the same order). Out: summaries, interval, tests, power. Left to
//! neighbours: whether the cohorts may be compared, order of runs (`design`), many rows (`adjust`).

use std::collections::BTreeMap;

use super::bootstrap::Resampler;
use super::interval::{self, Interval, percent};
use super::permutation::{PermutationTest, permutation, sign_flips};
use super::power;
use super::rank_sum::{RankSums, RankTest};
use super::shift::{Rank, Shift, difference_rank, shift_of_sorted, walsh_of_sorted, walsh_rank};
use super::signed_rank::signed_rank;
use super::summary::{Summary, ascending, median_of_sorted, outliers, summary_of_sorted};
use super::verdict::Verdict;
use super::welch::{Welch, welch};

/// Spread ratio from which on, or below whose inverse, the spreads are said to differ. Of two cohorts of 5 with the
/// same normal noise that happens in 15 of 100, of 10 in 2, of 20 in 0.1.
pub const SPREADS_DIFFER: f64 = 4.0;

/// What is said of one metric of two cohorts: cheap enough for hundreds of rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    pub baseline: Summary,
    pub candidate: Summary,
    /// Of the deltas, if the cohorts are paired.
    pub deltas: Option<Summary>,
    /// Median of the candidate less that of the baseline; of pairs, the median delta. Below zero is faster.
    pub difference: f64,
    /// The same in percent of the baseline's median; `None` unless that is above zero.
    pub percent: Option<f64>,
    pub interval: Interval,
    /// Hodges-Lehmann estimate between its exact bounds.
    pub shift: Shift,
    /// Mann-Whitney; of pairs, Wilcoxon's signed ranks.
    pub rank_test: RankTest,
}

impl Contrast {
    /// The smallest change that these cohorts could have shown: the larger distance from the difference to a bound of
    /// the interval. (The interval moves along with a shift; a change of that size would just have left out zero.)
    pub fn smallest_change(&self) -> f64 {
        self.interval.reach(self.difference)
    }

    /// The same in percent of the baseline's median; `None` unless that is above zero.
    pub fn smallest_change_percent(&self) -> Option<f64> {
        percent(self.smallest_change(), self.baseline.median)
    }

    /// Runs a cohort, or pairs, that show an effect of so many percent of the baseline's median four times in five,
    /// with the spread seen here; `None` unless effect and median are above zero, or if a million would not do.
    pub fn runs_needed(&self, effect_percent: f64) -> Option<u64> {
        let effect = Some(effect_percent / 100.0 * self.baseline.median).filter(|e| *e > 0.0)?;
        match &self.deltas {
            Some(deltas) => power::pairs_needed(power::spread(deltas), effect),
            None => {
                let (b, c) = (power::spread(&self.baseline), power::spread(&self.candidate));
                power::runs_needed(((b * b + c * c) / 2.0).sqrt(), effect)
            }
        }
    }

    /// See [`Verdict::of`].
    pub fn verdict(&self, threshold_percent: Option<f64>) -> Verdict {
        Verdict::of(&self.interval, self.baseline.median, threshold_percent)
    }
}

/// Everything that is said of the primary metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub contrast: Contrast,
    pub permutation: PermutationTest,
    /// `None` for pairs, and where a logarithm is not to be had.
    pub welch: Option<Welch>,
    /// MAD of the candidate over that of the baseline; `None` if either is zero.
    pub spread_ratio: Option<f64>,
    /// Whether the ratio is beyond [`SPREADS_DIFFER`]: then Welch's t is the second opinion.
    pub spreads_differ: bool,
    /// Positions of samples that stand apart, in the order of the input.
    pub baseline_outliers: Vec<usize>,
    pub candidate_outliers: Vec<usize>,
}

/// Compares row after row and remembers what depends on the numbers of samples alone: resamples, distributions, ranks.
#[derive(Default)]
pub struct RowComparer {
    resampler: Resampler,
    rank_sums: RankSums,
    difference_ranks: BTreeMap<(usize, usize), Rank>,
    walsh_ranks: BTreeMap<usize, Rank>,
}

impl RowComparer {
    pub fn new() -> Self {
        Self::default()
    }

    /// Two independent cohorts. `None` if one is empty, or holds a sample that is not a number of at most
    /// [`super::LARGEST`].
    pub fn compare(&mut self, baseline: &[f64], candidate: &[f64]) -> Option<Contrast> {
        self.compare_sorted(&ascending(baseline)?, &ascending(candidate)?)
    }

    fn compare_sorted(&mut self, baseline: &[f64], candidate: &[f64]) -> Option<Contrast> {
        let (b, c) = (baseline.len(), candidate.len());
        let rank = *self.difference_ranks.entry((b.min(c), b.max(c))).or_insert_with(|| difference_rank(b, c));
        let shift = shift_of_sorted(baseline, candidate, rank);
        let difference = median_of_sorted(candidate) - median_of_sorted(baseline);
        let summary = summary_of_sorted(baseline);
        Some(Contrast {
            baseline: summary,
            candidate: summary_of_sorted(candidate),
            deltas: None,
            difference,
            percent: percent(difference, summary.median),
            interval: interval::of_cohorts(&mut self.resampler, baseline, candidate, &shift)?,
            shift,
            rank_test: self.rank_sums.test(baseline, candidate),
        })
    }

    /// Paired cohorts: the samples at one position belong together. `None` as of [`Self::compare`], or if there are not
    /// as many of each.
    pub fn compare_paired(&mut self, baseline: &[f64], candidate: &[f64]) -> Option<Contrast> {
        self.compare_deltas(&ascending_deltas(baseline, candidate)?, baseline, candidate)
    }

    fn compare_deltas(&mut self, deltas: &[f64], baseline: &[f64], candidate: &[f64]) -> Option<Contrast> {
        let n = deltas.len();
        let rank = *self.walsh_ranks.entry(n).or_insert_with(|| walsh_rank(n));
        let shift = walsh_of_sorted(deltas, rank);
        let difference = median_of_sorted(deltas);
        let summary = summary_of_sorted(&ascending(baseline)?);
        Some(Contrast {
            baseline: summary,
            candidate: summary_of_sorted(&ascending(candidate)?),
            deltas: Some(summary_of_sorted(deltas)),
            difference,
            percent: percent(difference, summary.median),
            interval: interval::of_pairs(deltas, &shift),
            shift,
            rank_test: signed_rank(deltas),
        })
    }
}

/// candidate − baseline, pair by pair, in ascending order.
fn ascending_deltas(baseline: &[f64], candidate: &[f64]) -> Option<Vec<f64>> {
    if baseline.len() != candidate.len() {
        return None;
    }
    ascending(&candidate.iter().zip(baseline).map(|(c, b)| c - b).collect::<Vec<f64>>())
}

/// Everything about two independent cohorts. `None` as of [`RowComparer::compare`].
///
/// ```
/// # use candle_graph::analysis::statistics::{Verdict, compare};
/// let comparison = compare(&[10.0, 10.2, 9.9, 10.1, 10.3], &[9.0, 9.1, 8.8, 9.3, 9.2]).unwrap();
/// assert_eq!(comparison.contrast.verdict(None), Verdict::CandidateFaster);
/// ```
pub fn compare(baseline: &[f64], candidate: &[f64]) -> Option<Comparison> {
    let (b, c) = (ascending(baseline)?, ascending(candidate)?);
    let contrast = RowComparer::new().compare_sorted(&b, &c)?;
    Some(Comparison { welch: welch(&b, &c), ..comparison(contrast, permutation(&b, &c), baseline, candidate) })
}

/// Everything about two paired cohorts. `None` as of [`RowComparer::compare_paired`].
pub fn compare_paired(baseline: &[f64], candidate: &[f64]) -> Option<Comparison> {
    let deltas = ascending_deltas(baseline, candidate)?;
    let contrast = RowComparer::new().compare_deltas(&deltas, baseline, candidate)?;
    Some(comparison(contrast, sign_flips(&deltas), baseline, candidate))
}

fn comparison(contrast: Contrast, permutation: PermutationTest, baseline: &[f64], candidate: &[f64]) -> Comparison {
    let ratio = contrast.candidate.mad / contrast.baseline.mad;
    let spread_ratio = Some(ratio).filter(|r| r.is_finite() && *r > 0.0);
    Comparison {
        contrast,
        permutation,
        welch: None,
        spread_ratio,
        spreads_differ: spread_ratio.is_some_and(|r| !(1.0 / SPREADS_DIFFER..=SPREADS_DIFFER).contains(&r)),
        baseline_outliers: outliers(baseline),
        candidate_outliers: outliers(candidate),
    }
}
