//! `candle-graph/trace-query/8`: one slice of the evidence.
//! In: an examined trace, a kind, a filter, a page. Out: the document. Left to neighbours: the SQL (`query`).

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::documents::{Capabilities, Input, TOOL, Tool, capabilities};
use super::rows::{Row, json_rows};
use crate::error::{Error, Result};
use crate::evidence::Evidence;
use crate::query::{self, Filter, Page};

/// The document's schema.
pub const SCHEMA: &str = "candle-graph/trace-query/8";

/// Rows of a ranking.
const RANKING: usize = 50;

/// What shape a kind's result has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Filtered, then paged.
    Collection,
    /// The first 50 rows, under the given field.
    Ranking(&'static str),
}

/// One kind of query.
pub struct Kind {
    /// On the command line.
    pub name: &'static str,
    /// The SQL file.
    pub query: &'static str,
    pub shape: Shape,
    /// Whether it refuses a capture that is failed, interrupted or invalid.
    pub needs_sound: bool,
}

const fn collection(name: &'static str, query: &'static str, needs_sound: bool) -> Kind {
    Kind { name, query, shape: Shape::Collection, needs_sound }
}

/// Every kind.
pub const KINDS: &[Kind] = &[
    collection("labels", "labels", false),
    Kind {
        name: "slowest-host",
        query: "slowest_host",
        shape: Shape::Ranking("slowest_host_spans"),
        needs_sound: true,
    },
    collection("spans", "spans", true),
    collection("ops", "ops", false),
    collection("tensors", "tensors", true),
    collection("tensor-stats", "tensor_stats", false),
    collection("gradients", "gradients", true),
];

/// The kind called `name`.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|k| k.name == name)
}

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub filter: Filter,
    /// 1 to 1000; `None`: 50.
    pub limit: Option<usize>,
    pub offset: Option<usize>,
    /// Every matching row.
    pub all: bool,
}

/// The document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueryDocument {
    pub schema: &'static str,
    pub tool: Tool,
    pub kind: &'static str,
    pub input: Input,
    pub filter: FilterOut,
    pub capabilities: Capabilities,
    /// A collection, or a ranking with its headline.
    pub result: Value,
}

/// The filter as it was applied.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FilterOut {
    pub label: Option<String>,
    pub label_prefix: Option<String>,
}

/// One page of a collection.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Collection {
    /// Rows without the filter.
    pub total: usize,
    /// Rows that pass it.
    pub matched: usize,
    /// Rows here.
    pub displayed: usize,
    pub offset: usize,
    /// Where the next page begins; null on the last.
    pub next_offset: Option<usize>,
    /// Whether this page is not the whole match.
    pub truncated: bool,
    pub rows: Vec<Row>,
}

/// Refuses flags that a kind has no use for, before anything is read.
///
/// # Errors
/// The flag, and why.
pub fn refuse_flags(kind: &Kind, request: &Request) -> Result<()> {
    if kind.shape == Shape::Collection {
        return Ok(());
    }
    let given = [
        ("--label", request.filter.label.is_some()),
        ("--label-prefix", request.filter.label_prefix.is_some()),
        ("--limit", request.limit.is_some()),
        ("--offset", request.offset.is_some()),
        ("--all", request.all),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((flag, _)) => Err(Error::Usage {
            problem: format!("query --kind {} is a ranking of at most {RANKING} rows and takes no {flag}", kind.name),
        }),
    }
}

/// Builds the document.
///
/// # Errors
/// A filter or page that the kind does not take, a capture that cannot carry it, the engine's own failures.
pub fn build(evidence: &Evidence, kind: &'static Kind, request: &Request) -> Result<QueryDocument> {
    refuse_flags(kind, request)?;
    if kind.needs_sound {
        evidence.require_sound(&format!("query --kind {}", kind.name))?;
    }
    let result = match kind.shape {
        Shape::Collection => collection_result(evidence, kind, request)?,
        Shape::Ranking(field) => ranking_result(evidence, kind, field)?,
    };
    Ok(QueryDocument {
        schema: SCHEMA,
        tool: TOOL,
        kind: kind.name,
        input: Input::of(evidence),
        filter: FilterOut { label: request.filter.label.clone(), label_prefix: request.filter.label_prefix.clone() },
        capabilities: capabilities(evidence),
        result,
    })
}

fn collection_result(evidence: &Evidence, kind: &Kind, request: &Request) -> Result<Value> {
    let session = &evidence.session;
    let offset = request.offset.unwrap_or(0);
    let page = if request.all { Page::ALL } else { Page { offset, limit: Some(request.limit.unwrap_or(50)) } };
    let rows = json_rows(&query::rows(session, kind.query, &request.filter, page)?)?;
    let total = if request.all && request.filter.is_all() {
        rows.len()
    } else {
        query::count(session, kind.query, &Filter::default())?
    };
    let matched = match (request.filter.is_all(), request.all) {
        (true, _) => total,
        (false, true) => rows.len(),
        (false, false) => query::count(session, kind.query, &request.filter)?,
    };
    let end = offset + rows.len();
    let page = Collection {
        total,
        matched,
        displayed: rows.len(),
        offset,
        next_offset: (!rows.is_empty() && end < matched).then_some(end),
        truncated: rows.len() < matched,
        rows,
    };
    let mut result = json!(page);
    if kind.name == "spans" {
        let whole = request.all && request.filter.is_all();
        result["edges"] = if whole {
            json!(json_rows(&query::rows(session, "call_edges", &Filter::default(), Page::ALL)?)?)
        } else {
            Value::Null
        };
        result["edges_reason"] = if whole {
            Value::Null
        } else {
            json!("edges join spans of different pages; `--all` without a filter gives them")
        };
    }
    Ok(result)
}

fn ranking_result(evidence: &Evidence, kind: &Kind, field: &str) -> Result<Value> {
    let all = Filter::default();
    let rows = json_rows(&query::rows(&evidence.session, kind.query, &all, Page::first(RANKING))?)?;
    let total = if rows.len() < RANKING { rows.len() } else { query::count(&evidence.session, kind.query, &all)? };
    Ok(json!({
        "entrypoint": evidence.trace.run.entrypoint,
        "outer_wall_time_ns": super::overview::outer_wall_ns(evidence)?,
        "total": total,
        "displayed": rows.len(),
        "truncated": rows.len() < total,
        field: rows,
    }))
}
