//! `candle-graph/overview/4`: the first look, bounded whatever the trace holds.
//! In: an examined trace. Out: the document. Left to neighbours: its text for a terminal (`terminal`).

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::documents::{
    Bounded, Capabilities, CapabilityOut, CountsOut, FindingOut, Input, IssueOut, NextQuery, Provenance, TOOL, Tool,
    capabilities, capability, findings, issues, severity_counts,
};
use super::query::gpu;
pub use super::query::gpu::Gpu;
use super::rows::{Row, json_rows, shorten_all};
use crate::error::Result;
use crate::evidence::{Evidence, is_large};
use crate::load::Trace;

/// The document's schema.
pub const SCHEMA: &str = "candle-graph/overview/4";

/// Queries that the overview of a trace shows. Rankings run too before the capture is known to be sound, and are dropped
/// if it is not: waiting for the verdict would cost every sound one.
pub fn headlines(trace: &Trace) -> Vec<&'static str> {
    let mut names = vec![
        "op_names",
        "memory_totals",
        "gradient_states",
        "gradient_problems",
        "tensor_stat_totals",
        "device_memory",
        "outer_wall",
        "slowest_host",
        "step_split",
    ];
    for query in crate::evidence::gpu::headlines(trace) {
        names.push(query);
    }
    if !is_large(trace) {
        // Where there is anything to find: to plan these takes longer than all the rest.
        if trace.count("ops") > 0 && trace.count("tensors") + trace.count("memory") > 0 {
            names.push("activation_summary");
        }
        if trace.count("memory") > 0 {
            names.push("peak_storages_ranked");
        }
    }
    names
}

/// Parts that take seconds on a trace of many events, in which a first look must not: each with the query kind that
/// gives it.
const DEEP: &[(&str, &str)] = &[("activations", "activations"), ("memory held at the peak", "memory")];

/// Parts that say where the overview was asked for: a bundle or a page of the same trace has none of them.
pub(super) const FOREIGN: &[&str] = &["input", "next_queries"];

/// Rows of the lists of issues, findings and gaps, of labels and tags.
const SENTENCES: usize = 20;
/// Bytes of a path that a document can repeat several times.
const LONG_PATH: usize = 512;
/// Identities shown of one issue.
const IDS: usize = 3;

/// The first look.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Overview {
    pub schema: &'static str,
    pub tool: Tool,
    pub input: Input,
    pub provenance: Provenance,
    pub health: OverviewHealth,
    pub capabilities: Capabilities,
    pub counts: OverviewCounts,
    /// Null unless the capture is complete and valid.
    pub timing: Option<Timing>,
    pub timing_unavailable_reason: Option<String>,
    pub operations: Operations,
    pub activations: Activations,
    pub gradients: Gradients,
    pub memory: Memory,
    pub gpu: Gpu,
    pub findings: Bounded<FindingOut>,
    pub gaps: Bounded<String>,
    /// Parts left out because the trace is large, and the query kind that gives each.
    pub deferred: Vec<Deferred>,
    /// Commands that look further, ready to run.
    pub next_queries: Vec<NextQuery>,
}

/// A part that was left out for speed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Deferred {
    pub part: &'static str,
    /// `query --kind` of it.
    pub kind: &'static str,
}

/// The verdict on the structure.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OverviewHealth {
    pub capture_complete: bool,
    pub structurally_valid: bool,
    pub error_count: usize,
    pub warning_count: usize,
    pub issues: Bounded<IssueOut>,
}

/// How much there is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OverviewCounts {
    #[serde(flatten)]
    pub events: CountsOut,
    pub tensor_stat_events: i64,
    pub tensor_stat_non_finite_events: i64,
}

/// Host time.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Timing {
    pub entrypoint: String,
    /// Wall time of the measured region.
    pub outer_wall_time_ns: i64,
    /// Rows of query `slowest_host`.
    pub slowest_host_spans: Bounded<Row>,
    /// Rows of query `step_split`: the same wall time by step.
    pub step_split: Vec<Row>,
}

/// Executed operations.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Operations {
    pub coverage: CapabilityOut,
    /// Rows of query `op_names`.
    pub by_name: Bounded<Row>,
}

/// Activations.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Activations {
    pub coverage: CapabilityOut,
    /// What may be claimed of their host time.
    pub host_time: CapabilityOut,
    /// What may be claimed of their device time.
    pub device_time: CapabilityOut,
    /// Activation-producing operations of the measured region; null where no activations were recorded, and where the part
    /// is deferred.
    pub observed_operations: Option<i64>,
}

/// Gradients.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Gradients {
    pub coverage: CapabilityOut,
    /// Rows of query `gradient_states`.
    pub states: Vec<Row>,
    /// Rows of query `gradient_problems`: parameters whose gradient is not present.
    pub not_present: Bounded<Row>,
}

