//! The capability matrix: for each evidence plane, what may be claimed and why.
//! In: the producer's declarations and the health check's counts. Out: a level, a reason and a source for each plane.
//! Left to neighbours: rows behind the counts.

use std::collections::BTreeMap;

use candle_graph_record::tables::run::RunRecord;
use candle_graph_record::{CoverageLevel, Outcome};

use crate::analysis::health::{Health, Severity};

/// What may be claimed of a plane, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing to claim from.
    Unavailable,
    /// The declaration and the observations contradict each other.
    Invalid,
    /// Observed in part.
    Partial,
    /// Declared complete, observed, and nothing contradicts it.
    Complete,
}

impl Level {
    /// The level's word in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Level::Complete => "complete",
            Level::Partial => "partial",
            Level::Unavailable => "unavailable",
            Level::Invalid => "invalid",
        }
    }
}

/// One plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    pub level: Level,
    pub reason: String,
    pub source: String,
    pub declared: Option<CoverageLevel>,
    pub observed: Option<u64>,
}

pub(super) fn capability(level: Level, reason: impl Into<String>, source: &str) -> Capability {
    let source = if level == Level::Unavailable { "none" } else { source };
    Capability { level, reason: reason.into(), source: source.to_owned(), declared: None, observed: None }
}

/// A plane with a declared level and rows that evidence it.
fn declared(run: &RunRecord, plane: &str, level: CoverageLevel, observed: u64, source: &str) -> Capability {
    use CoverageLevel::{Complete, None as Nothing, Partial};
    let (claimed, reason) = match (level, observed) {
        (Complete, 0) => (Level::Invalid, format!("{plane} declared complete, but nothing of it was recorded")),
        (Complete, _) if run.outcome != Outcome::Complete => {
            (Level::Partial, format!("{plane} declared complete, but the capture is {}", run.outcome.as_str()))
        }
        (Complete, _) if run.events_lost > 0 => (
            Level::Partial,
            format!("{plane} declared complete, but the recorder refused or lost {} facts", run.events_lost),
        ),
        (Complete, n) => (Level::Complete, format!("{plane} declared complete; {n} recorded")),
        (Partial, 0) => (Level::Unavailable, format!("{plane} declared partial, but nothing of it was recorded")),
        (Partial, n) => (Level::Partial, format!("{plane} declared partial; {n} recorded")),
        (Nothing, 0) => (Level::Unavailable, format!("{plane} neither declared nor recorded")),
        (Nothing, n) => (Level::Partial, format!("{plane} not declared; {n} recorded, which never makes it complete")),
    };
    Capability { declared: Some(level), observed: Some(observed), ..capability(claimed, reason, source) }
}

/// The first error among `codes`, as the reason why a plane is invalid.
fn broken(health: &Health, codes: &[&str]) -> Option<String> {
    let issue = health.issues.iter().find(|i| i.severity == Severity::Error && codes.contains(&i.code))?;
    Some(format!("health code {}: {}", issue.code, issue.message))
}

/// Every plane that rests on the trace itself. `activations`: tensors and storages the program called activations.
pub(super) fn matrix(run: &RunRecord, health: &Health, activations: i64) -> BTreeMap<&'static str, Capability> {
    let contract = &run.contract;
    let counts = &health.counts;
    let mut planes = BTreeMap::new();

    let errors = health.count(Severity::Error);
    planes.insert(
        "structural_trace",
        if errors == 0 {
            capability(Level::Complete, "every structural check passed", "all events")
        } else {
            let first = health.issues.first().map_or(String::new(), |i| format!("; first {}", i.code));
            capability(Level::Invalid, format!("{errors} structural errors{first}"), "all events")
        },
    );
    planes.insert(
        "outer_wall_time",
        match health.unsound_reason() {
            None => capability(Level::Complete, "one closed measured region", "measured span"),
            Some(reason) => capability(Level::Unavailable, reason, "none"),
        },
    );
    planes.insert(
        "nested_host_time",
        match health.unsound_reason() {
            None => Capability {
                observed: Some(counts.closed_spans),
                ..capability(Level::Complete, "every span closed inside its parent", "span wall intervals")
            },
            Some(reason) => capability(Level::Unavailable, reason, "none"),
        },
    );
    let mut plane = |name, label: &str, level, observed, source: &str, codes: &[&str]| {
        let mut found = declared(run, label, level, observed, source);
        if let Some(reason) = broken(health, codes) {
            found = Capability {
                declared: found.declared,
                observed: found.observed,
                ..capability(Level::Invalid, reason, source)
            };
        }
        planes.insert(name, found);
    };
    plane(
        "nested_device_time",
        "device timing",
        contract.device_timing,
        counts.device_intervals,
        "device_intervals",
        &["empty_device_interval"],
    );
    plane(
        "operation_coverage",
        "operations",
        contract.operations,
        counts.operations,
        "ops",
        &["operation_outside_span"],
    );
    plane(
        "activation_coverage",
        "activations",
        contract.activations,
        u64::try_from(activations).unwrap_or(0),
        "tensors and memory of category activation",
        &[],
    );
    plane("tensor_coverage", "tensors", contract.tensors, counts.tensors, "tensors", &["unknown_data_edge_tensor"]);
    plane(
        "gradient_coverage",
        "gradients",
        contract.gradients,
        counts.gradients,
        "gradients",
        &[
            "gradient_contract_missing",
            "gradient_contract_invalid",
            "gradient_contract_without_complete_coverage",
            "gradient_manifest_duplicate_key",
            "gradient_manifest_undeclared_key",
            "gradient_manifest_missing_key",
            "gradient_state_norm_inconsistent",
            "gradient_active_family_below_minimum",
            "gradient_inactive_family_leakage",
            "gradient_conditional_family_below_minimum",
            "gradient_family_non_finite",
            "duplicate_gradient_event_id",
        ],
    );
    plane(
        "logical_memory_coverage",
        "logical memory",
        contract.logical_memory,
        counts.memory_events,
        "memory",
        &["duplicate_allocation", "allocation_size_mismatch", "unpaired_free", "memory_outside_span"],
    );
    plane(
        "physical_memory_coverage",
        "physical memory",
        contract.physical_memory,
        counts.device_memory_samples,
        "device_memory",
        &["empty_device_memory_sample"],
    );
    if let Some(gradients) = planes.get_mut("gradient_coverage").filter(|c| c.level == Level::Complete)
        && let Some(manifest) = &contract.gradient_contract
    {
        gradients.reason = format!(
            "{} manifest entries and {} family rules hold against {}",
            manifest.expected().len(),
            manifest.families().len(),
            manifest.digest()
        );
    }
    planes
}
