//! The writer thread: when a cut happens, and how it is taken.
//! In: a session's slots. Out: cuts to the sink, at least every 100 ms while anything is recorded, so that a killed
//! process loses less than 250 ms. Left to neighbours: what is recorded (`session`), how it is stored (`sink`).

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use arrow_array::{Int64Array, RecordBatch, UInt64Array};

use crate::buffer::{Held, Rows};
use crate::error::{Error, Result};
use crate::names::Outcome;
use crate::shared::{ENDED, ROOT, Shared};
use crate::sink::{Cut, Sink};
use crate::table::TableBuilder;
use crate::tables::run::RunRecord;
use crate::tables::spans::{SPANS, Span};

/// Longest time from one cut to the next while the writer keeps up.
const INTERVAL: Duration = Duration::from_millis(100);

/// How long the writer may need for what is buffered; a thread that has buffered its share of that waits. So a cut
/// follows the last one after at most INTERVAL and is on disk after another LAG: 150 ms of the 250 ms that a killed
/// process may lose, the rest for a machine that is busy. And a trace never fills the memory of the program it measures.
const LAG: Duration = Duration::from_millis(50);

/// Bounds of what all threads together may buffer, in estimated bytes.
const MIN_BYTES: f64 = 128.0 * 1024.0;
const MAX_BYTES: f64 = 256.0 * 1024.0 * 1024.0;

/// Estimated buffered bytes of one thread at which a cut is asked for, however fast the writer is.
const CUT_BYTES: usize = 8 << 20;

/// The writer's speed in estimated bytes a second, over cuts that are large enough to tell: it falls at once when the
/// machine gets busy, and rises slowly.
struct Pace(Option<f64>);

impl Pace {
    fn observe(&mut self, bytes: usize, took: Duration) {
        if bytes >= 32 * 1024 {
            let now = bytes as f64 / took.as_secs_f64().max(1e-6);
            self.0 = Some(self.0.map_or(now, |before| now.min((before + now) / 2.0)));
        }
    }

    /// What each of `threads` may buffer before it asks for a cut, and before it waits for one.
    fn limits(&self, threads: usize) -> Option<(usize, usize)> {
        let total = (self.0? * LAG.as_secs_f64()).clamp(MIN_BYTES, MAX_BYTES);
        let wait_at = (total / threads.max(1) as f64) as usize;
        Some((CUT_BYTES.min(wait_at / 2), wait_at))
    }
}

/// What the writer has been asked to do, and how far it is.
#[derive(Default)]
pub(crate) struct Orders {
    pub(crate) cut_wanted: bool,
    pub(crate) end: Option<(Outcome, Option<String>)>,
    pub(crate) cuts_started: u64,
    pub(crate) cuts_done: u64,
    /// The thread is gone; nothing will be done any more.
    pub(crate) gone: bool,
}

/// Tells every waiter when the writer thread ends, however it ends.
struct Farewell<'a>(&'a Shared);

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        self.0.orders().gone = true;
        self.0.orders_changed.notify_all();
        for slot in self.0.slots().iter() {
            // Under the lock: a thread between its look at `gone` and its sleep would miss the call.
            drop(slot.lock());
            slot.taken.notify_all();
        }
    }
}

/// The writer thread's life.
pub(crate) fn run(shared: &Shared, mut sink: Box<dyn Sink>, mut record: RunRecord) -> Result<PathBuf> {
    let _farewell = Farewell(shared);
    let mut pace = Pace(None);
    let mut due = Instant::now() + INTERVAL;
    loop {
        let end = {
            let orders = shared.orders();
            let wait = due.saturating_duration_since(Instant::now());
            let (mut orders, _) = shared
                .orders_changed
                .wait_timeout_while(orders, wait, |o| !o.cut_wanted && o.end.is_none())
                .unwrap_or_else(|e| e.into_inner());
            orders.cut_wanted = false;
            orders.cuts_started += 1;
            orders.end.take()
        };
        let begun = Instant::now();
        due = begun + INTERVAL;
        let taken = take_cut(shared, end.is_some(), &pace);
        record.ended_ns = taken.ended_ns.or(record.ended_ns);
        let bytes = taken.bytes;
        // After a failed write nothing more is written: the trace stays what was whole before it.
        let written = match shared.poison_cause() {
            Some(_) => Ok(()),
            None => taken.into_cut(shared).and_then(|cut| sink.write(&cut)),
        };
        pace.observe(bytes, begun.elapsed());
        if let Err(error) = &written {
            shared.poison(error);
        }
        {
            let mut orders = shared.orders();
            orders.cuts_done = orders.cuts_started;
        }
        shared.orders_changed.notify_all();
        if let Some((outcome, reason)) = end {
            if let Some(cause) = shared.poison_cause() {
                return Err(written.err().unwrap_or(Error::Poisoned { cause }));
            }
            record.outcome = outcome;
            record.reason = reason;
            record.events_lost = shared.events_lost.load(Ordering::Relaxed) as i64;
            return sink.finish(&record).inspect_err(|error| shared.poison(error));
        }
    }
}

