//! What the child records: spans that open and close in every order.
//! In: a directory. Out: a trace in it, and calls of the profiler, if there is one. Left to neighbours: which calls they
//! should be (`nvtx`).

use std::path::Path;
use std::sync::{Barrier, Mutex};

use candle_graph_record::{OwnedSpan, SpanGuard, SpanKind, TraceSession};

use crate::world::run;

/// A name, and what it records into a directory.
pub type Scenario = (&'static str, fn(&Path));

pub const SCENARIOS: [Scenario; 11] = [
    ("in order", in_order),
    ("out of order", out_of_order),
    ("handed over", handed_over),
    ("owned", owned),
    ("elsewhere", elsewhere),
    ("open at the end", open_at_the_end),
    ("dropped", dropped),
    ("two sessions", two_sessions),
    ("two threads", two_threads),
    ("names", names),
    ("any order", any_order),
];

fn open(dir: &Path, name: &str) -> TraceSession {
    TraceSession::open(dir.join(name), run()).expect("an open session")
}

fn begin<'s>(session: &'s TraceSession, name: &str) -> SpanGuard<'s> {
    session.begin_span(name, SpanKind::Function)
}

fn begin_owned(session: &TraceSession, name: &str) -> OwnedSpan {
    session.open_span(None, name, SpanKind::Function, None).expect("an open span")
}

fn in_order(dir: &Path) {
    let session = open(dir, "trace");
    let update = session.begin_measurement("update");
    let forward = begin(&session, "forward");
    drop(begin(&session, "layer"));
    drop(begin(&session, "layer"));
    drop(forward);
    drop(begin(&session, "backward"));
    // It has ended: there is no time left to have a range in.
    session.record_completed_host_span("input", SpanKind::Function, 0, 1).unwrap();
    drop(update);
    session.finish().unwrap();
}

fn out_of_order(dir: &Path) {
    let session = open(dir, "trace");
    let [a, b, c] = ["a", "b", "c"].map(|name| begin(&session, name));
    drop(a);
    drop(begin_owned(&session, "a closed"));
    drop(c);
    drop(begin_owned(&session, "c closed"));
    let d = begin(&session, "d");
    drop(b);
    drop(begin_owned(&session, "b closed"));
    drop(d);
    session.finish().unwrap();
}

/// Each span is opened before the one before it is closed, as an assignment does.
fn handed_over(dir: &Path) {
    let session = open(dir, "trace");
    let mut span = begin(&session, "0");
    for i in 1..1_000 {
        span = begin(&session, &i.to_string());
    }
    drop(span);
    session.finish().unwrap();
}

fn owned(dir: &Path) {
    let session = open(dir, "trace");
    let guard = begin(&session, "guard");
    let [here, there] = ["here", "there"].map(|name| begin_owned(&session, name));
    drop(guard);
    let inner = begin(&session, "inner");
    std::thread::scope(|scope| drop(scope.spawn(|| there.close()).join()));
    here.close();
    drop(inner);
    session.finish().unwrap();
}

fn elsewhere(dir: &Path) {
    let session = open(dir, "trace");
    let [a, b, c] = ["a", "b", "c"].map(|name| begin(&session, name));
    std::thread::scope(|scope| {
        let close = || {
            // The newest range of this thread is its own, and stays.
            let own = begin(&session, "own");
            drop((a, c));
            drop(begin_owned(&session, "a and c closed"));
            drop(own);
        };
        scope.spawn(close).join().unwrap();
    });
    drop(begin_owned(&session, "back"));
    drop(b);
    drop(begin(&session, "d"));
    session.finish().unwrap();
}

fn open_at_the_end(dir: &Path) {
    let session = open(dir, "trace");
    let [_a, _b] = ["a", "b"].map(|name| begin(&session, name));
    std::mem::forget(begin(&session, "forgotten"));
    let _owned = begin_owned(&session, "owned");
    let (opened, ended) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let there = begin(&session, "there");
            opened.wait();
            ended.wait();
            // Its session records no spans any more.
            drop(begin(&session, "late"));
            drop(there);
        });
        opened.wait();
        session.close().unwrap();
        drop(begin(&session, "late"));
        ended.wait();
    });
    // The next session of the process begins with nothing open.
    let next = open(dir, "next");
    drop(begin(&next, "c"));
    next.finish().unwrap();
}

