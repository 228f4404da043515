//! Events against their spans, storages and edges.

use arrow::array::{Array, AsArray, RecordBatch, StringArray};

use super::{Check, ints, opt};

/// A call edge, held until every span is known.
pub(super) struct CallEdge {
    from: Option<i64>,
    to: Option<i64>,
    host_duration_ns: Option<i64>,
}

impl Check<'_> {
    fn known_span(&mut self, what: &str, id: i64) {
        if !self.spans.contains_key(&id) {
            self.issues.add("unknown_span", || format!("{what} in s{id}"));
        }
    }

    /// A timed event: in a known span, inside it, before the end of the trace.
    fn timed(&mut self, what: &str, code: &'static str, span_id: i64, timestamp_ns: i64) {
        match self.spans.get(&span_id) {
            None => self.issues.add("unknown_span", || format!("{what} in s{span_id}")),
            Some(span) if !span.holds(timestamp_ns) => {
                self.issues.add(code, || format!("{what} at {timestamp_ns} ns in s{span_id}"));
            }
            Some(_) => {}
        }
        self.check_end(what, span_id, timestamp_ns);
    }

    pub(super) fn feed_ops(&mut self, batch: &RecordBatch) {
        self.counts.operations += batch.num_rows() as u64;
        let (spans, times) = (ints(batch, "span_id"), ints(batch, "timestamp_ns"));
        for row in 0..batch.num_rows() {
            self.timed("operation", "operation_outside_span", spans.value(row), times.value(row));
        }
        if !self.unseen_tensors.is_empty() {
            let inputs = batch["inputs"].as_list::<i32>().values().clone();
            for id in inputs.as_string::<i32>().iter().chain(batch["output"].as_string::<i32>().iter()).flatten() {
                self.unseen_tensors.remove(id);
            }
        }
    }

    pub(super) fn feed_tensors(&mut self, batch: &RecordBatch) {
        self.counts.tensors += batch.num_rows() as u64;
        let spans = ints(batch, "span_id");
        for row in 0..batch.num_rows() {
            self.known_span("tensor", spans.value(row));
        }
        if !self.unseen_tensors.is_empty() {
            for id in batch["tensor_id"].as_string::<i32>().iter().flatten() {
                self.unseen_tensors.remove(id);
            }
        }
    }

    pub(super) fn feed_tensor_stats(&mut self, batch: &RecordBatch) {
        self.counts.tensor_stats += batch.num_rows() as u64;
        let spans = ints(batch, "span_id");
        for row in 0..batch.num_rows() {
            self.known_span("tensor statistic", spans.value(row));
        }
    }

    pub(super) fn feed_memory(&mut self, batch: &RecordBatch) {
        self.counts.memory_events += batch.num_rows() as u64;
        let (spans, times, bytes) = (ints(batch, "span_id"), ints(batch, "timestamp_ns"), ints(batch, "bytes"));
        let text = |column: &str| -> StringArray { batch[column].as_string::<i32>().clone() };
        let (actions, storages, devices) = (text("action"), text("storage_id"), text("device"));
        for row in 0..batch.num_rows() {
            self.timed("memory event", "memory_outside_span", spans.value(row), times.value(row));
            let (storage, device, size) = (storages.value(row), devices.value(row), bytes.value(row));
            if actions.value(row) == "alloc" {
                if self.storages.insert(storage.to_owned(), (size, device.to_owned())).is_some() {
                    self.issues.add("duplicate_allocation", || storage.to_owned());
                }
            } else {
                match self.storages.remove(storage) {
                    None => self.issues.add("unpaired_free", || storage.to_owned()),
                    Some((allocated, on)) if allocated != size || on != device => {
                        self.issues.add("allocation_size_mismatch", || {
                            format!("{storage}: {allocated} bytes on {on} allocated, {size} on {device} freed")
                        });
                    }
                    Some(_) => {}
                }
            }
        }
    }

    pub(super) fn feed_device_memory(&mut self, batch: &RecordBatch) {
        self.counts.device_memory_samples += batch.num_rows() as u64;
        let times = ints(batch, "timestamp_ns");
        let sizes = ["used_bytes", "free_bytes", "reserved_bytes", "capacity_bytes"].map(|c| ints(batch, c));
        let devices = batch["device"].as_string::<i32>();
        for row in 0..batch.num_rows() {
            let time = times.value(row);
            if sizes.iter().all(|s| s.is_null(row)) {
                self.issues.add("empty_device_memory_sample", || format!("{} at {time} ns", devices.value(row)));
            }
            if let Some(end) = self.run.ended_ns.filter(|&end| time > end) {
                self.issues.add("terminal_precedes_evidence", || {
                    format!("memory checkpoint at {time} ns, trace ended at {end} ns")
                });
            }
        }
    }

    pub(super) fn feed_device_intervals(&mut self, batch: &RecordBatch) {
        self.counts.device_intervals += batch.num_rows() as u64;
        let (spans, durations) = (ints(batch, "span_id"), ints(batch, "duration_ns"));
        for row in 0..batch.num_rows() {
            let span = spans.value(row);
            self.known_span("device interval", span);
            if durations.value(row) <= 0 {
                self.issues.add("empty_device_interval", || format!("in s{span}"));
            }
        }
    }

    pub(super) fn feed_edges(&mut self, batch: &RecordBatch) {
        let kinds = batch["kind"].as_string::<i32>();
        let (from, to, times) = (ints(batch, "from_span"), ints(batch, "to_span"), ints(batch, "host_duration_ns"));
        let tensors = ["from_tensor", "to_tensor"].map(|c| batch[c].as_string::<i32>().clone());
        for row in 0..batch.num_rows() {
            if kinds.value(row) == "call" {
                self.counts.call_edges += 1;
                self.edges.push(CallEdge {
                    from: opt(&from, row),
                    to: opt(&to, row),
                    host_duration_ns: opt(&times, row),
                });
                continue;
            }
            self.counts.data_edges += 1;
            for (end, ids) in ["from", "to"].iter().zip(&tensors) {
                if ids.is_null(row) || ids.value(row).is_empty() {
                    let number = self.counts.data_edges;
                    self.issues.add("empty_data_edge_endpoint", || format!("{end} of data edge {number}"));
                } else {
                    self.unseen_tensors.insert(ids.value(row).to_owned());
                }
            }
        }
    }

    pub(super) fn check_edges(&mut self) {
        for edge in std::mem::take(&mut self.edges) {
            let mut known = true;
            for id in [edge.from, edge.to] {
                if id.is_none_or(|id| !self.spans.contains_key(&id)) {
                    known = false;
                    let name = id.map_or("no span".to_owned(), |id| format!("s{id}"));
                    self.issues.add("unknown_call_edge_span", || name);
                }
            }
            let (Some(from), Some(to), true) = (edge.from, edge.to, known) else { continue };
            let callee = self.spans[&to];
            if callee.parent != Some(from) {
                self.issues.add("call_edge_hierarchy_mismatch", || format!("s{from} -> s{to}"));
            }
            if callee.duration_ns != edge.host_duration_ns {
                self.issues.add("call_edge_duration_mismatch", || format!("s{from} -> s{to}"));
            }
        }
        let mut unseen: Vec<String> = self.unseen_tensors.drain().collect();
        unseen.sort_unstable();
        for id in unseen {
            self.issues.add("unknown_data_edge_tensor", || id);
        }
    }
}
