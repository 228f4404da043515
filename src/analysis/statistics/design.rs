//! The design of the runs is evidence too: in which order they were started, and what drifted meanwhile.
//! In: cohort labels in start order, with their samples. Out: interleaved or blocked, drift with its p, a plan that
//! avoids both. Left to neighbours: start times and hosts, the verdict.
//!
//! Drift is looked for within each cohort, never across: a real difference between them is then no drift. That makes
//! Kendall's S a sum of one S a cohort (Hirsch, Slack & Smith 1982, who had seasons) with an exact distribution, where
//! residuals from each cohort's median would tie by construction: with odd cohorts, both medians are a residual of
//! zero.

use super::counting::{PMethod, inversion_shares};
use super::normal::two_sided;
use super::random::Stream;
use super::summary::{LARGEST, median_in_place};

/// The cohort a run belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    Baseline,
    Candidate,
}

impl Side {
    pub fn as_str(self) -> &'static str {
        match self {
            Side::Baseline => "baseline",
            Side::Candidate => "candidate",
        }
    }
}

/// How the cohorts follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Interleaved,
    /// Fewer changes of cohort than chance would give: what drifts over the session looks like a difference.
    Blocked,
}

impl Order {
    pub fn as_str(self) -> &'static str {
        match self {
            Order::Interleaved => "interleaved",
            Order::Blocked => "blocked",
        }
    }
}

/// The order of runs of two cohorts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// `Blocked` if a random order has so few stretches with a probability of at most 5 % (Wald & Wolfowitz 1940), or
    /// if all of one cohort came before the other. At 5 against 5 that is 2 or 3 stretches; ABBAABBAAB has 6.
    pub order: Order,
    /// Stretches of one cohort without a break.
    pub stretches: usize,
    pub longest_stretch: usize,
    /// Probability of at most so many stretches in random order.
    pub p_so_few: f64,
    /// Mean place of the candidate's runs less that of the baseline's, in runs: 0 in ABBA order, 5 in AAAAABBBBB. A
    /// drift of 1 % a run moves the difference by that many percent.
    pub place_gap: f64,
}

/// Arrangements up to which stretches are counted; beyond, C(n, n/2) leaves the range of floating point.
const COUNTED_RUNS: usize = 1_000;

/// The design that a start order has; `None` if one of the cohorts has no run.
pub fn design(order: &[Side]) -> Option<Design> {
    let n = order.len();
    let places = |side: Side| order.iter().enumerate().filter(move |(_, s)| **s == side).map(|(at, _)| at as f64);
    let (b, c) = (places(Side::Baseline).count(), places(Side::Candidate).count());
    if b == 0 || c == 0 {
        return None;
    }
    let lengths = order.chunk_by(|x, y| x == y).map(<[Side]>::len);
    let (stretches, longest_stretch) = lengths.fold((0, 0), |(count, longest), l| (count + 1, l.max(longest)));
    let p_so_few = if n <= COUNTED_RUNS {
        let choose = |n: usize, k: usize| (0..k).fold(1.0, |ways, i| ways * (n - i) as f64 / (i + 1) as f64);
        // k stretches of one cohort can be cut in C(size − 1, k − 1) ways.
        let cut = |size: usize, k: usize| if (1..=size).contains(&k) { choose(size - 1, k - 1) } else { 0.0 };
        let ways = |r: usize| {
            let half = r / 2;
            match r % 2 {
                0 => 2.0 * cut(b, half) * cut(c, half),
                _ => cut(b, half + 1) * cut(c, half) + cut(b, half) * cut(c, half + 1),
            }
        };
        ((2..=stretches).map(ways).sum::<f64>() / choose(n, b.min(c))).min(1.0)
    } else {
        let (x, n) = (2.0 * b as f64 * c as f64, n as f64);
        let variance = x * (x - n) / (n * n * (n - 1.0));
        // One side of the two, with its continuity correction.
        let excess = x / n + 1.0 - stretches as f64;
        if excess <= 0.0 { 1.0 } else { two_sided(excess, variance) / 2.0 }
    };
    let blocked = p_so_few <= 0.05 || (stretches == 2 && b.min(c) > 1);
    Some(Design {
        order: if blocked { Order::Blocked } else { Order::Interleaved },
        stretches,
        longest_stretch,
        p_so_few,
        place_gap: places(Side::Candidate).sum::<f64>() / c as f64 - places(Side::Baseline).sum::<f64>() / b as f64,
    })
}

