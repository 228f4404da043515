//! The session: what a training program calls.
//! In: spans and facts, from any thread. Out: rows in the calling thread's buffer, or an error at the call.
//! Left to neighbours: buffers (`buffer`), the writer (`flush`), files (`sink`), tensors (`candle`).

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{JoinHandle, ThreadId};
use std::time::Instant;

use crate::buffer::{Held, OpenSpan, Slot};
use crate::error::{Error, Result};
use crate::flush::{self, Orders};
use crate::names::{ExecutionStep, GradientState, MemoryCategory, Outcome, SpanKind};
use crate::records::{
    DeviceIntervalRecord, DeviceMemoryRecord, MemoryRecord, OpRecord, Shape, TensorRecord, TensorStats, dtype, int,
    non_empty, opt_int,
};
use crate::registry::{Registry, Seen};
use crate::run::ProfileRun;
use crate::span::{OwnedSpan, SpanGuard, SpanId};
use crate::storage::{Allocation, FreeProblem, Storage, Storages};
use crate::tables::device_intervals::DeviceIntervalRow;
use crate::tables::device_memory::DeviceMemoryRow;
use crate::tables::edges::EdgeRow;
use crate::tables::gradients::GradientRow;
use crate::tables::memory::MemoryRow;
use crate::tables::ops::OpRow;
use crate::tables::run::RunRecord;
use crate::tables::tensor_stats::TensorStatRow;
use crate::tables::tensors::TensorRow;

/// Bits of [`Shared::status`].
pub(crate) const ENDED: u8 = 1;
pub(crate) const POISONED: u8 = 2;

/// Longest text of one event in bytes: as long as a line of the interchange form may be.
const MAX_TEXT: usize = 64 << 20;
/// Estimated bytes of a row without its text.
const ROW_BYTES: usize = 96;

/// The id of the root span.
const ROOT: u64 = 1;

/// What a span is opened with.
struct SpanFacts<'a> {
    /// `None`: the innermost open span of the thread, or the root.
    parent: Option<u64>,
    name: &'a str,
    kind: SpanKind,
    step: Option<ExecutionStep>,
    measured: bool,
    on_stack: bool,
}

/// What all threads of a session share. Nothing here is locked for an event.
pub(crate) struct Shared {
    /// Number of the session within the process.
    pub(crate) session: u64,
    pub(crate) run_id: String,
    epoch: Instant,
    pub(crate) status: AtomicU8,
    seq: AtomicU64,
    spans: AtomicU64,
    gradients: AtomicU64,
    pub(crate) events_lost: AtomicU64,
    pub(crate) registry: Registry,
    storages: Storages,
    slots: Mutex<Vec<Arc<Slot>>>,
    threads: Mutex<HashMap<ThreadId, Arc<Slot>>>,
    orders: Mutex<Orders>,
    pub(crate) orders_changed: Condvar,
    poison: Mutex<Option<String>>,
}

