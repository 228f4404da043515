//! Endings: finish, failure, drop, panic; what each leaves, and what is refused afterwards.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use candle_graph_record::{Outcome, SpanKind, TraceSession};

use crate::world::{Table, Trace, dir, interval, memory, names, op, refusal, run, session, tensor};

#[test]
fn finish_returns_the_path_of_a_complete_trace() {
    let dir = dir();
    let session = session(&dir);
    let path = session.path().to_owned();
    assert_eq!(session.finish().unwrap(), path);
    let trace = Trace::read(&path);
    assert_eq!((trace.run.outcome, &trace.run.reason), (Outcome::Complete, &None));
    assert!(trace.run.ended_ns.is_some());
    // Nothing but the root was recorded.
    assert_eq!(trace.some("spans").texts("name"), [Some("train")]);
}

#[test]
fn a_failed_capture_keeps_what_it_recorded_and_its_reason() {
    let dir = dir();
    let session = session(&dir);
    session.record_op(session.root(), op()).unwrap();
    for empty in ["", " \n"] {
        assert!(refusal(session.close_failed(empty)).contains("reason"));
    }
    // The refusal has not ended the session.
    session.record_op(session.root(), op()).unwrap();
    let trace = Trace::read(session.finish_failed(" loss is NaN ").unwrap());
    assert_eq!((trace.run.outcome, trace.run.reason.as_deref()), (Outcome::Failed, Some("loss is NaN")));
    assert_eq!(trace.some("ops").len(), 2);
}

#[test]
fn an_empty_reason_leaves_an_interrupted_trace_because_the_session_is_gone() {
    let dir = dir();
    let session = session(&dir);
    let path = session.path().to_owned();
    assert!(refusal(session.finish_failed("")).contains("reason"));
    assert_eq!(Trace::read(path).run.outcome, Outcome::Interrupted);
}

#[test]
fn a_dropped_session_is_interrupted_and_readable() {
    let dir = dir();
    let session = session(&dir);
    let path = session.path().to_owned();
    drop(session.begin_span("work", SpanKind::Function));
    drop(session);
    let trace = Trace::read(&path);
    assert_eq!(trace.run.outcome, Outcome::Interrupted);
    assert!(trace.run.reason.unwrap().contains("dropped"));
    assert_eq!(Trace::read(&path).span("work").parent, Some(1));
    assert_eq!(names(&path), ["run.parquet", "tables"]);
}

#[test]
fn an_early_return_is_an_interruption() {
    fn program(path: &std::path::Path) -> anyhow::Result<()> {
        let session = TraceSession::open(path, run())?;
        session.record_op(session.root(), op())?;
        anyhow::bail!("the loader failed");
    }
    let dir = dir();
    let path = dir.path().join("trace");
    assert_eq!(program(&path).unwrap_err().to_string(), "the loader failed");
    let trace = Trace::read(&path);
    assert_eq!((trace.run.outcome, trace.some("ops").len()), (Outcome::Interrupted, 1));
}

#[test]
fn a_panic_is_an_interruption_that_says_so() {
    let dir = dir();
    let path = dir.path().join("trace");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let session = TraceSession::open(&path, run()).unwrap();
        let span = session.begin_span("work", SpanKind::Function);
        session.record_op(span.id(), op()).unwrap();
        std::panic::resume_unwind(Box::new("the model broke"));
    }));
    assert!(panicked.is_err());
    let trace = Trace::read(&path);
    assert_eq!(trace.run.outcome, Outcome::Interrupted);
    assert!(trace.run.reason.as_deref().unwrap().contains("panicked"));
    // The guard was dropped by the unwinding, before the session.
    assert!(trace.span("work").duration_ns.is_some());
    assert_eq!(trace.some("ops").len(), 1);
}

#[test]
fn flush_makes_everything_recorded_so_far_readable() {
    let dir = dir();
    let session = session(&dir);
    let open = session.begin_span("open", SpanKind::Function);
    drop(session.begin_span("closed", SpanKind::Function));
    session.record_op(open.id(), op()).unwrap();
    session.record_tensor(open.id(), tensor()).unwrap();
    session.flush().unwrap();
    let parts = session.path().join("parts");
    let files = crate::world::parts(session.path());
    let tables: Vec<&str> = files.iter().map(|n| n.split_once('-').unwrap().1).collect();
    assert_eq!(tables.iter().filter(|t| **t == "ops.parquet").count(), 1);
    assert_eq!(tables.iter().filter(|t| **t == "tensors.parquet").count(), 1);
    assert_eq!(tables.iter().filter(|t| **t == "spans.parquet").count(), 1);
    let snapshot = names(&parts).into_iter().rfind(|n| n.ends_with("-open_spans.parquet")).unwrap();
    let snapshot = Table::read(&parts.join(snapshot));
    assert_eq!(snapshot.texts("name"), [Some("train"), Some("open")]);
    assert_eq!(snapshot.ints("duration_ns"), [None, None]);
    assert_eq!(Trace::read(session.path()).run.outcome, Outcome::Interrupted, "until it has ended");
    // Nothing new: nothing is written.
    let before = names(&parts);
    session.flush().unwrap();
    assert_eq!(names(&parts), before);
    drop(open);
    session.finish().unwrap();
}

#[test]
fn after_the_end_every_call_is_refused_and_the_trace_stays() {
    let dir = dir();
    let session = Arc::new(session(&dir));
    let root = session.root();
    let path = session.close().unwrap();
    let results = [
        session.record_op(root, op()),
        session.record_tensor(root, tensor()),
        session.record_scalar(root, "l", 1.0),
        session.record_memory_alloc(root, memory()),
        session.record_device_interval(root, interval()),
        session.record_data_edge("a", "b"),
        session.record_completed_host_span("late", SpanKind::Function, 0, 1).map(drop),
        session.close().map(drop),
        session.close_failed("late").map(drop),
    ];
    for result in results {
        let message = refusal(result);
        assert!(message.contains("ended") || message.contains("closed"), "{message}");
    }
    // Guards cannot be refused; they come to nothing.
    drop(session.begin_span("late", SpanKind::Function));
    session.flush().unwrap();
    drop(session);
    let trace = Trace::read(path);
    assert_eq!((trace.run.outcome, trace.some("spans").len()), (Outcome::Complete, 1));
}

#[test]
fn a_session_that_ends_on_another_thread_is_whole() {
    let dir = dir();
    let session = session(&dir);
    session.record_op(session.root(), op()).unwrap();
    let path = std::thread::spawn(move || session.finish()).join().unwrap().unwrap();
    assert_eq!(Trace::read(path).some("ops").len(), 1);
}

/// A part file's directory vanishes: the write fails, the session is poisoned, and nothing makes it complete again.
#[test]
fn a_write_error_poisons_the_session_and_finish_reports_the_first_cause() {
    let dir = dir();
    let session = session(&dir);
    let path = session.path().to_owned();
    std::fs::remove_dir_all(path.join("parts")).unwrap();
    session.record_op(session.root(), op()).unwrap();
    let message = refusal(session.flush());
    assert!(message.contains("parts"), "the path is not in: {message}");
    let message = refusal(session.record_op(session.root(), op()));
    assert!(message.contains("parts"), "{message}");
    // Even when the cause is gone.
    std::fs::create_dir(path.join("parts")).unwrap();
    let message = refusal(session.finish());
    assert!(message.contains("parts") && message.contains("complete"), "{message}");
    assert_eq!(Trace::read(path).run.outcome, Outcome::Interrupted);
}
