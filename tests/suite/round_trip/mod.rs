//! Laws of JSON lines: what is exported reads back to the same tables, cell for cell, and to the same run; and an export of
//! that is the same bytes. In: random traces as tables, the fixtures, recordings, hostile tables. Out: equal batches, or
//! an error that names table and row.

mod random;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use candle_graph::load::{self, Options, Trace};
use candle_graph::output::export;
use candle_graph::parquet_sink::{layout, write_table};
use candle_graph::table::{Row, Table, TableBuilder};
use candle_graph::tables::events;
use candle_graph::{
    CaptureContract, GradientState, MemoryCategory, MemoryRecord, Outcome, ProfileRun, SpanKind, TraceSession,
};
use candle_graph_record::tables::device_memory::{DEVICE_MEMORY, DeviceMemoryRow};
use candle_graph_record::tables::edges::{EDGES, EdgeRow};
use candle_graph_record::tables::gradients::{GRADIENTS, GradientRow};
use candle_graph_record::tables::run::{self, RunRecord};
use candle_graph_record::tables::spans::{SPANS, Span, SpanRow};
use candle_graph_record::tables::tensor_stats::{TENSOR_STATS, TensorStatRow};
use candle_graph_record::tables::tensors::{TENSORS, TensorRow};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::Value;

use crate::world::{Lines, World, fixture, repository};

/// Every table of a trace as one batch; a table without rows is absent.
fn tables(trace: &Trace) -> BTreeMap<&'static str, RecordBatch> {
    let whole = |spec: candle_graph::table::TableSpec| {
        let columns: Vec<&str> = spec.columns.iter().map(|c| c.name).collect();
        let batches: Vec<RecordBatch> =
            trace.scan(spec.name, &columns).collect::<Result<_, _>>().expect("readable batches");
        let first = batches.first()?;
        Some((spec.name, concat_batches(&first.schema(), &batches).expect("one batch")))
    };
    events().into_iter().filter_map(whole).collect()
}

fn exported(trace: &Trace) -> String {
    let mut out = Vec::new();
    export::jsonl(trace, &mut out, Path::new("memory")).expect("an export");
    String::from_utf8(out).expect("UTF-8")
}

