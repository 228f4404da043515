//! `candle-graph/trace-query/9`: one slice of the evidence.
//! In: an examined trace, a kind, a filter, a page. Out: the document. Left to neighbours: the SQL (`query`), each
//! kind's own shape (the modules below).

mod activations;
mod collection;
pub mod gpu;
mod heaviest;
mod kinds;
mod memory;
mod non_finite;
mod ranking;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::bounds::{Budget, TEXT};
use super::documents::{Bounded, Capabilities, CapabilityOut, Input, TOOL, Tool, capabilities};
use super::rows::{Row, json_rows};
use crate::error::{Error, Result};
use crate::evidence::{Evidence, Level};
use crate::query::{self, Filter, Page};
use crate::text::{shorten, shorten_to};

pub use activations::{Activations, result as activations};
pub use collection::{Collection, Spans};
pub use heaviest::Heaviest;
pub use kinds::{KINDS, kind};
pub use memory::{MemoryResult, result as memory};
pub use non_finite::{FirstNonFinite, result as first_non_finite};
pub use ranking::Ranking;

/// The document's schema.
pub const SCHEMA: &str = "candle-graph/trace-query/9";

/// Rows of a ranking.
pub const RANKING: usize = 50;

/// What shape a kind's result has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Rows of a query: filtered where it has parameters, then paged.
    Collection(&'static str),
    /// The first 50 rows of a query, under the given field.
    Ranking(&'static str, &'static str),
    /// The capability matrix.
    Capabilities,
    /// Five rankings of the activation-producing operations.
    Activations,
    /// Spans and operations by what they allocated.
    Heaviest,
    /// Logical and physical memory, apart.
    Memory,
    /// Where the first value that is not finite was seen, and what it reached.
    FirstNonFinite,
    /// What Nsight reports say of the GPU.
    Gpu(Gpu),
}

/// A question about the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gpu {
    Status,
    Correlation,
    Phases,
    Kernels,
    Gaps,
}

/// One kind of query.
pub struct Kind {
    /// On the command line.
    pub name: &'static str,
    pub shape: Shape,
    /// Whether it refuses a capture that is failed, interrupted or invalid.
    pub needs_sound: bool,
    /// The capability that says why there are no rows; empty where labels or statistics have none.
    pub plane: &'static str,
    /// One sentence, for the catalogue.
    pub about: &'static str,
}

impl Kind {
    /// The query whose rows a collection or ranking shows.
    pub fn query(&self) -> Option<&'static str> {
        match self.shape {
            Shape::Collection(query) | Shape::Ranking(query, _) => Some(query),
            _ => None,
        }
    }

    /// Whether `--label` and `--label-prefix` mean anything.
    pub fn takes_filter(&self) -> bool {
        matches!(self.shape, Shape::Collection(name) if query::takes_filter(name))
    }

    /// Whether `--limit` and `--offset` do.
    pub fn takes_page(&self) -> bool {
        matches!(self.shape, Shape::Collection(_))
    }

    /// Whether `--all` does.
    pub fn takes_all(&self) -> bool {
        matches!(self.shape, Shape::Collection(_) | Shape::Memory | Shape::FirstNonFinite)
    }
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

impl Request {
    /// Bytes for one of `shares` lists.
    fn budget(&self, shares: usize) -> Budget {
        if self.all { Budget::WHOLE } else { Budget::share(shares) }
    }
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
    /// What the kind gives.
    pub result: Value,
}

/// The filter as it was applied.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FilterOut {
    pub label: Option<String>,
    pub label_prefix: Option<String>,
}

/// Whether a plane holds anything, so that no rows are never taken for zero.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Availability {
    /// `available` or `unavailable`.
    pub status: &'static str,
    /// Why it is unavailable.
    pub reason: Option<String>,
}

impl Availability {
    const AVAILABLE: Availability = Availability { status: "available", reason: None };

    fn unavailable(reason: impl Into<String>) -> Self {
        Availability { status: "unavailable", reason: Some(reason.into()) }
    }

    fn is_available(&self) -> bool {
        self.reason.is_none()
    }

