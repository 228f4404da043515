//! Faster, slower, equivalent, or these runs cannot tell.
//! In: an interval and a smallest effect of interest. Out: the verdict. Left to neighbours: whether the cohorts may be
//! compared at all.

use super::interval::Interval;

/// What the interval allows to be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The interval lies wholly below zero.
    CandidateFaster,
    /// The interval lies wholly above zero.
    CandidateSlower,
    /// A threshold was given, and the interval lies wholly within it: a difference there may be, but none of interest.
    Equivalent,
    Inconclusive,
}

impl Verdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::CandidateFaster => "candidate_faster",
            Verdict::CandidateSlower => "candidate_slower",
            Verdict::Equivalent => "equivalent",
            Verdict::Inconclusive => "inconclusive",
        }
    }

    /// The verdict of an interval of candidate − baseline times.
    ///
    /// `threshold_percent` is the smallest effect of interest, of the baseline's median. An interval wholly within ±
    /// the threshold is `Equivalent`, even when it leaves out zero: the change is real and too small to matter. One
    /// that leaves out zero and reaches beyond the threshold keeps its direction. A threshold that is not above zero,
    /// or of a median that is not, is none.
    pub fn of(interval: &Interval, baseline_median: f64, threshold_percent: Option<f64>) -> Verdict {
        let within = threshold_percent.filter(|t| *t > 0.0).zip(interval.percent_of(baseline_median));
        if within.is_some_and(|(threshold, (lower, upper))| lower >= -threshold && upper <= threshold) {
            Verdict::Equivalent
        } else if interval.upper < 0.0 {
            Verdict::CandidateFaster
        } else if interval.lower > 0.0 {
            Verdict::CandidateSlower
        } else {
            Verdict::Inconclusive
        }
    }
}
