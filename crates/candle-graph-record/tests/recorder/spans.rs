//! Spans: guards, parents, threads, and every way a guard can be mistreated.

use std::time::Instant;

use candle_graph_record::{ExecutionStep, Outcome, SpanKind, TraceSession};

use crate::world::{Trace, dir, op, refusal, session};

#[test]
fn guards_nest_and_every_child_lies_inside_its_parent() {
    let dir = dir();
    let session = session(&dir);
    {
        let _region = session.begin_measurement("update");
        let forward = session.begin_step_span("forward", ExecutionStep::Forward, SpanKind::Module);
        let layer = session.begin_span("layer", SpanKind::Op);
        assert_ne!(layer.id(), forward.id());
        drop(layer);
        drop(forward);
        drop(session.begin_step_span("backward", ExecutionStep::Backward, SpanKind::Function));
        drop(session.begin_step_span("optimizer", ExecutionStep::Optimizer, SpanKind::Function));
    }
    let trace = Trace::read(session.finish().unwrap());
    let spans = trace.some("spans");
    // In order of closing; the root closes last.
    assert_eq!(spans.texts("name"), ["layer", "forward", "backward", "optimizer", "update", "train"].map(Some));
    // Ids are given in order of opening: root 1, update 2, forward 3, layer 4.
    assert_eq!(spans.all_ints("span_id"), [4, 3, 5, 6, 2, 1]);
    assert_eq!(spans.ints("parent_id"), [Some(3), Some(2), Some(2), Some(2), Some(1), None]);
    assert_eq!(spans.texts("kind"), ["op", "module", "function", "function", "function", "function"].map(Some));
    assert_eq!(spans.texts("step"), [None, Some("forward"), Some("backward"), Some("optimizer"), None, None]);
    assert_eq!(spans.bools("measured"), [false, false, false, false, true, false]);
    assert_eq!(spans.all_ints("thread_id"), [1; 6]);
    let [layer, forward, update, root] = ["layer", "forward", "update", "train"].map(|n| trace.span(n));
    for (child, parent) in [(layer, forward), (forward, update), (update, root)] {
        assert!(child.start_ns >= parent.start_ns && child.end_ns() <= parent.end_ns(), "{child:?} in {parent:?}");
    }
    assert_eq!((root.id, root.start_ns), (1, 0));
    assert_eq!(trace.run.ended_ns, Some(root.end_ns()));
    #[cfg(unix)]
    assert!(layer.cpu_ns.is_some() && forward.cpu_ns >= layer.cpu_ns);
}

#[test]
fn a_guard_tells_its_age_on_the_sessions_clock() {
    let dir = dir();
    let session = session(&dir);
    let before = session.elapsed_ns();
    let span = session.begin_span("s", SpanKind::Function);
    let age = span.elapsed_ns();
    let after = session.elapsed_ns();
    assert!(age <= after - before);
    assert_eq!(session.host_timestamp_ns(Instant::now() - std::time::Duration::from_secs(3600)), 0);
    let (low, here, high) = (session.elapsed_ns(), session.host_timestamp_ns(Instant::now()), session.elapsed_ns());
    assert!(low <= here && here <= high);
}

#[test]
fn guards_dropped_out_of_order_keep_their_own_parents() {
    let dir = dir();
    let session = session(&dir);
    let outer = session.begin_span("outer", SpanKind::Function);
    let inner = session.begin_span("inner", SpanKind::Function);
    drop(outer);
    // The innermost span that is still open.
    let under_inner = session.begin_span("under inner", SpanKind::Function);
    drop(inner);
    drop(under_inner);
    let under_root = session.begin_span("under root", SpanKind::Function);
    drop(under_root);
    let trace = Trace::read(session.finish().unwrap());
    let [outer, inner] = ["outer", "inner"].map(|n| trace.span(n));
    assert_eq!(outer.parent, Some(1));
    assert_eq!(inner.parent, Some(outer.id));
    assert_eq!(trace.span("under inner").parent, Some(inner.id));
    assert_eq!(trace.span("under root").parent, Some(1));
    // Recorded as what it is: this child outlives its parent, and health says so.
    assert!(inner.end_ns() > outer.end_ns());
    assert_eq!(trace.run.outcome, Outcome::Complete);
}

