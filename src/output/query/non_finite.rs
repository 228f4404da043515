//! Where the first value that is not finite was seen, what came before it, and what it reached.
//! In: an examined trace. Out: one fact with its context, and a list. Left to neighbours: the SQL.

use schemars::JsonSchema;
use serde::Serialize;

use super::{RANKING, Request, bounded};
use crate::error::Result;
use crate::evidence::Evidence;
use crate::output::documents::Bounded;
use crate::output::rows::Row;

/// The first value that is not finite.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FirstNonFinite {
    /// `found`, `none` (statistics were recorded and all are finite), or `unavailable` (none were recorded).
    pub status: &'static str,
    /// Why it is unavailable.
    pub reason: Option<&'static str>,
    /// What was looked at: tensor statistics and gradients.
    pub examined: Examined,
    /// Row of query `first_non_finite`; it is where such a value was first seen, which need not be where it arose.
    pub first: Option<Row>,
    /// Rows of query `reached_non_finite`.
    pub reached: Bounded<Row>,
}

/// How many facts could have shown a value that is not finite.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Examined {
    pub tensor_stats: u64,
    pub gradients: u64,
}

/// The first value that is not finite, and what it reached.
///
/// # Errors
/// The engine's own failures.
pub fn result(evidence: &Evidence, request: &Request) -> Result<FirstNonFinite> {
    let counts = &evidence.health.counts;
    let examined = Examined { tensor_stats: counts.tensor_stats, gradients: counts.gradients };
    let first = bounded(evidence, "first_non_finite", Some(1), request.budget(4))?.rows.pop();
    let limit = (!request.all).then_some(RANKING);
    let reached = match first {
        Some(_) => bounded(evidence, "reached_non_finite", limit, request.budget(2))?,
        None => Bounded::first(Vec::new(), 0),
    };
    let nothing = examined.tensor_stats + examined.gradients == 0;
    Ok(FirstNonFinite {
        status: match (&first, nothing) {
            (Some(_), _) => "found",
            (None, true) => "unavailable",
            (None, false) => "none",
        },
        reason: nothing.then_some("no tensor statistics and no gradients were recorded"),
        examined,
        first,
        reached,
    })
}
