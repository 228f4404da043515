//! A second opinion that minds unequal spreads: Welch's t (1947) on logarithms.
//! In: two ascending cohorts. Out: t, degrees of freedom, two-sided p, the ratio of geometric means. Left to
//! neighbours: when it is worth a hearing (`Comparison::spreads_differ`).

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::summary::twelve_digits;

/// Welch's t-test on the natural logarithms of the samples, each figure rounded to 12 significant digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// Positive if the candidate is the slower.
    pub t: f64,
    /// Welch–Satterthwaite degrees of freedom.
    pub degrees_of_freedom: f64,
    pub p: f64,
    /// Geometric mean of the candidate over that of the baseline, as a change in percent.
    pub percent: f64,
}

/// `None` unless both cohorts have at least two samples, all above zero, and not all of them are equal.
pub(super) fn welch(baseline: &[f64], candidate: &[f64]) -> Option<Welch> {
    let of = |cohort: &[f64]| -> Option<(f64, f64)> {
        if cohort.len() < 2 || !cohort.iter().all(|x| *x > 0.0) {
            return None;
        }
        let n = cohort.len() as f64;
        let logs: Vec<f64> = cohort.iter().map(|x| x.ln()).collect();
        let mean = logs.iter().sum::<f64>() / n;
        let squares: f64 = logs.iter().map(|x| (x - mean) * (x - mean)).sum();
        // Variance of the mean.
        Some((mean, squares / (n - 1.0) / n))
    };
    let ((mean_b, var_b), (mean_c, var_c)) = (of(baseline)?, of(candidate)?);
    let variance = var_b + var_c;
    let t = (mean_c - mean_b) / variance.sqrt();
    let degrees_of_freedom = variance * variance
        / (var_b * var_b / (baseline.len() - 1) as f64 + var_c * var_c / (candidate.len() - 1) as f64);
    if !t.is_finite() || !degrees_of_freedom.is_finite() {
        return None;
    }
    let p = 2.0 * StudentsT::new(0.0, 1.0, degrees_of_freedom).ok()?.cdf(-t.abs());
    Some(Welch {
        t: twelve_digits(t),
        degrees_of_freedom: twelve_digits(degrees_of_freedom),
        p: twelve_digits(p.min(1.0)),
        percent: twelve_digits(100.0 * (mean_c - mean_b).exp_m1()),
    })
}