fn open(path: &Path) -> Trace {
    load::open(path, Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Exports, reads back, compares, exports again. Gives the lines.
fn returns(world: &World, trace: &Trace) -> Result<String, TestCaseError> {
    let text = exported(trace);
    let again = open(&world.write("export.jsonl", &text));
    prop_assert_eq!(&again.run, &trace.run);
    let (before, after) = (tables(trace), tables(&again));
    prop_assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    for (table, batch) in &before {
        prop_assert_eq!(batch, &after[table], "table {}", table);
    }
    prop_assert!(exported(&again) == text, "the export of an export is another");
    Ok(text)
}

fn returns_for_sure(world: &World, trace: &Trace) -> String {
    returns(world, trace).unwrap_or_else(|e| panic!("{}: {e}", trace.requested.display()))
}

/// A trace as rows: what a directory of Parquet tables is made of.
struct Rows {
    run: RunRecord,
    batches: Vec<RecordBatch>,
}

impl Rows {
    fn new(run: RunRecord) -> Self {
        Self { run, batches: Vec::new() }
    }

    fn add<R: Row>(&mut self, table: &'static Table<R>, push: impl FnOnce(&mut TableBuilder<R>)) {
        let mut builder = table.builder();
        push(&mut builder);
        if !builder.is_empty() {
            self.batches.push(builder.finish(&self.run.run_id, &table.spec().schema(Some(&self.run.run_id))));
        }
    }

    /// Writes a trace directory: ended, or as a killed process leaves it.
    fn write(&self, dir: &Path) -> PathBuf {
        let inner = dir.join(if self.run.ended_ns.is_some() { layout::TABLES } else { layout::PARTS });
        std::fs::create_dir_all(&inner).expect("a directory");
        write_table(&dir.join(layout::RUN), &run::spec(), &[self.run.to_batch()]).expect("a run record");
        for batch in &self.batches {
            let spec = events().into_iter().find(|s| batch.schema().metadata()["candle_graph.table"] == s.name);
            let spec = spec.expect("an event table");
            let cut = if self.run.ended_ns.is_some() { "" } else { "0000000000-" };
            write_table(&inner.join(format!("{cut}{}.parquet", spec.name)), &spec, std::slice::from_ref(batch))
                .expect("a table");
        }
        if self.run.ended_ns.is_none() {
            std::fs::write(inner.join(layout::LAST_CUT), "0").expect("written");
        }
        dir.to_owned()
    }
}

/// A run of which nothing special is to be said.
fn plain_run() -> RunRecord {
    let (lines, world) = (Lines::sound().text(), World::new());
    let run = open(&world.write("sound.jsonl", lines)).run.clone();
    RunRecord { contract: CaptureContract::default(), ..run }
}

proptest! {
    #![proptest_config(random::config(96))]

    #[test]
    fn every_trace_returns(
        run in random::run_record(), spans in random::spans(prop::bool::weighted(0.8).boxed()), facts in random::facts(), seqs in random::rising(),
    ) {
        let world = World::new();
        let trace = open(&random::rows(run, &spans, &facts, &seqs).write(&world.path("trace")));
        returns(&world, &trace)?;
    }

    /// Tables whose numbers say nothing: each keeps its own order.
    #[test]
    fn every_order_returns(
        spans in random::spans(Just(true).boxed()), facts in random::facts(), seqs in vec(vec(random::signed(), 7), 9),
    ) {
        let world = World::new();
        let trace = open(&random::rows(plain_run(), &spans, &facts, &seqs).write(&world.path("trace")));
        returns(&world, &trace)?;
    }
}

#[test]
fn fixtures_and_examples_return() {
    let world = World::new();
    let lines = ["tests/fixtures", "docs/examples"].iter().flat_map(|folder| crate::world::files_below(folder));
    let mut inputs: Vec<PathBuf> = lines.filter(|f| f.contains(".jsonl")).map(|f| repository().join(f)).collect();
    let outside = repository().join("../shared/data/traces");
    for name in ["synth-1e3", "trace-failed", "trace-gpu", "trace-mlp"] {
        let path = outside.join(format!("{name}.jsonl"));
        if path.is_file() {
            inputs.push(path);
        } else {
            eprintln!("skipped: there is no {}", path.display());
        }
    }
    assert!(inputs.len() >= 12, "{inputs:?}");
    for input in inputs {
        returns_for_sure(&world, &open(&input));
    }
}

/// A cut trace has spans that never closed and no end.
#[test]
fn a_salvaged_trace_returns() {
    let world = World::new();
    let text = std::fs::read_to_string(fixture("golden.jsonl")).expect("a fixture");
    let lines: Vec<&str> = text.lines().collect();
    for cut in 1..lines.len() {
        let path = world.write("cut.jsonl", lines[..cut].join("\n"));
        let trace = load::open(&path, Options { salvage: true, ..Options::default() }).expect("salvaged");
        let export = returns_for_sure(&world, &trace);
        assert_eq!(trace.run.ended_ns, None);
        let terminal: Value = serde_json::from_str(export.lines().last().expect("lines")).expect("JSON");
        assert_eq!((&terminal["no_end"], &terminal["interrupted"]), (&Value::Bool(true), &Value::Bool(true)), "{cut}");
    }
}

fn memory(storage_id: &str, bytes: u64) -> MemoryRecord<'_> {
    MemoryRecord {
        storage_id,
        tensor_id: "T",
        device: "cpu",
        bytes,
        dtype: "f32",
        category: MemoryCategory::Other,
        timestamp_ns: None,
        op_name: None,
        shape: &[],
    }
}

/// Threads, cuts, addresses used again, a value that is no number, a span that never closes.
fn record(path: &Path) -> TraceSession {
    let session = TraceSession::open(path, ProfileRun::training("train", 3, "cpu")).expect("a session");
    let region = session.begin_measurement("update");
    session.record_scalar(region.id(), "loss", f64::NAN).expect("a scalar");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for step in 0..40 {
                    let span = session.open_span(Some(region.id()), "work", SpanKind::Op, None).expect("a span");
                    session.record_scalar(span.id(), "x", f64::from(step)).expect("a scalar");
                    session.record_memory_alloc(span.id(), memory("A", 16)).expect("an allocation");
                    if step % 16 == 0 {
                        session.flush().expect("flushed");
                    }
                }
            });
        }
    });
    session.record_gradient("p", "w", GradientState::NonFinite, None).expect("a gradient");
    std::mem::forget(session.begin_span("leaked", SpanKind::Module));
    session.flush().expect("flushed");
    std::mem::forget(session.begin_span("leaked late", SpanKind::Module));
    drop(region);
    session
}