thread_local! {
    /// This thread's slots, by session. Few: a thread rarely records into two sessions.
    static SLOTS: RefCell<Vec<(u64, Arc<Slot>)>> = const { RefCell::new(Vec::new()) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whatever panicked, every change under these locks is a single assignment, insert or push.
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Shared {
    pub(crate) fn orders(&self) -> MutexGuard<'_, Orders> {
        lock(&self.orders)
    }

    pub(crate) fn slots(&self) -> MutexGuard<'_, Vec<Arc<Slot>>> {
        lock(&self.slots)
    }

    pub(crate) fn root_id(&self) -> u64 {
        ROOT
    }

    /// Nanoseconds since the session opened; an Int64 holds 292 years of them.
    #[inline]
    pub(crate) fn now(&self) -> i64 {
        self.epoch.elapsed().as_nanos() as i64
    }

    #[inline]
    pub(crate) fn next_seq(&self) -> i64 {
        self.seq.fetch_add(1, Ordering::Relaxed) as i64
    }

    pub(crate) fn poison(&self, error: &Error) {
        let mut text = error.to_string();
        if let Error::Poisoned { cause } = error {
            text.clone_from(cause);
        }
        lock(&self.poison).get_or_insert(text);
        self.status.fetch_or(POISONED, Ordering::AcqRel);
    }

    pub(crate) fn poison_cause(&self) -> Option<String> {
        lock(&self.poison).clone()
    }

    /// Refuses a call that can no longer be recorded.
    #[inline]
    fn alive(&self, what: &'static str) -> Result<()> {
        let status = self.status.load(Ordering::Relaxed);
        if status == 0 { Ok(()) } else { Err(self.dead(what, status)) }
    }

    #[cold]
    fn dead(&self, what: &'static str, status: u8) -> Error {
        if status & POISONED != 0 {
            Error::Poisoned { cause: self.poison_cause().unwrap_or_default() }
        } else {
            Error::fact(what, "session", "has already ended")
        }
    }

    /// Counts a refused fact, so that the trace says that it lacks something.
    fn counted<T>(&self, result: Result<T>) -> Result<T> {
        if result.is_err() {
            self.events_lost.fetch_add(1, Ordering::Relaxed);
        }
        result
    }

    #[inline]
    fn with_slot<T>(&self, f: impl FnOnce(&Arc<Slot>) -> T) -> T {
        let mut f = Some(f);
        let done = SLOTS.try_with(|slots| {
            let slots = slots.borrow();
            let (_, slot) = slots.iter().find(|(session, _)| *session == self.session)?;
            Some(f.take()?(slot))
        });
        match done {
            Ok(Some(value)) => value,
            _ => {
                let slot = self.register();
                f.take().expect("the closure runs once")(&slot)
            }
        }
    }

    /// This thread's slot, made at its first event. Works while thread-local storage is being torn down, too.
    #[cold]
    fn register(&self) -> Arc<Slot> {
        let slot = Arc::clone(lock(&self.threads).entry(std::thread::current().id()).or_insert_with(|| {
            let mut slots = lock(&self.slots);
            let slot = Arc::new(Slot::new(slots.len() as i64 + 1));
            slots.push(Arc::clone(&slot));
            slot
        }));
        let _ = SLOTS.try_with(|slots| {
            let mut slots = slots.borrow_mut();
            // Slots of ended sessions are only held here.
            slots.retain(|(_, slot)| Arc::strong_count(slot) > 1);
            slots.push((self.session, Arc::clone(&slot)));
        });
        slot
    }

    /// Runs `record` on this thread's rows under its own lock.
    #[inline]
    fn record(&self, what: &'static str, text_bytes: usize, record: impl FnOnce(&mut Held, i64, i64)) -> Result<()> {
        if text_bytes > MAX_TEXT {
            return Err(Error::fact(what, "text", format!("is {text_bytes} bytes long; {MAX_TEXT} is the most")));
        }
        // A status, because a `Result` with our error in it is 100 bytes that would be copied twice on the way out.
        let status = self.with_slot(|slot| {
            let mut held = slot.lock();
            // Under the lock, because the final cut sets it while holding all of them.
            let status = self.status.load(Ordering::Relaxed);
            if status == 0 {
                record(&mut held, self.next_seq(), slot.thread_id);
                held.bytes += ROW_BYTES + text_bytes;
                if held.bytes >= held.ask_at {
                    self.relieve(slot, held);
                }
            }
            status
        });
        if status == 0 { Ok(()) } else { Err(self.dead(what, status)) }
    }

    /// Asks for a cut, and waits for it when the writer is far behind: see `flush::LAG`.
    #[cold]
    fn relieve(&self, slot: &Slot, mut held: MutexGuard<'_, Held>) {
        let must_wait = held.bytes >= held.wait_at;
        held.ask_at = held.wait_at;
        drop(held);
        {
            let mut orders = self.orders();
            if !orders.cut_wanted {
                orders.cut_wanted = true;
                self.orders_changed.notify_all();
            }
        }
        if must_wait {
            let held = slot.lock();
            let behind = |held: &mut Held| {
                held.bytes >= held.wait_at && self.status.load(Ordering::Acquire) == 0 && !self.orders().gone
            };
            drop(slot.taken.wait_while(held, behind));
        }
    }

    /// Opens the root; the final cut closes it, so it has no handle.
    fn open_root(&self, name: &str) {
        let span =
            SpanFacts { parent: None, name, kind: SpanKind::Function, step: None, measured: false, on_stack: false };
        self.with_slot(|slot| self.push_open(slot, &span));
    }

    fn open_span(&self, span: &SpanFacts<'_>) -> (Arc<Slot>, u64, i64) {
        self.with_slot(|slot| {
            let (id, start_ns) = self.push_open(slot, span);
            (Arc::clone(slot), id, start_ns)
        })
    }

    /// Opens a span in this thread's slot.
    fn push_open(&self, slot: &Slot, span: &SpanFacts<'_>) -> (u64, i64) {
        let mut held = slot.lock();
        let id = self.spans.fetch_add(1, Ordering::Relaxed) + 1;
        let parent = if id == ROOT { None } else { Some(span.parent.or_else(|| held.top()).unwrap_or(ROOT)) };
        // The parent is open, so its clock was read before this one.
        let start_ns = if id == ROOT { 0 } else { self.now() };
        self.registry.open(id, start_ns);
        if self.status.load(Ordering::Relaxed) & ENDED == 0 {
            let &SpanFacts { name, kind, step, measured, on_stack, .. } = span;
            // A guard cannot refuse: what is too long for an event is cut, and counted as a loss.
            let whole = name.len() <= MAX_TEXT;
            let name = name[..if whole { name.len() } else { name.floor_char_boundary(MAX_TEXT) }].to_owned();
            self.events_lost.fetch_add(u64::from(!whole), Ordering::Relaxed);
            let cpu_start = if id == ROOT { None } else { held.cpu.at(start_ns) };
            held.open.push(OpenSpan { id, parent, name, kind, step, measured, start_ns, cpu_start, on_stack });
        }
        (id, start_ns)
    }

    /// Closes a span on any thread. One clock read ends it.
    pub(crate) fn close_span(&self, slot: &Arc<Slot>, id: u64) {
        self.registry.close(id);
        let mut held = slot.lock();
        let end_ns = self.now();
        // Gone when the session has ended: it was recorded then, as never closed.
        let Some(span) = held.take_open(id) else { return };
        let own_thread =
            SLOTS.try_with(|slots| slots.borrow().iter().any(|(_, own)| Arc::ptr_eq(own, slot))).unwrap_or(false);
        let cpu_ns = match span.cpu_start {
            // Read outside the two wall clock reads, so it can exceed them by a hair: a thread cannot.
            Some(start) if own_thread => {
                held.cpu.at(end_ns).map(|now| (now.saturating_sub(start) as i64).min(end_ns - span.start_ns))
            }
            _ => None,
        };
        let seq = self.next_seq();
        held.rows.spans.push(seq, &span.row(slot.thread_id, Some(end_ns - span.start_ns), cpu_ns));
        held.bytes += ROW_BYTES + span.name.len();
        if held.bytes >= held.ask_at {
            self.relieve(slot, held);
        }
    }

    fn span(&self, what: &'static str, span: SpanId, seen: impl Fn(&Registry, u64) -> Seen) -> Result<(i64, i64)> {
        let problem = |problem| Err(Error::Span { what, span: span.id.to_string(), problem });
        if span.session != self.session {
            return problem("belongs to another session");
        }
        match seen(&self.registry, span.id) {
            Seen::Open { start_ns, op_index } => Ok((start_ns, op_index)),
            Seen::Closed => problem("has already closed; record a fact while its span is open"),
            Seen::Unknown => problem("is unknown"),
        }
    }

    fn open_span_only(&self, what: &'static str, span: SpanId) -> Result<i64> {
        self.span(what, span, Registry::see).map(|(start, _)| start)
    }

    fn known_span(&self, what: &'static str, span: SpanId) -> Result<()> {
        match self.open_span_only(what, span) {
            Err(Error::Span { .. }) if span.session == self.session && self.registry.see(span.id) == Seen::Closed => {
                Ok(())
            }
            other => other.map(drop),
        }
    }
}

