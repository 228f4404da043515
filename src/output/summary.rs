//! `candle-graph/summary/7` and `candle-graph/evidence/6`: the complete derived collections, and with them every row.
//! In: an examined trace. Out: the documents. Left to neighbours: bounds (`overview`), slices (`query`).

use schemars::JsonSchema;
use serde::Serialize;

use super::documents::{
    Capabilities, CountsOut, FindingOut, Input, IssueOut, Provenance, TOOL, Tool, capabilities, issues,
};
use super::rows::{Row, json_rows};
use crate::error::Result;
use crate::evidence::Evidence;
use crate::query::{self, Filter, Page};

/// The summary's schema.
pub const SCHEMA: &str = "candle-graph/summary/7";
/// The evidence packet's schema.
pub const EVIDENCE_SCHEMA: &str = "candle-graph/evidence/6";

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
    /// Rows of query `ops`.
    pub operations: Vec<Row>,
    /// Rows of query `labels`.
    pub labels: Vec<Row>,
    /// Rows of query `gradients`.
    pub gradients: Vec<Row>,
    /// Rows of query `tensor_stats`.
    pub tensor_stats: Vec<Row>,
    pub memory: FullMemory,
}

/// Logical and physical memory, apart.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FullMemory {
    /// Rows of query `memory_totals`.
    pub logical: Vec<Row>,
    /// Rows of query `device_memory`.
    pub physical: Vec<Row>,
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
        findings: evidence.findings()?.into_iter().map(Into::into).collect(),
        gaps: evidence.gaps(),
        outer_wall_time_ns: if sound { super::overview::outer_wall_ns(evidence)? } else { None },
        slowest_host_spans: if sound { Some(whole(evidence, "slowest_host")?) } else { None },
        operations: whole(evidence, "ops")?,
        labels: whole(evidence, "labels")?,
        gradients: whole(evidence, "gradients")?,
        tensor_stats: whole(evidence, "tensor_stats")?,
        memory: FullMemory { logical: whole(evidence, "memory_totals")?, physical: whole(evidence, "device_memory")? },
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
