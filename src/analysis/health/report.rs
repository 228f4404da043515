//! What a health check reports: every code with its severity and meaning, and the issues of one trace.
//! In: occurrences. Out: one issue a code, bounded whatever the trace holds. Left to neighbours: finding them.

use std::collections::BTreeMap;

use candle_graph_record::Outcome;

/// How bad an issue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The trace is structurally invalid.
    Error,
    /// Something is absent or unfinished.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// One code: stable, listed once.
pub struct Code {
    pub code: &'static str,
    pub severity: Severity,
    /// One sentence, complete without the identities.
    pub message: &'static str,
    /// Whether a failed or interrupted capture has it as a warning.
    pub softened: bool,
}

const fn error(code: &'static str, message: &'static str) -> Code {
    Code { code, severity: Severity::Error, message, softened: false }
}

const fn softened(code: &'static str, message: &'static str) -> Code {
    Code { code, severity: Severity::Error, message, softened: true }
}

const fn warning(code: &'static str, message: &'static str) -> Code {
    Code { code, severity: Severity::Warning, message, softened: false }
}

/// Every code a health check can report.
pub const CODES: &[Code] = &[
    error("run_provenance_invalid", "the run record contradicts itself or lacks a required fact"),
    error("root_count", "a trace has exactly one span without a parent"),
    softened("measurement_count", "a trace has exactly one measured region"),
    error("duplicate_span_id", "a span id occurs more than once"),
    error("unknown_parent", "a span names a parent that was not recorded"),
    error("span_cycle", "following the parents of a span leads back to it"),
    softened("open_span", "a span never closed"),
    error("child_outside_parent", "a span lies partly outside its parent's interval"),
    error("unknown_span", "an event names a span that was not recorded"),
    error("operation_outside_span", "an operation's time lies outside its span"),
    error("memory_outside_span", "a memory event's time lies outside its span"),
    error("terminal_precedes_evidence", "something happened after the time at which the trace says it ended"),
    error("complete_with_failure_reason", "a complete capture carries a failure reason"),
    error("failed_without_reason", "a failed capture carries no reason"),
    error("duplicate_allocation", "a storage was allocated while it was live"),
    error(
        "allocation_size_mismatch",
        "a storage was freed with another size or on another device than it was allocated",
    ),
    error("unpaired_free", "a storage was freed without a live allocation"),
    error("empty_device_interval", "a device interval has no length"),
    error("empty_device_memory_sample", "a physical memory checkpoint holds no size"),
    error("call_edge_hierarchy_mismatch", "a call edge contradicts the parents of the spans"),
    error("call_edge_duration_mismatch", "a call edge's host time differs from its callee's duration"),
    error("unknown_call_edge_span", "a call edge names a span that was not recorded"),
    error("unknown_data_edge_tensor", "a data edge names a tensor that no event shows"),
    error("empty_data_edge_endpoint", "a data edge lacks a tensor"),
    error("duplicate_required_semantic_label", "the contract requires a label twice"),
    error("empty_required_semantic_label", "the contract requires an empty label"),
    softened("required_semantic_label_cardinality", "a required label names no span or several"),
    error("duplicate_semantic_label_classification", "the contract classifies a label twice"),
    error("empty_semantic_label_classification", "the contract classifies an empty label"),
    error("overlapping_semantic_label_classification", "the contract classifies a label as GPU-expected and CPU-only"),
    error("unrequired_semantic_label_classification", "the contract classifies a label it does not require"),
    error("incomplete_semantic_label_partition", "the contract classifies some required labels and leaves out others"),
    error("duplicate_gradient_event_id", "a gradient event id occurs more than once"),
    error("empty_gradient_event_id", "a gradient event has no id"),
    error("empty_gradient_parameter_key", "a gradient event names no parameter"),
    error("gradient_state_norm_inconsistent", "a gradient's norm contradicts its state"),
    error("gradient_contract_missing", "the contract claims complete gradients without a manifest"),
    error("gradient_contract_invalid", "the gradient manifest contradicts itself"),
    error(
        "gradient_contract_without_complete_coverage",
        "a gradient manifest is given without the claim of complete gradients",
    ),
    error(
        "gradient_manifest_duplicate_key",
        "a parameter occurs twice in the gradient manifest or among the gradients",
    ),
    error("gradient_manifest_undeclared_key", "a gradient was recorded for a parameter outside the manifest"),
    error("gradient_manifest_missing_key", "a parameter of the manifest has no recorded gradient"),
    error("gradient_active_family_below_minimum", "an active family has fewer present gradients than promised"),
    error("gradient_inactive_family_leakage", "an inactive family has a gradient"),
    error(
        "gradient_conditional_family_below_minimum",
        "a data-conditional family has some present gradients, but fewer than promised",
    ),
    error("gradient_family_non_finite", "a family has a gradient that is not finite"),
    warning("forward_absent", "no span is tagged as forward"),
    warning("backward_absent", "no span is tagged as backward"),
    warning("optimizer_absent", "no span is tagged as optimizer"),
    warning("operations_absent", "no operation was recorded"),
    warning("tensors_absent", "no tensor was recorded"),
    warning("gradients_absent", "no gradient of this training update was recorded"),
    warning("logical_memory_absent", "no storage allocation was recorded"),
    warning("physical_memory_absent", "no physical memory checkpoint was recorded"),
    warning("device_timing_absent", "no device interval was recorded"),
    warning("retained_allocations", "storages were still live when the capture ended"),
    warning("events_lost", "the recorder refused or could not keep facts that the program handed it"),
    warning("capture_failed", "the program ended the capture as failed"),
    warning("capture_interrupted", "the capture was cut off"),
];