/// `timestamp`, checked to lie between the start of its span and now.
fn within(what: &'static str, timestamp: i64, span_start: i64, now: i64) -> Result<i64> {
    if timestamp > now {
        Err(Error::fact(what, "timestamp_ns", format!("is {timestamp}, after now ({now}) on the session's clock")))
    } else if timestamp < span_start {
        Err(Error::fact(what, "timestamp_ns", format!("is {timestamp}, before its span opened ({span_start})")))
    } else {
        Ok(timestamp)
    }
}

/// One capture in progress. Shared by reference or `Arc`; every method but `finish` and `finish_failed` takes `&self`.
pub struct TraceSession {
    pub(crate) shared: Arc<Shared>,
    path: PathBuf,
    writer: Mutex<Option<JoinHandle<Result<PathBuf>>>>,
}

impl TraceSession {
    /// Opens a session that writes to `path`: a file of JSON lines when it ends in `.jsonl`, else a directory of
    /// Parquet tables. The run is validated first; nothing is created for a run that cannot be recorded.
    ///
    /// # Errors
    /// An invalid run, a path that exists or is being recorded to, a file system that refuses.
    pub fn open(path: impl AsRef<Path>, run: ProfileRun) -> Result<Self> {
        static SESSIONS: AtomicU64 = AtomicU64::new(1);
        let path = path.as_ref();
        run.validate()?;
        let record = RunRecord::opened(&run);
        let sink = crate::sink::open(path, &record)?;
        let shared = Arc::new(Shared {
            session: SESSIONS.fetch_add(1, Ordering::Relaxed),
            run_id: run.run_id,
            epoch: Instant::now(),
            status: AtomicU8::new(0),
            seq: AtomicU64::new(0),
            spans: AtomicU64::new(0),
            gradients: AtomicU64::new(0),
            events_lost: AtomicU64::new(0),
            registry: Registry::default(),
            storages: Storages::default(),
            slots: Mutex::default(),
            threads: Mutex::default(),
            orders: Mutex::default(),
            orders_changed: Condvar::new(),
            poison: Mutex::default(),
        });
        shared.open_root(&run.entrypoint);
        let writer_shared = Arc::clone(&shared);
        let writer = std::thread::Builder::new()
            .name("candle-graph-writer".to_owned())
            .spawn(move || flush::run(&writer_shared, sink, record))
            .map_err(Error::io("start the writer thread for", path))?;
        Ok(Self { shared, path: path.to_owned(), writer: Mutex::new(Some(writer)) })
    }

    /// The trace's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run's id.
    pub fn run_id(&self) -> &str {
        &self.shared.run_id
    }

    /// The root span: the whole session, named after the entrypoint.
    pub fn root(&self) -> SpanId {
        SpanId { session: self.shared.session, id: ROOT }
    }

    /// Nanoseconds since the session opened, on its monotonic clock.
    pub fn elapsed_ns(&self) -> u64 {
        self.shared.now() as u64
    }

