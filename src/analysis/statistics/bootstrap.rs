//! The bootstrap of the difference of medians, as two order statistics of its distribution.
//! In: two ascending cohorts. Out: the 2.5 % and 97.5 % quantiles and how they were had. Left to neighbours: the
//! shipped interval, which is never narrower than the exact rank interval (`interval`).
//!
//! Which ranks make up a resample's median depends on the number of samples alone, never on their values. So the ranks
//! are had once for each size, and each of hundreds of rows costs look-ups.

use std::collections::BTreeMap;

use super::random::{SEED, Stream};

/// Up to this many samples a side every resample is enumerated: 1,716 × 1,716 distinct ones at 7 against 7.
pub const ENUMERATED: usize = 7;

/// Resamples beyond that.
pub const RESAMPLES: usize = 10_000;

/// Largest cohort that is resampled in full: a cohort of n costs 10,000 × n draws, once. Of a larger one so many
/// samples are, evenly spaced in order; their median varies a little more than that of all.
const DRAWN: usize = 20_000;

/// How a bootstrap distribution was had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Every distinct resample, with its multinomial weight.
    ExactEnumeration,
    /// Drawn with a fixed seed.
    Sampled,
    /// No resamples: order statistics of the pairs' deltas and their averages.
    OrderStatistics,
}

impl Method {
    pub fn as_str(self) -> &'static str {
        match self {
            Method::ExactEnumeration => "exact_enumeration",
            Method::Sampled => "sampled",
            Method::OrderStatistics => "order_statistics",
        }
    }
}

/// The middle 95 % of a bootstrap distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiles {
    pub lower: f64,
    pub upper: f64,
    pub method: Method,
    /// Distinct pairs of resamples enumerated, or pairs drawn.
    pub resamples: u64,
    /// Only if drawn.
    pub seed: Option<u64>,
}

/// The two middle ranks of a resample, equal if the number of samples is odd.
type Middle = (u32, u32);

/// All resamples of a size: the middle ranks they can have, with the number of ordered draws that lead there.
struct Enumerated {
    middles: Vec<(Middle, u64)>,
    /// Distinct multisets: C(2n − 1, n).
    distinct: u64,
    /// Ordered draws: nⁿ.
    draws: u64,
}

/// Middle ranks by size, computed when first asked for.
#[derive(Default)]
pub struct Resampler {
    enumerated: BTreeMap<usize, Enumerated>,
    drawn: BTreeMap<usize, [Vec<Middle>; 2]>,
    values: Vec<f64>,
}

impl Resampler {
    pub fn new() -> Self {
        Self::default()
    }

    /// The middle 95 % of median(candidate*) − median(baseline*). Both cohorts ascending; `None` if one is empty.
    ///
    /// Swapping the cohorts negates and swaps the bounds, bit for bit: the quantiles are the k-th smallest and the k-th
    /// largest, and each pair of drawn streams is used both ways round.
    pub fn quantiles(&mut self, baseline: &[f64], candidate: &[f64]) -> Option<Quantiles> {
        if baseline.is_empty() || candidate.is_empty() {
            return None;
        }
        if baseline.len().max(candidate.len()) <= ENUMERATED {
            self.enumerate(baseline, candidate)
        } else {
            self.sample(baseline, candidate)
        }
    }

    fn enumerate(&mut self, baseline: &[f64], candidate: &[f64]) -> Option<Quantiles> {
        for n in [baseline.len(), candidate.len()] {
            self.enumerated.entry(n).or_insert_with(|| Enumerated::of(n));
        }
        let (b, c) = (self.enumerated.get(&baseline.len())?, self.enumerated.get(&candidate.len())?);
        let mut atoms: Vec<(f64, u64)> = Vec::with_capacity(b.middles.len() * c.middles.len());
        for (middle, weight) in &c.middles {
            let value = median_at(candidate, *middle);
            atoms.extend(b.middles.iter().map(|(m, w)| (value - median_at(baseline, *m), weight * w)));
        }
        atoms.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
        // A tail is the least number of resamples that is at least 2.5 %: integers, so that both ends are judged alike.
        let tail = (b.draws * c.draws).div_ceil(40);
        Some(Quantiles {
            lower: tail_end(atoms.iter(), tail)?,
            upper: tail_end(atoms.iter().rev(), tail)?,
            method: Method::ExactEnumeration,
            resamples: b.distinct * c.distinct,
            seed: None,
        })
    }

