//! By how much, in ranks: the Hodges-Lehmann shift and order statistics of all pairwise differences.
//! In: two ascending cohorts, or ascending paired deltas. Out: the estimate and an interval of known level. Left to
//! neighbours: the interval that the verdict rests on (`interval`).
//!
//! The differences are never listed: a million of them at 1,000 against 1,000. The table of differences of two
//! ascending lists is ascending in both directions, so how many lie at or below a value takes one walk along its edge,
//! and the k-th is found by halving the 64-bit patterns of the numbers: at most 64 walks, and the exact number.

use super::counting::{COUNTED_PAIRS, countable, mann_whitney_shares, signed_rank_ways};
use super::normal::{Z_975, above};
use super::summary::twelve_digits;

/// How an interval's level is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelKind {
    /// Counted: the interval covers a pure shift with this probability, whatever the distribution.
    Exact,
    /// Counted for an interval that this one contains: it covers a pure shift at least so often.
    AtLeast,
    /// By the normal distribution of the rank statistic.
    Approximate,
}

impl LevelKind {
    pub fn as_str(self) -> &'static str {
        match self {
            LevelKind::Exact => "exact",
            LevelKind::AtLeast => "at_least",
            LevelKind::Approximate => "approximate",
        }
    }
}

/// An estimated shift, candidate − baseline, between two order statistics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    pub estimate: f64,
    pub lower: f64,
    pub upper: f64,
    /// Probability that the interval covers a shift between cohorts of equal shape (for pairs: of symmetric deltas).
    pub level: f64,
    pub level_kind: LevelKind,
}

/// Which order statistic from either end bounds the interval, and its level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rank {
    pub k: u64,
    pub level: f64,
    pub kind: LevelKind,
}

/// The largest k whose interval has a level of 95 % or more, from the shares of a symmetric statistic's values; 1 if
/// there is none.
pub(super) fn rank_of(shares: &[f64]) -> Rank {
    let (mut k, mut tail) = (1, shares[0]);
    while k < shares.len() && 2.0 * (tail + shares[k]) <= 0.05 {
        tail += shares[k];
        k += 1;
    }
    Rank { k: k as u64, level: (1.0 - 2.0 * tail).max(0.0), kind: LevelKind::Exact }
}

/// The same by the normal distribution, with mean and variance of the statistic.
fn rank_by_normal(mean: f64, variance: f64) -> Rank {
    let k = (mean + 0.5 - Z_975 * variance.sqrt()).floor().max(1.0);
    let tail = above((mean + 0.5 - k) / variance.sqrt());
    Rank { k: k as u64, level: twelve_digits(1.0 - 2.0 * tail), kind: LevelKind::Approximate }
}

/// Rank that bounds the interval of the differences of `a` and `b` samples (Mann & Whitney 1947, Lehmann 1963).
pub(super) fn difference_rank(a: usize, b: usize) -> Rank {
    if countable(a, b) {
        return rank_of(&mann_whitney_shares(a, b));
    }
    let (a, b) = (a as f64, b as f64);
    rank_by_normal(a * b / 2.0, a * b * (a + b + 1.0) / 12.0)
}

/// Rank that bounds the interval of the averages of `n` paired deltas (Wilcoxon 1945, Tukey 1949).
pub(super) fn walsh_rank(n: usize) -> Rank {
    if n <= COUNTED_PAIRS {
        let ranks: Vec<u64> = (1..=n as u64).collect();
        let mut shares = signed_rank_ways(&ranks);
        let all: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|s| *s /= all);
        return rank_of(&shares);
    }
    let n = n as f64;
    rank_by_normal(n * (n + 1.0) / 4.0, n * (n + 1.0) * (2.0 * n + 1.0) / 24.0)
}

/// A number's place among all numbers.
fn place(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn number(place: u64) -> f64 {
    f64::from_bits(if place >> 63 == 1 { place & !(1 << 63) } else { !place })
}

/// The least number with `at_or_below` ≥ `k`, between `least` and `most`.
fn kth(k: u64, least: f64, most: f64, at_or_below: impl Fn(f64) -> u64) -> f64 {
    let (mut low, mut high) = (place(least), place(most));
    while low < high {
        let middle = low + (high - low) / 2;
        if at_or_below(number(middle)) >= k {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    // A negative zero equals the zero that is meant.
    number(low) + 0.0
}

/// How many of the differences candidate − baseline are at most `value`.
fn differences_within(baseline: &[f64], candidate: &[f64], value: f64) -> u64 {
    // For each candidate, ascending, the baseline samples that are too small are ever more.
    let (mut too_small, mut count) = (0, 0);
    for c in candidate {
        while too_small < baseline.len() && c - baseline[too_small] > value {
            too_small += 1;
        }
        count += (baseline.len() - too_small) as u64;
    }
    count
}

/// The `k`-th smallest (from 1) difference of ascending cohorts.
fn kth_difference(baseline: &[f64], candidate: &[f64], k: u64) -> f64 {
    let (last_b, last_c) = (baseline[baseline.len() - 1], candidate[candidate.len() - 1]);
    kth(k, candidate[0] - last_b, last_c - baseline[0], |value| differences_within(baseline, candidate, value))
}

/// How many averages of two deltas (each with itself, too) are at most `value`.
fn averages_within(deltas: &[f64], value: f64) -> u64 {
    let (mut partners, mut count) = (deltas.len(), 0);
    for (at, delta) in deltas.iter().enumerate() {
        while partners > at && (delta + deltas[partners - 1]) / 2.0 > value {
            partners -= 1;
        }
        if partners <= at {
            break;
        }
        count += (partners - at) as u64;
    }
    count
}

fn kth_average(deltas: &[f64], k: u64) -> f64 {
    kth(k, deltas[0], deltas[deltas.len() - 1], |value| averages_within(deltas, value))
}

/// The estimate and the bounds, from `all` order statistics.
fn shift_of(rank: Rank, all: u64, kth: impl Fn(u64) -> f64) -> Shift {
    let (low, high) = (kth(all.div_ceil(2)), kth(all / 2 + 1));
    Shift {
        estimate: (low + high) / 2.0,
        lower: kth(rank.k),
        upper: kth(all + 1 - rank.k),
        level: rank.level,
        level_kind: rank.kind,
    }
}

/// Median of all differences of ascending cohorts, neither empty (Hodges & Lehmann 1963), between its bounds.
pub(super) fn shift_of_sorted(baseline: &[f64], candidate: &[f64], rank: Rank) -> Shift {
    let all = baseline.len() as u64 * candidate.len() as u64;
    shift_of(rank, all, |k| kth_difference(baseline, candidate, k))
}

/// Median of all averages of ascending deltas, not empty (Hodges & Lehmann 1963), between its bounds.
pub(super) fn walsh_of_sorted(deltas: &[f64], rank: Rank) -> Shift {
    let n = deltas.len() as u64;
    shift_of(rank, n * (n + 1) / 2, |k| kth_average(deltas, k))
}