/// What all threads had recorded at one moment.
struct Taken {
    rows: Vec<Rows>,
    open: TableBuilder<Span>,
    bytes: usize,
    ended_ns: Option<i64>,
}

/// Takes everything recorded since the last cut from all threads at one moment; at the end also closes the root. All
/// slots are locked together for as long as it takes to swap their rows and copy their open spans, and so is their
/// list: a thread that began to record meanwhile would have numbered its events into this cut without being in it.
fn take_cut(shared: &Shared, last: bool, pace: &Pace) -> Taken {
    // Dropped after the locks, and their ranges with them.
    #[cfg(feature = "nvtx")]
    let mut ended = Vec::new();
    let slots = shared.slots();
    let mut taken = Taken { rows: Vec::with_capacity(slots.len()), open: SPANS.builder(), bytes: 0, ended_ns: None };
    let mut held: Vec<std::sync::MutexGuard<'_, Held>> = slots.iter().map(|s| s.lock()).collect();
    if last {
        shared.status.fetch_or(ENDED, Ordering::AcqRel);
        shared.registry.close(ROOT);
        let now = shared.now();
        taken.ended_ns = Some(now);
        for (slot, held) in slots.iter().zip(&mut held) {
            // Spans still open keep a NULL duration; the root alone ends here.
            let left = std::mem::take(&mut held.open);
            for span in left.iter().filter(|s| s.id != ROOT).chain(left.iter().filter(|s| s.id == ROOT)) {
                let duration = (span.id == ROOT).then(|| now - span.start_ns);
                held.rows.spans.push(shared.next_seq(), &span.row(slot.thread_id, duration, None));
            }
            #[cfg(feature = "nvtx")]
            {
                slot.closed_elsewhere.store(true, Ordering::Release);
                ended.push(left);
            }
        }
    }
    let limits = pace.limits(held.iter().filter(|h| h.bytes > 0).count());
    for (slot, held) in slots.iter().zip(&mut held) {
        for span in &held.open {
            // Not yet recorded: they take no number of their own and sort behind everything that has one.
            taken.open.push(i64::MAX, &span.row(slot.thread_id, None, None));
        }
        taken.rows.push(held.rows.take());
        taken.bytes += std::mem::take(&mut held.bytes);
        let (ask_at, wait_at) = limits.unwrap_or((held.wait_at / 2, held.wait_at));
        (held.ask_at, held.wait_at) = (ask_at, wait_at);
    }
    drop(held);
    for slot in slots.iter() {
        slot.taken.notify_all();
    }
    taken
}

impl Taken {
    /// The rows as batches in order; their buffers go back to the threads.
    fn into_cut(mut self, shared: &Shared) -> Result<Cut> {
        let run_id = &shared.run_id;
        let schema = SPANS.spec().schema(Some(run_id));
        let mut batches: Vec<(&'static str, Vec<RecordBatch>)> = Vec::new();
        for (table, batch) in self.rows.iter_mut().flat_map(|rows| rows.finish(run_id)) {
            match batches.iter_mut().find(|(name, _)| *name == table) {
                Some((_, list)) => list.push(batch),
                None => batches.push((table, vec![batch])),
            }
        }
        // Slots are only ever added.
        let slots = shared.slots().clone();
        for (slot, emptied) in slots.iter().zip(self.rows) {
            slot.lock().rows.give_back(emptied);
        }
        let batches = batches
            .into_iter()
            .map(|(table, list)| in_order(list).map(|batch| (table, batch)))
            .collect::<Result<Vec<_>>>()?;
        Ok(Cut { batches, open: self.open.finish(run_id, &schema) })
    }
}

/// The batches of several threads as one, in order of `seq`.
fn in_order(mut batches: Vec<RecordBatch>) -> Result<RecordBatch> {
    let arrow = |e: arrow_schema::ArrowError| Error::Writer { path: PathBuf::new(), cause: e.to_string() };
    if batches.len() == 1 {
        return Ok(batches.remove(0));
    }
    let schema = batches[0].schema();
    let all = arrow_select::concat::concat_batches(&schema, &batches).map_err(arrow)?;
    let seq = all.column(1).as_any().downcast_ref::<Int64Array>().expect("seq is the second column of every table");
    let mut order: Vec<u64> = (0..all.num_rows() as u64).collect();
    order.sort_unstable_by_key(|&i| seq.value(i as usize));
    arrow_select::take::take_record_batch(&all, &UInt64Array::from(order)).map_err(arrow)
}
