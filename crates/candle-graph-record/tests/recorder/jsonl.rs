//! The JSON-lines form: meta, lines in a legal order, terminal.

use std::collections::HashMap;
use std::path::Path;

use candle_graph_record::{ExecutionStep, GradientState, OpRecord, SpanKind, TraceSession};
use serde_json::{Value, json};

use crate::world::{checkpoint, dir, interval, memory, op, run, tensor};

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect()
}

/// The order that existing readers demand: a parent before its child, a span before what names it, nothing after its end.
fn assert_legal(lines: &[Value]) {
    #[derive(PartialEq)]
    enum State {
        Open,
        Ended,
    }
    let mut spans: HashMap<&str, State> = HashMap::new();
    assert_eq!(lines[0]["kind"], "meta");
    assert_eq!(lines.last().unwrap()["kind"], "terminal");
    for line in &lines[1..lines.len() - 1] {
        match line["kind"].as_str().unwrap() {
            "span_start" => {
                if let Some(parent) = line["parent_id"].as_str() {
                    assert!(spans.contains_key(parent), "the parent is unknown at {line}");
                }
                assert!(spans.insert(line["id"].as_str().unwrap(), State::Open).is_none(), "twice: {line}");
            }
            "span_end" => {
                let before = spans.insert(line["id"].as_str().unwrap(), State::Ended);
                assert!(before == Some(State::Open), "not open at {line}");
            }
            kind => {
                assert!(!matches!(kind, "meta" | "terminal"));
                if let Some(span) = line.get("span_id").and_then(Value::as_str) {
                    assert!(spans.get(span) == Some(&State::Open), "not open at {line}");
                }
            }
        }
    }
}

fn of<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|l| l["kind"] == kind).collect()
}

