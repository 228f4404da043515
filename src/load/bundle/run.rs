//! `run.json`: the run record of a bundle, in the only bytes that say it.
//! In: a run record, or bytes. Out: bytes, or the record. Left to neighbours: the row of table `run`.
//!
//! Its fields are those of the first and the last line of a JSON-lines trace.

use std::path::Path;

use candle_graph_record::Outcome;
use candle_graph_record::jsonl;
use candle_graph_record::tables::run::RunRecord;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::import::{Problem, run_record};
use super::super::wire;
use crate::error::{Error, Result};

/// The record's schema.
pub const RUN_SCHEMA: &str = "candle-graph/run/1";

/// How the run ended.
#[derive(Deserialize)]
struct End {
    schema: String,
    outcome: Outcome,
    reason: Option<String>,
    ended_ns: Option<i64>,
    events_lost: i64,
}

/// The canonical bytes of a record.
pub fn to_bytes(run: &RunRecord) -> Vec<u8> {
    let mut record = jsonl::meta(run);
    record["schema"] = json!(RUN_SCHEMA);
    record["outcome"] = json!(run.outcome.as_str());
    record["reason"] = json!(run.reason);
    record["ended_ns"] = json!(run.ended_ns);
    record["events_lost"] = json!(run.events_lost);
    if let Some(fields) = record.as_object_mut() {
        fields.remove("kind");
    }
    let mut bytes = serde_json::to_vec_pretty(&record).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// The record that these bytes say.
///
/// # Errors
/// Bytes that are no record, or not the canonical ones.
pub(super) fn parse(bytes: &[u8], path: &Path) -> Result<RunRecord> {
    let no_record = |e: serde_json::Error| Error::input(path, format!("is no run record ({e})"));
    let value: Value = serde_json::from_slice(bytes).map_err(no_record)?;
    let end = End::deserialize(&value).map_err(no_record)?;
    if end.schema != RUN_SCHEMA {
        return Err(Error::input(path, format!("has schema {:?}; this version reads {RUN_SCHEMA}", end.schema)));
    }
    let meta = wire::Meta::deserialize(&value).map_err(no_record)?;
    let mut run = run_record(meta).map_err(|problem| match problem {
        Problem::Line(text) => Error::input(path, text),
        Problem::Other(error) => error,
    })?;
    run.outcome = end.outcome;
    run.reason = end.reason;
    run.ended_ns = end.ended_ns;
    run.events_lost = end.events_lost;
    if to_bytes(&run) != bytes {
        return Err(Error::input(path, "was changed: its bytes are not those that the same record always has"));
    }
    Ok(run)
}
