//! What chance makes of one implementation: the differences between halves of one cohort.
//! In: the samples of one cohort. Out: the distribution of the absolute median delta over its half splits, and halves
//! laid out as two cohorts are. Left to neighbours: which runs may be one cohort (`evidence`), words (`output`).

use super::design::Side;
use super::random::{SEED, Stream};
use super::summary::{ascending, median_in_place, median_of_sorted, quantile_of_sorted};

/// Splits up to which all are looked at; of more, so many are drawn. C(16, 8) = 12,870 are still counted.
pub const SPLITS: u64 = 20_000;

/// The stream of random splits: 1 is that of resamples, 2 that of arrangements, 3 that of plans.
const STREAM: u64 = 4;

/// How far halves of one cohort are apart, in percent of the cohort's median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Runs of the smaller half.
    pub half: usize,
    /// Splits that were looked at.
    pub splits: u64,
    /// Of the generator; `None`: all splits were looked at.
    pub seed: Option<u64>,
    /// Median of the absolute difference of the halves' medians.
    pub median_percent: f64,
    /// Its 95th percentile: the noise floor.
    pub p95_percent: f64,
    /// The largest that was met.
    pub most_percent: f64,
}

/// The noise of one cohort; `None` of fewer than two runs, of a median that is not above zero, or as of
/// [`super::ascending`].
pub fn noise(samples: &[f64]) -> Option<Noise> {
    // In ascending order, so that the order of the input decides nothing, not even which splits are drawn.
    let sorted = ascending(samples)?;
    let (n, half) = (sorted.len(), sorted.len() / 2);
    let median = Some(median_of_sorted(&sorted)).filter(|m| *m > 0.0 && half > 0)?;
    let mut deltas = Vec::new();
    let (mut first, mut second) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let mut look = |chosen: &[bool]| {
        first.clear();
        second.clear();
        for (x, chosen) in sorted.iter().zip(chosen) {
            if *chosen { first.push(*x) } else { second.push(*x) }
        }
        deltas.push(100.0 * ((median_of_sorted(&first) - median_of_sorted(&second)).abs() / median));
    };
    let mut chosen = vec![false; n];
    let seed = if choose(n, half).is_some_and(|ways| ways <= SPLITS) {
        chosen[..half].fill(true);
        look(&chosen);
        while next_choice(&mut chosen) {
            look(&chosen);
        }
        None
    } else {
        let stream = Stream::new(SEED, STREAM);
        for split in 0..SPLITS {
            draw(&mut chosen, half, stream, split);
            look(&chosen);
        }
        Some(SEED)
    };
    let splits = deltas.len() as u64;
    let median_percent = median_in_place(&mut deltas);
    deltas.sort_unstable_by(f64::total_cmp);
    Some(Noise {
        half,
        splits,
        seed,
        median_percent,
        p95_percent: quantile_of_sorted(&deltas, 0.95),
        most_percent: deltas.last().copied().unwrap_or_default(),
    })
}

/// The sides that runs in start order have in the A/A comparison that is shown: ABBAABBA…, in which a steady drift cancels.
pub fn halves(runs: usize) -> Vec<Side> {
    let side = |at: usize| if matches!(at % 4, 0 | 3) { Side::Baseline } else { Side::Candidate };
    (0..runs).map(side).collect()
}

/// C(n, k); `None` beyond 2⁶⁴.
fn choose(n: usize, k: usize) -> Option<u64> {
    // After each step it is a binomial coefficient: the division leaves nothing.
    (0..k as u64).try_fold(1u64, |ways, i| Some(ways.checked_mul(n as u64 - i)? / (i + 1)))
}

/// The next choice of as many, in the order of the numbers that its bits are; whether there is one.
fn next_choice(chosen: &mut [bool]) -> bool {
    // The first chosen place whose next is free moves on; those before it go back to the beginning.
    let Some(at) = (1..chosen.len()).find(|at| chosen[at - 1] && !chosen[*at]) else { return false };
    let before = chosen[..at - 1].iter().filter(|c| **c).count();
    chosen[at] = true;
    chosen[..at].fill(false);
    chosen[..before].fill(true);
    true
}

/// A random choice of `k` (Floyd): as many numbers as are chosen, whatever n is.
fn draw(chosen: &mut [bool], k: usize, stream: Stream, split: u64) {
    let n = chosen.len();
    chosen.fill(false);
    for (step, last) in (n - k..n).enumerate() {
        let at = stream.below(last + 1, split * k as u64 + step as u64);
        let at = if chosen[at] { last } else { at };
        chosen[at] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_comes_once() {
        for (n, k) in [(2, 1), (5, 2), (6, 3), (10, 5), (11, 5)] {
            let mut chosen = vec![false; n];
            chosen[..k].fill(true);
            let mut seen = std::collections::BTreeSet::from([chosen.clone()]);
            while next_choice(&mut chosen) {
                assert_eq!(chosen.iter().filter(|c| **c).count(), k);
                assert!(seen.insert(chosen.clone()), "{chosen:?} comes twice");
            }
            assert_eq!(Some(seen.len() as u64), choose(n, k), "{n} {k}");
        }
    }

    #[test]
    fn four_runs_by_hand() {
        // 1 2 | 3 10: 1.5 and 6.5, 5; 1 3 | 2 10: 2 and 6, 4; 1 10 | 2 3: 5.5 and 2.5, 3; each twice. The median is 2.5.
        let noise = noise(&[3.0, 1.0, 10.0, 2.0]).expect("four runs");
        assert_eq!((noise.half, noise.splits, noise.seed), (2, 6, None));
        assert_eq!((noise.median_percent, noise.most_percent), (160.0, 200.0));
        // Of 120 120 160 160 200 200 the place 4.75 is the last but one and the last.
        assert_eq!(noise.p95_percent, 200.0);
    }

    #[test]
    fn many_runs_are_sampled_whatever_their_order() {
        let samples: Vec<f64> = (0..40).map(|i| 100.0 + f64::from(i * 7 % 40)).collect();
        let noise = noise(&samples).expect("forty runs");
        assert_eq!((noise.half, noise.splits, noise.seed), (20, SPLITS, Some(SEED)));
        assert!(noise.median_percent > 0.0 && noise.median_percent < noise.p95_percent, "{noise:?}");
        let reversed: Vec<f64> = samples.iter().rev().copied().collect();
        assert_eq!(super::noise(&reversed), Some(noise));
    }

    #[test]
    fn draws_are_choices_and_hit_every_place() {
        let mut hits = [0; 20];
        let mut chosen = vec![false; 20];
        for split in 0..2_000 {
            draw(&mut chosen, 10, Stream::new(SEED, STREAM), split);
            assert_eq!(chosen.iter().filter(|c| **c).count(), 10);
            hits.iter_mut().zip(&chosen).for_each(|(hits, chosen)| *hits += u32::from(*chosen));
        }
        // 1,000 expected, standard deviation 22.
        assert!(hits.iter().all(|h| (890..1110).contains(h)), "{hits:?}");
    }

    #[test]
    fn nothing_comes_of_nothing() {
        assert_eq!(noise(&[]), None);
        assert_eq!(noise(&[1.0]), None);
        assert_eq!(noise(&[0.0, 0.0]), None);
        assert_eq!(noise(&[1.0, f64::NAN]), None);
        assert_eq!(noise(&[5.0; 12]).map(|n| (n.median_percent, n.p95_percent)), Some((0.0, 0.0)));
    }
}
