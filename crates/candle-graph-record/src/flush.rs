//! The writer thread: when a cut happens, and how it is taken.
//! In: a session's slots. Out: cuts to the sink, at least every 100 ms while anything is recorded, so that a killed
//! process loses less than 250 ms. Left to neighbours: what is recorded (`session`), how it is stored (`sink`).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arrow_array::{Int64Array, RecordBatch, UInt64Array};

use crate::buffer::{Held, Rows, Slot};
use crate::error::{Error, Result};
use crate::names::Outcome;
use crate::session::{ENDED, Shared};
use crate::sink::{Cut, Sink};
use crate::table::TableBuilder;
use crate::tables::run::RunRecord;
use crate::tables::spans::{SPANS, Span};

/// Longest time between cuts: with the writing itself it stays well under the 250 ms a killed process may lose.
const INTERVAL: Duration = Duration::from_millis(100);

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
            slot.taken.notify_all();
        }
    }
}

/// The writer thread's life.
pub(crate) fn run(shared: &Shared, mut sink: Box<dyn Sink>, mut record: RunRecord) -> Result<PathBuf> {
    let _farewell = Farewell(shared);
    loop {
        let end = {
            let orders = shared.orders();
            let (mut orders, _) = shared
                .orders_changed
                .wait_timeout_while(orders, INTERVAL, |o| !o.cut_wanted && o.end.is_none())
                .unwrap_or_else(|e| e.into_inner());
            orders.cut_wanted = false;
            orders.cuts_started += 1;
            orders.end.take()
        };
        let written = take_cut(shared, end.is_some()).and_then(|(cut, ended_ns)| {
            if let Some(ended_ns) = ended_ns {
                record.ended_ns = Some(ended_ns);
            }
            // After a failed write nothing more is written: the trace stays what was whole before it.
            if shared.poison_cause().is_some() { Ok(()) } else { cut.map_or(Ok(()), |cut| sink.write(&cut)) }
        });
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

/// Takes everything recorded since the last cut from all threads at one moment; at the end also closes the root and
/// returns when. All slots are locked together for as long as it takes to swap their rows and copy their open spans.
fn take_cut(shared: &Shared, last: bool) -> Result<(Option<Cut>, Option<i64>)> {
    let slots: Vec<Arc<Slot>> = shared.slots().clone();
    let mut taken: Vec<(Rows, usize)> = Vec::with_capacity(slots.len());
    let mut open: TableBuilder<Span> = SPANS.builder();
    let mut ended_ns = None;
    {
        let mut held: Vec<std::sync::MutexGuard<'_, Held>> = slots.iter().map(|s| s.lock()).collect();
        if last {
            shared.status.fetch_or(ENDED, Ordering::AcqRel);
            let root = shared.root_id();
            shared.registry.close(root);
            let now = shared.now();
            ended_ns = Some(now);
            for (slot, held) in slots.iter().zip(&mut held) {
                // Spans still open keep a NULL duration; the root alone ends here.
                let left = std::mem::take(&mut held.open);
                for span in left.iter().filter(|s| s.id != root).chain(left.iter().filter(|s| s.id == root)) {
                    let duration = (span.id == root).then(|| now - span.start_ns);
                    held.rows.spans.push(shared.next_seq(), &span.row(slot.thread_id, duration, None));
                }
            }
        }
        for (slot, held) in slots.iter().zip(&mut held) {
            for span in &held.open {
                // Not yet recorded: they take no number of their own and sort behind everything that has one.
                open.push(i64::MAX, &span.row(slot.thread_id, None, None));
            }
            taken.push((std::mem::take(&mut held.rows), std::mem::take(&mut held.bytes)));
        }
    }
    for (slot, (_, bytes)) in slots.iter().zip(&taken) {
        if *bytes > 0 {
            slot.taken.notify_all();
        }
    }
    let schema = SPANS.spec().schema(Some(&shared.run_id));
    let mut batches: Vec<(&'static str, Vec<RecordBatch>)> = Vec::new();
    for (rows, _) in taken {
        for (table, batch) in rows.finish(&shared.run_id) {
            match batches.iter_mut().find(|(name, _)| *name == table) {
                Some((_, list)) => list.push(batch),
                None => batches.push((table, vec![batch])),
            }
        }
    }
    // Spans first: whatever refers to them is written behind them.
    batches.sort_by_key(|(table, _)| *table != "spans");
    let batches = batches
        .into_iter()
        .map(|(table, list)| in_order(list).map(|batch| (table, batch)))
        .collect::<Result<Vec<_>>>()?;
    Ok((Some(Cut { batches, open: open.finish(&shared.run_id, &schema) }), ended_ns))
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