/// Logical and physical memory, apart.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Memory {
    /// Whether storage lifetimes were recorded.
    pub logical: bool,
    /// Rows of query `memory_totals`, a device each.
    pub by_device: Bounded<Row>,
    /// Rows of query `peak_storages_ranked`: what held most at the peak.
    pub at_peak: Bounded<Row>,
    /// Whether physical checkpoints were recorded.
    pub physical: bool,
    /// Rows of query `device_memory`, a device each.
    pub physical_by_device: Bounded<Row>,
}

/// The first rows of a query, and how many there are in all.
fn bounded(evidence: &Evidence, query: &'static str) -> Result<Bounded<Row>> {
    let (rows, total) = evidence.top_of(query)?;
    Ok(Bounded::part(json_rows(&rows)?, total))
}

/// Builds the overview.
///
/// # Errors
/// The engine's own failures.
pub fn build(evidence: &Evidence) -> Result<Overview> {
    let health = &evidence.health;
    let (error_count, warning_count) = severity_counts(health);
    let mut planes = capabilities(evidence);
    let plane = |name: &'static str| {
        let c = &evidence.capabilities[name];
        CapabilityOut { level: c.level.as_str(), reason: c.reason.clone(), source: c.source.clone() }
    };
    let region = if health.is_sound() { outer_wall_ns(evidence)? } else { None };
    let timing = match region {
        Some(outer_wall_time_ns) => Some(Timing {
            entrypoint: evidence.trace.run.entrypoint.clone(),
            outer_wall_time_ns,
            slowest_host_spans: bounded(evidence, "slowest_host")?,
            step_split: json_rows(&evidence.top("step_split")?)?,
        }),
        None => None,
    };
    let stats = crate::evidence::Row::first(&evidence.top("tensor_stat_totals")?);
    let findings = findings(evidence, true)?;
    for capability in planes.values_mut() {
        capability.reason = crate::text::shorten(&capability.reason);
    }
    Ok(Overview {
        schema: SCHEMA,
        tool: TOOL,
        input: Input::of(evidence),
        provenance: bound_provenance(Provenance::of(evidence)),
        health: OverviewHealth {
            capture_complete: health.capture_complete,
            structurally_valid: health.structurally_valid,
            error_count,
            warning_count,
            issues: Bounded::first(bounded_issues(health), SENTENCES),
        },
        capabilities: planes,
        counts: OverviewCounts {
            events: CountsOut::of(health),
            tensor_stat_events: stats.int("events"),
            tensor_stat_non_finite_events: stats.int("non_finite_events"),
        },
        timing_unavailable_reason: timing
            .is_none()
            .then(|| health.unsound_reason().unwrap_or_else(|| "the trace has no measured region".to_owned())),
        timing,
        operations: Operations { coverage: plane("operation_coverage"), by_name: bounded(evidence, "op_names")? },
        activations: activations(evidence)?,
        gradients: Gradients {
            coverage: plane("gradient_coverage"),
            states: json_rows(&evidence.top("gradient_states")?)?,
            not_present: bounded(evidence, "gradient_problems")?,
        },
        memory: Memory {
            logical: health.counts.memory_events > 0,
            by_device: bounded(evidence, "memory_totals")?,
            at_peak: if health.counts.memory_events == 0 || is_large(&evidence.trace) {
                Bounded::first(Vec::new(), 0)
            } else {
                bounded(evidence, "peak_storages_ranked")?
            },
            physical: health.counts.device_memory_samples > 0,
            physical_by_device: bounded(evidence, "device_memory")?,
        },
        gpu: gpu::headlines(evidence)?,
        findings: Bounded::first(findings, SENTENCES),
        gaps: Bounded::first(evidence.gaps(), SENTENCES),
        deferred: if is_large(&evidence.trace) {
            DEEP.iter().map(|(part, kind)| Deferred { part, kind }).collect()
        } else {
            Vec::new()
        },
        next_queries: next_queries(
            evidence,
            stats.int("non_finite_events") > 0 || evidence.has_gradients("non_finite")?,
        ),
    })
}

/// How many operations made activations, and what qualifies their times.
fn activations(evidence: &Evidence) -> Result<Activations> {
    use crate::evidence::{Level, Row as First};
    let coverage = &evidence.capabilities["activation_coverage"];
    let counted = coverage.level != Level::Unavailable && !is_large(&evidence.trace);
    let counts = First::first(&if counted { evidence.top("activation_summary")? } else { Vec::new() });
    let planes = crate::evidence::activation_planes(evidence, &counts);
    let of = |name: &str| capability(if counted { &planes[name] } else { coverage });
    Ok(Activations {
        coverage: capability(coverage),
        host_time: of("host_time"),
        device_time: of("device_time"),
        observed_operations: counts.opt_int("observed_operations"),
    })
}

