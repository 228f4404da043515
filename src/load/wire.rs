//! The lines of `candle-graph/trace/9` and `/10`, as other recorders write them.
//! In: nothing. Out: typed lines, borrowing where they can. Left to neighbours: what they become (`jsonl`).
//!
//! Fields that only our own exports carry are optional here, so that reading one back loses nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;

use candle_graph_record::jsonl::parse_non_number;
use candle_graph_record::{
    ComparisonIdentity, CoverageLevel, ExecutionPhase, ExecutionStep, ExpectedGradient, GradientFamilyContract,
    GradientState, MeasurementScope, MemoryCategory, SpanKind, TimingMode,
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The versions that are read.
pub(super) const READ: [&str; 2] = ["candle-graph/trace/9", "candle-graph/trace/10"];

/// A float as it is written: the standard library reads every bit of it, a fast JSON parser the last one not always.
pub(super) type Float<'a> = Option<&'a RawValue>;

/// The value of a float; `None` for absent and null.
///
/// # Errors
/// The text, when it is no number.
pub(super) fn float(text: Float<'_>) -> Result<Option<f64>, String> {
    match text.map(RawValue::get) {
        None | Some("null") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| format!("has {text} where a number belongs")),
    }
}

/// Values of columns, by name, for which other readers' fields have no place.
pub(super) type Cells<'a> = Option<BTreeMap<String, &'a RawValue>>;

/// The value that `cells` gives a nullable column of floats; `None` where it gives none.
///
/// # Errors
/// The text, when it is no float.
pub(super) fn cell(cells: Option<&BTreeMap<String, &RawValue>>, column: &str) -> Result<Option<Option<f64>>, String> {
    let Some(text) = cells.and_then(|cells| cells.get(column)).map(|value| value.get()) else { return Ok(None) };
    let value = match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(word) => parse_non_number(word),
        None if text == "null" => return Ok(Some(None)),
        None => text.parse().ok(),
    };
    value.map(|value| Some(Some(value))).ok_or_else(|| format!("has {text} as {column}, where a float belongs"))
}

#[derive(Deserialize)]
pub(super) struct Kind<'a> {
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(super) struct Meta {
    pub schema: String,
    /// The layout of the tables whose rows the lines carry.
    pub tables: Option<String>,
    pub run_id: String,
    pub correlation_id: String,
    pub entrypoint: String,
    pub phase: ExecutionPhase,
    pub timestamp: String,
    pub started_at_us: Option<i64>,
    pub capture_step: u64,
    pub warmup_steps: u64,
    pub device: String,
    #[serde(default)]
    pub measured_region_device_synchronized: bool,
    #[serde(default = "host")]
    pub timing_mode: TimingMode,
    #[serde(default)]
    pub capture_contract: Contract,
    #[serde(default)]
    pub comparison_identity: Option<ComparisonIdentity>,
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    pub candle_graph_version: Option<String>,
    pub candle_version: Option<String>,
    pub os: Option<String>,
    pub host_name: Option<String>,
    pub cpu_model: Option<String>,
    pub logical_cores: Option<u64>,
    pub toolchain: Option<String>,
    pub build_profile: Option<String>,
    pub git_revision: Option<String>,
}

