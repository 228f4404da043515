//! What a page knows before its blocks are read: the run, what may be claimed of it, and where each number comes from.
//! In: an examined trace and its blocks. Out: one JSON document. Left to neighbours: rows (`blocks`), HTML (`page`).

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::blocks::{BLOCKS, Gathered};
use super::levels::{MERGED, SUMMED};
use crate::error::Result;
use crate::evidence::Evidence;
use crate::output::documents::{TOOL, Tool};
use crate::output::overview;
use crate::output::rows::{Row, json_rows};
use crate::query::{self, NamedType};
use crate::session::VIEWS;
use crate::text::shorten_to;

/// The layout of a page: what its script finds in it.
pub(super) const SCHEMA: &str = "candle-graph/viewer/1";

/// Queries whose rows the first look and its findings cite beside those of the blocks.
const CITED: &[&str] = &["op_names", "slowest_host"];

/// Longest text of the run record, in bytes.
const TEXT: usize = 4096;

/// The document.
#[derive(Serialize)]
pub(super) struct Meta {
    schema: &'static str,
    tool: Tool,
    kind: &'static str,
    title: String,
    run: Row,
    evidence: Value,
    coverage: Vec<Row>,
    sound: bool,
    unsound_reason: Option<String>,
    /// What its blocks are, once they are known.
    pub blocks: Vec<Block>,
    queries: BTreeMap<&'static str, Query>,
    views: BTreeMap<&'static str, &'static str>,
}

/// A page of a comparison.
#[derive(Serialize)]
pub(super) struct Compared<'a> {
    schema: &'static str,
    tool: Tool,
    kind: &'static str,
    title: String,
    comparison: &'a Value,
}

/// One block.
#[derive(Serialize)]
pub(super) struct Block {
    name: &'static str,
    query: &'static str,
    /// Rows in the page.
    rows: usize,
    /// Rows of the query.
    total: usize,
    note: Option<String>,
    unavailable: Option<String>,
    columns: Vec<Column>,
}

#[derive(Serialize)]
struct Column {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    unit: String,
    meaning: String,
}

impl From<NamedType> for Column {
    fn from(column: NamedType) -> Self {
        Self { name: column.name, type_name: column.type_name, unit: column.unit, meaning: column.meaning }
    }
}

/// A query as its file has it.
#[derive(Serialize)]
struct Query {
    summary: String,
    row: String,
    sql: &'static str,
    /// Tables and views.
    reads: Vec<String>,
}

/// The document of a trace, but for its blocks.
pub(super) fn of_trace(evidence: &Evidence) -> Result<Meta> {
    let mut queries = BTreeMap::new();
    let mut views: BTreeSet<String> = BTreeSet::new();
    for name in BLOCKS.iter().map(|block| block.query).chain(CITED.iter().copied()) {
        let header = query::header(name)?;
        views.extend(header.reads.iter().cloned());
        let sql = statement(query::text(name)?);
        queries.insert(name, Query { summary: header.summary, row: header.row, sql, reads: header.reads });
    }
    // Views come after those that they read.
    let mut known = BTreeMap::new();
    for (name, text) in VIEWS.iter().rev() {
        if views.contains(*name) {
            views.extend(query::view_header(name)?.reads);
            known.insert(*name, statement(text));
        }
    }
    Ok(Meta {
        schema: SCHEMA,
        tool: TOOL,
        kind: "trace",
        title: shorten_to(&evidence.trace.run.entrypoint, TEXT),
        run: run(evidence)?,
        evidence: first_look(evidence)?,
        coverage: json_rows(&[evidence.coverage()])?,
        sound: evidence.health.is_sound(),
        unsound_reason: evidence.health.unsound_reason(),
        blocks: Vec::new(),
        queries,
        views: known,
    })
}

/// What is said of each block.
pub(super) fn blocks(gathered: &[Gathered]) -> Result<Vec<Block>> {
    gathered.iter().map(block).collect()
}

/// A file of queries/ without its header: the page shows what that says by itself.
fn statement(text: &'static str) -> &'static str {
    let header: usize = text.split_inclusive('\n').take_while(|line| line.starts_with("--")).map(str::len).sum();
    &text[header..]
}

/// The document of a comparison.
pub(super) fn of_comparison(comparison: &Value) -> Compared<'_> {
    let workload = comparison["identity"]["workload_id"].as_str().unwrap_or("comparison");
    Compared { schema: SCHEMA, tool: TOOL, kind: "comparison", title: shorten_to(workload, TEXT), comparison }
}

/// The first look, without what belongs to a command line.
fn first_look(evidence: &Evidence) -> Result<Value> {
    let mut document = overview::to_json(&overview::build(evidence)?)?;
    if let Some(fields) = document.as_object_mut() {
        for name in overview::FOREIGN {
            fields.remove(*name);
        }
    }
    Ok(document)
}

/// The run record, without what the first look has bounded.
fn run(evidence: &Evidence) -> Result<Row> {
    let mut row = json_rows(&[evidence.trace.run.to_batch()])?.pop().unwrap_or_default();
    for bounded in ["contract", "identity", "tags"] {
        row.remove(bounded);
    }
    for value in row.values_mut() {
        if let Value::String(text) = value {
            *text = shorten_to(text, TEXT);
        }
    }
    Ok(row)
}

fn block(gathered: &Gathered) -> Result<Block> {
    let columns = match gathered.name {
        "memory_levels" => levels_of_memory(),
        _ => query::header(gathered.block.query)?.columns,
    };
    let mut columns: Vec<Column> = columns.into_iter().map(Column::from).collect();
    let rows = gathered.rows.as_ref().ok();
    if rows.is_some_and(|kept| kept.rows.column_by_name(MERGED).is_some()) {
        columns.push(described(MERGED, "count", "rows that this mark stands for; 1: it is one row").into());
        columns.push(described(SUMMED, "ns", "sum of their durations").into());
    }
    Ok(Block {
        name: gathered.name,
        query: gathered.block.query,
        rows: rows.map_or(0, |kept| kept.rows.num_rows()),
        total: gathered.total,
        note: rows.and_then(|kept| kept.note.clone()),
        unavailable: gathered.rows.as_ref().err().cloned(),
        columns,
    })
}

fn described(name: &str, unit: &str, meaning: &str) -> NamedType {
    let text = |text: &str| text.to_owned();
    NamedType { name: text(name), type_name: text("Int64"), unit: text(unit), meaning: text(meaning) }
}

fn levels_of_memory() -> Vec<NamedType> {
    let mut columns = vec![
        described("start_ns", "ns (session clock)", "first moment of the step"),
        described("end_ns", "ns (session clock)", "first moment after it"),
        described("category", "none", "category; a step in which it did not change has no row of it"),
        described("max_live_bytes", "bytes", "most live bytes of the category in the step, on all devices"),
        described("last_live_bytes", "bytes", "live bytes of the category at its end"),
    ];
    columns[2].type_name = "Utf8".to_owned();
    columns
}
