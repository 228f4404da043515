//! What one thread has recorded and not yet handed over, and the spans it holds open.
//! In: rows. Out: at a cut, all of them as batches. Left to neighbours: when to cut (`flush`), what may be recorded
//! (`session`).

#[cfg(feature = "nvtx")]
use std::sync::atomic::AtomicBool;
use std::sync::{Condvar, Mutex};

use arrow_array::RecordBatch;

use crate::clock::CpuClock;
use crate::names::{ExecutionStep, SpanKind};
use crate::table::{Row, Table, TableBuilder};
use crate::tables::device_intervals::{DEVICE_INTERVALS, DeviceInterval};
use crate::tables::device_memory::{DEVICE_MEMORY, DeviceMemory};
use crate::tables::edges::{EDGES, Edge};
use crate::tables::gradients::{GRADIENTS, Gradient};
use crate::tables::memory::{MEMORY, Memory};
use crate::tables::ops::{OPS, Op};
use crate::tables::spans::{SPANS, Span, SpanRow};
use crate::tables::tensor_stats::{TENSOR_STATS, TensorStat};
use crate::tables::tensors::{TENSORS, Tensor};

/// Estimated bytes a thread may buffer before the writer has shown how fast it is: a burst of a captured step, written in
/// about 20 ms by optimised code. Unoptimised, the writer is some thirty times slower, and the 250 ms of the format bind.
const FIRST_BYTES: usize = if cfg!(debug_assertions) { 256 << 10 } else { 8 << 20 };

/// Builders that exist once a row needs them: a cut of an idle table costs nothing. Two of them take turns between the
/// thread and the writer, so that a thread that records on and on touches no fresh memory.
pub(crate) struct Lazy<R: Row + 'static> {
    table: &'static Table<R>,
    builder: Option<Box<TableBuilder<R>>>,
    spare: Option<Box<TableBuilder<R>>>,
}

impl<R: Row> Lazy<R> {
    fn new(table: &'static Table<R>) -> Self {
        Self { table, builder: None, spare: None }
    }

    #[inline]
    pub(crate) fn push(&mut self, seq: i64, row: &R::Of<'_>) {
        let Self { table, builder, .. } = self;
        builder.get_or_insert_with(|| Box::new(table.builder())).push(seq, row);
    }

    /// The rows; none are left.
    fn take(&mut self) -> Self {
        let builder = self.builder.take_if(|b| !b.is_empty());
        if builder.is_some() {
            self.builder = self.spare.take();
        }
        Self { table: self.table, builder, spare: None }
    }

    /// Takes emptied builders back.
    fn give_back(&mut self, emptied: Self) {
        if self.builder.is_none() {
            self.builder = emptied.builder;
        } else if self.spare.is_none() {
            self.spare = emptied.builder;
        }
    }

    fn finish(&mut self, run_id: &str, into: &mut Vec<(&'static str, RecordBatch)>) {
        if let Some(builder) = self.builder.as_mut().filter(|b| !b.is_empty()) {
            let schema = self.table.spec().schema(Some(run_id));
            into.push((self.table.name, builder.finish(run_id, &schema)));
        }
    }
}

/// Rows of all event tables.
pub(crate) struct Rows {
    pub(crate) spans: Lazy<Span>,
    pub(crate) ops: Lazy<Op>,
    pub(crate) tensors: Lazy<Tensor>,
    pub(crate) tensor_stats: Lazy<TensorStat>,
    pub(crate) gradients: Lazy<Gradient>,
    pub(crate) memory: Lazy<Memory>,
    pub(crate) device_memory: Lazy<DeviceMemory>,
    pub(crate) device_intervals: Lazy<DeviceInterval>,
    pub(crate) edges: Lazy<Edge>,
}

impl Default for Rows {
    fn default() -> Self {
        Self {
            spans: Lazy::new(&SPANS),
            ops: Lazy::new(&OPS),
            tensors: Lazy::new(&TENSORS),
            tensor_stats: Lazy::new(&TENSOR_STATS),
            gradients: Lazy::new(&GRADIENTS),
            memory: Lazy::new(&MEMORY),
            device_memory: Lazy::new(&DEVICE_MEMORY),
            device_intervals: Lazy::new(&DEVICE_INTERVALS),
            edges: Lazy::new(&EDGES),
        }
    }
}

impl Rows {
    /// The rows of all tables; none are left.
    pub(crate) fn take(&mut self) -> Self {
        Self {
            spans: self.spans.take(),
            ops: self.ops.take(),
            tensors: self.tensors.take(),
            tensor_stats: self.tensor_stats.take(),
            gradients: self.gradients.take(),
            memory: self.memory.take(),
            device_memory: self.device_memory.take(),
            device_intervals: self.device_intervals.take(),
            edges: self.edges.take(),
        }
    }

