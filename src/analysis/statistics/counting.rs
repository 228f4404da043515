//! Distributions that are counted, not approximated: how many arrangements lead to each value of a rank statistic.
//! In: numbers of samples, or doubled ranks. Out: shares of all arrangements. Left to neighbours: what is tested with
//! them.
//!
//! Counts are sums of positive numbers and exact below 2⁵³; only the last step divides. No logarithm, no exponential.

/// Product of the numbers of samples up to which a two-sample rank statistic is counted: 50 against 50.
pub const COUNTED_PRODUCT: usize = 2_500;

/// Number of pairs up to which a signed-rank statistic is counted.
pub const COUNTED_PAIRS: usize = 100;

/// Whether a p-value was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PMethod {
    /// Every arrangement counted, ties included.
    Exact,
    /// Normal distribution, corrected for ties and continuity; rounded to 12 significant digits.
    NormalApproximation,
    /// Arrangements drawn with a fixed seed: (reached + 1) / (drawn + 1).
    Sampled,
}

impl PMethod {
    pub fn as_str(self) -> &'static str {
        match self {
            PMethod::Exact => "exact",
            PMethod::NormalApproximation => "normal_approximation",
            PMethod::Sampled => "sampled",
        }
    }
}

/// Whether `a` against `b` samples are few enough to count.
pub fn countable(a: usize, b: usize) -> bool {
    a.checked_mul(b).is_some_and(|product| product <= COUNTED_PRODUCT)
}

/// Gaussian binomial coefficient [a + b, a]: entry u is the number of arrangements of `a` against `b` whose
/// Mann-Whitney U is u, or of permutations of two kinds with u inversions (Mann & Whitney 1947; the product form is
/// MacMahon's). Exact: the largest total, C(100, 50), has 97 bits, and a step on the way at most one more. Only for
/// [`countable`].
pub fn mann_whitney_counts(a: usize, b: usize) -> Vec<i128> {
    let (few, many) = (a.min(b), a.max(b));
    let mut counts = vec![0_i128; few * many + 1];
    counts[0] = 1;
    for i in 1..=few {
        // Times (1 − q^(many + i)), from the top so that each entry is used before it changes …
        for u in (many + i..counts.len()).rev() {
            counts[u] -= counts[u - many - i];
        }
        // … divided by (1 − q^i).
        for u in i..counts.len() {
            counts[u] += counts[u - i];
        }
    }
    counts
}

/// As [`mann_whitney_counts`], each as a share of all.
pub(super) fn mann_whitney_shares(a: usize, b: usize) -> Vec<f64> {
    let counts = mann_whitney_counts(a, b);
    let all = counts.iter().sum::<i128>() as f64;
    counts.iter().map(|c| *c as f64 / all).collect()
}

/// Share of the arrangements of `ranks` into `chosen` and the rest whose sum of chosen ranks is at least as far from
/// its mean as `sum` is. Doubled ranks, ascending, so that midranks are integers; ties are counted as they are.
///
/// Sums of j of the first t ranks lie between the j smallest and the j largest of them: the table holds only those.
pub(super) fn rank_sum_p(ranks: &[u64], chosen: usize, sum: u64) -> f64 {
    let n = ranks.len();
    let mut before = vec![0_u64; n + 1];
    for (at, rank) in ranks.iter().enumerate() {
        before[at + 1] = before[at] + rank;
    }
    // ways[j][s]: j chosen of those seen, with sum s + before[j].
    let mut ways: Vec<Vec<f64>> = vec![Vec::new(); chosen + 1];
    ways[0] = vec![1.0];
    for (seen, rank) in ranks.iter().enumerate() {
        for j in (1..=chosen.min(seen + 1)).rev() {
            let most = before[seen + 1] - before[seen + 1 - j] - before[j];
            let (lower, upper) = ways.split_at_mut(j);
            let (from, to) = (&lower[j - 1], &mut upper[0]);
            to.resize(most as usize + 1, 0.0);
            // A sum of j − 1 is stored less before[j − 1]; with this rank it is one of j, stored less before[j].
            let shift = (rank + before[j - 1] - before[j]) as usize;
            for (s, count) in from.iter().enumerate() {
                to[s + shift] += count;
            }
        }
    }
    // Distances from the mean, times n: integers again.
    let n = n as u64;
    let middle = chosen as u64 * before[before.len() - 1];
    let distance = |s: u64| (n * s).abs_diff(middle);
    let bar = distance(sum);
    let (mut reached, mut all) = (0.0, 0.0);
    for (s, count) in ways[chosen].iter().enumerate() {
        all += count;
        if distance(s as u64 + before[chosen]) >= bar {
            reached += count;
        }
    }
    reached / all
}

/// Ways to choose a set of `ranks` for each sum (Wilcoxon 1945): entry s, of 2ⁿ in all.
pub(super) fn signed_rank_ways(ranks: &[u64]) -> Vec<f64> {
    let mut ways = vec![1.0];
    for rank in ranks {
        let reach = ways.len();
        ways.resize(reach + *rank as usize, 0.0);
        for s in (0..reach).rev() {
            ways[s + *rank as usize] += ways[s];
        }
    }
    ways
}

/// Distribution of the number of inversions of a sequence whose values come in groups of equal ones (`groups`: how many
/// of each value, of 1 if it is alone), as shares: the q-multinomial, one Gaussian binomial a group (MacMahon 1915;
/// without ties the Mahonian numbers behind Kendall's S).
pub(super) fn inversion_shares(groups: &[usize]) -> Vec<f64> {
    let mut shares = vec![1.0];
    let mut placed = 0;
    for group in groups {
        let next = mann_whitney_shares(placed, *group);
        let mut product = vec![0.0; shares.len() + next.len() - 1];
        for (i, x) in shares.iter().enumerate() {
            for (j, y) in next.iter().enumerate() {
                product[i + j] += x * y;
            }
        }
        shares = product;
        placed += group;
    }
    shares
}

/// Doubled midranks of ascending values, and the sum of t³ − t over groups of t equal ones.
pub(super) fn doubled_midranks(sorted: &[f64]) -> (Vec<u64>, f64) {
    let mut ranks = Vec::with_capacity(sorted.len());
    let mut ties = 0.0;
    for group in sorted.chunk_by(|x, y| x == y) {
        let (first, size) = (ranks.len() as u64 + 1, group.len() as u64);
        // The mean of first … first + size − 1, doubled.
        ranks.extend(std::iter::repeat_n(2 * first + size - 1, group.len()));
        let t = size as f64;
        ties += t * t * t - t;
    }
    (ranks, ties)
}
