//! The recorder's speed budgets, measured side by side in one run: ours, candle-graph 0.10.1's, a `tracing` span.
//! In: nothing. Out: a table on standard output, each ratio beside its target from the design. It never fails: a busy
//! machine is no defect of the code.
//!
//! `cargo run --release --manifest-path benches/recorder/Cargo.toml`. Rounds of both sides take turns, and the median
//! of their CPU times is printed, so that a slow minute of the machine hits both.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use candle_graph_record::{
    CaptureSelector, MemoryCategory, MemoryRecord, OpRecord, ProfileRun, SpanKind, TensorRecord, TraceSession,
    thread_cpu_ns,
};
use tracing_subscriber::prelude::*;

/// Ops of one round of the recorder; the rival takes 17 times as long for one.
const OPS: u64 = 200_000;
const RIVAL_OPS: u64 = 50_000;
const ROUNDS: usize = 7;

/// Thread CPU, wall and process CPU time of a piece of work, in nanoseconds.
#[derive(Clone, Copy)]
struct Cost {
    thread: f64,
    wall: f64,
    process: f64,
}

fn process_cpu_ns() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid timespec for the call to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// The cost of each of `events` events: `hot` is what the recording thread does, `end` what remains when it has ended.
fn cost<T>(events: u64, hot: impl FnOnce() -> T, end: impl FnOnce(T)) -> Cost {
    let (process, thread, wall) = (process_cpu_ns(), thread_cpu_ns().unwrap_or(0), Instant::now());
    let left = hot();
    let (thread, wall) = (thread_cpu_ns().unwrap_or(0) - thread, wall.elapsed());
    end(left);
    let each = events as f64;
    Cost {
        thread: thread as f64 / each,
        wall: wall.as_nanos() as f64 / each,
        process: (process_cpu_ns() - process) / each,
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn medians(costs: &[Cost]) -> Cost {
    let of = |get: fn(&Cost) -> f64| median(costs.iter().map(get).collect());
    Cost { thread: of(|c| c.thread), wall: of(|c| c.wall), process: of(|c| c.process) }
}

fn row(what: &str, ours: f64, theirs: Option<f64>, unit: &str, target: &str) {
    let ratio = theirs.map_or(String::new(), |t| format!("1/{:.1}", t / ours));
    let theirs = theirs.map_or(String::new(), |t| format!("{t:.1}"));
    println!("{what:<52} {ours:>10.1} {theirs:>10} {unit:<8} {ratio:>8}  {target}");
}

fn session(dir: &Path) -> TraceSession {
    TraceSession::open(dir.join("ours"), ProfileRun::training("bench", 1, "cpu")).expect("a session")
}

fn rival_session(dir: &Path) -> rival::TraceSession {
    rival::TraceSession::open(dir.join("rival.jsonl"), rival::ProfileRun::training("bench", 1, "cpu"))
        .expect("a session")
}

/// What varies from op to op, as in a real step.
struct Ids {
    inputs: Vec<[String; 2]>,
    outputs: Vec<String>,
}

const NAMES: [&str; 8] = ["matmul", "add", "gelu", "softmax", "layer-norm", "transpose", "mul", "reduce-sum"];
const SHAPES: [&[usize]; 4] = [&[8, 128, 768], &[8, 12, 128, 128], &[8, 128, 3072], &[768]];

impl Ids {
    fn new(count: u64) -> Self {
        let id = |n: u64| format!("TensorId({n})");
        Self {
            inputs: (0..count).map(|i| [id(10_000 + i), id(9_000 + i)]).collect(),
            outputs: (0..count).map(|i| id(10_001 + i)).collect(),
        }
    }
}

fn ours_op<'a>(ids: &'a Ids, i: usize) -> OpRecord<'a> {
    let n = i % ids.outputs.len();
    OpRecord {
        op_name: NAMES[i % 8],
        inputs: &ids.inputs[n],
        output: Some(&ids.outputs[n]),
        shape: SHAPES[i % 4],
        dtype: "f32",
        device: "cpu",
        duration_ns: 1_000 + (i as u64).wrapping_mul(2_654_435_761) % 5_000,
        timestamp_ns: 0,
        output_dense_bytes: Some(3_145_728),
        input_dense_bytes: 6_291_456,
    }
}