    /// `instant` on the session's clock; 0 for an instant before it opened.
    pub fn host_timestamp_ns(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.shared.epoch).as_nanos() as u64
    }

    /// Counts a fact that a neighbouring module could not make as lost.
    #[cfg(feature = "candle")]
    pub(crate) fn counted<T>(&self, result: Result<T>) -> Result<T> {
        self.shared.counted(result)
    }

    fn guard(&self, name: &str, kind: SpanKind, step: Option<ExecutionStep>, measured: bool) -> SpanGuard<'_> {
        let facts = SpanFacts { parent: None, name, kind, step, measured, on_stack: true };
        let (slot, id, start_ns) = self.shared.open_span(&facts);
        SpanGuard { session: self, slot, id, start_ns }
    }

    /// Opens a span under the innermost open one of this thread, or under the root.
    pub fn begin_span(&self, name: impl AsRef<str>, kind: SpanKind) -> SpanGuard<'_> {
        self.guard(name.as_ref(), kind, None, false)
    }

    /// As [`TraceSession::begin_span`], for a step of the update.
    pub fn begin_step_span(&self, name: impl AsRef<str>, step: ExecutionStep, kind: SpanKind) -> SpanGuard<'_> {
        self.guard(name.as_ref(), kind, Some(step), false)
    }

    /// Opens the measured region: exactly one per complete trace.
    pub fn begin_measurement(&self, name: impl AsRef<str>) -> SpanGuard<'_> {
        self.guard(name.as_ref(), SpanKind::Function, None, true)
    }

    /// Opens a span under an explicit parent (`None`: the root) without joining this thread's stack. For worker
    /// threads, `tracing` layers, other languages.
    ///
    /// # Errors
    /// When the parent is unknown, closed or of another session.
    pub fn open_span(
        &self,
        parent: Option<SpanId>,
        name: impl AsRef<str>,
        kind: SpanKind,
        step: Option<ExecutionStep>,
    ) -> Result<OwnedSpan> {
        let parent = parent.unwrap_or_else(|| self.root());
        self.shared.alive("open_span")?;
        self.shared.counted(self.shared.open_span_only("open_span", parent))?;
        let name = name.as_ref();
        let facts = SpanFacts { parent: Some(parent.id), name, kind, step, measured: false, on_stack: false };
        let (slot, id, start_ns) = self.shared.open_span(&facts);
        Ok(OwnedSpan { shared: Arc::clone(&self.shared), slot, id, start_ns })
    }

    /// Records host work that has already ended, under the root, beside the live stack.
    ///
    /// # Errors
    /// When `duration_ns` is 0 or the work would end in the future.
    pub fn record_completed_host_span(
        &self,
        name: impl AsRef<str>,
        kind: SpanKind,
        start_ns: u64,
        duration_ns: u64,
    ) -> Result<SpanId> {
        const WHAT: &str = "record_completed_host_span";
        let shared = &self.shared;
        shared.counted((|| {
            let start_ns = int(WHAT, "start_ns", start_ns)?;
            let duration_ns = int(WHAT, "duration_ns", duration_ns)?;
            if duration_ns == 0 {
                return Err(Error::fact(WHAT, "duration_ns", "is 0"));
            }
            let now = shared.now();
            if start_ns.checked_add(duration_ns).is_none_or(|end| end > now) {
                return Err(Error::fact(
                    WHAT,
                    "duration_ns",
                    format!("ends at {start_ns} + {duration_ns}, after now ({now}) on the session's clock"),
                ));
            }
            let id = shared.spans.fetch_add(1, Ordering::Relaxed) + 1;
            let name = name.as_ref();
            let span = OpenSpan {
                id,
                parent: Some(ROOT),
                name: name.to_owned(),
                kind,
                step: None,
                measured: false,
                start_ns,
                cpu_start: None,
                on_stack: false,
            };
            shared.registry.open(id, start_ns);
            shared.registry.close(id);
            shared.record(WHAT, name.len(), |held, seq, thread| {
                held.rows.spans.push(seq, &span.row(thread, Some(duration_ns), None));
            })?;
            Ok(SpanId { session: shared.session, id })
        })())
    }

    /// Records one executed operation in an open span.
    ///
    /// # Errors
    /// An empty name or device, an unknown dtype, a closed or foreign span, a time outside the span, a number beyond
    /// Int64.
    #[inline]
    pub fn record_op(&self, span: SpanId, op: OpRecord<'_>) -> Result<()> {
        self.record_op_with_cpu(span, op, None)
    }

    /// As [`TraceSession::record_op`], with the CPU time of the calling thread over the operation (see
    /// [`thread_cpu_ns`]).
    pub fn record_op_with_cpu(&self, span: SpanId, op: OpRecord<'_>, cpu_ns: Option<u64>) -> Result<()> {
        const WHAT: &str = "record_op";
        let shared = &*self.shared;
        shared.counted((|| {
            non_empty(WHAT, "op_name", op.op_name)?;
            non_empty(WHAT, "device", op.device)?;
            dtype(WHAT, op.dtype)?;
            let shape = Shape::new(WHAT, op.shape)?;
            let duration_ns = int(WHAT, "duration_ns", op.duration_ns)?;
            let output_dense_bytes = opt_int(WHAT, "output_dense_bytes", op.output_dense_bytes)?;
            let input_dense_bytes = int(WHAT, "input_dense_bytes", op.input_dense_bytes)?;
            let cpu_ns = opt_int(WHAT, "cpu_ns", cpu_ns)?;
            let given = int(WHAT, "timestamp_ns", op.timestamp_ns)?;
            // The clock before the span's state: see Registry::close.
            let now = shared.now();
            let timestamp_ns = match given {
                0 => now,
                // Before an index is taken: a refused op leaves no gap.
                given => within(WHAT, given, shared.open_span_only(WHAT, span)?, now)?,
            };
            let (_, op_index) = shared.span(WHAT, span, Registry::next_op)?;
            let inputs: usize = op.inputs.iter().map(String::len).sum();
            let text = op.op_name.len() + inputs + op.output.map_or(0, str::len) + 64;
            // Outside the closure, which then is two pointers that are passed on without a copy.
            let mut row = OpRow {
                span_id: span.id as i64,
                op_index,
                name: op.op_name,
                inputs: op.inputs,
                output: op.output,
                shape: shape.as_slice(),
                dtype: op.dtype,
                device: op.device,
                timestamp_ns,
                duration_ns,
                cpu_ns,
                thread_id: None,
                output_dense_bytes,
                input_dense_bytes,
            };
            shared.record(WHAT, text, |held, seq, thread| {
                row.thread_id = Some(thread);
                held.rows.ops.push(seq, &row);
            })
        })())
    }

    /// Records a tensor's metadata in an open span.
    ///
    /// # Errors
    /// An empty id, label or device, an unknown dtype, a closed or foreign span, a number beyond Int64.
    pub fn record_tensor(&self, span: SpanId, tensor: TensorRecord<'_>) -> Result<()> {
        self.record_tensor_of(span, tensor, None)
    }

    /// As [`TraceSession::record_tensor`], with the backend's name of its storage and the storage's size in bytes where
    /// that can be known (`None`: any storage of the same device under that name is taken for the same). A name that
    /// the backend reuses is told apart by recorded allocations and frees, or by another size or device: captures alone
    /// of equal storages at one address, one after the other, look like one storage.
    pub fn record_tensor_with_storage(
        &self,
        span: SpanId,
        tensor: TensorRecord<'_>,
        storage: &str,
        storage_bytes: Option<u64>,
    ) -> Result<()> {
        self.record_tensor_of(span, tensor, Some((storage, storage_bytes)))
    }

    fn record_tensor_of(
        &self,
        span: SpanId,
        tensor: TensorRecord<'_>,
        storage: Option<(&str, Option<u64>)>,
    ) -> Result<()> {
        const WHAT: &str = "record_tensor";
        let shared = &*self.shared;
        shared.counted((|| {
            non_empty(WHAT, "tensor_id", tensor.tensor_id)?;
            non_empty(WHAT, "device", tensor.device)?;
            if let Some(label) = tensor.label {
                non_empty(WHAT, "label", label)?;
            }
            dtype(WHAT, tensor.dtype)?;
            let shape = Shape::new(WHAT, tensor.shape)?;
            let dense_bytes = opt_int(WHAT, "dense_bytes", tensor.dense_bytes)?;
            let now = shared.now();
            shared.open_span_only(WHAT, span)?;
            let birth = match storage {
                Some((name, bytes)) => {
                    non_empty(WHAT, "storage_id", name)?;
                    opt_int(WHAT, "storage bytes", bytes)?;
                    Some(shared.storages.capture(name, tensor.device, bytes))
                }
                None => None,
            };
            if let Some(replaced) = birth.as_ref().and_then(|b| b.replaced.as_ref()) {
                self.end_unobserved(span, replaced, now)?;
            }
            let text = tensor.tensor_id.len() * 2 + tensor.label.map_or(0, str::len) + 64;
            let row = TensorRow {
                span_id: span.id as i64,
                tensor_id: tensor.tensor_id,
                storage_id: birth.as_ref().map(|b| b.id.as_str()),
                label: tensor.label,
                shape: shape.as_slice(),
                dtype: tensor.dtype,
                device: tensor.device,
                requires_grad: tensor.requires_grad,
                dense_bytes,
                category: tensor.category.as_str(),
            };
            shared.record(WHAT, text, |held, seq, _| held.rows.tensors.push(seq, &row))
        })())
    }

    /// Records one scalar under a label; NaN and infinities are stored as what they are: counted, with no summary.
    ///
    /// # Errors
    /// An empty label, a closed or foreign span.
    pub fn record_scalar(&self, span: SpanId, label: impl AsRef<str>, value: f64) -> Result<()> {
        let finite = value.is_finite().then_some(value);
        let stats = TensorStats {
            elements: 1,
            nan: u64::from(value.is_nan()),
            pos_inf: u64::from(value == f64::INFINITY),
            neg_inf: u64::from(value == f64::NEG_INFINITY),
            rms: finite.map(f64::abs),
            abs_max: finite.map(f64::abs),
            mean: finite,
            finite_rms: finite.map(f64::abs),
            finite_abs_max: finite.map(f64::abs),
            finite_mean: finite,
        };
        self.record_stats(span, label.as_ref(), &[], "f64", &stats)
    }

    /// Records a summary of a tensor's values that the program computed itself.
    ///
    /// # Errors
    /// An empty label, an unknown dtype, a closed or foreign span, a number beyond Int64, or a summary that does not
    /// agree with its counts.
    pub fn record_stats(
        &self,
        span: SpanId,
        label: &str,
        shape: &[usize],
        dtype_name: &str,
        stats: &TensorStats,
    ) -> Result<()> {
        const WHAT: &str = "record_tensor_stats";
        let shared = &*self.shared;
        shared.counted((|| {
            non_empty(WHAT, "label", label)?;
            dtype(WHAT, dtype_name)?;
            let shape = Shape::new(WHAT, shape)?;
            let non_finite = stats.nan.saturating_add(stats.pos_inf).saturating_add(stats.neg_inf);
            if non_finite > stats.elements {
                return Err(Error::fact(WHAT, "non_finite", format!("is {non_finite} of {} elements", stats.elements)));
            }
            let whole = [stats.rms, stats.abs_max, stats.mean];
            if non_finite > 0 && whole.iter().any(Option::is_some) {
                return Err(Error::fact(WHAT, "rms, abs_max, mean", "are given although elements are not finite"));
            }
            let finite = [stats.finite_rms, stats.finite_abs_max, stats.finite_mean];
            if whole.iter().chain(&finite).flatten().any(|v| !v.is_finite()) {
                return Err(Error::fact(WHAT, "summary", "holds a value that is not finite; leave it out"));
            }
            let count = |field, value| int(WHAT, field, value);
            let row = TensorStatRow {
                span_id: span.id as i64,
                label,
                shape: shape.as_slice(),
                dtype: dtype_name,
                elements: count("elements", stats.elements)?,
                non_finite: count("non_finite", non_finite)?,
                nan: Some(count("nan", stats.nan)?),
                pos_inf: Some(count("pos_inf", stats.pos_inf)?),
                neg_inf: Some(count("neg_inf", stats.neg_inf)?),
                rms: stats.rms,
                abs_max: stats.abs_max,
                mean: stats.mean,
                finite_rms: stats.finite_rms,
                finite_abs_max: stats.finite_abs_max,
                finite_mean: stats.finite_mean,
            };
            shared.open_span_only(WHAT, span)?;
            shared.record(WHAT, label.len() + 64, |held, seq, _| held.rows.tensor_stats.push(seq, &row))
        })())
    }

    /// Records that a storage came to life. At an address that still holds a live storage the old one has ended
    /// unobserved, and the trace says so.
    ///
    /// # Errors
    /// An empty id or device, an unknown dtype, a closed or foreign span, a time outside the span, a number beyond
    /// Int64.
    pub fn record_memory_alloc(&self, span: SpanId, memory: MemoryRecord<'_>) -> Result<()> {
        const WHAT: &str = "record_memory_alloc";
        self.shared.counted((|| {
            let (shape, timestamp_ns, now) = self.check_memory(WHAT, span, &memory)?;
            let allocation = Allocation {
                tensor_id: memory.tensor_id.to_owned(),
                dtype: memory.dtype.to_owned(),
                category: memory.category.as_str(),
                shape: shape.as_slice().to_vec(),
                op_name: memory.op_name.map(str::to_owned),
                timestamp_ns,
            };
            let birth = self.shared.storages.allocate(memory.storage_id, memory.device, memory.bytes, allocation);
            if let Some(replaced) = &birth.replaced {
                self.end_unobserved(span, replaced, timestamp_ns.min(now))?;
            }
            self.push_memory(WHAT, span, "alloc", &birth.id, &memory, shape.as_slice(), timestamp_ns)
        })())
    }

    /// Records that a storage ended.
    ///
    /// # Errors
    /// As [`TraceSession::record_memory_alloc`], and a storage whose allocation was not recorded, or was of another
    /// size or on another device.
    pub fn record_memory_free(&self, span: SpanId, memory: MemoryRecord<'_>) -> Result<()> {
        const WHAT: &str = "record_memory_free";
        self.shared.counted((|| {
            let (shape, timestamp_ns, _) = self.check_memory(WHAT, span, &memory)?;
            let freed = self.shared.storages.free(memory.storage_id, memory.device, memory.bytes);
            let id = freed.map_err(|problem| match problem {
                FreeProblem::Unpaired => Error::fact(
                    WHAT,
                    "storage_id",
                    format!("{:?} has no recorded allocation that is still live", memory.storage_id),
                ),
                FreeProblem::OtherSize(bytes) => {
                    Error::fact(WHAT, "bytes", format!("is {}, but {bytes} were allocated", memory.bytes))
                }
                FreeProblem::OtherDevice(device) => {
                    Error::fact(WHAT, "device", format!("is {:?}, but it was allocated on {device:?}", memory.device))
                }
            })?;
            self.push_memory(WHAT, span, "free", &id, &memory, shape.as_slice(), timestamp_ns)
        })())
    }

    fn check_memory<'a>(
        &self,
        what: &'static str,
        span: SpanId,
        memory: &MemoryRecord<'a>,
    ) -> Result<(Shape<'a>, i64, i64)> {
        non_empty(what, "storage_id", memory.storage_id)?;
        non_empty(what, "tensor_id", memory.tensor_id)?;
        non_empty(what, "device", memory.device)?;
        dtype(what, memory.dtype)?;
        int(what, "bytes", memory.bytes)?;
        let shape = Shape::new(what, memory.shape)?;
        let given = opt_int(what, "timestamp_ns", memory.timestamp_ns)?;
        let now = self.shared.now();
        let span_start = self.shared.open_span_only(what, span)?;
        let timestamp_ns = match given {
            None => now,
            Some(given) => within(what, given, span_start, now)?,
        };
        Ok((shape, timestamp_ns, now))
    }

    #[allow(clippy::too_many_arguments)] // One private row writer, called from three places.
    fn push_memory(
        &self,
        what: &'static str,
        span: SpanId,
        action: &'static str,
        storage_id: &str,
        memory: &MemoryRecord<'_>,
        shape: &[i64],
        timestamp_ns: i64,
    ) -> Result<()> {
        let text = storage_id.len() + memory.tensor_id.len() + 64;
        let row = MemoryRow {
            timestamp_ns,
            action,
            storage_id,
            tensor_id: memory.tensor_id,
            span_id: span.id as i64,
            op_name: memory.op_name,
            device: memory.device,
            // check_memory and the allocation have shown that it fits.
            bytes: memory.bytes as i64,
            shape,
            dtype: memory.dtype,
            category: memory.category.as_str(),
        };
        self.shared.record(what, text, |held, seq, _| held.rows.memory.push(seq, &row))
    }

    fn end_unobserved(&self, span: SpanId, storage: &Storage, timestamp_ns: i64) -> Result<()> {
        let Some(allocation) = &storage.allocated else { return Ok(()) };
        let memory = MemoryRecord {
            storage_id: &storage.id,
            tensor_id: &allocation.tensor_id,
            device: &storage.device,
            // An allocated storage has a size.
            bytes: storage.bytes.unwrap_or(0),
            dtype: &allocation.dtype,
            category: MemoryCategory::parse(allocation.category).unwrap_or(MemoryCategory::Other),
            timestamp_ns: None,
            op_name: allocation.op_name.as_deref(),
            shape: &[],
        };
        const WHAT: &str = "record_memory_alloc";
        // No storage ends before it began, whatever time the next allocation claims.
        let timestamp_ns = timestamp_ns.max(allocation.timestamp_ns);
        self.push_memory(WHAT, span, "end_unobserved", &storage.id, &memory, &allocation.shape, timestamp_ns)
    }

    /// Records a checkpoint of a device's or allocator's physical memory.
    ///
    /// # Errors
    /// An empty device, none of the four sizes, a time in the future, a number beyond Int64.
    pub fn record_device_memory(&self, memory: DeviceMemoryRecord<'_>) -> Result<()> {
        const WHAT: &str = "record_device_memory";
        let shared = &*self.shared;
        shared.counted((|| {
            non_empty(WHAT, "device", memory.device)?;
            let now = shared.now();
            let row = DeviceMemoryRow {
                timestamp_ns: match opt_int(WHAT, "timestamp_ns", memory.timestamp_ns)? {
                    None => now,
                    Some(given) => within(WHAT, given, 0, now)?,
                },
                device: memory.device,
                used_bytes: opt_int(WHAT, "used_bytes", memory.used_bytes)?,
                free_bytes: opt_int(WHAT, "free_bytes", memory.free_bytes)?,
                reserved_bytes: opt_int(WHAT, "reserved_bytes", memory.reserved_bytes)?,
                capacity_bytes: opt_int(WHAT, "capacity_bytes", memory.capacity_bytes)?,
            };
            let sizes = [row.used_bytes, row.free_bytes, row.reserved_bytes, row.capacity_bytes];
            if sizes.iter().all(Option::is_none) {
                return Err(Error::fact(WHAT, "used, free, reserved, capacity", "are all absent; give at least one"));
            }
            shared.record(WHAT, 32, |held, seq, _| held.rows.device_memory.push(seq, &row))
        })())
    }

    /// Records a checkpoint of this process's own memory under the device name `process`, where the platform tells it.
    /// Returns whether it does.
    ///
    /// # Errors
    /// A session that has ended or is poisoned.
    pub fn record_process_memory(&self) -> Result<bool> {
        let Some(memory) = crate::clock::process_memory() else { return Ok(false) };
        self.record_device_memory(DeviceMemoryRecord {
            device: "process",
            used_bytes: Some(memory.resident_bytes),
            free_bytes: None,
            reserved_bytes: Some(memory.virtual_bytes),
            capacity_bytes: None,
            timestamp_ns: None,
        })?;
        Ok(true)
    }

    /// Records one interval of device work that an open span launched, on the device's own clock.
    ///
    /// # Errors
    /// An empty text, a length of 0, a closed or foreign span, a number beyond Int64.
    pub fn record_device_interval(&self, span: SpanId, interval: DeviceIntervalRecord<'_>) -> Result<()> {
        const WHAT: &str = "record_device_interval";
        let shared = &*self.shared;
        shared.counted((|| {
            for (field, text) in [
                ("device", interval.device),
                ("stream_id", interval.stream_id),
                ("clock_id", interval.clock_id),
                ("backend", interval.backend),
            ] {
                non_empty(WHAT, field, text)?;
            }
            let row = DeviceIntervalRow {
                span_id: span.id as i64,
                device: interval.device,
                stream_id: interval.stream_id,
                clock_id: interval.clock_id,
                backend: interval.backend,
                start_ns: int(WHAT, "start_ns", interval.start_ns)?,
                duration_ns: int(WHAT, "duration_ns", interval.duration_ns)?,
            };
            if row.duration_ns == 0 {
                return Err(Error::fact(WHAT, "duration_ns", "is 0"));
            }
            if row.start_ns.checked_add(row.duration_ns).is_none() {
                return Err(Error::fact(WHAT, "start_ns + duration_ns", "is more than an Int64 holds"));
            }
            shared.open_span_only(WHAT, span)?;
            shared.record(WHAT, 96, |held, seq, _| held.rows.device_intervals.push(seq, &row))
        })())
    }

    /// States a call between two spans and its host time, which must be the callee's duration.
    ///
    /// # Errors
    /// An unknown or foreign span, a number beyond Int64.
    pub fn record_call_edge(&self, from: SpanId, to: SpanId, host_duration_ns: u64) -> Result<()> {
        const WHAT: &str = "record_call_edge";
        let shared = &*self.shared;
        shared.counted((|| {
            shared.known_span(WHAT, from)?;
            shared.known_span(WHAT, to)?;
            let row = EdgeRow {
                kind: "call",
                from_span: Some(from.id as i64),
                to_span: Some(to.id as i64),
                host_duration_ns: Some(int(WHAT, "host_duration_ns", host_duration_ns)?),
                from_tensor: None,
                to_tensor: None,
            };
            shared.record(WHAT, 0, |held, seq, _| held.rows.edges.push(seq, &row))
        })())
    }

    /// States that one tensor was made from another.
    ///
    /// # Errors
    /// An empty tensor id.
    pub fn record_data_edge(&self, from_tensor: impl AsRef<str>, to_tensor: impl AsRef<str>) -> Result<()> {
        const WHAT: &str = "record_data_edge";
        let (from, to) = (from_tensor.as_ref(), to_tensor.as_ref());
        let shared = &*self.shared;
        shared.counted((|| {
            non_empty(WHAT, "from_tensor", from)?;
            non_empty(WHAT, "to_tensor", to)?;
            let row = EdgeRow {
                kind: "data",
                from_span: None,
                to_span: None,
                host_duration_ns: None,
                from_tensor: Some(from),
                to_tensor: Some(to),
            };
            shared.record(WHAT, from.len() + to.len(), |held, seq, _| held.rows.edges.push(seq, &row))
        })())
    }

    /// Records the gradient of one parameter.
    ///
    /// # Errors
    /// An empty root or key, or a norm that does not agree with the state: `present` has a finite norm > 0, `zero` has
    /// +0.0, `missing` and `non_finite` have none.
    pub fn record_gradient(
        &self,
        root: impl AsRef<str>,
        key: impl AsRef<str>,
        state: GradientState,
        norm: Option<f64>,
    ) -> Result<()> {
        const WHAT: &str = "record_gradient";
        let shared = &*self.shared;
        let (root, key) = (root.as_ref(), key.as_ref());
        shared.counted((|| {
            non_empty(WHAT, "root", root)?;
            non_empty(WHAT, "key", key)?;
            if let Some(problem) = gradient_problem(state, norm) {
                return Err(Error::fact(WHAT, "norm", format!("is {norm:?}, but {problem}")));
            }
            let event_id = format!("gradient-{}", shared.gradients.fetch_add(1, Ordering::Relaxed) + 1);
            let row = GradientRow { event_id: &event_id, root, key, state: state.as_str(), norm };
            shared.record(WHAT, root.len() + key.len() + 32, |held, seq, _| held.rows.gradients.push(seq, &row))
        })())
    }

    /// Waits until everything recorded so far is written.
    ///
    /// # Errors
    /// The first cause, when a write has failed.
    pub fn flush(&self) -> Result<()> {
        let mut orders = self.shared.orders();
        let wanted = orders.cuts_started + 1;
        while orders.cuts_done < wanted && !orders.gone {
            orders.cut_wanted = true;
            self.shared.orders_changed.notify_all();
            orders = self.shared.orders_changed.wait(orders).unwrap_or_else(|e| e.into_inner());
        }
        drop(orders);
        match self.shared.poison_cause() {
            None => Ok(()),
            Some(cause) => Err(Error::Poisoned { cause }),
        }
    }

    /// Ends a capture that succeeded and returns the trace's path.
    ///
    /// # Errors
    /// The first cause, when any write has failed: the trace then stays readable up to there, as `interrupted`.
    pub fn finish(self) -> Result<PathBuf> {
        self.close()
    }

    /// Ends a capture that failed, keeping what it recorded.
    ///
    /// # Errors
    /// An empty reason, and as [`TraceSession::finish`].
    pub fn finish_failed(self, reason: impl AsRef<str>) -> Result<PathBuf> {
        self.close_failed(reason)
    }

    /// As [`TraceSession::finish`], through a shared handle: later calls are refused.
    pub fn close(&self) -> Result<PathBuf> {
        self.end(Outcome::Complete, None)
    }

    /// As [`TraceSession::finish_failed`], through a shared handle.
    pub fn close_failed(&self, reason: impl AsRef<str>) -> Result<PathBuf> {
        let reason = reason.as_ref().trim();
        non_empty("finish_failed", "reason", reason)?;
        self.end(Outcome::Failed, Some(reason.to_owned()))
    }

    fn end(&self, outcome: Outcome, reason: Option<String>) -> Result<PathBuf> {
        let Some(writer) = lock(&self.writer).take() else {
            return Err(Error::fact("finish", "session", "has already ended"));
        };
        self.shared.orders().end = Some((outcome, reason));
        self.shared.orders_changed.notify_all();
        writer.join().unwrap_or_else(|panic| {
            let cause = panic.downcast_ref::<&str>().map_or("a panic", |s| s).to_owned();
            Err(Error::Writer { path: self.path.clone(), cause })
        })
    }
}

