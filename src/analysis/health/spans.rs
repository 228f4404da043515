//! The span hierarchy: one root, one measured region, closed spans inside known parents, no cycle.

use std::collections::HashMap;

use arrow::array::{Array, AsArray, RecordBatch};

use super::{Check, ints, opt};

/// What the other checks need of a span.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpanInfo {
    pub(super) parent: Option<i64>,
    pub(super) start_ns: i64,
    pub(super) duration_ns: Option<i64>,
}

impl SpanInfo {
    pub(super) fn end_ns(&self) -> Option<i64> {
        self.duration_ns.map(|d| self.start_ns.saturating_add(d))
    }

    /// Whether a moment lies in the span; after the start of one that never closed.
    pub(super) fn holds(&self, timestamp_ns: i64) -> bool {
        timestamp_ns >= self.start_ns && self.end_ns().is_none_or(|end| timestamp_ns <= end)
    }
}

impl Check<'_> {
    pub(super) fn feed_spans(&mut self, batch: &RecordBatch) {
        let (ids, parents) = (ints(batch, "span_id"), ints(batch, "parent_id"));
        let (starts, durations) = (ints(batch, "start_ns"), ints(batch, "duration_ns"));
        let names = batch["name"].as_string::<i32>();
        let steps = batch["step"].as_string::<i32>();
        let measured = batch["measured"].as_boolean();
        for row in 0..batch.num_rows() {
            let id = ids.value(row);
            let span =
                SpanInfo { parent: opt(&parents, row), start_ns: starts.value(row), duration_ns: opt(&durations, row) };
            self.counts.spans += 1;
            self.counts.root_spans += u64::from(span.parent.is_none());
            self.counts.measured_spans += u64::from(measured.value(row));
            if steps.is_valid(row) {
                match steps.value(row) {
                    "forward" => self.counts.forward_spans += 1,
                    "backward" => self.counts.backward_spans += 1,
                    "optimizer" => self.counts.optimizer_spans += 1,
                    _ => {}
                }
            }
            let name = names.value(row);
            if let Some(count) = self.labels.get_mut(name) {
                *count += 1;
            }
            match span.end_ns() {
                Some(end) => {
                    self.counts.closed_spans += 1;
                    self.check_end("span", id, end);
                }
                None => {
                    self.check_end("span", id, span.start_ns);
                    self.issues.add("open_span", || format!("s{id} {name:?}"));
                }
            }
            if self.spans.insert(id, span).is_some() {
                self.issues.add("duplicate_span_id", || format!("s{id}"));
            }
        }
    }

    /// A moment after the end of the trace.
    pub(super) fn check_end(&mut self, what: &str, id: i64, timestamp_ns: i64) {
        if let Some(end) = self.run.ended_ns.filter(|&end| timestamp_ns > end) {
            self.issues.add("terminal_precedes_evidence", || {
                format!("{what} in s{id} at {timestamp_ns} ns, trace ended at {end} ns")
            });
        }
    }

    pub(super) fn check_hierarchy(&mut self) {
        if self.counts.root_spans != 1 {
            let count = self.counts.root_spans;
            self.issues.add("root_count", || format!("{count} found"));
        }
        if self.counts.measured_spans != 1 {
            let count = self.counts.measured_spans;
            self.issues.add("measurement_count", || format!("{count} found"));
        }
        let mut ids: Vec<i64> = self.spans.keys().copied().collect();
        ids.sort_unstable();
        for &id in &ids {
            let span = self.spans[&id];
            let Some(parent_id) = span.parent else { continue };
            let Some(parent) = self.spans.get(&parent_id) else {
                self.issues.add("unknown_parent", || format!("s{id} under s{parent_id}"));
                continue;
            };
            let ends_late = matches!((span.end_ns(), parent.end_ns()), (Some(end), Some(limit)) if end > limit);
            let starts_late = parent.end_ns().is_some_and(|limit| span.start_ns > limit);
            if span.start_ns < parent.start_ns || ends_late || starts_late {
                self.issues.add("child_outside_parent", || format!("s{id} under s{parent_id}"));
            }
        }
        self.check_cycles(&ids);
    }

    /// Walks each chain of parents once: a chain that meets itself is a cycle, one that meets an older one is not.
    fn check_cycles(&mut self, ids: &[i64]) {
        let mut walked_by: HashMap<i64, i64> = HashMap::with_capacity(ids.len());
        for &start in ids {
            let mut at = start;
            loop {
                match walked_by.insert(at, start) {
                    Some(walker) if walker == start => {
                        self.issues.add("span_cycle", || format!("s{at}"));
                        break;
                    }
                    Some(_) => break,
                    None => {}
                }
                match self.spans.get(&at).and_then(|s| s.parent) {
                    Some(parent) if self.spans.contains_key(&parent) => at = parent,
                    _ => break,
                }
            }
        }
    }

    pub(super) fn check_labels(&mut self) {
        let required = &self.run.contract.required_semantic_labels;
        for label in required.iter().filter(|l| !l.is_empty()) {
            let count = self.labels.get(label.as_str()).copied().unwrap_or(0);
            if count != 1 {
                self.issues.add("required_semantic_label_cardinality", || format!("{label:?} names {count} spans"));
            }
        }
    }
}