#[test]
fn recordings_return() {
    let world = World::new();
    for (name, form) in [("a.trace", load::Form::Directory), ("a.jsonl", load::Form::JsonLines)] {
        let path = record(&world.path(name)).finish().expect("a finished trace");
        let trace = open(&path);
        assert_eq!(trace.form, form);
        returns_for_sure(&world, &trace);
        // Each address has many lives, and none is renamed: the recorder has told them apart.
        let memory = tables(&trace).remove("memory").expect("memory events");
        assert!(format!("{memory:?}").contains("A#120"), "120 allocations at one address");
        assert_eq!(trace.count("spans"), 124);
    }
    for (name, end) in [("failed", true), ("dropped", false)] {
        for form in ["trace", "jsonl"] {
            let path = world.path(format!("{name}.{form}"));
            let session = record(&path);
            if end {
                session.finish_failed("loss is NaN").expect("a failed trace");
            } else {
                drop(session);
            }
            let trace = open(&path);
            assert_eq!(trace.run.outcome, if end { Outcome::Failed } else { Outcome::Interrupted });
            returns_for_sure(&world, &trace);
        }
    }
}

fn span(span_id: i64, parent_id: Option<i64>, duration_ns: Option<i64>) -> SpanRow<'static> {
    SpanRow {
        span_id,
        parent_id,
        name: "n",
        kind: "op",
        step: None,
        measured: false,
        thread_id: 1,
        start_ns: 5,
        duration_ns,
        cpu_ns: None,
    }
}

