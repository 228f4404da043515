//! Many threads and many events: none lost, each numbered once, each file in order.

use std::collections::{HashMap, HashSet};

use candle_graph_record::{OpRecord, SpanKind, TraceSession};

use crate::world::{Table, Trace, dir, memory, op, run, session, tensor};

/// `threads` threads, each with one span per `per_span` ops; every op's duration says which op of which thread it is.
fn record(session: &TraceSession, threads: usize, ops: usize, per_span: usize) {
    let main = session.begin_span("main", SpanKind::Function);
    let parent = main.id();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for first in (0..ops).step_by(per_span) {
                    let span = session.open_span(Some(parent), format!("t{thread}"), SpanKind::Op, None).unwrap();
                    for i in first..(first + per_span).min(ops) {
                        let duration_ns = (thread * ops + i) as u64;
                        session.record_op(span.id(), OpRecord { duration_ns, ..op() }).unwrap();
                    }
                }
            });
        }
    });
}

/// Asserts everything that `record` promises about the trace.
fn check(trace: &Trace, threads: usize, ops: usize, per_span: usize) {
    let spans = trace.some("spans");
    let table = trace.some("ops");
    assert_eq!(table.len(), threads * ops);
    assert_eq!(spans.len(), threads * ops.div_ceil(per_span) + 2);
    for table in [&spans, &table] {
        assert!(table.all_ints("seq").windows(2).all(|w| w[0] < w[1]), "sorted by seq, each once");
    }
    // Every number of the order was given once, over all tables.
    let mut seq: Vec<i64> = spans.all_ints("seq").into_iter().chain(table.all_ints("seq")).collect();
    seq.sort_unstable();
    assert_eq!(seq, (0..seq.len() as i64).collect::<Vec<_>>());
    let main = trace.span("main").id;
    let thread_of: HashMap<i64, (i64, usize)> = spans
        .all_ints("span_id")
        .into_iter()
        .zip(spans.texts("name"))
        .zip(spans.all_ints("thread_id"))
        .zip(spans.ints("parent_id"))
        .filter_map(|(((id, name), slot), parent)| {
            let thread = name?.strip_prefix('t')?.parse().ok()?;
            assert_eq!(parent, Some(main));
            Some((id, (slot, thread)))
        })
        .collect();
    // Per thread, in file order: its ops one after the other, in its own spans, with the index within the span.
    let mut next = vec![0; threads];
    let columns = table
        .all_ints("span_id")
        .into_iter()
        .zip(table.all_ints("duration_ns"))
        .zip(table.all_ints("op_index"))
        .zip(table.all_ints("thread_id"));
    for (((span, duration), index), slot) in columns {
        let (span_slot, thread) = thread_of[&span];
        assert_eq!(duration as usize, thread * ops + next[thread]);
        assert_eq!(index as usize, next[thread] % per_span);
        assert_eq!(slot, span_slot);
        next[thread] += 1;
    }
    assert_eq!(next, vec![ops; threads]);
    assert_eq!(trace.run.events_lost, 0);
}

#[test]
fn eight_threads_lose_nothing() {
    let dir = dir();
    let session = session(&dir);
    record(&session, 8, 5_000, 100);
    check(&Trace::read(session.finish().unwrap()), 8, 5_000, 100);
}

#[test]
fn cuts_in_the_middle_lose_nothing() {
    let dir = dir();
    let session = session(&dir);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Each flush is a cut: threads register, open and close spans while it is taken.
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                session.flush().unwrap();
            }
        });
        record(&session, 8, 1_000, 7);
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    check(&Trace::read(session.finish().unwrap()), 8, 1_000, 7);
}

/// More than 300,000 rows pass through many cuts: large parts are copied into the one file, small ones are encoded anew.
#[test]
fn a_large_trace_survives_its_merge() {
    let dir = dir();
    let session = session(&dir);
    record(&session, 2, 160_000, 1_000);
    session.flush().unwrap();
    let path = session.path().to_owned();
    let parts: Vec<usize> = crate::world::names(&path.join("parts"))
        .iter()
        .filter(|n| n.ends_with("-ops.parquet"))
        .map(|n| Table::read(&path.join("parts").join(n)).len())
        .collect();
    assert!(parts.len() > 1, "one part would be moved, not merged: {parts:?}");
    assert_eq!(parts.iter().sum::<usize>(), 320_000);
    check(&Trace::read(session.finish().unwrap()), 2, 160_000, 1_000);
}

