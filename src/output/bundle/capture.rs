//! `CaptureRun`: one capture from its first event to its bundle, safe to begin again after any crash.
//! In: a destination and a run. Out: a session to record with, then a receipt; or the receipt of what an earlier attempt
//! published. Left to neighbours: recording (`TraceSession`), publication (`publish`).
//!
//! The trace is recorded in a stage beside the destination. A crash leaves the stage: the next attempt publishes a trace
//! in it that had ended, and names one that had not.

use std::path::{Path, PathBuf};

use candle_graph_record::tables::run::RunRecord;
use candle_graph_record::{Outcome, ProfileRun, TraceSession};

use super::PublicationReceipt;
use super::publish::{Publication, publish};
use super::stage::{self, Purpose, Stage};
use crate::error::{Error, Result};
use crate::load::{self, Trace, bundle};

/// Where the trace lies in its stage.
const TRACE: &str = "trace";
/// In a stage, the directory of Nsight reports that belong to its trace.
const NSIGHT_DIR: &str = "nsight_dir";

/// What an attempt found.
pub enum CaptureBegin {
    /// An earlier attempt published this very capture; it was verified just now.
    AlreadyPublished(PublicationReceipt),
    /// Nothing is published yet: record, then publish.
    Active(CaptureRun),
}

/// A capture in progress, to be published at its destination.
///
/// Dropped without [`CaptureRun::publish`], it leaves its trace in the stage, as `interrupted`.
pub struct CaptureRun {
    destination: PathBuf,
    session: TraceSession,
    stage: Stage,
    nsight_dir: Option<PathBuf>,
    left_behind: Vec<PathBuf>,
}

/// What makes two attempts the same capture.
#[derive(PartialEq, Eq)]
struct Key {
    entrypoint: String,
    correlation_id: String,
    phase: &'static str,
    capture_step: i64,
    device: String,
}

impl Key {
    fn of(run: &RunRecord) -> Self {
        Self {
            entrypoint: run.entrypoint.clone(),
            correlation_id: run.correlation_id.clone(),
            phase: run.phase.as_str(),
            capture_step: run.capture_step,
            device: run.device.clone(),
        }
    }
}

impl CaptureRun {
    /// Begins a capture that ends as the bundle `destination`.
    ///
    /// Returns [`CaptureBegin::AlreadyPublished`] when the bundle is there and is of the same entrypoint, correlation id,
    /// phase, capture step and device, or when an earlier attempt ended its trace and could not publish it: it is
    /// published now. Traces that earlier attempts left unfinished stay where they are: [`CaptureRun::left_behind`].
    ///
    /// # Errors
    /// Anything else at the destination, which is left alone; a run that cannot be recorded; the file system's failures.
    pub fn begin(destination: impl AsRef<Path>, run: ProfileRun) -> Result<CaptureBegin> {
        let destination = destination.as_ref();
        let wanted = Key::of(&RunRecord::declared(&run)?);
        stage::clean(destination)?;
        if let Some(receipt) = published(destination, &wanted)? {
            return Ok(CaptureBegin::AlreadyPublished(receipt));
        }
        let mut left_behind = Vec::new();
        for stage in Stage::abandoned(destination, Purpose::Capture)? {
            let path = stage.path().join(TRACE);
            if !path.exists() {
                // It crashed before anything was recorded.
                stage.remove()?;
                continue;
            }
            match load::open(&path, load::Options::default()) {
                Ok(trace) if trace.run.outcome != Outcome::Interrupted && Key::of(&trace.run) == wanted => {
                    let nsight = nsight_of(&stage)?;
                    publish_trace(&trace, destination, nsight.as_deref()).map_err(|e| kept(&e, &path))?;
                    drop(trace);
                    stage.remove()?;
                    let receipt = published(destination, &wanted)?;
                    let receipt = receipt.ok_or_else(|| Error::input(destination, "went away as it was published"))?;
                    return Ok(CaptureBegin::AlreadyPublished(receipt));
                }
                // Cut off, of another capture, or unreadable: somebody's data in any case.
                _ => left_behind.push(path),
            }
        }
        let stage = Stage::new(destination, Purpose::Capture)?;
        let session = TraceSession::open(stage.path().join(TRACE), run)?;
        let destination = destination.to_owned();
        Ok(CaptureBegin::Active(Self { destination, session, stage, nsight_dir: None, left_behind }))
    }

