//! The JSON-lines interchange form, `candle-graph/trace/10`: the first line and the last.
//! In: the run record. Out: JSON objects. Left to neighbours: rows (`rows`, `cells`), lines (`writer`), which file
//! (`jsonl_sink`, exports), reading lines back (the analysing crate's `load`).
//!
//! The meta line names the layout of tables whose rows the lines carry, cell for cell: its reader then takes ids and
//! numbers as they stand instead of making its own. Existing readers ignore that field and every other they do not know.

mod cells;
mod rows;
mod writer;

use serde_json::json;

use crate::contract::{CaptureContract, GradientContract};
use crate::names::Outcome;
use crate::table::TABLES_SCHEMA;
use crate::tables::run::RunRecord;

pub use cells::{Unwritten, non_number, parse_non_number};
pub use rows::{FactRows, SpanRows};
pub use writer::Writer;

/// The version written.
pub const TRACE_SCHEMA: &str = "candle-graph/trace/10";

/// Bytes of the longest line with its line feed: a longer one is damage or an attack, not an event.
pub const MAX_LINE: u64 = 64 << 20;

/// The contract as JSON, as the meta line and the documents show it.
pub fn capture_contract_json(c: &CaptureContract) -> serde_json::Value {
    let mut out = json!({
        "measurement_scope": c.measurement_scope,
        "operations": c.operations,
        "activations": c.activations,
        "tensors": c.tensors,
        "gradients": c.gradients,
        "logical_memory": c.logical_memory,
        "physical_memory": c.physical_memory,
        "device_timing": c.device_timing,
        "required_semantic_labels": c.required_semantic_labels,
    });
    for (name, labels) in [
        ("gpu_expected_semantic_labels", &c.gpu_expected_semantic_labels),
        ("cpu_only_semantic_labels", &c.cpu_only_semantic_labels),
    ] {
        if !labels.is_empty() {
            out[name] = json!(labels);
        }
    }
    if let Some(gradients) = &c.gradient_contract {
        out["gradient_contract"] = gradient_contract_json(gradients);
    }
    out
}

fn gradient_contract_json(contract: &GradientContract) -> serde_json::Value {
    json!({
        "manifest_sha256": contract.stated_digest(),
        "expected": contract.expected(),
        "families": contract.families(),
    })
}

/// The moment as RFC 3339 in UTC, with milliseconds or, where they matter, microseconds.
pub fn utc_text(microseconds: i64) -> String {
    chrono::DateTime::from_timestamp_micros(microseconds).map_or_else(
        || format!("{microseconds} us since the epoch"),
        |t| t.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true),
    )
}

/// The first line.
pub fn meta(run: &RunRecord) -> serde_json::Value {
    let mut line = json!({
        "kind": "meta",
        "schema": TRACE_SCHEMA,
        "tables": TABLES_SCHEMA,
        "run_id": run.run_id,
        "correlation_id": run.correlation_id,
        "entrypoint": run.entrypoint,
        "phase": run.phase,
        "timestamp": utc_text(run.started_at_us),
        "capture_step": run.capture_step,
        "warmup_steps": run.warmup_steps,
        "device": run.device,
        "measured_region_device_synchronized": run.measured_region_device_synchronized,
        "timing_mode": run.timing_mode,
        "capture_contract": capture_contract_json(&run.contract),
        "tags": run.tags,
    });
    if let Some(identity) = &run.identity {
        line["comparison_identity"] = json!(identity);
    }
    let host = &run.host;
    for (name, value) in [
        ("candle_graph_version", &run.candle_graph_version),
        ("candle_version", &host.candle_version),
        ("os", &host.os),
        ("host_name", &host.host_name),
        ("cpu_model", &host.cpu_model),
        ("toolchain", &host.toolchain),
        ("build_profile", &host.build_profile),
        ("git_revision", &host.git_revision),
    ] {
        if let Some(value) = value {
            line[name] = json!(value);
        }
    }
    if let Some(cores) = host.logical_cores {
        line["logical_cores"] = json!(cores);
    }
    let started_at_us = run.started_at_us;
    // A moment outside the years that RFC 3339 writes.
    if line["timestamp"].as_str().and_then(parse_utc) != Some(started_at_us) {
        line["started_at_us"] = json!(started_at_us);
    }
    line
}

/// The last line. `latest_ns` is the latest time recorded: existing readers want an end, and one before what it ends
/// would make the trace invalid to them.
pub(crate) fn terminal(run: &RunRecord, latest_ns: i64) -> serde_json::Value {
    // An interrupted capture has no word of its own in this form; it failed, and the reason says how.
    let outcome = if run.outcome == Outcome::Complete { "complete" } else { "failed" };
    let mut line = json!({"kind": "terminal", "outcome": outcome, "timestamp_ns": run.ended_ns.unwrap_or(latest_ns)});
    if run.ended_ns.is_none() {
        line["no_end"] = json!(true);
    }
    match &run.reason {
        Some(reason) => line["reason"] = json!(reason),
        // To existing readers it is a failure, which has a reason.
        None if run.outcome == Outcome::Interrupted => {
            line["reason"] = json!("interrupted");
            line["no_reason"] = json!(true);
        }
        None => {}
    }
    if run.outcome == Outcome::Interrupted {
        line["interrupted"] = json!(true);
    }
    if run.events_lost != 0 {
        line["events_lost"] = json!(run.events_lost);
    }
    line
}

/// The moment written as RFC 3339, in microseconds since the epoch.
pub fn parse_utc(text: &str) -> Option<i64> {
    chrono::DateTime::parse_from_rfc3339(text).ok().map(|t| t.timestamp_micros())
}