/// Parts above and below the size at which a row group is copied as it is, in turn.
#[test]
fn copied_and_recoded_parts_keep_their_order() {
    let dir = dir();
    let session = session(&dir);
    let span = session.begin_span("s", SpanKind::Function);
    let mut duration_ns = 0;
    for rows in [10, 33_000, 5, 7, 34_000, 1] {
        for _ in 0..rows {
            let inputs = [format!("TensorId({duration_ns})")];
            let output = Some("TensorId(x)").filter(|_| duration_ns % 3 == 0);
            session.record_op(span.id(), OpRecord { duration_ns, inputs: &inputs, output, ..op() }).unwrap();
            duration_ns += 1;
        }
        session.flush().unwrap();
    }
    drop(span);
    let ops = Trace::read(session.finish().unwrap()).some("ops");
    assert_eq!(ops.all_ints("duration_ns"), (0..duration_ns as i64).collect::<Vec<_>>());
    assert!(ops.text_lists("inputs").iter().enumerate().all(|(i, list)| *list == [format!("TensorId({i})")]));
    assert!(ops.texts("output").iter().enumerate().all(|(i, t)| t.is_some() == (i % 3 == 0)));
    assert!(ops.int_lists("shape").iter().all(|s| *s == [2, 3]));
}

#[test]
fn threads_share_storages_and_tables_of_every_kind() {
    let dir = dir();
    let session = session(&dir);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let session = &session;
            scope.spawn(move || {
                for i in 0..500 {
                    let span = session.begin_span("s", SpanKind::Function);
                    let address = format!("{thread}-{}", i % 3);
                    session.record_tensor_with_storage(span.id(), tensor(), &address, Some(16)).unwrap();
                    let memory = candle_graph_record::MemoryRecord { storage_id: &address, ..memory() };
                    session.record_memory_alloc(span.id(), memory).unwrap();
                    session.record_memory_free(span.id(), memory).unwrap();
                }
            });
        }
    });
    let trace = Trace::read(session.finish().unwrap());
    assert_eq!(trace.some("spans").len(), 2_001);
    let (tensors, memory) = (trace.some("tensors"), trace.some("memory"));
    assert_eq!((tensors.len(), memory.len()), (2_000, 4_000));
    // A birth each; the capture and the allocation of one storage have one id; alloc before free.
    let births: HashSet<Option<&str>> = tensors.texts("storage_id").into_iter().collect();
    assert_eq!(births.len(), 2_000);
    let mut state: HashMap<&str, &str> = HashMap::new();
    for (storage, action) in memory.texts("storage_id").into_iter().zip(memory.texts("action")) {
        let before = state.insert(storage.unwrap(), action.unwrap());
        assert_eq!(before, (action == Some("free")).then_some("alloc"));
    }
    assert_eq!(state.len(), 2_000);
}

#[test]
fn a_session_ends_while_other_threads_record_and_every_accepted_event_is_kept() {
    for _ in 0..20 {
        let dir = dir();
        let session = session(&dir);
        let accepted: usize = std::thread::scope(|scope| {
            let recorders: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| (0..).take_while(|_| session.record_op(session.root(), op()).is_ok()).count()))
                .collect();
            while session.elapsed_ns() < 2_000_000 {
                std::thread::yield_now();
            }
            session.close().unwrap();
            recorders.into_iter().map(|r| r.join().unwrap()).sum()
        });
        let trace = Trace::read(session.path());
        assert_eq!(trace.table("ops").map_or(0, |t| t.len()), accepted);
    }
}

/// Each thread's first event races with the last cut: it is either refused or kept.
#[test]
fn a_threads_first_event_at_the_end_is_refused_or_kept() {
    for _ in 0..50 {
        let dir = dir();
        let session = session(&dir);
        let accepted: usize = std::thread::scope(|scope| {
            let recorders: Vec<_> =
                (0..64).map(|_| scope.spawn(|| usize::from(session.record_op(session.root(), op()).is_ok()))).collect();
            session.close().unwrap();
            recorders.into_iter().map(|r| r.join().unwrap()).sum()
        });
        assert_eq!(Trace::read(session.path()).table("ops").map_or(0, |t| t.len()), accepted);
    }
}

#[test]
fn two_sessions_interleave_on_many_threads() {
    let dir = dir();
    let a = session(&dir);
    let b = TraceSession::open(dir.path().join("b"), run()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| record(&a, 3, 1_000, 10));
        scope.spawn(|| record(&b, 3, 1_000, 10));
    });
    for session in [a, b] {
        check(&Trace::read(session.finish().unwrap()), 3, 1_000, 10);
    }
}
