//! The files of queries/ by name: header to documentation, parameters bound, the one place that runs them.
//! In: a session, a query's name, parameters, a page. Out: its rows. Left to neighbours: what the rows mean.

mod header;
mod library;

use std::collections::HashMap;

use arrow::array::RecordBatch;

use crate::error::{Error, Result};
use crate::session::{Session, Statement, VIEWS};

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

/// The text of query `name`.
///
/// # Errors
/// An unknown name.
pub fn text(name: &str) -> Result<&'static str> {
    QUERIES
        .iter()
        .find(|(query, _)| *query == name)
        .map(|(_, text)| *text)
        .ok_or_else(|| Error::Query { query: name.to_owned(), problem: "is not in queries/".to_owned() })
}

/// Query `name` with its parameters bound. They are checked against its header, because the engine ignores a name it
/// does not know.
fn bind(name: &str, filter: &Filter) -> Result<Statement> {
    let text = text(name)?;
    let in_query = |problem: String| Error::Query { query: name.to_owned(), problem };
    let header = parse(text).map_err(in_query)?;
    let given = [("label", &filter.label), ("label_prefix", &filter.label_prefix)];
    if header.parameters.is_empty()
        && let Some((parameter, _)) = given.iter().find(|(_, value)| value.is_some())
    {
        return Err(in_query(format!("takes no parameter {parameter}")));
    }
    let mut parameters = HashMap::new();
    for parameter in &header.parameters {
        let (_, value) = given
            .iter()
            .find(|(known, _)| *known == parameter.name)
            .ok_or_else(|| in_query(format!("declares parameter {}, which nothing binds", parameter.name)))?;
        parameters.insert(parameter.name.clone(), (*value).clone());
    }
    Ok(Statement { text, parameters, limit: None })
}

fn in_query(name: &str) -> impl Fn(Error) -> Error {
    let query = name.to_owned();
    move |e| match e {
        Error::Sql { problem } => Error::Query { query: query.clone(), problem },
        other => other,
    }
}

/// Rows of query `name` that pass `filter`, cut to `page`.
///
/// # Errors
/// An unknown name, a filter the query does not take, the engine's own failures.
pub fn rows(session: &Session, name: &str, filter: &Filter, page: Page) -> Result<Vec<RecordBatch>> {
    // No result is so long; the engine takes a larger number for a negative one.
    let offset = page.offset.min(usize::MAX / 4);
    let limit = (page != Page::ALL).then_some((offset, page.limit));
    let mut results = session.run_all(vec![Statement { limit, ..bind(name, filter)? }]).map_err(in_query(name))?;
    Ok(results.pop().unwrap_or_default())
}

/// The first `limit` rows of several queries, run at once.
///
/// # Errors
/// As [`rows`].
pub fn tops(session: &Session, names: &[&str], limit: usize) -> Result<Vec<Vec<RecordBatch>>> {
    let top = |name: &&str| Ok(Statement { limit: Some((0, Some(limit))), ..bind(name, &Filter::default())? });
    session.run_all(names.iter().map(top).collect::<Result<Vec<_>>>()?)
}

/// The header of query `name`.
///
/// # Errors
/// An unknown name.
pub fn header(name: &str) -> Result<Header> {
    parse(text(name)?).map_err(|problem| Error::Query { query: name.to_owned(), problem })
}

/// The header of view `name`.
///
/// # Errors
/// An unknown name.
pub fn view_header(name: &str) -> Result<Header> {
    let problem = |problem: String| Error::Query { query: name.to_owned(), problem };
    let (_, text) =
        VIEWS.iter().find(|(view, _)| *view == name).ok_or_else(|| problem("is not in queries/views/".to_owned()))?;
    parse(text).map_err(problem)
}

/// The tables and views that query `name` reads, from its header.
///
/// # Errors
/// An unknown name.
pub fn reads(name: &str) -> Result<Vec<String>> {
    Ok(header(name)?.reads)
}

/// Whether query `name` has parameters: whether a filter means anything to it.
pub fn takes_filter(name: &str) -> bool {
    text(name).ok().and_then(|text| parse(text).ok()).is_some_and(|header| !header.parameters.is_empty())
}

/// How many rows of query `name` pass `filter`.
///
/// # Errors
/// As [`rows`].
pub fn count(session: &Session, name: &str, filter: &Filter) -> Result<usize> {
    session.count(bind(name, filter)?).map_err(in_query(name))
}
