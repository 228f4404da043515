//! Do pairs tend to one side? Wilcoxon's signed ranks (1945), with ties counted as they are.
//! In: paired deltas. Out: the sum of positive ranks and its two-sided p. Left to neighbours: by how much (`shift`),
//! and the same question of means (`permutation`).

use super::counting::{COUNTED_PAIRS, PMethod, doubled_midranks, signed_rank_ways};
use super::normal::two_sided;
use super::rank_sum::RankTest;

/// Two-sided test of ascending deltas. Deltas of zero take no side and are left out, as Wilcoxon did; with none left p
/// is 1.
///
/// Of n deltas the least p is 2 / 2ⁿ: 0.0625 at 5, 0.03125 at 6.
pub(super) fn signed_rank(deltas: &[f64]) -> RankTest {
    let mut sizes: Vec<(f64, bool)> = deltas.iter().filter(|d| **d != 0.0).map(|d| (d.abs(), *d > 0.0)).collect();
    sizes.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
    let sorted: Vec<f64> = sizes.iter().map(|(size, _)| *size).collect();
    let (ranks, ties) = doubled_midranks(&sorted);
    let doubled: u64 = ranks.iter().zip(&sizes).filter(|(_, (_, positive))| *positive).map(|(rank, _)| rank).sum();
    let all: u64 = ranks.iter().sum();
    // Twice the distance from the middle, of doubled ranks.
    let distance = (2 * doubled).abs_diff(all);
    let (p, method) = if sizes.len() <= COUNTED_PAIRS {
        let ways = signed_rank_ways(&ranks);
        let far = |s: usize| (2 * s as u64).abs_diff(all) >= distance;
        let reached: f64 = ways.iter().enumerate().filter(|(s, _)| far(*s)).map(|(_, w)| w).sum();
        (reached / ways.iter().sum::<f64>(), PMethod::Exact)
    } else {
        let n = sizes.len() as f64;
        let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
        (two_sided(distance as f64 / 4.0, variance), PMethod::NormalApproximation)
    };
    RankTest { statistic: doubled as f64 / 2.0, p: p.min(1.0), method }
}