/// What changed from run to run, whichever the cohort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Median of the slopes between any two runs of a cohort, a run (Theil 1950, Sen 1968), in the unit of the samples.
    pub slope: f64,
    /// The same with each sample in percent of its cohort's median; `None` if a median is not above zero.
    pub percent_per_run: Option<f64>,
    /// Kendall's S: rising pairs less falling ones, within cohorts (Mann 1945).
    pub kendall_s: i64,
    /// Two-sided p of S.
    pub p: f64,
    pub method: PMethod,
}

/// Runs of a cohort up to which S is counted, and those up to which all pairs give a slope.
const COUNTED_DRIFT: usize = 40;
const ALL_PAIRS: usize = 2_000;

/// The drift of runs in start order; `None` if no cohort has two runs, or a sample is not a number of at most
/// [`LARGEST`].
pub fn drift(runs: &[(Side, f64)]) -> Option<Drift> {
    if !runs.iter().all(|(_, x)| x.abs() <= LARGEST) {
        return None;
    }
    let cohorts = [Side::Baseline, Side::Candidate].map(|side| -> Vec<(usize, f64)> {
        runs.iter().enumerate().filter(|(_, (s, _))| *s == side).map(|(at, (_, x))| (at, *x)).collect()
    });
    let (mut slopes, mut percents) = (Vec::new(), Vec::new());
    let mut with_percent = true;
    let mut s = 0;
    let mut variance = 0.0;
    // Probabilities of s = −pairs, −pairs + 1, … for as long as they are counted.
    let mut shares = Some(vec![1.0]);
    let mut most = 0;
    for cohort in cohorts.iter().filter(|c| c.len() > 1) {
        let n = cohort.len();
        let mut values: Vec<f64> = cohort.iter().map(|(_, x)| *x).collect();
        let median = median_in_place(&mut values);
        with_percent &= median > 0.0;
        values.sort_unstable_by(f64::total_cmp);
        let groups: Vec<usize> = values.chunk_by(|x, y| x == y).map(<[f64]>::len).collect();
        for (i, (at, x)) in cohort.iter().enumerate() {
            for (j, (later, y)) in cohort.iter().enumerate().skip(i + 1) {
                s += i64::from(y > x) - i64::from(y < x);
                // Of very many runs, those half a session apart (Theil's incomplete method).
                if n <= ALL_PAIRS || j - i == n / 2 {
                    let slope = (y - x) / (later - at) as f64;
                    slopes.push(slope);
                    percents.push(100.0 * slope / median);
                }
            }
        }
        let triple = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0) / 18.0;
        variance += triple(n as f64) - groups.iter().map(|t| triple(*t as f64)).sum::<f64>();
        // Pairs of equal values neither rise nor fall: S has as many values as the rest has inversions.
        most += (n * (n - 1) / 2 - groups.iter().map(|t| t * (t - 1) / 2).sum::<usize>()) as i64;
        shares = shares.filter(|_| n <= COUNTED_DRIFT).map(|before| {
            let next = inversion_shares(&groups);
            let mut product = vec![0.0; before.len() + next.len() - 1];
            for (i, x) in before.iter().enumerate() {
                for (j, y) in next.iter().enumerate() {
                    product[i + j] += x * y;
                }
            }
            product
        });
    }
    if slopes.is_empty() {
        return None;
    }
    let (p, method) = match shares {
        Some(shares) => {
            // Entry i is S = most − 2i.
            let far = |i: usize| (most - 2 * i as i64).abs() >= s.abs();
            (shares.iter().enumerate().filter(|(i, _)| far(*i)).map(|(_, share)| share).sum(), PMethod::Exact)
        }
        // S changes in steps of 2: the correction of a half step is 1.
        None => (two_sided(s.abs() as f64 / 2.0, variance / 4.0), PMethod::NormalApproximation),
    };
    Some(Drift {
        slope: median_in_place(&mut slopes) + 0.0,
        percent_per_run: Some(median_in_place(&mut percents) + 0.0).filter(|_| with_percent),
        kendall_s: s,
        p: f64::min(p, 1.0),
        method,
    })
}

/// A plan of `runs` runs a cohort: blocks ABBA or BAAB, as the seed decides, and for an odd number a last AB or BA.
///
/// Within a block of four a steady drift cancels; the coin keeps anything periodic from siding with a cohort.
pub fn schedule(runs: usize, seed: u64) -> Vec<Side> {
    use Side::{Baseline as A, Candidate as B};
    let stream = Stream::new(seed, 3);
    let mut plan = Vec::with_capacity(2 * runs);
    for block in 0..runs.div_ceil(2) {
        let (first, second) = if stream.below(2, block as u64) == 0 { (A, B) } else { (B, A) };
        plan.extend([first, second]);
        if 2 * block + 1 < runs {
            plan.extend([second, first]);
        }
    }
    plan
}
