//! The first rows of one query by its own order.
//! In: an examined trace, a query. Out: at most 50 rows under the field the kind names.
//! Left to neighbours: the SQL, rankings of several measures (`activations`, `heaviest`).

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Availability, Kind, RANKING, bounded, value};
use crate::error::Result;
use crate::evidence::Evidence;
use crate::output::bounds::Budget;
use crate::output::overview::outer_wall_ns;
use crate::text::shorten;

/// What stands beside the ranked rows.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ranking {
    #[serde(flatten)]
    pub availability: Availability,
    pub entrypoint: String,
    /// Wall time of the measured region.
    pub outer_wall_time_ns: Option<i64>,
    /// Rows there are; null where none could be recorded.
    pub total: Option<usize>,
    pub displayed: usize,
    /// Whether some are missing.
    pub truncated: bool,
}

pub(super) fn result(evidence: &Evidence, kind: &Kind, query: &str, field: &str) -> Result<Value> {
    let availability = Availability::of(evidence, kind.plane);
    let ranked = bounded(evidence, query, Some(RANKING), Budget::share(1))?;
    let available = availability.is_available();
    let mut result = value(&Ranking {
        availability,
        entrypoint: shorten(&evidence.trace.run.entrypoint),
        outer_wall_time_ns: outer_wall_ns(evidence)?,
        total: available.then_some(ranked.total),
        displayed: ranked.displayed,
        truncated: ranked.truncated,
    })?;
    result[field] = if available { json!(ranked.rows) } else { Value::Null };
    Ok(result)
}
