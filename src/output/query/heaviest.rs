//! Spans and operations by the bytes they allocated.
//! In: an examined trace. Out: two rankings. Left to neighbours: the SQL, what was live together (`memory`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Availability, RANKING, bounded};
use crate::error::Result;
use crate::evidence::Evidence;
use crate::output::bounds::Budget;
use crate::output::documents::{Bounded, Cut};
use crate::output::rows::Row;
use crate::text::shorten;

/// What allocated most.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Heaviest {
    #[serde(flatten)]
    pub availability: Availability,
    pub entrypoint: String,
    /// Rows of query `heaviest_spans`; null where no logical memory was recorded.
    pub heaviest_spans: Option<Vec<Row>>,
    /// Rows of query `heaviest_ops`; null where no logical memory was recorded.
    pub heaviest_ops: Option<Vec<Row>>,
    /// How much of each list is here.
    pub lists: BTreeMap<&'static str, Cut>,
}

pub(super) fn result(evidence: &Evidence) -> Result<Heaviest> {
    let availability = Availability::of(evidence, "logical_memory_coverage");
    let mut lists = BTreeMap::new();
    let mut ranked = |name| -> Result<Option<Vec<Row>>> {
        if !availability.is_available() {
            return Ok(None);
        }
        let found: Bounded<Row> = bounded(evidence, name, Some(RANKING), Budget::share(2))?;
        lists.insert(name, found.cut());
        Ok(Some(found.rows))
    };
    let heaviest_spans = ranked("heaviest_spans")?;
    let heaviest_ops = ranked("heaviest_ops")?;
    Ok(Heaviest {
        entrypoint: shorten(&evidence.trace.run.entrypoint),
        heaviest_spans,
        heaviest_ops,
        lists,
        availability,
    })
}
