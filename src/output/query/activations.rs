//! Activation-producing operations: five rankings, each by its own measure and with its own capability.
//! In: an examined trace. Out: the rankings and what qualifies them. Left to neighbours: the SQL, levels (`evidence`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Availability, RANKING, Request, bounded};
use crate::error::Result;
use crate::evidence::{self, Evidence, Level};
use crate::output::bounds::TEXT;
use crate::output::documents::{Bounded, Capabilities, capability};
use crate::output::rows::Row;
use crate::text::shorten_to;

const DEFINITION: &str = "An operation of the measured subtree whose output was recorded as an activation, or to \
                          which alone an activation storage was allocated. Host time, device time by clock, dense \
                          output, allocated bytes and bytes over time are separate measures of it, never one score.";

/// The rankings, by measure, and the query of each.
const RANKINGS: [(&str, &str, &str); 5] = [
    ("observed_host_duration_ns", "activations_by_host_time", "host_time"),
    ("device_busy_ns_by_clock", "activations_by_device_busy", "device_time"),
    ("dense_output_bytes", "activations_by_dense_output", "dense_output"),
    ("logical_allocated_bytes", "activations_by_logical_bytes", "logical_memory"),
    ("logical_byte_nanoseconds", "activations_by_byte_time", "logical_memory"),
];

/// Activations.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Activations {
    #[serde(flatten)]
    pub availability: Availability,
    /// What an activation-producing operation is.
    pub definition: &'static str,
    /// Null where no activations were recorded.
    pub observed_activation_operations: Option<i64>,
    /// Activation storages of the measured subtree that no operation owns.
    pub unattributed_activation_storages: Option<i64>,
    pub unattributed_activation_bytes: Option<i64>,
    /// What may be claimed of each ranking.
    pub qualifications: Capabilities,
    pub rankings: Rankings,
}

/// A ranking is null where its qualification is unavailable.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Rankings {
    /// Rows of query `activations_by_host_time`.
    pub observed_host_duration_ns: Option<Bounded<Row>>,
    /// Rows of query `activations_by_device_busy`.
    pub device_busy_ns_by_clock: Option<Bounded<Row>>,
    /// Rows of query `activations_by_dense_output`.
    pub dense_output_bytes: Option<Bounded<Row>>,
    /// Rows of query `activations_by_logical_bytes`.
    pub logical_allocated_bytes: Option<Bounded<Row>>,
    /// Rows of query `activations_by_byte_time`.
    pub logical_byte_nanoseconds: Option<Bounded<Row>>,
}

/// The five rankings of the activation-producing operations.
///
/// # Errors
/// The engine's own failures.
pub fn result(evidence: &Evidence, request: &Request) -> Result<Activations> {
    let availability = Availability::of(evidence, "activation_coverage");
    let available = availability.is_available();
    let counts = if available { evidence.top("activation_summary")? } else { Vec::new() };
    let counts = evidence::Row::first(&counts);
    let counted = counts.opt_int("observed_operations").is_some();
    let planes = evidence::activation_planes(evidence, &counts);
    let limit = (!request.all).then_some(RANKING);
    let mut ranked = BTreeMap::new();
    for (measure, query, plane) in RANKINGS {
        if available && planes.get(plane).is_some_and(|c| c.level != Level::Unavailable) {
            ranked.insert(measure, bounded(evidence, query, limit, request.budget(RANKINGS.len()))?);
        }
    }
    let count = |column| counts.opt_int(column).filter(|_| available);
    Ok(Activations {
        availability: match planes.get("host_time") {
            Some(plane) if available && !counted => Availability::unavailable(shorten_to(&plane.reason, TEXT)),
            _ => availability,
        },
        definition: DEFINITION,
        observed_activation_operations: count("observed_operations"),
        unattributed_activation_storages: count("unattributed_storages"),
        unattributed_activation_bytes: count("unattributed_bytes"),
        qualifications: planes.iter().map(|(name, c)| (*name, capability(c))).collect(),
        rankings: Rankings {
            observed_host_duration_ns: ranked.remove("observed_host_duration_ns"),
            device_busy_ns_by_clock: ranked.remove("device_busy_ns_by_clock"),
            dense_output_bytes: ranked.remove("dense_output_bytes"),
            logical_allocated_bytes: ranked.remove("logical_allocated_bytes"),
            logical_byte_nanoseconds: ranked.remove("logical_byte_nanoseconds"),
        },
    })
}
