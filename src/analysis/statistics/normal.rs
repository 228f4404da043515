//! The normal distribution, where counting ends.
//! In: a distance from the mean and a variance. Out: p, rounded. Left to neighbours: when it may stand in.

use statrs::function::erf::erfc;

use super::summary::twelve_digits;

/// Quantile of the normal distribution at 0.975.
pub(super) const Z_975: f64 = 1.959_963_984_540_054;

/// Quantile of the normal distribution at 0.80.
pub(super) const Z_80: f64 = 0.841_621_233_572_914_2;

/// Probability above `z`.
pub(super) fn above(z: f64) -> f64 {
    erfc(z / std::f64::consts::SQRT_2) / 2.0
}

/// Two-sided p of a count that is `distance` from its mean, with the continuity correction of a half.
pub(super) fn two_sided(distance: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    twelve_digits((2.0 * above((distance - 0.5).max(0.0) / variance.sqrt())).min(1.0))
}