    /// Of the plane of this capability.
    fn of(evidence: &Evidence, plane: &str) -> Self {
        match evidence.capabilities.get(plane) {
            // Declared complete and nothing recorded is invalid, and as little to count from.
            Some(c) if c.level == Level::Unavailable || c.observed == Some(0) => {
                Self::unavailable(shorten_to(&c.reason, TEXT))
            }
            _ => Self::AVAILABLE,
        }
    }
}

/// Refuses flags that a kind has no use for, before anything is read.
///
/// # Errors
/// The flag, and why.
pub fn refuse_flags(kind: &Kind, request: &Request) -> Result<()> {
    let given = [
        ("--label", request.filter.label.is_some() && !kind.takes_filter()),
        ("--label-prefix", request.filter.label_prefix.is_some() && !kind.takes_filter()),
        ("--limit", request.limit.is_some() && !kind.takes_page()),
        ("--offset", request.offset.is_some() && !kind.takes_page()),
        ("--all", request.all && !kind.takes_all()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((flag, _)) => {
            let why = match kind.shape {
                Shape::Collection(_) => "its rows carry no label".to_owned(),
                Shape::Ranking(..) | Shape::Activations | Shape::Heaviest => {
                    format!("it is a ranking of at most {RANKING} rows")
                }
                Shape::Gpu(_) => format!("its lists have at most {RANKING} rows; `candle-graph sql` reads all of them"),
                Shape::Capabilities => "it is always whole".to_owned(),
                Shape::Memory | Shape::FirstNonFinite => "it has no pages; --all gives every row".to_owned(),
            };
            Err(Error::Usage { problem: format!("query --kind {} takes no {flag}: {why}", kind.name) })
        }
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
    let mut planes = capabilities(evidence);
    if !request.all {
        planes.values_mut().for_each(shorten_capability);
    }
    let result = match kind.shape {
        Shape::Collection(query) => collection::result(evidence, kind, query, request)?,
        Shape::Ranking(query, field) => ranking::result(evidence, kind, query, field)?,
        Shape::Capabilities => value(&planes)?,
        Shape::Activations => value(&activations::result(evidence, request)?)?,
        Shape::Heaviest => value(&heaviest::result(evidence)?)?,
        Shape::Memory => value(&memory::result(evidence, request)?)?,
        Shape::FirstNonFinite => value(&non_finite::result(evidence, request)?)?,
        Shape::Gpu(Gpu::Status) => value(&gpu::status(evidence)?)?,
        Shape::Gpu(Gpu::Correlation) => value(&gpu::correlation(evidence)?)?,
        Shape::Gpu(Gpu::Phases) => value(&gpu::phases(evidence)?)?,
        Shape::Gpu(Gpu::Kernels) => value(&gpu::kernels(evidence)?)?,
        Shape::Gpu(Gpu::Gaps) => value(&gpu::gaps(evidence)?)?,
    };
    let short = |text: &Option<String>| text.as_deref().map(|t| if request.all { t.to_owned() } else { shorten(t) });
    Ok(QueryDocument {
        schema: SCHEMA,
        tool: TOOL,
        kind: kind.name,
        input: Input::of(evidence),
        filter: FilterOut { label: short(&request.filter.label), label_prefix: short(&request.filter.label_prefix) },
        capabilities: planes,
        result,
    })
}

fn shorten_capability(capability: &mut CapabilityOut) {
    capability.reason = shorten_to(&capability.reason, TEXT);
}

/// A part of a document as JSON.
fn value(part: &impl Serialize) -> Result<Value> {
    serde_json::to_value(part).map_err(|e| Error::Sql { problem: format!("a result as JSON: {e}") })
}

/// The first rows of a query, as many as `limit` and the budget allow, and how many it has.
fn bounded(evidence: &Evidence, query: &str, limit: Option<usize>, budget: Budget) -> Result<Bounded<Row>> {
    let page = limit.map_or(Page::ALL, Page::first);
    let rows = json_rows(&query::rows(&evidence.session, query, &Filter::default(), page)?)?;
    let total = match limit {
        Some(limit) if rows.len() >= limit => query::count(&evidence.session, query, &Filter::default())?,
        _ => rows.len(),
    };
    Ok(Bounded::part(budget.take(rows), total))
}

/// Every row of a query that has few.
fn few(evidence: &Evidence, query: &str) -> Result<Vec<Row>> {
    json_rows(&query::rows(&evidence.session, query, &Filter::default(), Page::ALL)?)
}
