//! The primary metric: wall time of the measured region, one sample a run.
//! In: the samples of two cohorts in the order of their runs. Out: the parts of the document that are about it. Left to
//! neighbours: the statistics, rows (`change`), words (`headline`).

use schemars::JsonSchema;
use serde::Serialize;

use crate::analysis::statistics::{self, Comparison, Drift, Side, summarize};

/// Effects, in percent, for which the runs that would show them are said.
const EFFECTS: [f64; 5] = [1.0, 2.0, 5.0, 10.0, 20.0];

/// One cohort. Times in nanoseconds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CohortOut {
    /// One a run, in the order in which the runs started; runs without a known wall time have none.
    pub samples_ns: Vec<i64>,
    /// Null without samples.
    pub median_ns: Option<f64>,
    /// 95th percentile; with few samples an interpolation between the two largest.
    pub p95_ns: Option<f64>,
    /// Median absolute deviation from the median, unscaled.
    pub mad_ns: Option<f64>,
}

impl CohortOut {
    pub(super) fn of(samples_ns: Vec<i64>) -> Self {
        let values: Vec<f64> = samples_ns.iter().map(|n| *n as f64).collect();
        let summary = summarize(&values);
        Self {
            samples_ns,
            median_ns: summary.map(|s| s.median),
            p95_ns: summary.map(|s| s.p95),
            mad_ns: summary.map(|s| s.mad),
        }
    }
}

/// The interval that the verdict rests on, and how it was had.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ConfidenceInterval {
    /// The level that is asked for.
    pub level: f64,
    pub lower_delta_ns: f64,
    pub upper_delta_ns: f64,
    /// In percent of the baseline's median.
    pub lower_delta_percent: Option<f64>,
    pub upper_delta_percent: Option<f64>,
    /// `difference_of_medians` or `median_of_paired_deltas`.
    pub statistic: &'static str,
    /// `exact_enumeration`, `sampled` (both: the bootstrap's quantiles, widened to the exact interval of the ranks) or
    /// `order_statistics` (of pairs).
    pub method: &'static str,
    /// Distinct resamples that were enumerated, or resamples that were drawn; 0: none.
    pub resamples: u64,
    /// Of the generator; null: nothing was drawn.
    pub seed: Option<u64>,
    /// How often the interval covers a shift between cohorts of equal shape.
    pub true_level: f64,
    /// `exact` (counted), `at_least` (counted for a narrower one) or `approximate` (by the normal distribution).
    pub true_level_kind: &'static str,
    /// Runs a cohort, or pairs, from which on the true level reaches the level; null: it does.
    pub runs_needed_for_level: Option<usize>,
}

/// Second opinions. None of them decides.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tests {
    /// `mann_whitney` or, of pairs, `wilcoxon_signed_rank`.
    pub rank_test: &'static str,
    pub rank_p: f64,
    /// `exact` or `normal_approximation`.
    pub rank_p_kind: &'static str,
    /// Hodges-Lehmann estimate of the shift.
    pub shift_ns: f64,
    pub shift_lower_ns: f64,
    pub shift_upper_ns: f64,
    pub shift_level: f64,
    pub shift_level_kind: &'static str,
    /// Of the difference of means under all rearrangements of the runs; of pairs, under all signs.
    pub permutation_p: f64,
    /// `exact` or how else it was had.
    pub permutation_p_kind: &'static str,
    pub permutation_arrangements: u64,
    /// Welch's t on logarithms; null for pairs.
    pub welch_log: Option<WelchOut>,
}

/// Welch's t-test on the logarithms of the samples.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct WelchOut {
    pub t: f64,
    pub degrees_of_freedom: f64,
    pub p: f64,
    /// Change of the geometric mean.
    pub percent: f64,
}

/// What these runs could have shown, and what it would take.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Sensitivity {
    /// A change smaller than this would have been inconclusive.
    pub smallest_change_ns: f64,
    pub smallest_change_percent: Option<f64>,
    /// Runs a cohort, or pairs, that show an effect four times in five with the spread seen here.
    pub runs_needed: Vec<RunsNeeded>,
}

/// Runs for one effect.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct RunsNeeded {
    pub effect_percent: f64,
    /// Null: more than a million.
    pub runs: Option<u64>,
}

