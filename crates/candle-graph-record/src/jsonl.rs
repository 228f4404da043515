//! The JSON-lines interchange form, `candle-graph/trace/10`: rows to lines.
//! In: batches of the recorded tables and the run record. Out: one JSON object a line.
//! Left to neighbours: which file (`jsonl_sink`, exports), reading lines back (the analysing crate's `load`).
//!
//! A line carries every column that existing readers know under the name they know, and the columns they do not know
//! under the table's own name, so that reading a line back loses nothing.

use std::io::{self, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use serde::ser::{SerializeMap, Serializer};
use serde_json::json;

use crate::contract::{CaptureContract, GradientContract};
use crate::names::Outcome;
use crate::tables::run::RunRecord;

/// The version written.
pub const TRACE_SCHEMA: &str = "candle-graph/trace/10";

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

fn end_line(out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"\n")
}

/// Writes the first line.
pub fn write_meta(out: &mut impl Write, run: &RunRecord) -> io::Result<()> {
    let mut line = json!({
        "kind": "meta",
        "schema": TRACE_SCHEMA,
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
    serde_json::to_writer(&mut *out, &line)?;
    end_line(out)
}

/// Writes the last line.
pub fn write_terminal(out: &mut impl Write, run: &RunRecord) -> io::Result<()> {
    // An interrupted capture has no word of its own in this form; it failed, and the reason says how.
    let outcome = if run.outcome == Outcome::Complete { "complete" } else { "failed" };
    let mut line = json!({"kind": "terminal", "outcome": outcome, "timestamp_ns": run.ended_ns.unwrap_or_default()});
    let reason = match (&run.reason, run.outcome) {
        (Some(reason), _) => Some(reason.clone()),
        (None, Outcome::Interrupted) => Some("interrupted".to_owned()),
        _ => None,
    };
    if let Some(reason) = reason {
        line["reason"] = json!(reason);
    }
    if run.outcome == Outcome::Interrupted {
        line["interrupted"] = json!(true);
    }
    if run.events_lost > 0 {
        line["events_lost"] = json!(run.events_lost);
    }
    serde_json::to_writer(&mut *out, &line)?;
    end_line(out)
}

/// The `kind` of a table's lines and the columns that the form names otherwise.
fn kind_of(table: &str) -> (&'static str, &'static [(&'static str, &'static str)]) {
    match table {
        "ops" => ("op", &[("name", "op_name")]),
        "tensors" => ("tensor", &[]),
        "tensor_stats" => ("tensor_stats", &[]),
        "gradients" => ("gradient", &[]),
        "memory" => ("memory", &[]),
        "device_memory" => ("device_memory", &[]),
        "device_intervals" => ("device_interval", &[]),
        _ => ("edge", &[("kind", "edge_kind")]),
    }
}

/// Columns whose integers are span ids: strings in this form.
fn is_span_id(column: &str) -> bool {
    matches!(column, "span_id" | "parent_id" | "from_span" | "to_span")
}

/// Writes row `row` of `batch`, a batch of event table `table` (not `spans`), as one line.
pub fn write_row(out: &mut impl Write, table: &str, batch: &RecordBatch, row: usize) -> io::Result<()> {
    let (kind, renamed) = kind_of(table);
    let mut serializer = serde_json::Serializer::new(&mut *out);
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("kind", kind)?;
    let schema = batch.schema_ref();
    // run_id and seq: the meta line and the order of lines say them.
    for (field, array) in schema.fields().iter().zip(batch.columns()).skip(2) {
        let column = field.name().as_str();
        let name = renamed.iter().find(|(from, _)| *from == column).map_or(column, |(_, to)| to);
        if array.is_null(row) {
            // Existing readers want the three numbers; the counts beside them say that they mean nothing.
            if table == "tensor_stats" && matches!(column, "rms" | "abs_max" | "mean") {
                map.serialize_entry(name, &0.0)?;
            }
            continue;
        }
        if table == "memory" && column == "action" && array.as_string::<i32>().value(row) == "end_unobserved" {
            map.serialize_entry(name, "free")?;
            map.serialize_entry("end_unobserved", &true)?;
            continue;
        }
        write_value(&mut map, name, is_span_id(column), array.as_ref(), row)?;
    }
    map.end()?;
    end_line(out)
}

fn write_value<M: SerializeMap<Error = serde_json::Error>>(
    map: &mut M,
    name: &str,
    span_id: bool,
    array: &dyn Array,
    row: usize,
) -> Result<(), serde_json::Error> {
    use arrow_schema::DataType::{Boolean, Float64, Int64, List, Utf8};
    match array.data_type() {
        Int64 if span_id => map.serialize_entry(name, &format!("s{}", array.as_primitive::<Int64Type>().value(row))),
        Int64 => map.serialize_entry(name, &array.as_primitive::<Int64Type>().value(row)),
        Float64 => map.serialize_entry(name, &array.as_primitive::<Float64Type>().value(row)),
        Boolean => map.serialize_entry(name, &array.as_boolean().value(row)),
        Utf8 => map.serialize_entry(name, array.as_string::<i32>().value(row)),
        List(_) => {
            let items = array.as_list::<i32>().value(row);
            match items.data_type() {
                Int64 => map.serialize_entry(name, items.as_primitive::<Int64Type>().values().as_ref()),
                _ => map.serialize_entry(name, &items.as_string::<i32>().iter().flatten().collect::<Vec<_>>()),
            }
        }
        other => unreachable!("no event table has a column of type {other}"),
    }
}

/// Writes the line that opens the span in row `row` of a batch of `spans`.
pub fn write_span_start(out: &mut impl Write, spans: &RecordBatch, row: usize) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::new(&mut *out);
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("kind", "span_start")?;
    for (column, name) in [
        ("span_id", "id"),
        ("parent_id", "parent_id"),
        ("name", "name"),
        ("start_ns", "start_ns"),
        ("kind", "span_kind"),
        ("measured", "measured"),
        ("step", "step"),
        ("thread_id", "thread_id"),
    ] {
        let array = &spans[column];
        if array.is_valid(row) {
            write_value(&mut map, name, is_span_id(column), array.as_ref(), row)?;
        }
    }
    map.end()?;
    end_line(out)
}

/// Writes the line that closes it; nothing for a span that never closed.
pub fn write_span_end(out: &mut impl Write, spans: &RecordBatch, row: usize) -> io::Result<()> {
    if spans["duration_ns"].is_null(row) {
        return Ok(());
    }
    let mut serializer = serde_json::Serializer::new(&mut *out);
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("kind", "span_end")?;
    for (column, name) in [("span_id", "id"), ("duration_ns", "duration_ns"), ("cpu_ns", "cpu_ns")] {
        let array = &spans[column];
        if array.is_valid(row) {
            write_value(&mut map, name, is_span_id(column), array.as_ref(), row)?;
        }
    }
    map.end()?;
    end_line(out)
}

/// The value of an Int64 column.
pub(crate) fn int_at(batch: &RecordBatch, column: &str, row: usize) -> i64 {
    batch[column].as_primitive::<Int64Type>().value(row)
}

/// The moment written as RFC 3339, in microseconds since the epoch.
pub fn parse_utc(text: &str) -> Option<i64> {
    chrono::DateTime::parse_from_rfc3339(text).ok().map(|t| t.timestamp_micros())
}
