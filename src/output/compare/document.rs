//! The comparison as a document.
//! In: nothing. Out: types whose JSON Schema is generated. Left to neighbours: each part's own types, and what fills them.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Caution, CohortOut, ConfidenceInterval, DesignOut, LabelChange, OperationChange, Sensitivity, TensorComparison,
    Tests,
};
use crate::evidence::eligibility;
use crate::output::documents::{Bounded, Tool};

/// Two cohorts compared. Times are host wall times in nanoseconds, deltas candidate less baseline: below zero is faster.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Comparison {
    pub schema: &'static str,
    pub tool: Tool,
    /// `outer_wall_time_ns`: wall time of the measured region, one sample a run.
    pub metric: &'static str,
    /// `candidate_faster`, `candidate_slower`, `equivalent`, `inconclusive` or `ineligible`.
    pub verdict: &'static str,
    /// The verdict in words.
    pub headline: String,
    /// What to mind when believing it.
    pub cautions: Vec<Caution>,
    /// Whether there is no reason against it.
    pub comparable: bool,
    /// Whether the runs are compared pair by pair.
    pub paired: bool,
    /// Why the cohorts are not comparable.
    pub reasons: Vec<ReasonOut>,
    pub inputs: Inputs,
    /// Null unless all runs of the cohort name the same.
    pub baseline_implementation_id: Option<String>,
    pub candidate_implementation_id: Option<String>,
    /// Of the first run that declares one.
    pub identity: Option<IdentityOut>,
    pub baseline: CohortOut,
    pub candidate: CohortOut,
    /// By pair id; null unless paired.
    pub pairs: Option<Vec<PairOut>>,
    /// Difference of the medians; of pairs, the median delta. Null where a cohort has no samples.
    pub median_delta_ns: Option<f64>,
    pub median_delta_percent: Option<f64>,
    /// Smallest effect of interest that was asked for.
    pub threshold_percent: Option<f64>,
    /// Null unless the cohorts are comparable.
    pub confidence_interval: Option<ConfidenceInterval>,
    pub tests: Option<Tests>,
    pub sensitivity: Option<Sensitivity>,
    pub design: DesignOut,
    /// Own time of each label in ns: rows that certainly changed most first.
    pub labels: Bounded<LabelChange>,
    /// Host time of each kind of operation in ns, by name, shape and element type.
    pub operations: Bounded<OperationChange>,
    /// Peak of logical memory in bytes, as far as the programs recorded it.
    pub memory: Bounded<LabelChange>,
    /// L2 norm of each gradient, by root/key.
    pub gradients: Bounded<LabelChange>,
    pub tensor_stats: TensorComparison,
}

/// Why two cohorts are not comparable.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReasonOut {
    pub code: &'static str,
    pub message: String,
}

/// What was compared.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Inputs {
    /// `verified_bundles` or `unverified_traces`.
    pub verification: &'static str,
    /// In the order in which they started.
    pub baseline: Vec<RunOut>,
    pub candidate: Vec<RunOut>,
}

/// One run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunOut {
    pub run_id: String,
    /// Identity of its bundle, which was verified; null for a raw trace.
    pub manifest_sha256: Option<String>,
    /// RFC 3339, UTC.
    pub started_at: String,
    pub pair_id: Option<String>,
    /// Null: not known.
    pub outer_wall_time_ns: Option<i64>,
}

/// The conditions that all runs share.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct IdentityOut {
    pub workload_id: String,
    pub model_id: String,
    pub config_id: String,
    pub data_id: String,
    pub seed_policy: String,
    pub physical_batch: u64,
    pub accumulation_steps: u64,
    pub precision: String,
    pub device_state: String,
}

/// One pair.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PairOut {
    pub pair_id: String,
    pub baseline_ns: Option<i64>,
    pub candidate_ns: Option<i64>,
    pub delta_ns: Option<i64>,
}

impl From<eligibility::Reason> for ReasonOut {
    fn from(reason: eligibility::Reason) -> Self {
        Self { code: reason.code, message: reason.message }
    }
}