fn rival_op<'a>(ids: &'a Ids, i: usize) -> rival::OpRecord<'a> {
    let op = ours_op(ids, i);
    rival::OpRecord {
        op_name: op.op_name,
        inputs: op.inputs,
        output: op.output,
        shape: op.shape,
        dtype: op.dtype,
        device: op.device,
        duration_ns: op.duration_ns,
        timestamp_ns: op.timestamp_ns,
        output_dense_bytes: op.output_dense_bytes,
        input_dense_bytes: op.input_dense_bytes,
    }
}

/// The median of `ROUNDS` rounds, with the process CPU time that `finish` takes spread over all of them, and the first
/// round: it finds no memory to reuse and no file yet.
struct Rounds {
    costs: Vec<Cost>,
    finish: f64,
}

impl Rounds {
    fn new() -> Self {
        Self { costs: Vec::new(), finish: 0.0 }
    }

    fn finish(&mut self, events: u64, finish: impl FnOnce()) {
        let before = process_cpu_ns();
        finish();
        self.finish = (process_cpu_ns() - before) / (events * ROUNDS as u64) as f64;
    }

    fn median(&self) -> Cost {
        let mut cost = medians(&self.costs);
        cost.process += self.finish;
        cost
    }
}

fn ops(ids: &Ids) {
    let (mut ours, mut theirs) = (Rounds::new(), Rounds::new());
    let dir = tempfile::tempdir().expect("a directory");
    let session = session(dir.path());
    let rival = rival_session(dir.path());
    for _ in 0..ROUNDS {
        ours.costs.push(cost(
            OPS,
            || {
                let span = session.begin_span("span", SpanKind::Function);
                for i in 0..OPS as usize {
                    session.record_op(span.id(), ours_op(ids, i)).expect("recorded");
                }
            },
            |()| session.flush().expect("flushed"),
        ));
        theirs.costs.push(cost(
            RIVAL_OPS,
            || {
                let span = rival.begin_span("span", rival::SpanKind::Function);
                for i in 0..RIVAL_OPS as usize {
                    rival.record_op(span.id(), rival_op(ids, i)).expect("recorded");
                }
            },
            |()| rival.flush().expect("flushed"),
        ));
    }
    ours.finish(OPS, || drop(session.finish().expect("finished")));
    theirs.finish(RIVAL_OPS, || drop(rival.finish().expect("finished")));
    let (first, first_theirs) = (ours.costs[0], theirs.costs[0]);
    let (ours, theirs) = (ours.median(), theirs.median());
    row("op, recording thread, CPU", ours.thread, Some(theirs.thread), "ns", "<= 1/10, <= 150 ns");
    row("op, recording thread, CPU, first round", first.thread, Some(first_theirs.thread), "ns", "");
    row("op, recording thread, wall", ours.wall, Some(theirs.wall), "ns", "");
    row("op, all CPU, writer and finish included", ours.process, Some(theirs.process), "ns", "<= 1/4");
}

