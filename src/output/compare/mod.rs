//! `candle-graph/comparison/7`: is the candidate faster, slower, or can these runs not tell?
//! In: bundles of two cohorts, or raw traces. Out: the document: verdict with its interval, the reasons where there is
//! none, how the runs were laid out, and where the change lies. Left to neighbours: the numbers (`analysis::statistics`),
//! what may be compared (`evidence::eligibility`).

mod change;
mod document;
mod headline;
mod inputs;
mod markdown;
pub mod noise;
mod noise_text;
mod numerics;
mod page;
mod primary;
mod schedule;
mod strip;
mod text;
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use candle_graph_record::jsonl::utc_text;
pub use change::{Bounds, Change, Have, LabelChange, OperationChange};
pub use document::{Comparison, IdentityOut, Inputs, PairOut, ReasonOut, RunOut};
pub use headline::Caution;
use inputs::{Cohorts, Run};
pub use noise_text::noise_text;
pub use numerics::{TensorComparison, TensorRow};
pub use primary::{
    CohortOut, ConfidenceInterval, DesignOut, DriftOut, HostOut, RunsNeeded, Sensitivity, Tests, WelchOut,
};
pub use schedule::{SCHEMA as SCHEDULE_SCHEMA, Schedule};
pub use text::text;

use super::documents::TOOL;
use crate::analysis::statistics::{self, Side, Verdict};
use crate::error::{Error, Result};
use crate::evidence::eligibility::{self, Eligibility, Receipt, Replicate, Verification};
use crate::text::shorten;

/// The document's schema.
pub const SCHEMA: &str = "candle-graph/comparison/7";
/// Rows of a list, unless all are asked for.
pub const ROWS: usize = 50;

/// What is compared.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub baseline: Vec<PathBuf>,
    pub candidate: Vec<PathBuf>,
    /// Raw traces will do: never a verdict then.
    pub unverified: bool,
    /// Smallest effect of interest, in percent of the baseline's median.
    pub threshold_percent: Option<f64>,
    /// Every row of every list.
    pub all: bool,
}

impl Request {
    /// Every path that is read.
    pub fn reads(&self) -> Vec<&Path> {
        self.baseline.iter().chain(&self.candidate).map(PathBuf::as_path).collect()
    }

    /// Opens, verifies and compares.
    ///
    /// # Errors
    /// An input that cannot be read or, unless raw traces will do, is no bundle that verifies.
    pub fn build(&self) -> Result<Comparison> {
        if self.threshold_percent.is_some_and(|t| !(t > 0.0 && t <= 100.0)) {
            return Err(Error::Usage { problem: "the threshold is a percentage above 0 and at most 100".to_owned() });
        }
        Ok(self.compare(&Cohorts::read(&self.baseline, &self.candidate, self.unverified)?))
    }

