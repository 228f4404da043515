//! Do samples of one cohort tend to be the larger ones? Mann & Whitney 1947, with ties counted as they are.
//! In: two ascending cohorts. Out: U and its two-sided p. Left to neighbours: by how much (`shift`).

use std::collections::BTreeMap;

use super::counting::{PMethod, countable, doubled_midranks, mann_whitney_shares, rank_sum_p};
use super::normal::two_sided;

/// A two-sided test and how its p was had.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTest {
    /// Pairs in which the candidate is the larger, ties for half: U of the candidate. Of signed ranks, the sum of the
    /// ranks of the positive deltas.
    pub statistic: f64,
    /// Share of the arrangements at least as far from the middle as this one.
    pub p: f64,
    pub method: PMethod,
}

/// Distributions of U without ties, kept by size: hundreds of rows share a few.
#[derive(Default)]
pub(super) struct RankSums {
    shares: BTreeMap<(usize, usize), Vec<f64>>,
}

impl RankSums {
    /// Distribution of U as shares of all arrangements; `None` if they are too many to count.
    pub(super) fn shares(&mut self, a: usize, b: usize) -> Option<&[f64]> {
        if !countable(a, b) {
            return None;
        }
        let key = (a.min(b), a.max(b));
        Some(self.shares.entry(key).or_insert_with(|| mann_whitney_shares(key.0, key.1)))
    }

    /// Two-sided test of ascending cohorts, neither of them empty.
    pub(super) fn test(&mut self, baseline: &[f64], candidate: &[f64]) -> RankTest {
        let (b, c) = (baseline.len(), candidate.len());
        let n = b + c;
        // Pooled in order, remembering whose each is.
        let mut pooled = Vec::with_capacity(n);
        let mut of_candidate = Vec::with_capacity(n);
        let (mut i, mut j) = (0, 0);
        while i < b || j < c {
            let next = i >= b || (j < c && candidate[j] <= baseline[i]);
            pooled.push(if next { candidate[j] } else { baseline[i] });
            of_candidate.push(next);
            (i, j) = if next { (i, j + 1) } else { (i + 1, j) };
        }
        let (ranks, ties) = doubled_midranks(&pooled);
        let sum = |side: bool| -> u64 {
            ranks.iter().zip(&of_candidate).filter(|(_, own)| **own == side).map(|(rank, _)| rank).sum()
        };
        // Twice U, an integer.
        let doubled_u = sum(true) - (c * (c + 1)) as u64;
        let distance = doubled_u.abs_diff((b * c) as u64);
        let (p, method) = if !countable(b, c) {
            let (b, c, n) = (b as f64, c as f64, n as f64);
            let variance = b * c / 12.0 * (n + 1.0 - ties / (n * (n - 1.0)));
            (two_sided(distance as f64 / 2.0, variance), PMethod::NormalApproximation)
        } else if ties == 0.0 {
            let shares = self.shares(b, c).unwrap_or_default();
            let within = |u: usize| ((2 * u) as u64).abs_diff((b * c) as u64) >= distance;
            (shares.iter().enumerate().filter(|(u, _)| within(*u)).map(|(_, s)| s).sum(), PMethod::Exact)
        } else {
            // The smaller cohort is the one chosen, whichever it is: less work, and the same for the mirror image.
            let (chosen, own) = if c <= b { (c, true) } else { (b, false) };
            (rank_sum_p(&ranks, chosen, sum(own)), PMethod::Exact)
        };
        RankTest { statistic: doubled_u as f64 / 2.0, p: p.min(1.0), method }
    }
}
