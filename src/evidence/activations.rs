//! What may be claimed of each ranking of the activations: every measure stands on planes of its own.
//! In: an examined trace and the counts of query `activation_summary`. Out: a level and a reason for each ranking.
//! Left to neighbours: the rankings (`query`).

use std::collections::BTreeMap;

use super::{Capability, Evidence, Level, Row};

/// One capability a ranking.
pub fn activation_planes(evidence: &Evidence, counts: &Row) -> BTreeMap<&'static str, Capability> {
    let of = |name: &str| evidence.capabilities.get(name).cloned();
    let coverage = of("activation_coverage");
    let operations = counts.int("observed_operations");
    let counted = counts.opt_int("observed_operations").is_some();
    let plane = |needs: &[&str], holding: i64, what: &str, lacks: &str, source: &str| -> Capability {
        let needed: Vec<Capability> = ["activation_coverage"].iter().chain(needs).filter_map(|n| of(n)).collect();
        let weakest = needed.iter().min_by_key(|c| c.level);
        let declared = weakest.map_or(Level::Unavailable, |c| c.level);
        let (level, reason) = match weakest {
            Some(c) if c.level == Level::Unavailable || c.level == Level::Invalid => (c.level, c.reason.clone()),
            _ if !counted => {
                let reason = evidence.health.unsound_reason();
                (Level::Unavailable, reason.unwrap_or_else(|| "there is no closed measured region".to_owned()))
            }
            _ if operations == 0 => (
                Level::Unavailable,
                "no operation of the measured region has an output that was recorded as an activation".to_owned(),
            ),
            _ if holding == 0 => (Level::Unavailable, lacks.to_owned()),
            _ if holding < operations => {
                (declared.min(Level::Partial), format!("{holding} of {operations} operations have {what}"))
            }
            _ => (declared, format!("all {operations} operations have {what}")),
        };
        let source = if level == Level::Unavailable { "none" } else { source };
        Capability { level, reason, source: source.to_owned(), declared: None, observed: None }
    };
    let mut planes = BTreeMap::new();
    if let Some(coverage) = coverage {
        planes.insert("coverage", coverage);
    }
    planes.insert("host_time", plane(&["operation_coverage"], operations, "a host duration", "", "ops"));
    planes.insert(
        "dense_output",
        plane(
            &["operation_coverage"],
            counts.int("dense_output_operations"),
            "an output footprint",
            "no operation gave the footprint of its output",
            "ops",
        ),
    );
    planes.insert(
        "device_time",
        plane(
            &["operation_coverage", "nested_device_time"],
            counts.int("operations_with_device_time"),
            "device time of their own",
            "no operation owns an operation span with device intervals; time of a shared span belongs to no one \
             operation",
            "device_intervals of spans with one operation",
        ),
    );
    planes.insert(
        "logical_memory",
        plane(
            &["operation_coverage", "logical_memory_coverage"],
            counts.int("logical_storage_operations"),
            "a storage of their own",
            "no activation storage belongs to one operation alone",
            "memory",
        ),
    );
    let attributed = Capability {
        level: Level::Unavailable,
        reason: "physical memory checkpoints name no operation and no tensor".to_owned(),
        source: "none".to_owned(),
        declared: None,
        observed: None,
    };
    planes.insert("physical_memory_attribution", attributed);
    planes
}