/// Identities kept per issue.
const MAX_IDS: usize = 10;
/// Bytes kept of one identity: a hostile one must not fill a document.
const MAX_ID_BYTES: usize = 200;

/// One code met in one trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    pub code: &'static str,
    pub severity: Severity,
    pub message: String,
    /// How often it was met.
    pub count: u64,
    /// The first few identities concerned, each with what is wrong with it.
    pub ids: Vec<String>,
}

/// How much of each kind was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub spans: u64,
    pub closed_spans: u64,
    pub root_spans: u64,
    pub measured_spans: u64,
    pub forward_spans: u64,
    pub backward_spans: u64,
    pub optimizer_spans: u64,
    pub operations: u64,
    pub tensors: u64,
    pub tensor_stats: u64,
    pub gradients: u64,
    pub memory_events: u64,
    pub device_memory_samples: u64,
    pub device_intervals: u64,
    pub call_edges: u64,
    pub data_edges: u64,
}

/// The verdict on a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The program finished the capture as complete.
    pub capture_complete: bool,
    /// No issue is an error.
    pub structurally_valid: bool,
    pub counts: Counts,
    /// Errors first, then warnings, each in the order of [`CODES`].
    pub issues: Vec<Issue>,
}

impl Health {
    /// Whether rankings and findings may be derived.
    pub fn is_sound(&self) -> bool {
        self.capture_complete && self.structurally_valid
    }

    /// Issues of one severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.issues.iter().filter(|i| i.severity == severity).count()
    }

    /// Why the capture is not sound: the first code that says so.
    pub fn unsound_reason(&self) -> Option<String> {
        if self.is_sound() {
            return None;
        }
        let blocking = self
            .issues
            .iter()
            .find(|i| matches!(i.code, "capture_failed" | "capture_interrupted"))
            .filter(|_| !self.capture_complete)
            .or_else(|| self.issues.iter().find(|i| i.severity == Severity::Error));
        blocking.map(|i| format!("health code {}: {}", i.code, i.message))
    }
}

/// Issues while they are found.
pub(super) struct Issues {
    outcome: Outcome,
    /// By position in `CODES`.
    found: BTreeMap<usize, (u64, Vec<String>)>,
}

impl Issues {
    pub(super) fn new(outcome: Outcome) -> Self {
        Self { outcome, found: BTreeMap::new() }
    }

    /// Counts one occurrence; its identity is made only while few are kept.
    pub(super) fn add(&mut self, code: &'static str, id: impl FnOnce() -> String) {
        let index = CODES.iter().position(|c| c.code == code).expect("every code is in CODES");
        let (count, ids) = self.found.entry(index).or_default();
        *count += 1;
        if ids.len() < MAX_IDS {
            let mut id = id();
            if id.len() > MAX_ID_BYTES {
                id.truncate(id.floor_char_boundary(MAX_ID_BYTES));
                id.push('…');
            }
            if !id.is_empty() {
                ids.push(id);
            }
        }
    }

    /// Counts an occurrence that concerns the whole trace.
    pub(super) fn flag(&mut self, code: &'static str) {
        self.add(code, String::new);
    }

    fn severity(&self, code: &Code) -> Severity {
        if code.softened && self.outcome != Outcome::Complete { Severity::Warning } else { code.severity }
    }

    pub(super) fn any_error(&self) -> bool {
        self.found.keys().any(|&i| self.severity(&CODES[i]) == Severity::Error)
    }

    pub(super) fn into_sorted(self) -> Vec<Issue> {
        let mut issues: Vec<Issue> = self
            .found
            .iter()
            .map(|(&index, (count, ids))| {
                let code = &CODES[index];
                let message = match ids.len() {
                    0 => code.message.to_owned(),
                    n if (n as u64) < *count => format!("{} ({count} times): {}; …", code.message, ids.join("; ")),
                    _ => format!("{}: {}", code.message, ids.join("; ")),
                };
                let severity = self.severity(code);
                Issue { code: code.code, severity, message, count: *count, ids: ids.clone() }
            })
            .collect();
        issues.sort_by_key(|i| i.severity);
        issues
    }
}