    /// The session to record with.
    pub fn session(&self) -> &TraceSession {
        &self.session
    }

    /// Traces that earlier attempts at this destination left unfinished. Each can be read, published elsewhere with
    /// `candle-graph report`, or removed with the directory it is in.
    pub fn left_behind(&self) -> &[PathBuf] {
        &self.left_behind
    }

    /// Carries the Nsight reports in `dir` along: a flat directory of regular files, read when the capture is published.
    #[must_use]
    pub fn with_nsight_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.nsight_dir = Some(dir.into());
        self
    }

    /// Ends a capture that succeeded, and publishes it.
    ///
    /// # Errors
    /// When a write of the session or the publication fails. The trace is kept, and the error says where.
    pub fn publish(self) -> Result<PublicationReceipt> {
        self.end(None)
    }

    /// Ends a capture that failed, and publishes what it recorded.
    ///
    /// # Errors
    /// An empty reason, and as [`CaptureRun::publish`].
    pub fn publish_failed(self, reason: impl AsRef<str>) -> Result<PublicationReceipt> {
        self.end(Some(reason.as_ref()))
    }

    fn end(self, failed: Option<&str>) -> Result<PublicationReceipt> {
        let Self { destination, session, stage, nsight_dir, .. } = self;
        let path = session.path().to_owned();
        if let Some(dir) = &nsight_dir {
            // Before the trace ends: whoever finds it ended finds this too.
            let note = stage.path().join(NSIGHT_DIR);
            let dir = std::path::absolute(dir).map_err(Error::io("find", dir))?;
            std::fs::write(&note, dir.as_os_str().as_encoded_bytes()).map_err(Error::io("write", note))?;
        }
        let ended = match failed {
            None => session.close(),
            Some(reason) => session.close_failed(reason),
        };
        ended.map_err(|e| kept(&e.into(), &path))?;
        let trace = load::open(&path, load::Options::default()).map_err(|e| kept(&e, &path))?;
        let receipt = publish_trace(&trace, &destination, nsight_dir.as_deref()).map_err(|e| kept(&e, &path))?;
        drop(trace);
        // The bundle is there; a stage that cannot be removed is found and removed by the next attempt.
        let _ = stage.remove();
        Ok(receipt)
    }
}

fn publish_trace(trace: &Trace, destination: &Path, nsight_dir: Option<&Path>) -> Result<PublicationReceipt> {
    publish(trace, destination, &Publication { nsight_dir, ..Publication::default() })
}

/// The bundle at `destination`, where there is one of this capture; whatever an attempt for it left is then removed.
fn published(destination: &Path, wanted: &Key) -> Result<Option<PublicationReceipt>> {
    if std::fs::symlink_metadata(destination).is_err() {
        return Ok(None);
    }
    let conflict =
        |what: String| Error::input(destination, format!("{what}; it is left alone: choose another destination"));
    if !bundle::is_bundle(destination) {
        return Err(conflict("exists already and is no bundle".to_owned()));
    }
    let (verified, run) =
        bundle::inspect(destination).map_err(|e| conflict(format!("exists already and does not verify ({e})")))?;
    if Key::of(&run) != *wanted {
        return Err(conflict(format!(
            "is already a bundle of another capture: {} of {}, step {}",
            run.correlation_id, run.entrypoint, run.capture_step
        )));
    }
    for stage in Stage::abandoned(destination, Purpose::Capture)? {
        let trace = load::open(&stage.path().join(TRACE), load::Options::default());
        if trace.is_ok_and(|t| t.run.run_id == run.run_id) {
            stage.remove()?;
        }
    }
    Ok(Some(PublicationReceipt::new("already_published", destination, &verified)))
}

/// The Nsight directory that a stage's capture named.
fn nsight_of(stage: &Stage) -> Result<Option<PathBuf>> {
    let note = stage.path().join(NSIGHT_DIR);
    match std::fs::read(&note) {
        Ok(bytes) => Ok(Some(path_of(bytes))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io("read", note)(e)),
    }
}

#[cfg(unix)]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// A failure after which the trace is still there.
fn kept(error: &Error, trace: &Path) -> Error {
    Error::Kept { problem: error.to_string(), trace: trace.to_owned() }
}