    fn sample(&mut self, baseline: &[f64], candidate: &[f64]) -> Option<Quantiles> {
        for n in [baseline.len(), candidate.len()] {
            self.drawn.entry(n).or_insert_with(|| [draw(n, 0), draw(n, 1)]);
        }
        let (b, c) = (self.drawn.get(&baseline.len())?, self.drawn.get(&candidate.len())?);
        self.values.clear();
        for (one, other) in [(0, 1), (1, 0)] {
            let pairs = c[one].iter().zip(&b[other]);
            self.values.extend(pairs.map(|(x, y)| median_at(candidate, *x) - median_at(baseline, *y)));
        }
        let count = self.values.len();
        let tail = count.div_ceil(40);
        let (_, lower, above) = self.values.select_nth_unstable_by(tail - 1, f64::total_cmp);
        let lower = *lower;
        let (_, upper, _) = above.select_nth_unstable_by(count - 2 * tail, f64::total_cmp);
        Some(Quantiles { lower, upper: *upper, method: Method::Sampled, resamples: count as u64, seed: Some(SEED) })
    }
}

/// The first value by which `tail` resamples are reached.
fn tail_end<'a>(mut atoms: impl Iterator<Item = &'a (f64, u64)>, tail: u64) -> Option<f64> {
    let mut seen = 0;
    atoms
        .find(|(_, weight)| {
            seen += weight;
            seen >= tail
        })
        .map(|(value, _)| *value)
}

fn median_at(sorted: &[f64], (low, high): Middle) -> f64 {
    let (low, high) = (sorted[low as usize], sorted[high as usize]);
    (low + high) / 2.0
}

impl Enumerated {
    fn of(n: usize) -> Self {
        let mut all = Enumerated { middles: Vec::new(), distinct: 0, draws: (n as u64).pow(n as u32) };
        let mut weights = BTreeMap::new();
        // From `rank` on, `left` draws are to be placed; `weight` counts the orders of those placed before.
        fn place(
            n: usize,
            rank: usize,
            left: usize,
            weight: u64,
            low: Option<u32>,
            found: &mut dyn FnMut(Middle, u64),
        ) {
            let placed = n - left;
            let mut ways = 1;
            for count in 0..=left {
                // C(left, count), from the one before.
                if count > 0 {
                    ways = ways * (left - count + 1) as u64 / count as u64;
                }
                let reached = placed + count;
                let low = low.or((reached > (n - 1) / 2).then_some(rank as u32));
                if let (Some(low), true) = (low, reached > n / 2) {
                    // Where the rest falls does not matter any more, only in how many ways: orders and multisets.
                    let ranks_left = (n - rank - 1) as u64;
                    let rest = (left - count) as u32;
                    if rest == 0 || ranks_left > 0 {
                        found((low, rank as u32), weight * ways * ranks_left.pow(rest));
                    }
                } else if rank + 1 < n {
                    place(n, rank + 1, left - count, weight * ways, low, found);
                }
            }
        }
        place(n, 0, n, 1, None, &mut |middle, weight| *weights.entry(middle).or_insert(0) += weight);
        all.middles = weights.into_iter().collect();
        all.distinct = (1..n as u64).fold(1, |c, i| c * (n as u64 + i) / i);
        all
    }
}

/// Middle ranks of half the resamples, from stream `number`. (Each is paired both ways round, which makes the whole.)
fn draw(n: usize, number: u64) -> Vec<Middle> {
    let stream = Stream::new(SEED, number);
    let drawn = n.min(DRAWN);
    let mut counts = vec![0_u32; drawn];
    let middle = |counts: &[u32], place: usize| {
        let mut seen = 0;
        counts.iter().position(|c| {
            seen += *c as usize;
            seen > place
        })
    };
    (0..RESAMPLES as u64 / 2)
        .map(|resample| {
            counts.fill(0);
            for i in 0..drawn as u64 {
                counts[stream.below(drawn, resample * drawn as u64 + i)] += 1;
            }
            let at = |place| (middle(&counts, place).unwrap_or_default() * n / drawn) as u32;
            (at((drawn - 1) / 2), at(drawn / 2))
        })
        .collect()
}
