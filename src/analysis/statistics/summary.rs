//! One cohort in few numbers, none of which a single slow run can move far.
//! In: samples in any order. Out: median, p95, MAD, the samples that stand apart. Left to neighbours: whether two
//! cohorts differ (`bootstrap`, `shift`), what a reader is told.

/// Largest magnitude a sample may have: sums, differences and halves of thousands of them stay finite.
pub const LARGEST: f64 = 1e290;

/// What turns a MAD into the standard deviation of normal noise: 1 / quantile(0.75) of the normal distribution.
pub const MAD_TO_SD: f64 = 1.4826;

/// A cohort's size and the three figures that every document shows. Unit: that of the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub samples: usize,
    pub median: f64,
    /// 95th percentile; with few samples an interpolation between the two largest.
    pub p95: f64,
    /// Median absolute deviation from the median, not scaled to a standard deviation.
    pub mad: f64,
}

/// `samples` in ascending order; `None` when there are none, or one is not a number of at most [`LARGEST`].
///
/// A negative zero becomes a zero: else the sign of a zero would depend on the order of the input.
pub fn ascending(samples: &[f64]) -> Option<Vec<f64>> {
    if samples.is_empty() || !samples.iter().all(|x| x.abs() <= LARGEST) {
        return None;
    }
    let mut sorted: Vec<f64> = samples.iter().map(|x| x + 0.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}

/// Median of ascending values; of an even number, halfway between the middle two. Zero for none.
pub(super) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let (low, high) = (sorted[last / 2], sorted[sorted.len() / 2]);
    if last / 2 == sorted.len() / 2 { low } else { (low + high) / 2.0 }
}

/// Quantile of ascending values by linear interpolation: type 7 of Hyndman & Fan 1996, the default of R and NumPy.
pub(super) fn quantile_of_sorted(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = share.clamp(0.0, 1.0) * last as f64;
    let below = (place.floor() as usize).min(last);
    let above = (below + 1).min(last);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

pub(super) fn summary_of_sorted(sorted: &[f64]) -> Summary {
    let median = median_of_sorted(sorted);
    let mut distances: Vec<f64> = sorted.iter().map(|x| (x - median).abs()).collect();
    distances.sort_unstable_by(f64::total_cmp);
    Summary { samples: sorted.len(), median, p95: quantile_of_sorted(sorted, 0.95), mad: median_of_sorted(&distances) }
}

/// Median, p95 and MAD; `None` as of [`ascending`].
pub fn summarize(samples: &[f64]) -> Option<Summary> {
    ascending(samples).map(|sorted| summary_of_sorted(&sorted))
}

/// The median; `None` as of [`ascending`].
pub fn median(samples: &[f64]) -> Option<f64> {
    ascending(samples).map(|sorted| median_of_sorted(&sorted))
}

/// The quantile at `share` (clamped to 0..=1) by linear interpolation (type 7); `None` as of [`ascending`], or when
/// `share` is not a number.
pub fn quantile(samples: &[f64], share: f64) -> Option<f64> {
    if share.is_nan() {
        return None;
    }
    ascending(samples).map(|sorted| quantile_of_sorted(&sorted, share))
}

/// Median absolute deviation from the median, unscaled; `None` as of [`ascending`].
pub fn mad(samples: &[f64]) -> Option<f64> {
    summarize(samples).map(|s| s.mad)
}

/// Positions of the samples that stand apart, in the order of the input. They are to be named, never dropped.
///
/// A sample stands apart when it is further from the median than 5 × 1.4826 × MAD, five standard deviations of normal
/// noise (the MAD's breakdown point is one half, so even at 5 samples two slow ones do not hide each other). When more
/// than half of the samples are equal the MAD is zero and says nothing; then the yardstick is 3.5 × 1.2533 × the mean
/// absolute deviation (Iglewicz & Hoaglin 1993). Of pure normal noise a sample is named in 11 of 100
/// cohorts of 5, in 4 of 10 samples, in 1 of 20: with few samples the name is a reason to look, not a finding.
pub fn outliers(samples: &[f64]) -> Vec<usize> {
    let Some(summary) = summarize(samples) else { return Vec::new() };
    let distance = |x: &f64| (x - summary.median).abs();
    let limit = if summary.mad > 0.0 {
        5.0 * MAD_TO_SD * summary.mad
    } else {
        let mut distances: Vec<f64> = samples.iter().map(distance).collect();
        distances.sort_unstable_by(f64::total_cmp);
        3.5 * 1.2533 * distances.iter().sum::<f64>() / samples.len() as f64
    };
    samples.iter().enumerate().filter(|(_, x)| distance(x) > limit).map(|(at, _)| at).collect()
}

/// Median of values in any order, which it rearranges: the two middle ones are selected, nothing is sorted.
pub(super) fn median_in_place(values: &mut [f64]) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let middle = values.len() / 2;
    let (below, high, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if last / 2 == middle {
        return *high;
    }
    let low = below.iter().copied().max_by(f64::total_cmp).unwrap_or(*high);
    (low + *high) / 2.0
}

/// Twelve significant digits: what passes through a logarithm or an exponential may differ in its last bits from one
/// platform's mathematics to another's, and a document may not.
pub(super) fn twelve_digits(x: f64) -> f64 {
    if x.is_finite() { format!("{x:.11e}").parse().unwrap_or(x) } else { x }
}