fn spans() {
    let dir = tempfile::tempdir().expect("a directory");
    let (layer, guard) = tracing_chrome::ChromeLayerBuilder::new().file(dir.path().join("chrome.json")).build();
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)).expect("the only subscriber");
    let (mut ours, mut theirs) = (Rounds::new(), Rounds::new());
    let session = session(dir.path());
    let pairs = OPS / 2;
    for _ in 0..ROUNDS {
        ours.costs.push(cost(
            pairs,
            || {
                for _ in 0..pairs {
                    drop(black_box(session.begin_span("span", SpanKind::Function)));
                }
            },
            |()| session.flush().expect("flushed"),
        ));
        theirs.costs.push(cost(
            pairs,
            || {
                for _ in 0..pairs {
                    drop(black_box(tracing::info_span!("span").entered()));
                }
            },
            // Its writer thread works on its own; what it has not written yet goes to a later round.
            |()| guard.flush(),
        ));
    }
    ours.finish(pairs, || drop(session.finish().expect("finished")));
    theirs.finish(pairs, || drop(guard));
    let (ours, theirs) = (ours.median(), theirs.median());
    row("span open + close vs tracing-chrome, CPU", ours.thread, Some(theirs.thread), "ns", "<= 1/5");
    row("span open + close vs tracing-chrome, wall", ours.wall, Some(theirs.wall), "ns", "");
    row("span open + close vs tracing-chrome, all CPU", ours.process, Some(theirs.process), "ns", "");
}

/// Events a second of all threads together, while each records `ops` ops in spans of its own.
fn events_per_second(ids: &Ids, threads: usize, ops: usize) -> f64 {
    let dir = tempfile::tempdir().expect("a directory");
    let session = session(dir.path());
    let barrier = std::sync::Barrier::new(threads);
    // Each thread reads the clock itself: a thread that only waits for the others is woken too late on a full machine.
    let times: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
        let worker = || {
            let span = session.begin_span("span", SpanKind::Function);
            barrier.wait();
            let started = Instant::now();
            for i in 0..ops {
                session.record_op(span.id(), ours_op(ids, i)).expect("recorded");
            }
            (started, Instant::now())
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        running.into_iter().map(|thread| thread.join().expect("joined")).collect()
    });
    let started = times.iter().map(|(start, _)| *start).min().expect("a thread");
    let ended = times.iter().map(|(_, end)| *end).max().expect("a thread");
    let seconds = (ended - started).as_secs_f64();
    session.finish().expect("finished");
    (threads * ops) as f64 / seconds
}

fn threads(ids: &Ids) {
    // A burst, as a captured step is one, and a stream that the writer thread has to keep up with.
    for (what, ops) in [("burst of 20k ops a thread", 20_000), ("stream of 500k ops", 500_000)] {
        let mut rates = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..5 {
            for (rates, threads) in rates.iter_mut().zip([1, 2, 4]) {
                rates.push(events_per_second(ids, threads, if ops > 100_000 { ops / threads } else { ops }));
            }
        }
        let [one, two, four] = rates.map(|r| median(r) / 1e6);
        println!(
            "{:<52} {one:>6.2} {two:>6.2} {four:>6.2} M/s      x{:.1}  >= 2x on 2 cores",
            format!("1, 2, 4 threads, {what}"),
            four / one
        );
    }
}

/// Bytes of all files under `path`.
fn bytes(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else { return path.metadata().map_or(0, |m| m.len()) };
    entries.flatten().map(|e| bytes(&e.path())).sum()
}