impl Drop for TraceSession {
    /// A session dropped without an end (a panic, an early return) leaves a readable trace that says `interrupted`.
    fn drop(&mut self) {
        if lock(&self.writer).is_some() {
            let reason = if std::thread::panicking() {
                "the program panicked before the session was finished"
            } else {
                "the session was dropped before it was finished"
            };
            // Nobody is left to tell; what was written before a failure stays readable.
            let _ = self.end(Outcome::Interrupted, Some(reason.to_owned()));
        }
    }
}

/// Why a norm does not agree with its state, if it does not. `zero` is +0.0: a norm is a square root, never -0.0.
pub fn gradient_problem(state: GradientState, norm: Option<f64>) -> Option<&'static str> {
    let sound = match (state, norm) {
        (GradientState::Present, Some(norm)) => norm.is_finite() && norm > 0.0,
        (GradientState::Zero, Some(norm)) => norm.to_bits() == 0,
        (GradientState::Missing | GradientState::NonFinite, None) => true,
        _ => false,
    };
    (!sound).then_some(match state {
        GradientState::Present => "a present gradient has a finite norm > 0",
        GradientState::Zero => "a zero gradient has the norm +0.0",
        GradientState::Missing => "a missing gradient has no norm",
        GradientState::NonFinite => "a non-finite gradient has no norm",
    })
}