/// How the runs were laid out: evidence too.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DesignOut {
    /// Cohorts in the order in which the runs started, A the baseline and B the candidate.
    pub sequence: String,
    /// `interleaved` or `blocked`; null: a cohort has no run.
    pub order: Option<&'static str>,
    /// Stretches of one cohort without a break, and the probability of so few in random order.
    pub stretches: Option<usize>,
    pub p_so_few_stretches: Option<f64>,
    /// Mean place of the candidate's runs less that of the baseline's, in runs.
    pub place_gap: Option<f64>,
    /// Within cohorts, from run to run; null: too few runs.
    pub drift: Option<DriftOut>,
    /// Candidate's MAD over the baseline's; null if one is zero.
    pub spread_ratio: Option<f64>,
    /// Whether that is beyond 4, or below a quarter.
    pub spreads_differ: bool,
    /// Run ids of samples that stand apart: named, never dropped.
    pub baseline_outliers: Vec<String>,
    pub candidate_outliers: Vec<String>,
    /// Machines, with the runs of each cohort on them.
    pub hosts: Vec<HostOut>,
}

/// What changed from run to run, whichever the cohort.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct DriftOut {
    /// Theil-Sen slope.
    pub ns_per_run: f64,
    pub percent_per_run: Option<f64>,
    /// Mann-Kendall.
    pub p: f64,
    pub p_kind: &'static str,
}

/// One machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HostOut {
    pub host_name: Option<String>,
    pub cpu_model: Option<String>,
    pub baseline_runs: usize,
    pub candidate_runs: usize,
}

pub(super) fn interval(of: &Comparison) -> ConfidenceInterval {
    let interval = of.contrast.interval;
    let percent = interval.percent_of(of.contrast.baseline.median);
    ConfidenceInterval {
        level: interval.nominal_level,
        lower_delta_ns: interval.lower,
        upper_delta_ns: interval.upper,
        lower_delta_percent: percent.map(|(lower, _)| lower),
        upper_delta_percent: percent.map(|(_, upper)| upper),
        statistic: interval.statistic.as_str(),
        method: interval.method.as_str(),
        resamples: interval.resamples,
        seed: interval.seed,
        true_level: interval.level,
        true_level_kind: interval.level_kind.as_str(),
        runs_needed_for_level: interval.runs_needed_for_95,
    }
}

pub(super) fn tests(of: &Comparison) -> Tests {
    let (shift, ranks) = (of.contrast.shift, of.contrast.rank_test);
    Tests {
        rank_test: if of.contrast.deltas.is_some() { "wilcoxon_signed_rank" } else { "mann_whitney" },
        rank_p: ranks.p,
        rank_p_kind: ranks.method.as_str(),
        shift_ns: shift.estimate,
        shift_lower_ns: shift.lower,
        shift_upper_ns: shift.upper,
        shift_level: shift.level,
        shift_level_kind: shift.level_kind.as_str(),
        permutation_p: of.permutation.p,
        permutation_p_kind: of.permutation.method.as_str(),
        permutation_arrangements: of.permutation.arrangements,
        welch_log: of.welch.map(|w| WelchOut {
            t: w.t,
            degrees_of_freedom: w.degrees_of_freedom,
            p: w.p,
            percent: w.percent,
        }),
    }
}

pub(super) fn sensitivity(of: &Comparison) -> Sensitivity {
    let runs = |effect_percent| RunsNeeded { effect_percent, runs: of.contrast.runs_needed(effect_percent) };
    Sensitivity {
        smallest_change_ns: of.contrast.smallest_change(),
        smallest_change_percent: of.contrast.smallest_change_percent(),
        runs_needed: EFFECTS.map(runs).to_vec(),
    }
}

/// As [`Sensitivity::runs_needed`], of two cohorts that spread as this one does.
pub(super) fn needed_of_one(samples: &[f64]) -> Vec<RunsNeeded> {
    let Some(summary) = summarize(samples) else { return Vec::new() };
    let runs = |effect: f64| {
        let effect = Some(effect / 100.0 * summary.median).filter(|e| *e > 0.0)?;
        statistics::runs_needed(statistics::spread(&summary), effect)
    };
    EFFECTS.map(|effect_percent| RunsNeeded { effect_percent, runs: runs(effect_percent) }).to_vec()
}

/// A the baseline, B the candidate.
pub(super) fn letters<'a>(sides: impl Iterator<Item = &'a Side>) -> String {
    sides.map(|side| if *side == Side::Baseline { 'A' } else { 'B' }).collect()
}

/// The order of the runs, and what drifted; samples stand beside their run's cohort, in the order of all runs.
pub(super) fn order(sequence: &[(Side, Option<f64>)]) -> (String, Option<statistics::Design>, Option<Drift>) {
    let sides: Vec<Side> = sequence.iter().map(|(side, _)| *side).collect();
    let letters = letters(sides.iter());
    let known: Vec<(Side, f64)> = sequence.iter().filter_map(|(side, sample)| Some((*side, (*sample)?))).collect();
    (letters, statistics::design(&sides), statistics::drift(&known))
}

pub(super) fn drift(of: Drift) -> DriftOut {
    DriftOut { ns_per_run: of.slope, percent_per_run: of.percent_per_run, p: of.p, p_kind: of.method.as_str() }
}
