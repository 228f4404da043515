//! Short, correct captures on a busy machine: each one complete, every child inside its parent.
//! Recorders that read the clock twice, for a start and for a duration, fail this by 12% under load.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use candle_graph_record::{Outcome, SpanKind, TraceSession};

use crate::world::{Trace, alone, dir, repetitions, session};

/// Keeps every core busy until it is dropped.
struct Load {
    stop: std::sync::Arc<AtomicBool>,
}

impl Load {
    fn start() -> Self {
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        for _ in 0..std::thread::available_parallelism().map_or(2, |n| n.get()) {
            let stop = std::sync::Arc::clone(&stop);
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Self { stop }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn body(session: &TraceSession, capture: usize) {
    let _region = session.begin_measurement("update");
    match capture {
        // A few with 20,000 pairs of spans.
        7 | 77 | 177 => {
            for _ in 0..20_000 {
                let _outer = session.begin_span("outer", SpanKind::Function);
                let _inner = session.begin_span("inner", SpanKind::Op);
            }
        }
        n if n % 4 == 0 => std::thread::sleep(Duration::from_millis(1)),
        _ => {}
    }
}

/// A complete trace as the specification has it: one root, one measured region, all closed and inside their parents.
fn assert_correct(trace: &Trace) {
    assert_eq!((trace.run.outcome, trace.run.events_lost), (Outcome::Complete, 0));
    let spans = trace.some("spans");
    let times: HashMap<i64, (i64, i64)> = spans
        .all_ints("span_id")
        .into_iter()
        .zip(spans.all_ints("start_ns").into_iter().zip(spans.all_ints("duration_ns")))
        .map(|(id, (start, duration))| (id, (start, start + duration)))
        .collect();
    assert_eq!(times.len(), spans.len());
    assert_eq!(spans.ints("parent_id").iter().filter(|p| p.is_none()).count(), 1);
    assert_eq!(spans.bools("measured").iter().filter(|m| **m).count(), 1);
    for (id, parent) in spans.all_ints("span_id").into_iter().zip(spans.ints("parent_id")) {
        let Some(parent) = parent else { continue };
        let ((start, end), (parent_start, parent_end)) = (times[&id], times[&parent]);
        assert!(parent_start <= start && start <= end && end <= parent_end, "span {id} of {parent}: {:?}", trace.dir);
    }
}

#[test]
fn short_captures_under_load_are_all_correct() {
    let _alone = alone();
    let _load = Load::start();
    for capture in 0..repetitions("CANDLE_GRAPH_SHORT_CAPTURES", 300) {
        let dir = dir();
        let session = session(&dir);
        body(&session, capture);
        assert_correct(&Trace::read(session.finish().unwrap()));
    }
}