fn dropped(dir: &Path) {
    let session = open(dir, "trace");
    std::mem::forget(begin(&session, "forgotten"));
    let _owned = begin_owned(&session, "owned");
    drop(session);
}

fn two_sessions(dir: &Path) {
    let (one, two) = (open(dir, "trace"), open(dir, "two"));
    let (a, b) = (begin(&one, "a"), begin(&two, "b"));
    drop(a);
    one.finish().unwrap();
    drop(b);
    // Slots of different sessions hold the two: what is closed in one says nothing of the other.
    let three = open(dir, "three");
    let below = begin(&two, "below");
    let above = begin(&three, "above");
    std::thread::scope(|scope| drop(scope.spawn(|| drop(above)).join()));
    drop(begin_owned(&two, "above closed"));
    drop(below);
    two.finish().unwrap();
    three.finish().unwrap();
}

fn two_threads(dir: &Path) {
    let session = open(dir, "trace");
    let main = begin(&session, "main");
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let session = &session;
            scope.spawn(move || {
                for i in 0..200 {
                    let _outer = begin(session, &format!("{thread}.{i}"));
                    let _inner = begin(session, &format!("{thread}.{i}.inner"));
                }
            });
        }
    });
    drop(main);
    session.finish().unwrap();
}

/// Names that a C string or a line of text would spoil, short and long on either side of what needs no allocation.
pub fn hostile() -> Vec<String> {
    let mut names =
        ["", "a\0b", "\0", "Maß 模型 \u{1f600}", "%s%n", "a\nb\r", "\u{1b}[2J", "a:b"].map(String::from).to_vec();
    names.extend([126, 127, 128, 129].map(|length| "x".repeat(length)));
    names.push("模".repeat((1 << 20) / 3));
    names.push("y\0".repeat(1 << 19));
    names
}

fn names(dir: &Path) {
    let session = open(dir, "trace");
    for name in hostile() {
        drop(begin(&session, &name));
        drop(begin_owned(&session, &name));
    }
    session.finish().unwrap();
}

/// Three threads open guards, pass some on, and close whatever they hold, in any order.
fn any_order(dir: &Path) {
    let session = open(dir, "trace");
    let passed: Mutex<Vec<(String, SpanGuard<'_>)>> = Mutex::default();
    let done = Barrier::new(3);
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            let (session, passed, done) = (&session, &passed, &done);
            scope.spawn(move || {
                // Said before, so that no pop comes earlier.
                let close = |(name, guard): (String, SpanGuard<'_>)| {
                    drop(begin_owned(session, &format!("closing {name}")));
                    drop(guard);
                };
                let mut held = Vec::new();
                let mut random = thread + 1;
                for i in 0..300 {
                    random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let at = (random >> 33) as usize;
                    match at % 5 {
                        0 | 1 => {
                            let name = format!("{thread}.{i}");
                            held.push((name.clone(), begin(session, &name)));
                        }
                        2 if !held.is_empty() => passed.lock().unwrap().push(held.swap_remove(at % held.len())),
                        3 if !held.is_empty() => close(held.swap_remove(at % held.len())),
                        _ => {
                            let taken = passed.lock().unwrap().pop();
                            taken.into_iter().for_each(close);
                        }
                    }
                }
                held.drain(..).for_each(close);
                done.wait();
                let left = std::mem::take(&mut *passed.lock().unwrap());
                left.into_iter().for_each(close);
                done.wait();
                // What others have closed is popped when this thread has to do with spans again.
                let last = format!("{thread}.last");
                close((last.clone(), begin(session, &last)));
            });
        }
    });
    drop(passed);
    session.finish().unwrap();
}