fn host() -> TimingMode {
    TimingMode::Host
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Contract {
    pub measurement_scope: Option<MeasurementScope>,
    pub operations: Option<CoverageLevel>,
    pub activations: Option<CoverageLevel>,
    pub tensors: Option<CoverageLevel>,
    pub gradients: Option<CoverageLevel>,
    pub gradient_contract: Option<Gradients>,
    pub logical_memory: Option<CoverageLevel>,
    pub physical_memory: Option<CoverageLevel>,
    pub device_timing: Option<CoverageLevel>,
    pub required_semantic_labels: Vec<String>,
    pub gpu_expected_semantic_labels: Vec<String>,
    pub cpu_only_semantic_labels: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct Gradients {
    pub manifest_sha256: Option<String>,
    pub expected: Vec<ExpectedGradient>,
    pub families: Vec<GradientFamilyContract>,
}

#[derive(Deserialize)]
pub(super) struct SpanStart<'a> {
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    #[serde(borrow, default)]
    pub parent_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    pub start_ns: u64,
    pub span_kind: SpanKind,
    #[serde(default)]
    pub measured: bool,
    #[serde(default)]
    pub step: Option<ExecutionStep>,
    #[serde(default)]
    pub thread_id: i64,
    pub seq: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct SpanEnd<'a> {
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    pub duration_ns: u64,
    pub cpu_ns: Option<i64>,
    pub seq: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct Op<'a> {
    #[serde(borrow)]
    pub span_id: Cow<'a, str>,
    #[serde(borrow)]
    pub op_name: Cow<'a, str>,
    #[serde(default)]
    pub inputs: Vec<String>,
    #[serde(borrow, default)]
    pub output: Option<Cow<'a, str>>,
    pub shape: Vec<u64>,
    #[serde(borrow)]
    pub dtype: Cow<'a, str>,
    #[serde(borrow)]
    pub device: Cow<'a, str>,
    pub duration_ns: u64,
    pub timestamp_ns: u64,
    pub output_dense_bytes: Option<u64>,
    #[serde(default)]
    pub input_dense_bytes: u64,
    pub op_index: Option<u64>,
    pub cpu_ns: Option<i64>,
    pub thread_id: Option<i64>,
    pub seq: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct Tensor<'a> {
    #[serde(borrow)]
    pub span_id: Cow<'a, str>,
    #[serde(borrow)]
    pub tensor_id: Cow<'a, str>,
    #[serde(borrow, default)]
    pub storage_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub label: Option<Cow<'a, str>>,
    pub shape: Vec<u64>,
    #[serde(borrow)]
    pub dtype: Cow<'a, str>,
    #[serde(borrow)]
    pub device: Cow<'a, str>,
    #[serde(default)]
    pub requires_grad: bool,
    pub dense_bytes: Option<u64>,
    pub category: MemoryCategory,
    pub seq: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct TensorStats<'a> {
    #[serde(borrow)]
    pub span_id: Cow<'a, str>,
    #[serde(borrow)]
    pub label: Cow<'a, str>,
    pub shape: Vec<u64>,
    #[serde(borrow)]
    pub dtype: Cow<'a, str>,
    pub elements: u64,
    pub non_finite: u64,
    pub nan: Option<u64>,
    pub pos_inf: Option<u64>,
    pub neg_inf: Option<u64>,
    #[serde(borrow, default)]
    pub rms: Float<'a>,
    #[serde(borrow, default)]
    pub abs_max: Float<'a>,
    #[serde(borrow, default)]
    pub mean: Float<'a>,
    #[serde(borrow, default)]
    pub finite_rms: Float<'a>,
    #[serde(borrow, default)]
    pub finite_abs_max: Float<'a>,
    #[serde(borrow, default)]
    pub finite_mean: Float<'a>,
    #[serde(borrow, default)]
    pub cells: Cells<'a>,
    pub seq: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct Memory<'a> {
    pub timestamp_ns: u64,
    #[serde(borrow)]
    pub storage_id: Cow<'a, str>,
    #[serde(borrow)]
    pub tensor_id: Cow<'a, str>,
    #[serde(borrow)]
    pub span_id: Cow<'a, str>,
    #[serde(borrow, default)]
    pub op_name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub device: Cow<'a, str>,
    pub bytes: u64,
    pub action: Action,
    pub shape: Vec<u64>,
    #[serde(borrow)]
    pub dtype: Cow<'a, str>,
    pub category: MemoryCategory,
    #[serde(default)]
    pub end_unobserved: bool,
    pub seq: Option<i64>,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Action {
    Alloc,
    Free,
}

#[derive(Deserialize)]
pub(super) struct DeviceMemory<'a> {
    pub timestamp_ns: u64,
    #[serde(borrow)]
    pub device: Cow<'a, str>,
    pub used_bytes: Option<u64>,
    pub free_bytes: Option<u64>,
    pub reserved_bytes: Option<u64>,
    pub capacity_bytes: Option<u64>,
    pub seq: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct DeviceInterval<'a> {
    #[serde(borrow)]
    pub span_id: Cow<'a, str>,
    #[serde(borrow)]
    pub device: Cow<'a, str>,
    #[serde(borrow)]
    pub stream_id: Cow<'a, str>,
    #[serde(borrow)]
    pub clock_id: Cow<'a, str>,
    #[serde(borrow)]
    pub backend: Cow<'a, str>,
    pub start_ns: u64,
    pub duration_ns: u64,
    pub seq: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct Gradient<'a> {
    #[serde(borrow)]
    pub event_id: Cow<'a, str>,
    #[serde(borrow)]
    pub root: Cow<'a, str>,
    #[serde(borrow)]
    pub key: Cow<'a, str>,
    pub state: GradientState,
    #[serde(borrow, default)]
    pub norm: Float<'a>,
    #[serde(borrow, default)]
    pub cells: Cells<'a>,
    pub seq: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct Edge<'a> {
    pub edge_kind: EdgeKind,
    #[serde(borrow, default)]
    pub from_span: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub to_span: Option<Cow<'a, str>>,
    pub host_duration_ns: Option<u64>,
    #[serde(borrow, default)]
    pub from_tensor: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub to_tensor: Option<Cow<'a, str>>,
    pub seq: Option<i64>,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum EdgeKind {
    Call,
    Data,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum TerminalOutcome {
    Complete,
    Failed,
}

#[derive(Deserialize)]
pub(super) struct Terminal {
    pub outcome: TerminalOutcome,
    pub timestamp_ns: u64,
    pub reason: Option<String>,
    #[serde(default)]
    pub interrupted: bool,
    #[serde(default)]
    pub no_reason: bool,
    #[serde(default)]
    pub no_end: bool,
    #[serde(default)]
    pub events_lost: i64,
}
