//! The files of queries/ by name: header to documentation, parameters bound, the one place that runs them.
//! In: a session, a query's name, parameters, a page. Out: its rows. Left to neighbours: what the rows mean.

mod header;
mod library;

use std::collections::HashMap;

use arrow::array::RecordBatch;
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::prelude::DataFrame;

use crate::error::{Error, Result};
use crate::session::Session;

pub use header::{Header, NamedType, parse};
pub use library::QUERIES;

/// The filter that collections take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub label: Option<String>,
    pub label_prefix: Option<String>,
}

impl Filter {
    /// Whether every row matches.
    pub fn is_all(&self) -> bool {
        self.label.is_none() && self.label_prefix.is_none()
    }
}

/// A slice of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub offset: usize,
    /// `None`: to the end.
    pub limit: Option<usize>,
}

impl Page {
    /// Every row.
    pub const ALL: Page = Page { offset: 0, limit: None };

    /// The first `limit` rows.
    pub const fn first(limit: usize) -> Self {
        Page { offset: 0, limit: Some(limit) }
    }
}

fn text(name: &str) -> Result<&'static str> {
    QUERIES
        .iter()
        .find(|(query, _)| *query == name)
        .map(|(_, text)| *text)
        .ok_or_else(|| Error::Query { query: name.to_owned(), problem: "is not in queries/".to_owned() })
}

/// Plans query `name`. Parameters are checked against its header, because the engine ignores a name it does not know.
fn plan(session: &Session, name: &str, filter: &Filter) -> Result<DataFrame> {
    let text = text(name)?;
    let in_query = |problem: String| Error::Query { query: name.to_owned(), problem };
    let header = parse(text).map_err(in_query)?;
    let frame = session.sql(text).map_err(|e| in_query(e.to_string()))?;
    let given = [("label", &filter.label), ("label_prefix", &filter.label_prefix)];
    if header.parameters.is_empty() {
        if let Some((parameter, _)) = given.iter().find(|(_, value)| value.is_some()) {
            return Err(in_query(format!("takes no parameter {parameter}")));
        }
        return Ok(frame);
    }
    let mut values = HashMap::new();
    for parameter in &header.parameters {
        let (_, value) = given
            .iter()
            .find(|(known, _)| *known == parameter.name)
            .ok_or_else(|| in_query(format!("declares parameter {}, which nothing binds", parameter.name)))?;
        values.insert(parameter.name.clone(), ScalarValue::Utf8((*value).clone()).into());
    }
    frame.with_param_values(ParamValues::Map(values)).map_err(|e| in_query(Error::sql(&e).to_string()))
}

/// Rows of query `name` that pass `filter`, cut to `page`.
///
/// # Errors
/// An unknown name, a filter the query does not take, the engine's own failures.
pub fn rows(session: &Session, name: &str, filter: &Filter, page: Page) -> Result<Vec<RecordBatch>> {
    let frame = plan(session, name, filter)?;
    // No result is so long; the engine takes a larger number for a negative one.
    let offset = page.offset.min(usize::MAX / 4);
    let frame = if page == Page::ALL { frame } else { frame.limit(offset, page.limit).map_err(|e| Error::sql(&e))? };
    session.collect(frame)
}

/// The first rows of several queries, run at once: at most `limit + 1` of each, so that a full page is told from the
/// whole.
///
/// # Errors
/// As [`rows`].
pub fn tops(session: &Session, names: &[&str], limit: usize) -> Result<Vec<Vec<RecordBatch>>> {
    let frames = names
        .iter()
        .map(|name| plan(session, name, &Filter::default())?.limit(0, Some(limit + 1)).map_err(|e| Error::sql(&e)))
        .collect::<Result<Vec<_>>>()?;
    session.collect_all(frames)
}

/// The tables and views that query `name` reads, from its header.
///
/// # Errors
/// An unknown name.
pub fn reads(name: &str) -> Result<Vec<String>> {
    let header = parse(text(name)?).map_err(|problem| Error::Query { query: name.to_owned(), problem })?;
    Ok(header.reads)
}

/// How many rows of query `name` pass `filter`.
///
/// # Errors
/// As [`rows`].
pub fn count(session: &Session, name: &str, filter: &Filter) -> Result<usize> {
    let frame = plan(session, name, filter)?;
    session.wait(frame.count()).map_err(|e| Error::sql(&e))
}