#[test]
fn a_leaked_guard_is_a_span_that_never_closed() {
    let dir = dir();
    let session = session(&dir);
    let leaked = session.begin_span("leaked", SpanKind::Function);
    let id = leaked.id();
    std::mem::forget(leaked);
    session.record_op(id, op()).unwrap();
    drop(session.begin_span("after", SpanKind::Function));
    let trace = Trace::read(session.finish().unwrap());
    let leaked = trace.span("leaked");
    assert_eq!((leaked.duration_ns, leaked.cpu_ns), (None, None));
    assert_eq!(trace.span("after").parent, Some(leaked.id));
    assert_eq!(trace.some("ops").all_ints("span_id"), [leaked.id]);
    assert!(trace.span("train").duration_ns.is_some(), "the root closes whatever is left open");
}

#[test]
fn a_span_open_at_the_end_is_recorded_open_and_its_late_drop_is_harmless() {
    let dir = dir();
    let session = session(&dir);
    let owned = session.open_span(None, "owned", SpanKind::Function, None).unwrap();
    let guard = session.begin_span("guard", SpanKind::Function);
    let path = session.close().unwrap();
    drop(guard);
    drop(owned);
    let trace = Trace::read(path);
    assert_eq!(trace.span("owned").duration_ns, None);
    assert_eq!(trace.span("guard").duration_ns, None);
    assert_eq!(trace.some("spans").len(), 3);
}

#[test]
fn a_guard_moved_to_another_thread_closes_there() {
    let dir = dir();
    let session = session(&dir);
    let guard = session.begin_span("guard", SpanKind::Function);
    let owned = session.open_span(Some(guard.id()), "owned", SpanKind::Op, Some(ExecutionStep::Forward)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || owned.close());
        scope.spawn(move || drop(guard));
    });
    drop(session.begin_span("after", SpanKind::Function));
    let trace = Trace::read(session.finish().unwrap());
    let [guard, owned] = ["guard", "owned"].map(|n| trace.span(n));
    assert_eq!((guard.parent, owned.parent), (Some(1), Some(guard.id)));
    // Counted on the thread that opened them; its CPU clock cannot be read from another.
    assert_eq!((guard.thread_id, owned.thread_id), (1, 1));
    assert_eq!((guard.cpu_ns, owned.cpu_ns), (None, None));
    assert!(guard.duration_ns.is_some() && owned.duration_ns.is_some());
    assert_eq!(trace.span("after").parent, Some(1), "the moved guard has left the stack of its thread");
}

#[test]
fn a_worker_thread_has_its_own_stack_and_explicit_parents() {
    let dir = dir();
    let session = session(&dir);
    let main = session.begin_span("main", SpanKind::Function);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The root: another thread's stack is none of this thread's business.
            let alone = session.begin_span("alone", SpanKind::Function);
            let explicit = session.open_span(Some(main.id()), "explicit", SpanKind::Op, None).unwrap();
            // An owned span does not join the stack.
            drop(session.begin_span("under alone", SpanKind::Function));
            drop(explicit);
            drop(alone);
        });
    });
    drop(main);
    let trace = Trace::read(session.finish().unwrap());
    assert_eq!(trace.span("alone").parent, Some(1));
    assert_eq!(trace.span("explicit").parent, Some(trace.span("main").id));
    assert_eq!(trace.span("under alone").parent, Some(trace.span("alone").id));
    assert_eq!(trace.span("main").thread_id, 1);
    assert_eq!(trace.span("alone").thread_id, 2);
}

