//! The session: how a training program opens a trace, its spans, and ends it.
//! In: a run, spans from any thread. Out: a trace. Left to neighbours: facts inside spans (`facts`), what threads share
//! (`shared`), the writer (`flush`), files (`sink`).

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use crate::buffer::OpenSpan;
use crate::error::{Error, Result};
use crate::flush;
use crate::names::{ExecutionStep, Outcome, SpanKind};
use crate::records::{int, non_empty};
use crate::run::ProfileRun;
use crate::shared::{ROOT, Shared, SpanFacts, lock};
use crate::span::{OwnedSpan, SpanGuard, SpanId};
use crate::tables::run::RunRecord;

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
        let path = path.as_ref();
        run.validate()?;
        let record = RunRecord::opened(&run);
        let sink = crate::sink::open(path, &record)?;
        let shared = Arc::new(Shared::new(run.run_id));
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
        self.shared.at(instant)
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
            let id = shared.spans.0.fetch_add(1, Ordering::Relaxed) + 1;
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
                // It has ended: a range begins now or never.
                #[cfg(feature = "nvtx")]
                range: crate::nvtx::Range::None,
            };
            shared.registry.open(id, start_ns);
            shared.registry.close(id);
            shared.record(WHAT, name.len(), |held, seq, thread| {
                held.rows.spans.push(seq, &span.row(thread, Some(duration_ns), None));
            })?;
            Ok(SpanId { session: shared.session, id })
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
        let ended = writer.join().unwrap_or_else(|panic| {
            let cause = panic.downcast_ref::<&str>().map_or("a panic", |s| s).to_owned();
            Err(Error::Writer { path: self.path.clone(), cause })
        });
        #[cfg(feature = "nvtx")]
        if crate::nvtx::listening() {
            crate::nvtx::settle();
        }
        ended
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
