//! `candle-graph/noise/1`: how far apart runs of one implementation are on this machine.
//! In: bundles of one cohort. Out: the document: halves laid out as two cohorts are, the noise floor over many splits, what
//! drifted. Left to neighbours: the numbers (`analysis::statistics`), text for terminals (`noise_text`).

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::headline::{self, Caution};
use super::inputs::Cohorts;
use super::primary::{self, CohortOut, ConfidenceInterval, DriftOut, HostOut, RunsNeeded};
use super::{IdentityOut, ReasonOut, RunOut};
use crate::analysis::statistics::{self, Side};
use crate::error::Result;
use crate::evidence::eligibility;
use crate::output::documents::{TOOL, Tool};

/// The document's schema.
pub const SCHEMA: &str = "candle-graph/noise/1";

/// Which runs.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Runs of one implementation.
    pub cohort: Vec<PathBuf>,
    /// Raw traces will do: never a noise floor then.
    pub unverified: bool,
}

/// One implementation against itself. Times are host wall times in nanoseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Noise {
    pub schema: &'static str,
    pub tool: Tool,
    /// `outer_wall_time_ns`: wall time of the measured region, one sample a run.
    pub metric: &'static str,
    /// `noise_floor` or `ineligible`. Never that one half is faster: both are the same program.
    pub verdict: &'static str,
    /// The result in words.
    pub headline: String,
    /// What to mind when believing it.
    pub cautions: Vec<Caution>,
    /// Whether there is no reason against it.
    pub comparable: bool,
    /// Why there is no noise floor.
    pub reasons: Vec<ReasonOut>,
    /// `verified_bundles` or `unverified_traces`.
    pub verification: &'static str,
    /// In the order in which they started.
    pub runs: Vec<RunOut>,
    /// Null unless all runs name the same.
    pub implementation_id: Option<String>,
    /// Of the first run that declares one.
    pub identity: Option<IdentityOut>,
    pub cohort: CohortOut,
    /// Null unless comparable.
    pub noise: Option<NoiseFloor>,
    /// Null unless comparable.
    pub halves: Option<Halves>,
    /// Runs a cohort that show an effect four times in five with the spread seen here; none unless comparable.
    pub runs_needed: Vec<RunsNeeded>,
    /// From run to run; null: too few runs.
    pub drift: Option<DriftOut>,
    /// Run ids of samples that stand apart: named, never dropped.
    pub outliers: Vec<String>,
    /// Machines; `baseline_runs` are those of this cohort.
    pub hosts: Vec<HostOut>,
}

/// Absolute differences of the halves' medians over splits of the cohort, in percent of its median.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct NoiseFloor {
    /// Runs of the smaller half.
    pub half: usize,
    /// Splits that were looked at.
    pub splits: u64,
    /// `all_splits` or `sampled`.
    pub method: &'static str,
    /// Of the generator; null: nothing was drawn.
    pub seed: Option<u64>,
    pub median_percent: f64,
    /// 95th percentile: the noise floor. Between cohorts of so many runs as a half has, a smaller change says nothing.
    pub p95_percent: f64,
    /// The largest that was met.
    pub max_percent: f64,
}

/// The runs as two cohorts in ABBA order.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Halves {
    /// The half of each run in start order, A the first and B the second.
    pub sequence: String,
    pub first: CohortOut,
    pub second: CohortOut,
    /// The second half's median less that of the first.
    pub median_delta_ns: f64,
    pub median_delta_percent: Option<f64>,
    pub confidence_interval: ConfidenceInterval,
    /// Mann-Whitney.
    pub rank_p: f64,
    /// Whether the interval leaves out zero, which chance does in 3 of 100 cohorts.
    pub differ: bool,
}

impl Request {
    /// Every path that is read.
    pub fn reads(&self) -> Vec<&Path> {
        self.cohort.iter().map(PathBuf::as_path).collect()
    }