#[test]
fn an_owned_span_wants_a_parent_that_is_open_here() {
    let dir = dir();
    let session = session(&dir);
    let other = TraceSession::open(dir.path().join("other"), crate::world::run()).unwrap();
    let closed = session.begin_span("closed", SpanKind::Function).id();
    let foreign = other.begin_span("foreign", SpanKind::Function);
    let open = |parent| session.open_span(Some(parent), "x", SpanKind::Op, None).map(drop);
    assert!(refusal(open(closed)).contains("closed"));
    assert!(refusal(open(foreign.id())).contains("another session"));
    drop(foreign);
    let path = session.close().unwrap();
    assert!(refusal(session.open_span(None, "x", SpanKind::Op, None).map(drop)).contains("ended"));
    assert_eq!(Trace::read(path).run.events_lost, 2, "what was refused before the end");
}

#[test]
fn completed_host_work_is_a_child_of_the_root_beside_the_stack() {
    let dir = dir();
    let session = session(&dir);
    let open = session.begin_span("open", SpanKind::Function);
    let now = session.elapsed_ns();
    let id = session.record_completed_host_span("io", SpanKind::Op, 0, now).unwrap();
    drop(session.begin_span("child", SpanKind::Function));
    for (start, duration, problem) in [
        (0, 0, "is 0"),
        (0, now + 3_600_000_000_000, "after now"),
        (u64::MAX, 1, "Int64"),
        (0, u64::MAX, "Int64"),
        (i64::MAX as u64, i64::MAX as u64, "after now"),
    ] {
        let refused = session.record_completed_host_span("io", SpanKind::Op, start, duration);
        assert!(refusal(refused).contains(problem));
    }
    // It has ended: facts come too late.
    assert!(refusal(session.record_op(id, op())).contains("closed"));
    session.record_call_edge(session.root(), id, now).unwrap();
    drop(open);
    let trace = Trace::read(session.finish().unwrap());
    let io = trace.span("io");
    assert_eq!((io.parent, io.start_ns, io.duration_ns, io.cpu_ns), (Some(1), 0, Some(now as i64), None));
    assert_eq!(trace.span("child").parent, Some(trace.span("open").id));
    assert_eq!(trace.some("edges").ints("to_span"), [Some(io.id)]);
    assert_eq!(trace.run.events_lost, 6);
}

#[test]
fn two_sessions_on_one_thread_keep_their_spans_apart() {
    let dir = dir();
    let a = session(&dir);
    let b = TraceSession::open(dir.path().join("b"), crate::world::run()).unwrap();
    let a_outer = a.begin_span("a outer", SpanKind::Function);
    let b_outer = b.begin_span("b outer", SpanKind::Function);
    let a_inner = a.begin_span("a inner", SpanKind::Function);
    let b_inner = b.begin_span("b inner", SpanKind::Function);
    a.record_op(a_inner.id(), op()).unwrap();
    assert!(refusal(a.record_op(b_inner.id(), op())).contains("another session"));
    drop((a_outer, b_outer, a_inner, b_inner));
    for (session, name, lost) in [(a, "a", 1), (b, "b", 0)] {
        let trace = Trace::read(session.finish().unwrap());
        let [outer, inner] = ["outer", "inner"].map(|n| trace.span(&format!("{name} {n}")));
        assert_eq!((outer.parent, inner.parent), (Some(1), Some(outer.id)));
        assert_eq!(trace.some("spans").len(), 3);
        assert_eq!(trace.run.events_lost, lost);
    }
}

#[test]
fn a_guard_that_outlives_its_session_handle_is_harmless() {
    let dir = dir();
    let session = session(&dir);
    let owned = session.open_span(None, "owned", SpanKind::Function, None).unwrap();
    let path = session.finish().unwrap();
    drop(owned);
    assert_eq!(Trace::read(path).span("owned").duration_ns, None);
}
