//! What all threads of a session share: clock, counters, slots, the state of every span, the poison.
//! In: events of any thread. Out: rows in the calling thread's buffer, under a lock that only the writer shares.
//! Left to neighbours: which events there are (`facts`), who opens and ends a session (`session`).

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::ThreadId;
use std::time::Instant;

use crate::buffer::{Held, OpenSpan, Slot};
use crate::error::{Error, Result};
use crate::flush::Orders;
use crate::names::{ExecutionStep, SpanKind};
use crate::registry::{Registry, Seen};
use crate::span::SpanId;
use crate::storage::Storages;

/// Bits of [`Shared::status`].
pub(crate) const ENDED: u8 = 1;
pub(crate) const POISONED: u8 = 2;

/// Longest text of one event in bytes: as long as a line of the interchange form may be.
const MAX_TEXT: usize = 64 << 20;
/// Estimated bytes of a row without its text.
const ROW_BYTES: usize = 96;

/// The id of the root span.
pub(crate) const ROOT: u64 = 1;

/// A counter that every event changes, on a cache line (two, where they are fetched in pairs) of its own: beside it the
/// clock's epoch and the status, which every event only reads, would be fetched anew after each change by another thread.
#[repr(align(128))]
pub(crate) struct OwnLine<T>(pub(crate) T);

/// What a span is opened with.
pub(crate) struct SpanFacts<'a> {
    /// `None`: the innermost open span of the thread, or the root.
    pub(crate) parent: Option<u64>,
    pub(crate) name: &'a str,
    pub(crate) kind: SpanKind,
    pub(crate) step: Option<ExecutionStep>,
    pub(crate) measured: bool,
    pub(crate) on_stack: bool,
}

/// What all threads of a session share. Nothing here is locked for an event.
pub(crate) struct Shared {
    /// Number of the session within the process.
    pub(crate) session: u64,
    pub(crate) run_id: String,
    epoch: Instant,
    pub(crate) status: AtomicU8,
    seq: OwnLine<AtomicU64>,
    pub(crate) spans: OwnLine<AtomicU64>,
    pub(crate) gradients: AtomicU64,
    pub(crate) events_lost: AtomicU64,
    pub(crate) registry: Registry,
    pub(crate) storages: Storages,
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

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whatever panicked, every change under these locks is a single assignment, insert or push.
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Shared {
    /// A session that begins now.
    pub(crate) fn new(run_id: String) -> Self {
        #[cfg(feature = "nvtx")]
        crate::nvtx::attach();
        static SESSIONS: AtomicU64 = AtomicU64::new(1);
        Self {
            session: SESSIONS.fetch_add(1, Ordering::Relaxed),
            run_id,
            epoch: Instant::now(),
            status: AtomicU8::new(0),
            seq: OwnLine(AtomicU64::new(0)),
            spans: OwnLine(AtomicU64::new(0)),
            gradients: AtomicU64::new(0),
            events_lost: AtomicU64::new(0),
            registry: Registry::default(),
            storages: Storages::default(),
            slots: Mutex::default(),
            threads: Mutex::default(),
            orders: Mutex::default(),
            orders_changed: Condvar::new(),
            poison: Mutex::default(),
        }
    }

    /// `instant` on the session's clock; 0 for an instant before it began.
    pub(crate) fn at(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.epoch).as_nanos() as u64
    }

    pub(crate) fn orders(&self) -> MutexGuard<'_, Orders> {
        lock(&self.orders)
    }

    pub(crate) fn slots(&self) -> MutexGuard<'_, Vec<Arc<Slot>>> {
        lock(&self.slots)
    }

    /// Nanoseconds since the session opened; an Int64 holds 292 years of them.
    #[inline]
    pub(crate) fn now(&self) -> i64 {
        self.epoch.elapsed().as_nanos() as i64
    }

    #[inline]
    pub(crate) fn next_seq(&self) -> i64 {
        self.seq.0.fetch_add(1, Ordering::Relaxed) as i64
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
    pub(crate) fn alive(&self, what: &'static str) -> Result<()> {
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
    pub(crate) fn counted<T>(&self, result: Result<T>) -> Result<T> {
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
    pub(crate) fn record(
        &self,
        what: &'static str,
        text_bytes: usize,
        record: impl FnOnce(&mut Held, i64, i64),
    ) -> Result<()> {
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
    pub(crate) fn open_root(&self, name: &str) {
        let span =
            SpanFacts { parent: None, name, kind: SpanKind::Function, step: None, measured: false, on_stack: false };
        self.open_span(&span);
    }

    pub(crate) fn open_span(&self, span: &SpanFacts<'_>) -> (Arc<Slot>, u64, i64) {
        #[cfg(feature = "nvtx")]
        if crate::nvtx::listening() {
            return self.open_ranged(span);
        }
        self.open_bare(span)
    }

    #[inline]
    fn open_bare(&self, span: &SpanFacts<'_>) -> (Arc<Slot>, u64, i64) {
        self.with_slot(|slot| {
            let (id, start_ns) = self.push_open(slot, span);
            (Arc::clone(slot), id, start_ns)
        })
    }

    /// Opens a span and its range: that first, so that what a profiler costs is not in the span's own time.
    #[cfg(feature = "nvtx")]
    #[cold]
    fn open_ranged(&self, span: &SpanFacts<'_>) -> (Arc<Slot>, u64, i64) {
        if self.status.load(Ordering::Relaxed) & ENDED != 0 {
            return self.open_bare(span);
        }
        let range = crate::nvtx::open(span.name, span.on_stack);
        let (slot, id, start_ns) = self.open_bare(span);
        range.of(&slot, id);
        (slot, id, start_ns)
    }

    /// Opens a span in this thread's slot.
    fn push_open(&self, slot: &Slot, span: &SpanFacts<'_>) -> (u64, i64) {
        let mut held = slot.lock();
        let id = self.spans.0.fetch_add(1, Ordering::Relaxed) + 1;
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
            held.open.push(OpenSpan {
                id,
                parent,
                name,
                kind,
                step,
                measured,
                start_ns,
                cpu_start,
                on_stack,
                #[cfg(feature = "nvtx")]
                range: crate::nvtx::Range::None,
            });
        }
        (id, start_ns)
    }

    /// Closes a span on any thread. One clock read ends it.
    pub(crate) fn close_span(&self, slot: &Arc<Slot>, id: u64) {
        self.registry.close(id);
        // Dropped after the lock, and its range with it.
        let span;
        let mut held = slot.lock();
        let end_ns = self.now();
        // Gone when the session has ended: it was recorded then, as never closed.
        span = match held.take_open(id) {
            Some(open) => open,
            None => return,
        };
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

    pub(crate) fn span(
        &self,
        what: &'static str,
        span: SpanId,
        seen: impl Fn(&Registry, u64) -> Seen,
    ) -> Result<(i64, i64)> {
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

    pub(crate) fn open_span_only(&self, what: &'static str, span: SpanId) -> Result<i64> {
        self.span(what, span, Registry::see).map(|(start, _)| start)
    }

    pub(crate) fn known_span(&self, what: &'static str, span: SpanId) -> Result<()> {
        match self.open_span_only(what, span) {
            Err(Error::Span { .. }) if span.session == self.session && self.registry.see(span.id) == Seen::Closed => {
                Ok(())
            }
            other => other.map(drop),
        }
    }
}