    /// Opens, verifies and splits.
    ///
    /// # Errors
    /// An input that cannot be read or, unless raw traces will do, is no bundle that verifies.
    pub fn build(&self) -> Result<Noise> {
        let cohorts = Cohorts::read(&self.cohort, &[], self.unverified)?;
        let runs = &cohorts.baseline;
        let reasons =
            eligibility::examine_one(&super::replicates(runs), &super::verification(&cohorts, self.unverified));
        let comparable = reasons.is_empty();
        let samples_ns: Vec<i64> = runs.iter().filter_map(|r| r.wall_ns).collect();
        let samples: Vec<f64> = samples_ns.iter().map(|ns| *ns as f64).collect();
        // A floor of some of the runs would be one of other runs than are named.
        let judged = comparable && samples.len() == runs.len();
        let design = super::design(&cohorts, None);
        let noise = if judged { statistics::noise(&samples) } else { None };
        let mut document = Noise {
            schema: SCHEMA,
            tool: TOOL,
            metric: "outer_wall_time_ns",
            verdict: if noise.is_some() { "noise_floor" } else { "ineligible" },
            headline: String::new(),
            cautions: Vec::new(),
            comparable,
            reasons: reasons.into_iter().map(ReasonOut::from).collect(),
            verification: if self.unverified { "unverified_traces" } else { "verified_bundles" },
            runs: runs.iter().map(super::run_out).collect(),
            implementation_id: super::implementation(runs),
            identity: super::identity(&cohorts),
            noise: noise.map(floor),
            halves: if noise.is_some() { halves(&samples_ns) } else { None },
            runs_needed: if noise.is_some() { primary::needed_of_one(&samples) } else { Vec::new() },
            drift: design.drift,
            outliers: design.baseline_outliers,
            hosts: design.hosts,
            cohort: CohortOut::of(samples_ns),
        };
        document.cautions = cautions(&document);
        document.headline = said(&document);
        Ok(document)
    }
}

fn floor(noise: statistics::Noise) -> NoiseFloor {
    NoiseFloor {
        half: noise.half,
        splits: noise.splits,
        method: if noise.seed.is_some() { "sampled" } else { "all_splits" },
        seed: noise.seed,
        median_percent: noise.median_percent,
        p95_percent: noise.p95_percent,
        max_percent: noise.most_percent,
    }
}

fn halves(samples_ns: &[i64]) -> Option<Halves> {
    let sides = statistics::halves(samples_ns.len());
    let of = |side: Side| -> Vec<i64> {
        samples_ns.iter().zip(&sides).filter(|(_, s)| **s == side).map(|(ns, _)| *ns).collect()
    };
    let (first, second) = (of(Side::Baseline), of(Side::Candidate));
    let floats = |ns: &[i64]| ns.iter().map(|n| *n as f64).collect::<Vec<f64>>();
    let comparison = statistics::compare(&floats(&first), &floats(&second))?;
    let contrast = &comparison.contrast;
    Some(Halves {
        sequence: primary::letters(sides.iter()),
        first: CohortOut::of(first),
        second: CohortOut::of(second),
        median_delta_ns: contrast.difference,
        median_delta_percent: contrast.percent,
        confidence_interval: primary::interval(&comparison),
        rank_p: contrast.rank_test.p,
        differ: contrast.interval.lower > 0.0 || contrast.interval.upper < 0.0,
    })
}

fn said(n: &Noise) -> String {
    match &n.noise {
        Some(noise) => format!(
            "The noise floor is {:.1} %: halves of {} runs of the same program differ by {:.1} % at the median, and by no more \
             than {:.1} % in 95 of 100 splits.",
            noise.p95_percent, noise.half, noise.median_percent, noise.p95_percent
        ),
        None => headline::without(&n.reasons, "No noise floor"),
    }
}

fn cautions(n: &Noise) -> Vec<Caution> {
    let mut cautions = Vec::new();
    if let Some(halves) = n.halves.as_ref().filter(|h| h.differ) {
        let percent = halves.median_delta_percent.map_or(String::new(), |p| format!(" by {p:+.1} %"));
        let message = format!(
            "the halves differ{percent}, of one and the same program: chance does that in 3 of 100 cohorts; what else changes \
             from run to run?"
        );
        cautions.push(Caution { code: "halves_differ", message });
    }
    cautions.extend(n.drift.as_ref().and_then(headline::drifts));
    cautions.extend(headline::several_hosts(&n.hosts));
    cautions.extend(headline::apart(n.outliers.len(), n.runs.len()));
    cautions
}
