//! What every document carries: schema, tool, input, provenance, health, capabilities, bounded lists.
//! In: an examined trace. Out: the shared parts, as types whose JSON Schema is generated.
//! Left to neighbours: each document's own part.

use std::collections::BTreeMap;

use candle_graph_record::jsonl::{capture_contract_json, utc_text};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::bounds::Budget;
use super::rows::{Row, json_rows, shorten_all};
use crate::analysis::health::{Health, Severity};
use crate::error::Result;
use crate::evidence::{Capability, Evidence, Finding, is_large};
use crate::load::Form;

/// The tool that wrote a document.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tool {
    pub package: &'static str,
    pub version: &'static str,
}

/// This tool.
pub const TOOL: Tool = Tool { package: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") };

/// Where the evidence came from.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Input {
    /// `trace_directory`, `json_lines` or `bundle`.
    pub kind: &'static str,
    /// As given on the command line.
    pub requested_path: String,
    /// Version of what was read.
    pub trace_schema: String,
    /// Identity of the bundle, which was verified; null for a trace.
    pub manifest_sha256: Option<String>,
}

impl Input {
    pub fn of(evidence: &Evidence) -> Self {
        let kind = match evidence.trace.form {
            Form::Directory => "trace_directory",
            Form::JsonLines => "json_lines",
            Form::Bundle => "bundle",
        };
        Self {
            kind,
            requested_path: evidence.trace.requested.display().to_string(),
            trace_schema: evidence.trace.schema.clone(),
            manifest_sha256: evidence.trace.bundle.as_ref().map(|b| b.identity.clone()),
        }
    }
}

/// What one run was, in the producer's words.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Provenance {
    pub run_id: String,
    pub correlation_id: String,
    pub entrypoint: String,
    /// `train` or `infer`.
    pub phase: &'static str,
    /// RFC 3339, UTC.
    pub timestamp: String,
    pub capture_step: i64,
    pub warmup_steps: i64,
    pub device: String,
    pub measured_region_device_synchronized: bool,
    /// `host` or `device_synchronized`.
    pub timing_mode: &'static str,
    /// The claims: scope, levels, labels, gradient manifest.
    pub capture_contract: Value,
    pub comparison_identity: Option<Value>,
    pub tags: BTreeMap<String, String>,
    /// `complete`, `failed` or `interrupted`.
    pub outcome: &'static str,
    pub reason: Option<String>,
    /// Session clock; null for a capture that never ended.
    pub ended_ns: Option<i64>,
    /// Facts the recorder refused or could not keep.
    pub events_lost: i64,
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

impl Provenance {
    pub fn of(evidence: &Evidence) -> Self {
        let run = &evidence.trace.run;
        let host = run.host.clone();
        Self {
            run_id: run.run_id.clone(),
            correlation_id: run.correlation_id.clone(),
            entrypoint: run.entrypoint.clone(),
            phase: run.phase.as_str(),
            timestamp: utc_text(run.started_at_us),
            capture_step: run.capture_step,
            warmup_steps: run.warmup_steps,
            device: run.device.clone(),
            measured_region_device_synchronized: run.measured_region_device_synchronized,
            timing_mode: run.timing_mode.as_str(),
            capture_contract: capture_contract_json(&run.contract),
            comparison_identity: run.identity.as_ref().map(|i| serde_json::json!(i)),
            tags: run.tags.clone(),
            outcome: run.outcome.as_str(),
            reason: run.reason.clone(),
            ended_ns: run.ended_ns,
            events_lost: run.events_lost,
            candle_graph_version: run.candle_graph_version.clone(),
            candle_version: host.candle_version,
            os: host.os,
            host_name: host.host_name,
            cpu_model: host.cpu_model,
            logical_cores: host.logical_cores,
            toolchain: host.toolchain,
            build_profile: host.build_profile,
            git_revision: host.git_revision,
        }
    }
}

/// One health issue.
#[derive(Debug, Serialize, JsonSchema)]
pub struct IssueOut {
    pub code: &'static str,
    /// `error` or `warning`.
    pub severity: &'static str,
    pub message: String,
    /// How often it was met.
    pub count: u64,
    /// The first few identities concerned.
    pub ids: Vec<String>,
}

/// Every issue of a trace.
pub fn issues(health: &Health) -> Vec<IssueOut> {
    health
        .issues
        .iter()
        .map(|i| IssueOut {
            code: i.code,
            severity: i.severity.as_str(),
            message: i.message.clone(),
            count: i.count,
            ids: i.ids.clone(),
        })
        .collect()
}

/// How many of each kind of event there are.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CountsOut {
    pub spans: u64,
    pub closed_spans: u64,
    pub root_spans: u64,
    pub measured_spans: u64,
    pub forward_spans: u64,
    pub backward_spans: u64,
    pub optimizer_spans: u64,
    pub operations: u64,
    pub tensors: u64,
    pub tensor_stats: u64,
    pub gradients: u64,
    pub memory_events: u64,
    pub device_memory_samples: u64,
    pub device_intervals: u64,
    pub call_edges: u64,
    pub data_edges: u64,
}

