//! `candle-graph/summary/8` and `candle-graph/evidence/7`: the complete derived collections, and with them every row.
//! In: an examined trace. Out: the documents. Left to neighbours: bounds (`overview`), slices (`query`).

use schemars::JsonSchema;
use serde::Serialize;

use super::documents::{
    Capabilities, CountsOut, FindingOut, Input, IssueOut, Provenance, TOOL, Tool, capabilities, findings, issues,
};
use super::query::gpu::GpuSummary;
use super::query::{self as query_kinds, Activations, FirstNonFinite, MemoryResult, Request};
use super::rows::{Row, json_rows};
use crate::error::Result;
use crate::evidence::Evidence;
use crate::query::{self, Filter, Page};

/// The summary's schema.
pub const SCHEMA: &str = "candle-graph/summary/8";
/// The evidence packet's schema.
pub const EVIDENCE_SCHEMA: &str = "candle-graph/evidence/7";

/// Health with every issue.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FullHealth {
    pub capture_complete: bool,
    pub structurally_valid: bool,
    pub coverage: CountsOut,
    pub issues: Vec<IssueOut>,
}

/// Complete derived collections.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Summary {
    pub schema: &'static str,
    pub tool: Tool,
    pub input: Input,
    pub provenance: Provenance,
    pub health: FullHealth,
    pub capabilities: Capabilities,
    pub findings: Vec<FindingOut>,
    pub gaps: Vec<String>,
    /// Wall time of the measured region; null unless the capture is complete and valid.
    pub outer_wall_time_ns: Option<i64>,
    /// Rows of query `slowest_host`; null unless the capture is complete and valid.
    pub slowest_host_spans: Option<Vec<Row>>,
    /// Rows of query `host_hotspots`; null unless the capture is complete and valid.
    pub host_hotspots: Option<Vec<Row>>,
    /// Rows of query `critical_path`; null unless the capture is complete and valid.
    pub critical_path: Option<Vec<Row>>,
    /// Rows of query `step_split`; null unless the capture is complete and valid.
    pub step_split: Option<Vec<Row>>,
    /// Rows of query `device_busy`: each clock by itself.
    pub device_clocks: Vec<Row>,
    /// Rows of query `slowest_device`; null unless the capture is complete and valid.
    pub slowest_device_spans: Option<Vec<Row>>,
    /// Rows of query `ops`.
    pub operations: Vec<Row>,
    /// Rows of query `op_work_by_name`.
    pub work: Vec<Row>,
    /// Rows of query `uncounted_work`.
    pub uncounted_work: Vec<Row>,
    pub activations: Activations,
    /// Rows of query `labels`.
    pub labels: Vec<Row>,
    /// Rows of query `gradients`.
    pub gradients: Vec<Row>,
    /// Rows of query `gradient_families`.
    pub gradient_families: Vec<Row>,
    /// Rows of query `tensor_stats`.
    pub tensor_stats: Vec<Row>,
    pub first_non_finite: FirstNonFinite,
    pub memory: MemoryResult,
    pub gpu: GpuSummary,
}

fn whole(evidence: &Evidence, name: &str) -> Result<Vec<Row>> {
    json_rows(&query::rows(&evidence.session, name, &Filter::default(), Page::ALL)?)
}

/// Builds the summary.
///
/// # Errors
/// The engine's own failures.
pub fn build(evidence: &Evidence) -> Result<Summary> {
    let health = &evidence.health;
    let sound = health.is_sound();
    let of_sound = |name| if sound { whole(evidence, name).map(Some) } else { Ok(None) };
    let everything = Request { all: true, ..Request::default() };
    Ok(Summary {
        schema: SCHEMA,
        tool: TOOL,
        input: Input::of(evidence),
        provenance: Provenance::of(evidence),
        health: FullHealth {
            capture_complete: health.capture_complete,
            structurally_valid: health.structurally_valid,
            coverage: CountsOut::of(health),
            issues: issues(health),
        },
        capabilities: capabilities(evidence),
        findings: findings(evidence, false)?,
        gaps: evidence.gaps(),
        outer_wall_time_ns: if sound { super::overview::outer_wall_ns(evidence)? } else { None },
        slowest_host_spans: of_sound("slowest_host")?,
        host_hotspots: of_sound("host_hotspots")?,
        critical_path: of_sound("critical_path")?,
        step_split: of_sound("step_split")?,
        device_clocks: whole(evidence, "device_busy")?,
        slowest_device_spans: of_sound("slowest_device")?,
        operations: whole(evidence, "ops")?,
        work: whole(evidence, "op_work_by_name")?,
        uncounted_work: whole(evidence, "uncounted_work")?,
        activations: query_kinds::activations(evidence, &everything)?,
        labels: whole(evidence, "labels")?,
        gradients: whole(evidence, "gradients")?,
        gradient_families: whole(evidence, "gradient_families")?,
        tensor_stats: whole(evidence, "tensor_stats")?,
        first_non_finite: query_kinds::first_non_finite(evidence, &everything)?,
        memory: query_kinds::memory(evidence, &everything)?,
        gpu: query_kinds::gpu::summary(evidence)?,
    })
}

/// Everything: the summary, and the spans, tensors and call edges it rests on.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EvidencePacket {
    pub schema: &'static str,
    pub summary: Summary,
    /// The execution graph; null unless the capture is complete and valid.
    pub graph: Option<Graph>,
    /// Rows of query `tensors`.
    pub tensors: Vec<Row>,
}

/// Spans and how they call each other.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Graph {
    /// Rows of query `spans`.
    pub spans: Vec<Row>,
    /// Rows of query `call_edges`.
    pub edges: Vec<Row>,
}

/// Builds the packet.
///
/// # Errors
/// The engine's own failures.
pub fn packet(evidence: &Evidence) -> Result<EvidencePacket> {
    let graph = if evidence.health.is_sound() {
        Some(Graph { spans: whole(evidence, "spans")?, edges: whole(evidence, "call_edges")? })
    } else {
        None
    };
    Ok(EvidencePacket {
        schema: EVIDENCE_SCHEMA,
        summary: build(evidence)?,
        graph,
        tensors: whole(evidence, "tensors")?,
    })
}
