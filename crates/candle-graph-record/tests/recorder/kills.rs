//! Killed processes: whatever moment SIGKILL comes at, the directory is readable with no repair and nearly current.
//! In: this binary again, as a child that records for ever. Out: checks of what its death left behind.
//!
//! The 250 ms are a promise of the format, not a speed: a cut is taken every 100 ms and a thread that gets ahead of the
//! writer waits. The child's own clock says what it had recorded, so a slow start or a slow kill costs nothing here.
#![cfg(unix)]

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use candle_graph_record::{MemoryRecord, OpRecord, Outcome, SpanKind, TraceSession};

use crate::world::{Table, Trace, alone, dir, memory, names, op, repetitions, run, tensor};

const DIR: &str = "CANDLE_GRAPH_TEST_KILL_DIR";
const FULL_SPEED: &str = "CANDLE_GRAPH_TEST_FULL_SPEED";

/// The child: it does nothing unless a parent has named a directory.
#[test]
#[ignore = "started by `any_kill_leaves_a_readable_trace` in a process of its own"]
fn child() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let pause = std::env::var_os(FULL_SPEED).is_none().then_some(Duration::from_millis(1));
    let session = TraceSession::open(Path::new(&dir).join("trace"), run()).unwrap();
    let recorded = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (session, recorded) = (&session, &recorded);
            scope.spawn(move || {
                for i in 0u64.. {
                    let outer = session.begin_span("outer", SpanKind::Function);
                    for j in 0..5 {
                        let inner = session.begin_span("inner", SpanKind::Op);
                        let now = session.elapsed_ns();
                        session.record_op(inner.id(), OpRecord { timestamp_ns: now, ..op() }).unwrap();
                        recorded.fetch_max(now, Ordering::Relaxed);
                        session.record_op(outer.id(), op()).unwrap();
                        session.record_tensor(inner.id(), tensor()).unwrap();
                        let address = format!("{thread}-{}", (i + j) % 7);
                        let memory = MemoryRecord { storage_id: &address, ..memory() };
                        session.record_memory_alloc(inner.id(), memory).unwrap();
                        if j % 2 == 0 {
                            session.record_memory_free(outer.id(), memory).unwrap();
                        }
                    }
                    if let Some(pause) = pause {
                        std::thread::sleep(pause);
                    }
                }
            });
        }
        // Ends with the pipe, should the parent die first.
        while writeln!(std::io::stdout(), "\nrecorded {}", recorded.load(Ordering::Relaxed)).is_ok() {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::process::abort();
    });
}

/// Starts the child, kills it some time after its first words, and returns the last thing it said it had recorded.
fn record_and_kill(dir: &Path, full_speed: bool, after: Duration) -> u64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "kills::child", "--ignored", "--nocapture"]).env(DIR, dir).stdout(Stdio::piped());
    if full_speed {
        command.env(FULL_SPEED, "1");
    }
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (began, begins) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut last = None;
        // A line cut off by the kill would only say less than it should.
        for line in lines.map_while(Result::ok) {
            if let Some(recorded) = line.strip_prefix("recorded ").and_then(|n| n.parse::<u64>().ok()) {
                last = Some(recorded);
                let _ = began.send(());
            }
        }
        last
    });
    begins.recv().expect("the child records");
    std::thread::sleep(after);
    // `Child::kill` is SIGKILL: no handler, no destructor runs.
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap().expect("the child said something")
}

fn check(dir: &Path, said: u64) {
    let trace = Trace::read(dir);
    assert_eq!((trace.run.outcome, &trace.run.reason, trace.run.ended_ns), (Outcome::Interrupted, &None, None));
    assert_eq!(names(dir), ["parts", "recording.lock", "run.parquet"]);
    let mut known = HashSet::new();
    let mut referred = Vec::new();
    let mut newest = 0;
    let mut last_seq = std::collections::HashMap::new();
    // Named by cut, so in order of recording.
    for name in crate::world::parts(dir) {
        let table = name.strip_suffix(".parquet").map(|n| n.split_once('-').unwrap().1.to_owned()).unwrap();
        let rows = Table::read(&dir.join("parts").join(&name));
        assert!(rows.len() > 0, "{name}");
        if table == "spans" || table == "open_spans" {
            known.extend(rows.all_ints("span_id"));
            referred.extend(rows.ints("parent_id").into_iter().flatten());
        } else {
            referred.extend(rows.all_ints("span_id"));
        }
        if table == "ops" {
            newest = newest.max(*rows.all_ints("timestamp_ns").iter().max().unwrap());
        }
        if table != "open_spans" {
            let seq = rows.all_ints("seq");
            let before = last_seq.insert(table, *seq.last().unwrap()).unwrap_or(-1);
            assert!(before < seq[0] && seq.windows(2).all(|w| w[0] < w[1]), "{name} is out of order");
        }
    }
    let unknown = referred.iter().filter(|id| !known.contains(id)).count();
    assert_eq!(unknown, 0, "rows that name a span that no file holds");
    let lost_ns = (said as i64).saturating_sub(newest);
    assert!(lost_ns <= 250_000_000, "the newest flushed op is {} ms older than what was recorded", lost_ns / 1_000_000);
}

#[test]
fn any_kill_leaves_a_readable_trace() {
    let _alone = alone();
    for i in 0..repetitions("CANDLE_GRAPH_KILLS", 20) {
        let dir = dir();
        let after = Duration::from_micros(RandomState::new().hash_one(i) % 600_000);
        let full_speed = i % 2 == 1;
        let said = record_and_kill(dir.path(), full_speed, after);
        let checked = std::panic::catch_unwind(|| check(&dir.path().join("trace"), said));
        if let Err(panic) = checked {
            eprintln!(
                "kill {i} after {after:?}, full speed: {full_speed}; the trace is kept in {}",
                dir.keep().display()
            );
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn a_killed_recordings_directory_is_not_live_and_is_not_overwritten() {
    let dir = dir();
    record_and_kill(dir.path(), false, Duration::from_millis(150));
    let again = TraceSession::open(dir.path().join("trace"), run());
    assert!(matches!(again, Err(candle_graph_record::Error::Exists { .. })));
}
