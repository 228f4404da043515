//! Span handles: the borrowed guard and the owned form.
//! In: an open span. Out: its id, its age, its close. Left to neighbours: the span's facts (`buffer`), its opening
//! (`session`).

use std::sync::Arc;

use crate::buffer::Slot;
use crate::session::TraceSession;
use crate::shared::Shared;

/// An opaque identity of one span of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanId {
    pub(crate) session: u64,
    pub(crate) id: u64,
}

/// A span that closes when it is dropped.
#[must_use = "a span closes when its guard is dropped: bind it to a name for the length of the work"]
pub struct SpanGuard<'s> {
    /// Borrowed: a count that all threads share costs each of them more than the rest of a span.
    pub(crate) session: &'s TraceSession,
    /// The slot of the thread that opened it.
    pub(crate) slot: Arc<Slot>,
    pub(crate) id: u64,
    pub(crate) start_ns: i64,
}

impl SpanGuard<'_> {
    /// The span's identity.
    pub fn id(&self) -> SpanId {
        SpanId { session: self.session.shared.session, id: self.id }
    }

    /// Nanoseconds since the span opened.
    pub fn elapsed_ns(&self) -> u64 {
        self.session.shared.now().saturating_sub(self.start_ns).max(0) as u64
    }
}

impl Drop for SpanGuard<'_> {
    fn drop(&mut self) {
        self.session.shared.close_span(&self.slot, self.id);
        #[cfg(feature = "nvtx")]
        if crate::nvtx::listening() {
            crate::nvtx::closed(&self.slot, self.id);
        }
    }
}

/// A span without a borrow: for adapters that hold a session behind `Arc`. It may close on any thread.
#[must_use = "a span closes when its handle is dropped"]
pub struct OwnedSpan {
    pub(crate) shared: Arc<Shared>,
    /// The slot of the thread that opened it.
    pub(crate) slot: Arc<Slot>,
    pub(crate) id: u64,
    pub(crate) start_ns: i64,
}

impl OwnedSpan {
    /// The span's identity.
    pub fn id(&self) -> SpanId {
        SpanId { session: self.shared.session, id: self.id }
    }

    /// Nanoseconds since the span opened.
    pub fn elapsed_ns(&self) -> u64 {
        self.shared.now().saturating_sub(self.start_ns).max(0) as u64
    }

    /// Closes the span now.
    pub fn close(self) {}
}

impl Drop for OwnedSpan {
    fn drop(&mut self) {
        self.shared.close_span(&self.slot, self.id);
    }
}