#[test]
fn a_stream_is_meta_lines_and_terminal() {
    let dir = dir();
    let path = dir.path().join("new/trace.jsonl");
    let session = TraceSession::open(&path, run().tag("k", "v")).unwrap();
    let opened = std::fs::read_to_string(&path).unwrap();
    assert_eq!(opened.lines().count(), 1, "the meta line is there from the start");
    let forward = session.begin_step_span("forward", ExecutionStep::Forward, SpanKind::Module);
    session.flush().unwrap();
    let layer = session.begin_span("layer", SpanKind::Op);
    let inputs = ["TensorId(1)".to_owned()];
    session.record_op(layer.id(), OpRecord { inputs: &inputs, output: Some("TensorId(2)"), ..op() }).unwrap();
    session.record_tensor(layer.id(), tensor()).unwrap();
    session.record_scalar(layer.id(), "loss", f64::NAN).unwrap();
    session.record_memory_alloc(layer.id(), memory()).unwrap();
    session.record_memory_alloc(layer.id(), memory()).unwrap();
    session.record_device_memory(checkpoint()).unwrap();
    session.record_device_interval(layer.id(), interval()).unwrap();
    session.record_data_edge("TensorId(1)", "TensorId(2)").unwrap();
    session.record_gradient("model", "w", GradientState::Present, Some(0.5)).unwrap();
    drop(layer);
    session.flush().unwrap();
    session.record_call_edge(session.root(), forward.id(), 1).unwrap();
    drop(forward);
    assert_eq!(session.finish().unwrap(), path);

    let lines = lines(&path);
    assert_legal(&lines);
    let meta = &lines[0];
    assert_eq!(meta["schema"], "candle-graph/trace/10");
    for (field, value) in [
        ("correlation_id", json!("train/update-3")),
        ("entrypoint", json!("train")),
        ("phase", json!("train")),
        ("capture_step", json!(3)),
        ("warmup_steps", json!(2)),
        ("device", json!("cpu")),
        ("timing_mode", json!("host")),
        ("tags", json!({"k": "v"})),
    ] {
        assert_eq!(meta[field], value, "{field}");
    }
    let starts = of(&lines, "span_start");
    let names: Vec<&str> = starts.iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["train", "forward", "layer"]);
    assert_eq!(starts[0].get("parent_id"), None);
    assert_eq!((&starts[1]["parent_id"], &starts[1]["step"]), (&json!("s1"), &json!("forward")));
    assert_eq!((&starts[2]["span_kind"], starts[2].get("step")), (&json!("op"), None));
    assert_eq!(of(&lines, "span_end").len(), 3);
    let op = of(&lines, "op")[0];
    assert_eq!((&op["op_name"], &op["span_id"], &op["shape"]), (&json!("matmul"), &json!("s3"), &json!([2, 3])));
    assert_eq!((&op["inputs"], &op["output"]), (&json!(["TensorId(1)"]), &json!("TensorId(2)")));
    let tensor = of(&lines, "tensor")[0];
    assert_eq!(
        (&tensor["tensor_id"], &tensor["category"], tensor.get("label")),
        (&json!("TensorId(7)"), &json!("activation"), None)
    );
    let stats = of(&lines, "tensor_stats")[0];
    assert_eq!((&stats["label"], &stats["non_finite"], &stats["nan"]), (&json!("loss"), &json!(1), &json!(1)));
    // An address that is allocated twice: the old storage ends first.
    let actions: Vec<&str> = of(&lines, "memory").iter().map(|m| m["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["alloc", "free", "alloc"]);
    assert_eq!(of(&lines, "device_memory")[0]["used_bytes"], 100);
    assert_eq!(of(&lines, "device_interval")[0]["clock_id"], "globaltimer");
    assert_eq!(of(&lines, "gradient")[0]["norm"], 0.5);
    let edges: Vec<&str> = of(&lines, "edge").iter().map(|e| e["edge_kind"].as_str().unwrap()).collect();
    assert_eq!(edges, ["data", "call"]);
    let terminal = lines.last().unwrap();
    assert_eq!(terminal["outcome"], "complete");
    assert_eq!(terminal.get("reason"), None);
}

#[test]
fn the_order_is_legal_whatever_threads_and_cuts_do() {
    let dir = dir();
    let path = dir.path().join("trace.jsonl");
    let session = TraceSession::open(&path, run()).unwrap();
    let main = session.begin_span("main", SpanKind::Function);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for i in 0..300 {
                    let outer = session.open_span(Some(main.id()), "outer", SpanKind::Op, None).unwrap();
                    let inner = session.open_span(Some(outer.id()), "inner", SpanKind::Op, None).unwrap();
                    session.record_op(inner.id(), op()).unwrap();
                    session.record_op(outer.id(), op()).unwrap();
                    if i % 50 == 0 {
                        session.flush().unwrap();
                    }
                }
            });
        }
    });
    drop(main);
    session.finish().unwrap();
    let lines = lines(&path);
    assert_legal(&lines);
    assert_eq!(of(&lines, "op").len(), 2_400);
    assert_eq!(of(&lines, "span_start").len(), 2_402);
    assert_eq!(of(&lines, "span_end").len(), 2_402);
}

#[test]
fn endings_have_their_words() {
    let dir = dir();
    let open = |name: &str| TraceSession::open(dir.path().join(name), run()).unwrap();
    let failed = open("a.jsonl").finish_failed("loss is NaN").unwrap();
    drop(open("b.jsonl"));
    let leaked = open("c.jsonl");
    std::mem::forget(leaked.begin_span("leaked", SpanKind::Function));
    let leaked = leaked.finish().unwrap();
    let failed = lines(&failed);
    assert_legal(&failed);
    let terminal = failed.last().unwrap();
    assert_eq!((&terminal["outcome"], &terminal["reason"]), (&json!("failed"), &json!("loss is NaN")));
    let dropped = lines(&dir.path().join("b.jsonl"));
    let terminal = dropped.last().unwrap();
    assert_eq!((&terminal["outcome"], &terminal["interrupted"]), (&json!("failed"), &json!(true)));
    assert!(terminal["reason"].as_str().unwrap().contains("dropped"));
    let leaked = lines(&leaked);
    assert_legal(&leaked);
    assert_eq!((of(&leaked, "span_start").len(), of(&leaked, "span_end").len()), (2, 1));
}

#[test]
fn a_stream_that_exists_or_is_being_written_is_refused() {
    let dir = dir();
    let path = dir.path().join("trace.jsonl");
    let first = TraceSession::open(&path, run()).unwrap();
    assert!(matches!(TraceSession::open(&path, run()), Err(candle_graph_record::Error::Live { .. })));
    first.finish().unwrap();
    assert!(matches!(TraceSession::open(&path, run()), Err(candle_graph_record::Error::Exists { .. })));
    assert_legal(&lines(&path));
}
