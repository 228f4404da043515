//! Rows of one query: filtered, then paged.
//! In: an examined trace, a query, a page. Out: the page, and whether it is the whole match.
//! Left to neighbours: the SQL.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Availability, Kind, Request, value};
use crate::error::Result;
use crate::evidence::Evidence;
use crate::output::rows::{Row, json_rows};
use crate::query::{self, Filter, Page};

/// Rows of a page unless a limit is given.
const PAGE: usize = 50;

/// One page of a collection.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Collection {
    #[serde(flatten)]
    pub availability: Availability,
    /// Rows without the filter; null where none could be recorded.
    pub total: Option<usize>,
    /// Rows that pass it; null where none could be recorded.
    pub matched: Option<usize>,
    /// Rows here: as many as were asked for, or as fit into the response.
    pub displayed: usize,
    pub offset: usize,
    /// Where the next page begins; null on the last.
    pub next_offset: Option<usize>,
    /// Whether this page is not the whole match.
    pub truncated: bool,
    /// Null where none could be recorded.
    pub rows: Option<Vec<Row>>,
}

/// Spans, and with all of them how they call each other.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Spans {
    #[serde(flatten)]
    pub page: Collection,
    /// Rows of query `call_edges`; null for a part of the spans.
    pub edges: Option<Vec<Row>>,
    /// Why there are no edges.
    pub edges_reason: Option<&'static str>,
}

pub(super) fn result(evidence: &Evidence, kind: &Kind, query: &str, request: &Request) -> Result<Value> {
    let page = page(evidence, kind, query, request)?;
    if kind.name != "spans" {
        return value(&page);
    }
    let whole = request.all && request.filter.is_all();
    let edges = || json_rows(&query::rows(&evidence.session, "call_edges", &Filter::default(), Page::ALL)?);
    value(&Spans {
        page,
        edges: whole.then(edges).transpose()?,
        edges_reason: (!whole).then_some("edges join spans of different pages; `--all` without a filter gives them"),
    })
}

fn page(evidence: &Evidence, kind: &Kind, query: &str, request: &Request) -> Result<Collection> {
    let session = &evidence.session;
    let offset = request.offset.unwrap_or(0);
    let asked = if request.all { Page::ALL } else { Page { offset, limit: Some(request.limit.unwrap_or(PAGE)) } };
    let found = json_rows(&query::rows(session, query, &request.filter, asked)?)?;
    // A short first page shows all there is; anything else has to be counted.
    let seen_all = offset == 0 && asked.limit.is_none_or(|limit| found.len() < limit);
    let matched = if seen_all { found.len() } else { query::count(session, query, &request.filter)? };
    let total = if request.filter.is_all() { matched } else { query::count(session, query, &Filter::default())? };
    let rows = request.budget(1).take(found);
    let end = offset.saturating_add(rows.len());
    let availability = match total {
        0 => absent(evidence, kind),
        _ => Availability::AVAILABLE,
    };
    let counted = |n: usize| availability.is_available().then_some(n);
    Ok(Collection {
        total: counted(total),
        matched: counted(matched),
        displayed: rows.len(),
        offset,
        next_offset: (!rows.is_empty() && end < matched).then_some(end),
        truncated: rows.len() < matched,
        rows: availability.is_available().then_some(rows),
        availability,
    })
}

/// Why a collection without rows has none: it was not recorded, or there was nothing.
fn absent(evidence: &Evidence, kind: &Kind) -> Availability {
    if kind.name == "tensor-stats" {
        return Availability::unavailable("no tensor statistics were recorded");
    }
    Availability::of(evidence, kind.plane)
}
