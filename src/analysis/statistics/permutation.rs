//! How often would chance alone put the means so far apart? Permutation tests (Fisher 1935, Pitman 1937).
//! In: two ascending cohorts, or ascending paired deltas. Out: two-sided p. Left to neighbours: ranks (`rank_sum`).

use super::counting::PMethod;
use super::random::{SEED, Stream};

/// Arrangements up to which all are tried: 10 against 10 samples have 184,756.
pub const ENUMERATED_ARRANGEMENTS: u64 = 200_000;

/// Arrangements drawn beyond that.
pub const DRAWN_ARRANGEMENTS: u64 = 10_000;

/// Pairs up to which all sign flips are tried: 2¹⁷ = 131,072.
const ENUMERATED_FLIPS: usize = 17;

/// Stream of the generator; 0 and 1 are the bootstrap's.
const STREAM: u64 = 2;

/// Sums that differ by less than this share of what was added are equal: rounding, not data.
const ROUNDING: f64 = 1e-12;

/// A permutation test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PermutationTest {
    /// Mean of the candidate less that of the baseline; of pairs, the mean delta.
    pub difference_of_means: f64,
    /// Share of the arrangements whose means are at least so far apart.
    pub p: f64,
    /// `Exact` or `Sampled`.
    pub method: PMethod,
    /// Arrangements tried.
    pub arrangements: u64,
    /// Only if drawn.
    pub seed: Option<u64>,
}

/// C(n, k), or `None` beyond `most`.
fn choose(n: usize, k: usize, most: u64) -> Option<u64> {
    let mut ways: u64 = 1;
    for i in 1..=k.min(n - k) as u64 {
        // Each partial product is itself a binomial coefficient and grows, so stopping early is safe.
        ways = ways.checked_mul(n as u64 - i + 1)? / i;
        if ways > most {
            return None;
        }
    }
    Some(ways)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// p of the difference of means of ascending cohorts, neither empty.
///
/// The mirror image has the same p: the arrangements are those of the smaller cohort, and of cohorts of equal size, of
/// the one that comes first in the order of their values.
pub(super) fn permutation(baseline: &[f64], candidate: &[f64]) -> PermutationTest {
    let first = baseline
        .len()
        .cmp(&candidate.len())
        .then_with(|| baseline.partial_cmp(candidate).unwrap_or(std::cmp::Ordering::Equal));
    let (own, rest) = if first.is_le() { (baseline, candidate) } else { (candidate, baseline) };
    // Less a sample from the middle: of 10⁹ ns with a spread of 10³ only the spread matters.
    let mut pooled: Vec<f64> = own.iter().chain(rest).copied().collect();
    pooled.sort_unstable_by(f64::total_cmp);
    let origin = pooled[pooled.len() / 2];
    pooled.iter_mut().for_each(|x| *x -= origin);
    let chosen = own.len();
    let total: f64 = pooled.iter().sum();
    let slack = ROUNDING * pooled.iter().map(|x| x.abs()).sum::<f64>();
    // The means are the further apart, the further the chosen sum is from its share of the total.
    let expected = total * (chosen as f64 / pooled.len() as f64);
    let bar = (own.iter().map(|x| x - origin).sum::<f64>() - expected).abs() - slack;
    let far = |sum: f64| (sum - expected).abs() >= bar;
    let difference_of_means = mean(candidate) - mean(baseline);
    match choose(pooled.len(), chosen, ENUMERATED_ARRANGEMENTS) {
        Some(arrangements) => {
            let reached = count_choices(&pooled, chosen, 0.0, &far);
            let p = reached as f64 / arrangements as f64;
            PermutationTest { difference_of_means, p, method: PMethod::Exact, arrangements, seed: None }
        }
        None => {
            let stream = Stream::new(SEED, STREAM);
            let mut counter = 0;
            // The first places of a shuffle; the next draw goes on from there, which is as random.
            let p = drawn_share(|| {
                let mut sum = 0.0;
                for at in 0..chosen {
                    let other = at + stream.below(pooled.len() - at, counter);
                    counter += 1;
                    pooled.swap(at, other);
                    sum += pooled[at];
                }
                far(sum)
            });
            sampled(difference_of_means, p)
        }
    }
}

/// p of the mean of ascending deltas, not empty, under flips of their signs. The least possible is 2 / 2ⁿ.
pub(super) fn sign_flips(deltas: &[f64]) -> PermutationTest {
    let difference_of_means = mean(deltas);
    let mut sizes: Vec<f64> = deltas.iter().map(|d| d.abs()).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    let bar = deltas.iter().sum::<f64>().abs() - ROUNDING * sizes.iter().sum::<f64>();
    if sizes.len() <= ENUMERATED_FLIPS {
        let arrangements = 1_u64 << sizes.len();
        let reached = count_flips(&sizes, 0.0, bar);
        let p = reached as f64 / arrangements as f64;
        return PermutationTest { difference_of_means, p, method: PMethod::Exact, arrangements, seed: None };
    }
    let stream = Stream::new(SEED, STREAM);
    let mut counter = 0;
    let p = drawn_share(|| {
        let mut sum = 0.0;
        for (at, size) in sizes.iter().enumerate() {
            // One draw gives 64 signs.
            let sign = stream.bits(counter + at as u64 / 64) >> (at % 64) & 1;
            sum += if sign == 1 { *size } else { -size };
        }
        counter += sizes.len().div_ceil(64) as u64;
        sum.abs() >= bar
    });
    sampled(difference_of_means, p)
}

fn sampled(difference_of_means: f64, p: f64) -> PermutationTest {
    PermutationTest {
        difference_of_means,
        p,
        method: PMethod::Sampled,
        arrangements: DRAWN_ARRANGEMENTS,
        seed: Some(SEED),
    }
}

/// (reached + 1) / (drawn + 1): the arrangement at hand is one of them, so p is never 0 (Phipson & Smyth 2010).
fn drawn_share(mut reaches: impl FnMut() -> bool) -> f64 {
    let reached = (0..DRAWN_ARRANGEMENTS).filter(|_| reaches()).count();
    (reached + 1) as f64 / (DRAWN_ARRANGEMENTS + 1) as f64
}

/// In how many ways `left` of `values`, added to `sum`, are far.
fn count_choices(values: &[f64], left: usize, sum: f64, far: &impl Fn(f64) -> bool) -> u64 {
    if left == 0 {
        return far(sum).into();
    }
    (0..=values.len() - left).map(|at| count_choices(&values[at + 1..], left - 1, sum + values[at], far)).sum()
}

fn count_flips(sizes: &[f64], sum: f64, bar: f64) -> u64 {
    match sizes.split_last() {
        None => (sum.abs() >= bar).into(),
        Some((size, rest)) => count_flips(rest, sum + size, bar) + count_flips(rest, sum - size, bar),
    }
}