    fn compare(&self, cohorts: &Cohorts) -> Comparison {
        let eligibility = examine(cohorts, self.unverified);
        let comparable = eligibility.reasons.is_empty();
        let paired = !eligibility.pairs.is_empty();
        let samples = |runs: &[Run]| runs.iter().filter_map(|r| r.wall_ns).collect::<Vec<i64>>();
        let (baseline, candidate) =
            (CohortOut::of(samples(&cohorts.baseline)), CohortOut::of(samples(&cohorts.candidate)));
        let primary = comparable.then(|| compare_walls(cohorts, &eligibility.pairs)).flatten();
        let verdict = primary.as_ref().map(|p| p.contrast.verdict(self.threshold_percent));
        let deltas = || {
            let delta =
                |(b, c): &(usize, usize)| Some((cohorts.candidate[*c].wall_ns? - cohorts.baseline[*b].wall_ns?) as f64);
            eligibility.pairs.iter().filter_map(delta).collect::<Vec<f64>>()
        };
        let median_delta_ns = match &primary {
            Some(primary) => Some(primary.contrast.difference),
            None if paired => statistics::median(&deltas()),
            None => candidate.median_ns.zip(baseline.median_ns).map(|(c, b)| c - b),
        };
        let percent = |delta: f64| Some(100.0 * (delta / baseline.median_ns.filter(|m| *m > 0.0)?));
        let certain = matches!(verdict, Some(Verdict::CandidateFaster | Verdict::CandidateSlower));
        let context = change::Context {
            baseline: cohorts.baseline.len(),
            candidate: cohorts.candidate.len(),
            pairs: &eligibility.pairs,
            comparable: primary.is_some(),
            whole: median_delta_ns.filter(|_| certain),
            limit: if self.all { usize::MAX } else { ROWS },
        };
        let by_name = |name: &&'static str, change| change::label(name, change);
        let mut document = Comparison {
            schema: SCHEMA,
            tool: TOOL,
            metric: "outer_wall_time_ns",
            verdict: verdict.map_or("ineligible", Verdict::as_str),
            headline: String::new(),
            cautions: Vec::new(),
            comparable,
            paired,
            reasons: eligibility.reasons.into_iter().map(ReasonOut::from).collect(),
            inputs: Inputs {
                verification: if self.unverified { "unverified_traces" } else { "verified_bundles" },
                baseline: cohorts.baseline.iter().map(run_out).collect(),
                candidate: cohorts.candidate.iter().map(run_out).collect(),
            },
            baseline_implementation_id: implementation(&cohorts.baseline),
            candidate_implementation_id: implementation(&cohorts.candidate),
            identity: identity(cohorts),
            pairs: paired.then(|| eligibility.pairs.iter().map(|pair| pair_out(cohorts, *pair)).collect()),
            median_delta_ns,
            median_delta_percent: median_delta_ns.and_then(percent).filter(|p| p.is_finite()),
            threshold_percent: self.threshold_percent,
            confidence_interval: primary.as_ref().map(primary::interval),
            tests: primary.as_ref().map(primary::tests),
            sensitivity: primary.as_ref().map(primary::sensitivity),
            design: design(cohorts, primary.as_ref()),
            labels: context.times(&cohorts.labels, |label, change| change::label(label, change)),
            operations: context.times(&cohorts.operations, change::operation),
            memory: context.values(&cohorts.memory, by_name),
            gradients: context.values(&cohorts.gradients, |label, change| change::label(label, change)),
            tensor_stats: numerics::compare(
                &cohorts.tensor_stats,
                cohorts.baseline.len(),
                cohorts.candidate.len(),
                context.limit,
            ),
            baseline,
            candidate,
        };
        document.cautions = headline::cautions(&document, cohorts);
        document.headline = headline::headline(&document);
        document
    }
}

impl Comparison {
    /// The comparison as one self-contained HTML page.
    pub fn html(&self, request: &Request) -> String {
        page::render(self, request)
    }

    /// The comparison as a Markdown page.
    pub fn markdown(&self, request: &Request) -> String {
        markdown::render(self, request)
    }
}

fn replicates(runs: &[Run]) -> Vec<Replicate> {
    runs.iter().map(|r| r.replicate.clone()).collect()
}

/// How the runs were verified.
fn verification(cohorts: &Cohorts, unverified: bool) -> Verification {
    let receipts = |runs: &[Run]| {
        let receipt = |r: &Run| Receipt {
            run_id: r.replicate.run.run_id.clone(),
            manifest_sha256: r.manifest_sha256.clone().unwrap_or_default(),
        };
        runs.iter().map(receipt).collect()
    };
    match unverified {
        true => Verification::UnverifiedTraces,
        false => Verification::VerifiedBundles {
            baseline: receipts(&cohorts.baseline),
            candidate: receipts(&cohorts.candidate),
        },
    }
}

fn examine(cohorts: &Cohorts, unverified: bool) -> Eligibility {
    let (baseline, candidate) = (replicates(&cohorts.baseline), replicates(&cohorts.candidate));
    eligibility::examine(&baseline, &candidate, &verification(cohorts, unverified))
}

/// `None` if a wall time is not known.
fn compare_walls(cohorts: &Cohorts, pairs: &[(usize, usize)]) -> Option<statistics::Comparison> {
    let walls = |runs: &[Run]| runs.iter().map(|r| r.wall_ns.map(|n| n as f64)).collect::<Option<Vec<f64>>>();
    let (b, c) = (walls(&cohorts.baseline)?, walls(&cohorts.candidate)?);
    if pairs.is_empty() {
        return statistics::compare(&b, &c);
    }
    let (b, c): (Vec<f64>, Vec<f64>) = pairs.iter().map(|(at_b, at_c)| (b[*at_b], c[*at_c])).unzip();
    statistics::compare_paired(&b, &c)
}