/// Records ops, each with a tensor, an allocation and a free, and a span per 10: once with ours, once with the rival's.
fn storage() {
    const COUNT: usize = 1_000_000;
    const RIVAL: usize = 20_000;
    let ids = Ids::new(COUNT as u64);
    let dir = tempfile::tempdir().expect("a directory");
    // Addresses come back, as an allocator's do.
    let address = |i: usize| format!("0x{:x}", 0x7f00_0000_0000u64 + (i as u64 * 7 % 512) * 4096);
    let session = session(dir.path());
    let mut span = session.begin_span("block", SpanKind::Module);
    for i in 0..COUNT {
        if i % 10 == 0 {
            drop(span);
            span = session.begin_span("block", SpanKind::Module);
        }
        let op = ours_op(&ids, i);
        let (tensor_id, shape, category) = (&ids.outputs[i], op.shape, MemoryCategory::Activation);
        session.record_op(span.id(), op).expect("recorded");
        let tensor = TensorRecord {
            tensor_id,
            label: None,
            shape,
            dtype: "f32",
            device: "cpu",
            requires_grad: false,
            dense_bytes: Some(3_145_728),
            category,
        };
        session.record_tensor(span.id(), tensor).expect("recorded");
        let storage_id = &address(i);
        let memory = MemoryRecord {
            storage_id,
            tensor_id,
            device: "cpu",
            bytes: 3_145_728,
            dtype: "f32",
            category,
            timestamp_ns: None,
            op_name: Some(NAMES[i % 8]),
            shape,
        };
        session.record_memory_alloc(span.id(), memory).expect("recorded");
        session.record_memory_free(span.id(), memory).expect("recorded");
    }
    drop(span);
    let path = session.finish().expect("finished");

    let rival = rival_session(dir.path());
    {
        let mut span = rival.begin_span("block", rival::SpanKind::Module);
        for i in 0..RIVAL {
            if i % 10 == 0 {
                drop(span);
                span = rival.begin_span("block", rival::SpanKind::Module);
            }
            let op = rival_op(&ids, i);
            let (tensor_id, shape, category) = (&ids.outputs[i], op.shape, rival::trace::MemoryCategory::Activation);
            rival.record_op(span.id(), op).expect("recorded");
            let tensor = rival::TensorRecord {
                tensor_id,
                label: None,
                shape,
                dtype: "f32",
                device: "cpu",
                requires_grad: false,
                dense_bytes: Some(3_145_728),
                category,
            };
            rival.record_tensor(span.id(), tensor).expect("recorded");
            let storage_id = &address(i);
            let memory = rival::MemoryRecord {
                storage_id,
                tensor_id,
                device: "cpu",
                bytes: 3_145_728,
                dtype: "f32",
                category,
                timestamp_ns: None,
                op_name: Some(NAMES[i % 8]),
                shape,
            };
            rival.record_memory_alloc(span.id(), memory).expect("recorded");
            rival.record_memory_free(span.id(), memory).expect("recorded");
        }
    }
    let rival_path = rival.finish().expect("finished");
    let events = |ops: usize| (ops * 4 + ops / 10) as f64;
    let (ours, theirs) = (bytes(&path) as f64 / events(COUNT), bytes(&rival_path) as f64 / events(RIVAL));
    row("stored bytes an event (op, tensor, alloc, free)", ours, Some(theirs), "B", "<= 1/20");
    for table in ["ops", "tensors", "memory", "spans"] {
        let rows = if table == "memory" {
            COUNT * 2
        } else if table == "spans" {
            COUNT / 10
        } else {
            COUNT
        };
        let size = bytes(&path.join("tables").join(format!("{table}.parquet")));
        row(&format!("  of them {table}, a row"), size as f64 / rows as f64, None, "B", "");
    }
}

fn gate() {
    let selector = CaptureSelector::new(black_box(1_000_000_000_000)).expect("not 0");
    const CALLS: u64 = 100_000_000;
    let costs: Vec<Cost> = (0..ROUNDS)
        .map(|_| {
            cost(
                CALLS,
                || {
                    for invocation in 0..CALLS {
                        black_box(selector.is_selected(black_box(invocation)));
                    }
                },
                drop,
            )
        })
        .collect();
    row("gate off the selected invocation", medians(&costs).thread, None, "ns", "<= 1 ns");
}

fn main() {
    println!("{:<52} {:>10} {:>10} {:<8} {:>8}  target", "", "ours", "theirs", "", "ratio");
    let ids = Ids::new(1_000);
    let only = std::env::args().nth(1);
    let wanted = |part: &str| only.as_deref().is_none_or(|o| o == part);
    if wanted("gate") {
        gate();
    }
    if wanted("ops") {
        ops(&ids);
    }
    if wanted("spans") {
        spans();
    }
    if wanted("threads") {
        threads(&ids);
    }
    if wanted("storage") {
        storage();
    }
}