/// Three spans and an edge: each start just before the first line that needs it, a number where it is not the next.
#[test]
fn lines_come_in_the_order_of_recording() {
    let world = World::new();
    let mut rows = Rows::new(plain_run());
    rows.add(&SPANS, |b| {
        b.push(1, &span(3, Some(2), Some(4)));
        b.push(5, &span(2, None, None));
        b.push(9, &span(-7, None, Some(6)));
    });
    rows.add(&GRADIENTS, |b| {
        b.push(0, &GradientRow { event_id: "g", root: "p", key: "w", state: "zero", norm: Some(-0.0) });
        b.push(3, &GradientRow { event_id: "h", root: "p", key: "w", state: "present", norm: Some(f64::INFINITY) });
    });
    rows.add(&EDGES, |b| {
        let edge = EdgeRow {
            kind: "call",
            from_span: Some(-7),
            to_span: Some(4),
            host_duration_ns: None,
            from_tensor: None,
            to_tensor: None,
        };
        b.push(4, &edge);
    });
    let text = returns_for_sure(&world, &open(&rows.write(&world.path("trace"))));
    let lines: Vec<&str> = text.lines().collect();
    let start = |id, more: &str| format!(r#"{{"kind":"span_start","id":"s{id}",{more}"#);
    let rest = r#""name":"n","span_kind":"op","measured":false,"thread_id":1,"start_ns":5"#;
    assert_eq!(
        lines[1..lines.len() - 1],
        [
            r#"{"kind":"gradient","event_id":"g","root":"p","key":"w","state":"zero","norm":-0.0}"#.to_owned(),
            start(2, &format!(r#"{rest},"seq":5}}"#)),
            start(3, &format!(r#""parent_id":"s2",{rest}}}"#)),
            r#"{"kind":"span_end","id":"s3","duration_ns":4}"#.to_owned(),
            r#"{"kind":"gradient","event_id":"h","root":"p","key":"w","state":"present","cells":{"norm":"inf"},"seq":3}"#
                .to_owned(),
            start(-7, &format!("{rest}}}")),
            r#"{"kind":"edge","edge_kind":"call","from_span":"s-7","to_span":"s4"}"#.to_owned(),
            r#"{"kind":"span_end","id":"s-7","duration_ns":6,"seq":9}"#.to_owned(),
        ]
    );
    let meta: Value = serde_json::from_str(lines[0]).expect("JSON");
    assert_eq!((&meta["kind"], &meta["tables"]), (&Value::from("meta"), &Value::from("candle-graph/tables/1")));
}

/// Summaries for which other readers have no place: an absent one they take for 0, and one beside values that are not
/// finite for nothing.
#[test]
fn every_summary_has_a_place() {
    let world = World::new();
    let mut rows = Rows::new(plain_run());
    let odd_nan = f64::from_bits(0xfff8_0000_0000_0007);
    rows.add(&TENSOR_STATS, |b| {
        let row = |elements, non_finite, nan, whole: [Option<f64>; 3], finite_rms| TensorStatRow {
            span_id: 1,
            label: "x",
            shape: &[],
            dtype: "f32",
            elements,
            non_finite,
            nan,
            pos_inf: None,
            neg_inf: None,
            rms: whole[0],
            abs_max: whole[1],
            mean: whole[2],
            finite_rms,
            finite_abs_max: None,
            finite_mean: None,
        };
        b.push(0, &row(2, 0, Some(0), [Some(1.5), Some(2.0), Some(-0.0)], Some(1.5)));
        b.push(1, &row(2, 0, None, [None, Some(2.0), None], None));
        b.push(2, &row(2, 1, Some(1), [None, None, Some(0.5)], Some(5e-324)));
        b.push(3, &row(0, 0, None, [None, Some(0.0), Some(odd_nan)], Some(f64::NEG_INFINITY)));
    });
    let text = returns_for_sure(&world, &open(&rows.write(&world.path("trace"))));
    let lines: Vec<&str> = text.lines().collect();
    let line = |elements: u8, more: &str| {
        let head = r#"{"kind":"tensor_stats","span_id":"s1","label":"x","shape":[],"dtype":"f32""#;
        format!(r#"{head},"elements":{elements},{more}}}"#)
    };
    assert_eq!(
        lines[1..lines.len() - 1],
        [
            line(2, r#""non_finite":0,"nan":0,"rms":1.5,"abs_max":2.0,"mean":-0.0,"finite_rms":1.5"#),
            line(2, r#""non_finite":0,"rms":0.0,"abs_max":2.0,"mean":0.0,"cells":{"rms":null,"mean":null}"#),
            line(
                2,
                r#""non_finite":1,"nan":1,"rms":0.0,"abs_max":0.0,"mean":0.5,"finite_rms":5e-324,"cells":{"mean":0.5}"#
            ),
            line(
                0,
                r#""non_finite":0,"rms":0.0,"abs_max":0.0,"mean":0.0,"cells":{"abs_max":0.0,"mean":"NaN:fff8000000000007","finite_rms":"-inf"}"#
            ),
        ]
    );
}

/// What JSON lines cannot say is refused, with table and row, and no file is left.
#[test]
fn what_the_form_cannot_hold_is_an_error() {
    let world = World::new();
    let mut number = 0;
    let mut refused = |fill: &dyn Fn(&mut Rows), words: &[&str]| {
        number += 1;
        let mut rows = Rows::new(plain_run());
        fill(&mut rows);
        let trace = rows.write(&world.path(format!("trace-{number}")));
        let trace = trace.to_str().expect("UTF-8");
        let ran = world.run(&["export", trace, "--format", "jsonl", "-o", "out.jsonl"]);
        assert_eq!(ran.code, Some(1), "{words:?}: {ran:?}");
        let line = ran.stderr.strip_suffix('\n').expect("a line");
        assert!(line.starts_with("error: ") && !line.contains('\n'), "{line}");
        for word in words.iter().chain(&[trace, "JSON lines cannot hold that"]) {
            assert!(line.contains(word), "{line} lacks {word:?}");
        }
        assert!(!world.path("out.jsonl").exists());
    };
    let spans = |rows: &mut Rows, spans: &[(i64, SpanRow<'static>)]| {
        rows.add(&SPANS, |b| spans.iter().for_each(|(seq, span)| b.push(*seq, span)));
    };
    refused(
        &|r| spans(r, &[(4, span(1, None, Some(1))), (5, span(2, None, Some(-9)))]),
        &["table spans", "row 1 (seq 5)", "duration_ns holds -9"],
    );
    refused(
        &|r| spans(r, &[(4, SpanRow { kind: "colour", ..span(1, None, Some(1)) })]),
        &["table spans", "row 0 (seq 4)", "kind holds the unknown word \"colour\""],
    );
    refused(
        &|r| spans(r, &[(0, SpanRow { cpu_ns: Some(3), ..span(1, None, None) })]),
        &["table spans", "row 0 (seq 0)", "cpu_ns holds 3 of a span that never closed"],
    );
    // Spans that never closed have no line of their own to stand in another order.
    for order in
        [[(4, Some(1)), (3, None)], [(4, None), (3, Some(1))], [(4, None), (4, Some(1))], [(4, None), (4, None)]]
    {
        let two: Vec<(i64, SpanRow<'static>)> =
            (1..).zip(order).map(|(id, (seq, d))| (seq, span(id, None, d))).collect();
        refused(
            &|r| r.add(&SPANS, |b| two.iter().for_each(|(seq, s)| b.push(*seq, s))),
            &["table spans", "row 1 (seq "],
        );
    }
    let gradient = GradientRow { event_id: "g", root: "p", key: "w", state: "lost", norm: None };
    refused(&|r| r.add(&GRADIENTS, |b| b.push(2, &gradient)), &["table gradients", "row 0 (seq 2)", "\"lost\""]);
    let sample = DeviceMemoryRow {
        timestamp_ns: 1,
        device: "cpu",
        used_bytes: Some(-1),
        free_bytes: None,
        reserved_bytes: None,
        capacity_bytes: None,
    };
    refused(
        &|r| r.add(&DEVICE_MEMORY, |b| b.push(2, &sample)),
        &["table device_memory", "row 0", "used_bytes holds -1"],
    );
    let interval = |shape: &'static [i64], dtype| TensorRow {
        span_id: 1,
        tensor_id: "T",
        storage_id: None,
        label: None,
        shape,
        dtype,
        device: "cpu",
        requires_grad: false,
        dense_bytes: None,
        category: "other",
    };
    refused(
        &|r| r.add(&TENSORS, |b| b.push(2, &interval(&[3, -4], "f32"))),
        &["table tensors", "row 0", "shape holds -4"],
    );
    refused(&|r| r.add(&TENSORS, |b| b.push(2, &interval(&[], "f33"))), &["table tensors", "row 0", "\"f33\""]);
    let stats = TensorStatRow {
        span_id: 1,
        label: "x",
        shape: &[],
        dtype: "f32",
        elements: 4,
        non_finite: 1,
        nan: Some(2),
        pos_inf: None,
        neg_inf: None,
        rms: None,
        abs_max: None,
        mean: None,
        finite_rms: None,
        finite_abs_max: None,
        finite_mean: None,
    };
    refused(&|r| r.add(&TENSOR_STATS, |b| b.push(2, &stats)), &["table tensor_stats", "row 0", "counts 2 NaN"]);
    // 11 MiB of a character that takes six bytes to write.
    let long = "\u{1}".repeat(11 << 20);
    let edge = EdgeRow {
        kind: "data",
        from_span: None,
        to_span: None,
        host_duration_ns: None,
        from_tensor: Some(&long),
        to_tensor: Some("T"),
    };
    refused(&|r| r.add(&EDGES, |b| b.push(2, &edge)), &["table edges", "row 0 (seq 2)", "is a line of "]);
    refused(&|r| r.run.capture_step = -1, &["table run", "capture_step holds -1"]);
    // Rows of another run.
    refused(
        &|r| {
            let mut builder: TableBuilder<Span> = SPANS.builder();
            builder.push(0, &span(1, None, Some(1)));
            r.batches.push(builder.finish("another", &SPANS.spec().schema(Some(&r.run.run_id))));
        },
        &["table spans", "another"],
    );
}

/// A stream that says whose rows it carries says them exactly, or is refused.
#[test]
fn exact_lines_that_cannot_be_read() {
    let world = World::new();
    let mut lines = Lines::sound();
    lines.meta()["tables"] = Value::from("candle-graph/tables/1");
    let sound = lines.text();
    open(&world.write("sound.jsonl", &sound));
    for (from, to, words) in [
        ("candle-graph/tables/1", "candle-graph/tables/2", &["line 1", "candle-graph/tables/2"][..]),
        ("\"s2\"", "\"forward\"", &["line 4", "forward", "a span is s<number>"]),
        ("\"s2\"", "\"s02\"", &["line 4", "s02"]),
    ] {
        let path = world.write("bad.jsonl", sound.replace(from, to));
        let error = load::open(&path, Options::default()).expect_err("refused").to_string();
        for word in words {
            assert!(error.contains(word), "{error}");
        }
    }
    // Values that are no floats, and a place taken twice.
    let bad = |change: &dyn Fn(&mut Lines), word: &str| {
        let mut lines = Lines::sound();
        lines.meta()["tables"] = Value::from("candle-graph/tables/1");
        change(&mut lines);
        let path = world.write("bad.jsonl", lines.text());
        let error = load::open(&path, Options::default()).expect_err("refused").to_string();
        assert!(error.contains(word), "{error}");
    };
    for cell in ["\"nan\"", "\"NaN:0000000000000000\"", "\"NaN:xyz\"", "{}", "true"] {
        let cells: Value = serde_json::from_str(&format!("{{\"norm\":{cell}}}")).expect("JSON");
        bad(&|l| l.line("gradient", "event_id", "g1")["cells"] = cells.clone(), "where a float belongs");
    }
    let twice = |lines: &mut Lines| {
        for id in ["s2", "s3"] {
            lines.line("span_start", "id", id)["seq"] = Value::from(7);
            lines.drop("span_end", "id", id);
        }
    };
    bad(&twice, "has seq 7");
}