fn implementation(runs: &[Run]) -> Option<String> {
    eligibility::implementation(runs.iter().map(|r| &r.replicate)).map(shorten)
}

fn run_out(run: &Run) -> RunOut {
    let record = &run.replicate.run;
    RunOut {
        run_id: record.run_id.clone(),
        manifest_sha256: run.manifest_sha256.clone(),
        started_at: utc_text(record.started_at_us),
        pair_id: record.identity.as_ref().and_then(|i| i.pair_id.as_deref()).map(shorten),
        outer_wall_time_ns: run.wall_ns,
    }
}

fn pair_out(cohorts: &Cohorts, (b, c): (usize, usize)) -> PairOut {
    let (b, c) = (&cohorts.baseline[b], &cohorts.candidate[c]);
    let id = b.replicate.run.identity.as_ref().and_then(|i| i.pair_id.as_deref());
    PairOut {
        pair_id: id.map(shorten).unwrap_or_default(),
        baseline_ns: b.wall_ns,
        candidate_ns: c.wall_ns,
        delta_ns: c.wall_ns.zip(b.wall_ns).map(|(c, b)| c - b),
    }
}

fn identity(cohorts: &Cohorts) -> Option<IdentityOut> {
    let mut runs = cohorts.baseline.iter().chain(&cohorts.candidate);
    let i = runs.find_map(|r| r.replicate.run.identity.as_ref())?;
    Some(IdentityOut {
        workload_id: shorten(&i.workload_id),
        model_id: shorten(&i.model_id),
        config_id: shorten(&i.config_id),
        data_id: shorten(&i.data_id),
        seed_policy: shorten(&i.seed_policy),
        physical_batch: i.physical_batch,
        accumulation_steps: i.accumulation_steps,
        precision: shorten(&i.precision),
        device_state: shorten(&i.device_state),
    })
}

fn design(cohorts: &Cohorts, of: Option<&statistics::Comparison>) -> DesignOut {
    let all = |side: Side, runs| std::iter::repeat(side).zip(runs);
    let mut runs: Vec<(Side, &Run)> =
        all(Side::Baseline, cohorts.baseline.iter()).chain(all(Side::Candidate, cohorts.candidate.iter())).collect();
    runs.sort_by(|(_, x), (_, y)| {
        let key = |r: &Run| (r.replicate.run.started_at_us, r.replicate.run.run_id.clone());
        key(x).cmp(&key(y))
    });
    let sequence: Vec<(Side, Option<f64>)> =
        runs.iter().map(|(side, run)| (*side, run.wall_ns.map(|n| n as f64))).collect();
    let (sequence, order, drift) = primary::order(&sequence);
    let ids = |runs: &[Run]| {
        let known: Vec<&Run> = runs.iter().filter(|r| r.wall_ns.is_some()).collect();
        let walls: Vec<f64> = known.iter().filter_map(|r| Some(r.wall_ns? as f64)).collect();
        let id = |at: usize| known[at].replicate.run.run_id.clone();
        statistics::outliers(&walls).into_iter().map(id).collect()
    };
    let mut hosts: BTreeMap<(Option<String>, Option<String>), (usize, usize)> = BTreeMap::new();
    for (side, run) in &runs {
        let host = &run.replicate.run.host;
        let (b, c) = hosts.entry((host.host_name.clone(), host.cpu_model.clone())).or_default();
        *(if *side == Side::Baseline { b } else { c }) += 1;
    }
    DesignOut {
        sequence,
        order: order.map(|o| o.order.as_str()),
        stretches: order.map(|o| o.stretches),
        p_so_few_stretches: order.map(|o| o.p_so_few),
        place_gap: order.map(|o| o.place_gap),
        drift: drift.map(primary::drift),
        spread_ratio: of.and_then(|c| c.spread_ratio),
        spreads_differ: of.is_some_and(|c| c.spreads_differ),
        baseline_outliers: ids(&cohorts.baseline),
        candidate_outliers: ids(&cohorts.candidate),
        hosts: hosts
            .into_iter()
            .map(|((host_name, cpu_model), (baseline_runs, candidate_runs))| HostOut {
                host_name: host_name.as_deref().map(shorten),
                cpu_model: cpu_model.as_deref().map(shorten),
                baseline_runs,
                candidate_runs,
            })
            .collect(),
    }
}