/// Every issue with a few of its identities; `count` says how many there are.
fn bounded_issues(health: &crate::analysis::health::Health) -> Vec<IssueOut> {
    let mut issues = issues(health);
    for issue in &mut issues {
        issue.ids.truncate(IDS);
    }
    issues
}

/// Wall time of the measured region, where there is exactly one.
///
/// # Errors
/// The engine's own failures.
pub fn outer_wall_ns(evidence: &Evidence) -> Result<Option<i64>> {
    Ok(crate::evidence::outer_wall(evidence)?.map(|region| region.duration_ns))
}

/// A provenance whose lists and texts are cut.
fn bound_provenance(mut provenance: Provenance) -> Provenance {
    let cut = |value: &mut Value, name: &str| {
        if let Some(items) = value.get_mut(name).and_then(Value::as_array_mut)
            && items.len() > SENTENCES
        {
            let total = items.len();
            items.truncate(SENTENCES);
            items.push(Value::String(format!("… {} of {total} shown", SENTENCES)));
        }
    };
    let contract = &mut provenance.capture_contract;
    for list in ["required_semantic_labels", "gpu_expected_semantic_labels", "cpu_only_semantic_labels"] {
        cut(contract, list);
    }
    if let Some(gradients) = contract.get_mut("gradient_contract") {
        // The manifest is as long as the model; `summary` and `run` hold it.
        let entries = gradients.get("expected").and_then(Value::as_array).map_or(0, Vec::len);
        let families = gradients.get("families").cloned().unwrap_or_default();
        let mut bounded = serde_json::json!({
            "manifest_sha256": gradients.get("manifest_sha256"),
            "expected_count": entries,
            "families": families,
        });
        cut(&mut bounded, "families");
        *gradients = bounded;
    }
    shorten_all(contract);
    if let Some(identity) = &mut provenance.comparison_identity {
        shorten_all(identity);
    }
    let tags = std::mem::take(&mut provenance.tags);
    let short = crate::text::shorten;
    provenance.tags = tags.into_iter().take(SENTENCES).map(|(k, v)| (short(&k), short(&v))).collect();
    for text in [&mut provenance.entrypoint, &mut provenance.correlation_id, &mut provenance.device] {
        *text = short(text);
    }
    provenance.reason = provenance.reason.map(|r| short(&r));
    provenance
}

fn next_queries(evidence: &Evidence, non_finite: bool) -> Vec<NextQuery> {
    let path = evidence.trace.requested.display().to_string();
    let sound = evidence.health.is_sound();
    let c = &evidence.health.counts;
    let mut next = Vec::new();
    let mut add = |wanted: bool, kind: &str, purpose| {
        if wanted {
            next.push(NextQuery::query(evidence, kind, purpose));
        }
    };
    add(non_finite, "first-non-finite", "see where a value that is not finite was first met, and what it reached");
    add(true, "labels", "list every label, so that none has to be guessed");
    add(sound, "slowest-host", "rank the host spans of the measured region");
    add(sound, "critical-path", "see what the region's wall time consists of");
    add(c.operations > 0, "ops", "total the operations by name, shape and dtype");
    add(c.operations > 0, "work", "see the floating-point work of each operation, and how fast it was done");
    add(c.memory_events > 0, "memory", "see what holds the memory at the peak");
    add(c.device_intervals > 0, "device-busy", "see how busy each device clock was");
    add(c.tensor_stats > 0, "tensor-stats", "page through scalars and tensor statistics");
    add(c.gradients > 0, "gradient-families", "see the gradients by family");
    let supplied = evidence.trace.nsight.is_some();
    add(supplied, "gpu-phases", "see what each label did on the GPU");
    add(supplied, "gpu-kernels", "rank the kernels");
    add(supplied, "gpu-attribution-gaps", "see the GPU work that belongs to no label");
    add(supplied, "gpu-status", "see which reports were read and whether they belong to this run");
    if !sound && c.spans > 0 {
        let select = "SELECT name, start_ns, duration_ns FROM spans ORDER BY start_ns";
        next.push(NextQuery {
            argv: ["candle-graph", "sql", &path, select].map(str::to_owned).to_vec(),
            purpose: "read the spans that were recorded",
        });
    }
    if path.len() > LONG_PATH {
        // Each command repeats the path: one shows the way.
        next.truncate(1);
    }
    next
}

/// The document as bounded JSON: every list is cut already, every text is shortened here.
///
/// # Errors
/// None in practice: the document has no map with other keys than text.
pub fn to_json(overview: &Overview) -> Result<Value> {
    let mut value = serde_json::to_value(overview)
        .map_err(|e| crate::error::Error::Sql { problem: format!("overview as JSON: {e}") })?;
    if let Some(fields) = value.as_object_mut() {
        // Paths must stay whole to be opened and run; a finding's sentence holds names that are short already.
        for (name, field) in fields {
            if !["next_queries", "input", "findings"].contains(&name.as_str()) {
                shorten_all(field);
            }
        }
    }
    Ok(value)
}