    /// Takes emptied builders back, for the rows of the cut after the next.
    pub(crate) fn give_back(&mut self, emptied: Self) {
        self.spans.give_back(emptied.spans);
        self.ops.give_back(emptied.ops);
        self.tensors.give_back(emptied.tensors);
        self.tensor_stats.give_back(emptied.tensor_stats);
        self.gradients.give_back(emptied.gradients);
        self.memory.give_back(emptied.memory);
        self.device_memory.give_back(emptied.device_memory);
        self.device_intervals.give_back(emptied.device_intervals);
        self.edges.give_back(emptied.edges);
    }

    /// The rows as batches, by table name; the builders are empty again.
    pub(crate) fn finish(&mut self, run_id: &str) -> Vec<(&'static str, RecordBatch)> {
        let mut batches = Vec::new();
        self.spans.finish(run_id, &mut batches);
        self.tensors.finish(run_id, &mut batches);
        self.memory.finish(run_id, &mut batches);
        self.ops.finish(run_id, &mut batches);
        self.tensor_stats.finish(run_id, &mut batches);
        self.gradients.finish(run_id, &mut batches);
        self.device_memory.finish(run_id, &mut batches);
        self.device_intervals.finish(run_id, &mut batches);
        self.edges.finish(run_id, &mut batches);
        batches
    }
}

/// A span that has not closed.
#[derive(Debug)]
pub(crate) struct OpenSpan {
    pub(crate) id: u64,
    pub(crate) parent: Option<u64>,
    pub(crate) name: String,
    pub(crate) kind: SpanKind,
    pub(crate) step: Option<ExecutionStep>,
    pub(crate) measured: bool,
    pub(crate) start_ns: i64,
    /// Thread CPU time at the opening; `None` where there is no such clock.
    pub(crate) cpu_start: Option<u64>,
    /// Whether later spans of this thread are opened under it.
    pub(crate) on_stack: bool,
    /// Ends with the span.
    #[cfg(feature = "nvtx")]
    pub(crate) range: crate::nvtx::Range,
}

impl OpenSpan {
    /// The span's row; ids fit an Int64 because they are counted from 1.
    pub(crate) fn row(&self, thread_id: i64, duration_ns: Option<i64>, cpu_ns: Option<i64>) -> SpanRow<'_> {
        SpanRow {
            span_id: self.id as i64,
            parent_id: self.parent.map(|p| p as i64),
            name: &self.name,
            kind: self.kind.as_str(),
            step: self.step.map(ExecutionStep::as_str),
            measured: self.measured,
            thread_id,
            start_ns: self.start_ns,
            duration_ns,
            cpu_ns,
        }
    }
}

/// What a thread's lock protects.
pub(crate) struct Held {
    pub(crate) rows: Rows,
    /// Estimated bytes in `rows`.
    pub(crate) bytes: usize,
    /// `bytes` at which the thread asks for a cut; once it has asked, the same as `wait_at`, so that it asks once.
    pub(crate) ask_at: usize,
    /// `bytes` at which the thread waits for the writer.
    pub(crate) wait_at: usize,
    /// Open spans this thread opened, oldest first.
    pub(crate) open: Vec<OpenSpan>,
    pub(crate) cpu: CpuClock,
}

impl Held {
    /// The span that a new one is opened under, if this thread has one open.
    pub(crate) fn top(&self) -> Option<u64> {
        self.open.iter().rev().find(|s| s.on_stack).map(|s| s.id)
    }

    /// The open span `id`. Spans are in order of their ids, which are given under the lock.
    #[cfg(feature = "nvtx")]
    pub(crate) fn open_mut(&mut self, id: u64) -> Option<&mut OpenSpan> {
        let index = self.open.binary_search_by_key(&id, |s| s.id).ok()?;
        self.open.get_mut(index)
    }

    /// Takes the open span `id` out, wherever in the stack it is.
    pub(crate) fn take_open(&mut self, id: u64) -> Option<OpenSpan> {
        let index = self.open.iter().rposition(|s| s.id == id)?;
        Some(self.open.remove(index))
    }
}

/// One thread's part of a session. Its lock is taken by the thread for each event and by the writer at a cut: never by
/// another recording thread, except to close a span that was moved.
pub(crate) struct Slot {
    pub(crate) thread_id: i64,
    pub(crate) held: Mutex<Held>,
    /// Signalled when a cut has emptied the rows.
    pub(crate) taken: Condvar,
    /// Spans of this thread may have been closed by another one: their ranges wait for this thread.
    #[cfg(feature = "nvtx")]
    pub(crate) closed_elsewhere: AtomicBool,
}

impl Slot {
    pub(crate) fn new(thread_id: i64) -> Self {
        let (ask_at, wait_at) = (FIRST_BYTES / 2, FIRST_BYTES);
        let held =
            Held { rows: Rows::default(), bytes: 0, ask_at, wait_at, open: Vec::new(), cpu: CpuClock::default() };
        Self {
            thread_id,
            held: Mutex::new(held),
            taken: Condvar::new(),
            #[cfg(feature = "nvtx")]
            closed_elsewhere: AtomicBool::new(false),
        }
    }

    /// The lock; a panic of the program between two of our statements leaves whole rows, so poison is ignored.
    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(|e| e.into_inner())
    }
}