impl CountsOut {
    pub fn of(health: &Health) -> Self {
        let c = health.counts;
        Self {
            spans: c.spans,
            closed_spans: c.closed_spans,
            root_spans: c.root_spans,
            measured_spans: c.measured_spans,
            forward_spans: c.forward_spans,
            backward_spans: c.backward_spans,
            optimizer_spans: c.optimizer_spans,
            operations: c.operations,
            tensors: c.tensors,
            tensor_stats: c.tensor_stats,
            gradients: c.gradients,
            memory_events: c.memory_events,
            device_memory_samples: c.device_memory_samples,
            device_intervals: c.device_intervals,
            call_edges: c.call_edges,
            data_edges: c.data_edges,
        }
    }
}

/// One plane's level.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CapabilityOut {
    /// `complete`, `partial`, `unavailable` or `invalid`.
    pub level: &'static str,
    pub reason: String,
    /// What the level rests on; `none` where there is nothing.
    pub source: String,
}

/// The capability matrix by name.
pub type Capabilities = BTreeMap<&'static str, CapabilityOut>;

/// One plane for documents.
pub fn capability(c: &Capability) -> CapabilityOut {
    CapabilityOut { level: c.level.as_str(), reason: c.reason.clone(), source: c.source.clone() }
}

/// The matrix of a trace.
pub fn capabilities(evidence: &Evidence) -> Capabilities {
    evidence.capabilities.iter().map(|(name, c)| (*name, capability(c))).collect()
}

/// One finding.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FindingOut {
    pub code: &'static str,
    /// Level of the weakest capability it rests on.
    pub qualification: &'static str,
    /// Capabilities it rests on; without one it rests on what the program chose to summarise.
    pub requires: Vec<&'static str>,
    /// What it is about: a span, an operation, a storage, a clock, a family.
    pub source: String,
    pub summary: String,
    /// The rows it rests on.
    pub evidence: FindingEvidence,
    /// What to look at next.
    pub next: NextKind,
}

/// A query kind over the same input, and what it is for.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NextKind {
    /// `query --kind` of it.
    pub kind: &'static str,
    pub purpose: &'static str,
}

/// The rows a finding rests on.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FindingEvidence {
    /// The query in queries/ that gives them.
    pub query: &'static str,
    pub rows: Vec<Row>,
}

/// A command to run next.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NextQuery {
    pub argv: Vec<String>,
    pub purpose: &'static str,
}

impl NextQuery {
    /// `query --kind KIND` over the same input.
    pub fn query(evidence: &Evidence, kind: &str, purpose: &'static str) -> Self {
        let path = evidence.trace.requested.display().to_string();
        let mut argv = ["candle-graph", "query", &path, "--kind", kind].map(str::to_owned).to_vec();
        if let Some(dir) = evidence.trace.nsight.as_ref().and_then(|supplied| supplied.dir.as_ref()) {
            argv.extend(["--nsight-dir".to_owned(), dir.display().to_string()]);
        }
        Self { argv, purpose }
    }
}

/// What stands out in a trace. Rows are cut where the document is bounded.
///
/// # Errors
/// The engine's own failures.
pub fn findings(evidence: &Evidence, bounded: bool) -> Result<Vec<FindingOut>> {
    let out = |f: Finding| -> Result<FindingOut> {
        let mut rows = json_rows(&f.rows)?;
        if bounded {
            rows = Budget::share(FINDINGS).take(rows);
            rows.iter_mut().flat_map(|row| row.values_mut()).for_each(shorten_all);
        }
        Ok(FindingOut {
            code: f.code,
            qualification: f.qualification.as_str(),
            requires: f.requires,
            source: f.source,
            summary: f.summary,
            evidence: FindingEvidence { query: f.query, rows },
            next: NextKind { kind: f.next.0, purpose: f.next.1 },
        })
    };
    evidence.findings(!bounded || !is_large(&evidence.trace))?.into_iter().map(out).collect()
}

/// Shares of a bounded response that the rows of findings may take, each one.
const FINDINGS: usize = 100;

/// A list that says whether it is whole.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Bounded<T> {
    /// How many there are.
    pub total: usize,
    /// How many are here.
    pub displayed: usize,
    /// Whether some are missing.
    pub truncated: bool,
    pub rows: Vec<T>,
}

impl<T> Bounded<T> {
    /// The first `limit` of `rows`.
    pub fn first(mut rows: Vec<T>, limit: usize) -> Self {
        let total = rows.len();
        rows.truncate(limit);
        Self::part(rows, total)
    }

    /// Its counts alone.
    pub fn cut(&self) -> Cut {
        Cut { total: self.total, displayed: self.displayed, truncated: self.truncated }
    }

    /// `rows`, the first of `total`.
    pub fn part(rows: Vec<T>, total: usize) -> Self {
        Self { total, displayed: rows.len(), truncated: rows.len() < total, rows }
    }
}

/// How much of a list is here, where the list itself keeps the place it always had.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Cut {
    /// How many there are.
    pub total: usize,
    /// How many are here.
    pub displayed: usize,
    /// Whether some are missing.
    pub truncated: bool,
}

/// Counts of issues.
pub fn severity_counts(health: &Health) -> (usize, usize) {
    (health.count(Severity::Error), health.count(Severity::Warning))
}
