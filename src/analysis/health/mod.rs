//! Structural health: what makes a trace invalid, and what it lacks.
//! In: the run record, then batches of every event table. Out: issues with stable codes, each once, with how often it
//! was met and the first few identities concerned. Left to neighbours: levels of evidence (`evidence`).
//!
//! Spans are held in memory (32 bytes each); everything else streams. Storages are held while they live.

mod events;
mod gradients;
mod report;
mod spans;

use std::collections::{HashMap, HashSet};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use candle_graph_record::tables::run::RunRecord;
use candle_graph_record::{CoverageLevel, ExecutionPhase, Outcome};

use report::Issues;
pub use report::{CODES, Code, Counts, Health, Issue, Severity};
use spans::SpanInfo;

/// A health check in progress: feed it the tables, then [`Check::finish`].
pub struct Check<'r> {
    run: &'r RunRecord,
    issues: Issues,
    counts: Counts,
    spans: HashMap<i64, SpanInfo>,
    labels: HashMap<&'r str, u64>,
    storages: HashMap<String, (i64, String)>,
    edges: Vec<events::CallEdge>,
    /// Tensor ids that data edges name and no event has shown yet.
    unseen_tensors: HashSet<String>,
    gradients: gradients::Seen,
}

/// The columns of each table that the check reads, in the order in which it wants the tables: `edges` before the
/// tables that hold tensor ids.
pub const READS: &[(&str, &[&str])] = &[
    ("spans", &["span_id", "parent_id", "name", "step", "measured", "start_ns", "duration_ns"]),
    ("edges", &["kind", "from_span", "to_span", "host_duration_ns", "from_tensor", "to_tensor"]),
    ("ops", &["span_id", "inputs", "output", "timestamp_ns"]),
    ("tensors", &["span_id", "tensor_id"]),
    ("tensor_stats", &["span_id"]),
    ("gradients", &["event_id", "root", "key", "state", "norm"]),
    ("memory", &["timestamp_ns", "action", "storage_id", "span_id", "device", "bytes"]),
    ("device_memory", &["timestamp_ns", "device", "used_bytes", "free_bytes", "reserved_bytes", "capacity_bytes"]),
    ("device_intervals", &["span_id", "duration_ns"]),
];

impl<'r> Check<'r> {
    /// Begins with what the run record alone shows.
    pub fn new(run: &'r RunRecord) -> Self {
        let mut check = Self {
            run,
            issues: Issues::new(run.outcome),
            counts: Counts::default(),
            spans: HashMap::new(),
            labels: run.contract.required_semantic_labels.iter().map(|l| (l.as_str(), 0)).collect(),
            storages: HashMap::new(),
            edges: Vec::new(),
            unseen_tensors: HashSet::new(),
            gradients: gradients::Seen::default(),
        };
        check.provenance();
        check
    }

    fn provenance(&mut self) {
        let run = self.run;
        for (field, text) in [
            ("run_id", &run.run_id),
            ("correlation_id", &run.correlation_id),
            ("entrypoint", &run.entrypoint),
            ("device", &run.device),
        ] {
            if text.trim().is_empty() {
                self.issues.add("run_provenance_invalid", || format!("{field} is empty"));
            }
        }
        if run.capture_step < 1 {
            self.issues.add("run_provenance_invalid", || format!("capture_step is {}", run.capture_step));
        }
        if run.warmup_steps < 0 || run.warmup_steps >= run.capture_step {
            self.issues.add("run_provenance_invalid", || {
                format!("warmup_steps {} is not below capture_step {}", run.warmup_steps, run.capture_step)
            });
        }
        if let Some((field, problem)) = run.identity.as_ref().and_then(|i| i.problem()) {
            self.issues.add("run_provenance_invalid", || format!("comparison identity: {field} {problem}"));
        }
        for problem in run.contract.problems() {
            self.issues.add(problem.code, || format!("{} {}", problem.field, problem.problem));
        }
        if run.events_lost > 0 {
            self.issues.add("events_lost", || format!("{} lost", run.events_lost));
        }
        match run.outcome {
            Outcome::Complete => {
                if let Some(reason) = &run.reason {
                    self.issues.add("complete_with_failure_reason", || reason.clone());
                }
            }
            Outcome::Failed => {
                if run.reason.as_ref().is_none_or(|r| r.trim().is_empty()) {
                    self.issues.add("failed_without_reason", || run.run_id.clone());
                }
                self.issues.add("capture_failed", || run.reason.clone().unwrap_or_default());
            }
            Outcome::Interrupted => {
                self.issues.add("capture_interrupted", || run.reason.clone().unwrap_or_default());
            }
        }
    }

    /// The columns of `table` that are still needed: tensor ids only while a data edge waits for one.
    pub fn needs<'c>(&self, table: &str, columns: &[&'c str]) -> Vec<&'c str> {
        let ids: &[&str] = match table {
            "ops" => &["inputs", "output"],
            "tensors" => &["tensor_id"],
            _ => &[],
        };
        let idle = self.unseen_tensors.is_empty();
        columns.iter().copied().filter(|c| !(idle && ids.contains(c))).collect()
    }

    /// Feeds one batch of a table, with the columns of [`READS`], in their order.
    pub fn feed(&mut self, table: &str, batch: &RecordBatch) {
        match table {
            "spans" => self.feed_spans(batch),
            "edges" => self.feed_edges(batch),
            "ops" => self.feed_ops(batch),
            "tensors" => self.feed_tensors(batch),
            "tensor_stats" => self.feed_tensor_stats(batch),
            "gradients" => self.feed_gradients(batch),
            "memory" => self.feed_memory(batch),
            "device_memory" => self.feed_device_memory(batch),
            "device_intervals" => self.feed_device_intervals(batch),
            _ => {}
        }
    }

    /// The verdict.
    pub fn finish(mut self) -> Health {
        self.check_hierarchy();
        self.check_labels();
        self.check_edges();
        self.check_gradients();
        self.check_absence();
        let structurally_valid = !self.issues.any_error();
        Health {
            capture_complete: self.run.outcome == Outcome::Complete,
            structurally_valid,
            counts: self.counts,
            issues: self.issues.into_sorted(),
        }
    }

    /// What the trace lacks: gaps, never errors.
    fn check_absence(&mut self) {
        let c = &self.counts;
        let training = self.run.phase == ExecutionPhase::Train;
        let gaps = [
            ("forward_absent", training && c.forward_spans == 0),
            ("backward_absent", training && c.backward_spans == 0),
            ("optimizer_absent", training && c.optimizer_spans == 0),
            ("operations_absent", c.operations == 0),
            ("tensors_absent", c.tensors == 0),
            ("gradients_absent", training && c.gradients == 0),
            ("logical_memory_absent", c.memory_events == 0),
            ("physical_memory_absent", c.device_memory_samples == 0),
            ("device_timing_absent", c.device_intervals == 0),
        ];
        for (code, absent) in gaps {
            if absent {
                self.issues.flag(code);
            }
        }
        if self.run.contract.logical_memory > CoverageLevel::None || c.memory_events > 0 {
            let mut retained: Vec<&String> = self.storages.keys().collect();
            retained.sort_unstable();
            for storage in retained {
                self.issues.add("retained_allocations", || storage.clone());
            }
        }
    }
}

/// The Int64 column at `index`.
fn ints(batch: &RecordBatch, column: &str) -> arrow::array::Int64Array {
    batch[column].as_primitive::<Int64Type>().clone()
}

/// The value, or `None` for NULL.
fn opt(array: &arrow::array::Int64Array, row: usize) -> Option<i64> {
    array.is_valid(row).then(|| array.value(row))
}
