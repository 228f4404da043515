//! One minimal bad trace for each health code: a sound trace with one thing changed shows that code and no other error.
//!
//! What JSON lines cannot say (a NaN norm, a negative length, an unknown word) is built as a trace directory.

use std::path::Path;

use candle_graph::analysis::health::{CODES, Health, Severity};
use candle_graph::evidence::{Evidence, Level};
use candle_graph::load::{self, Options};
use candle_graph::parquet_sink::{layout, write_table};
use candle_graph::session::Limits;
use candle_graph::table::{Row, TableBuilder};
use candle_graph::{CoverageLevel, Outcome};
use candle_graph_record::tables::device_intervals::{DEVICE_INTERVALS, DeviceIntervalRow};
use candle_graph_record::tables::gradients::{GRADIENTS, GradientRow};
use candle_graph_record::tables::run;
use candle_graph_record::tables::spans::{SPANS, SpanRow};
use serde_json::{Value, json};

use crate::world::{Lines, World};

fn examine(lines: &Lines) -> Evidence {
    let world = World::new();
    let path = world.write("trace.jsonl", lines.text());
    let trace = load::open(&path, Options::default()).expect("a readable trace");
    Evidence::gather(trace, Limits::default(), &[]).expect("evidence")
}

/// Codes of one severity, in order.
fn codes(health: &Health, severity: Severity) -> Vec<&'static str> {
    health.issues.iter().filter(|i| i.severity == severity).map(|i| i.code).collect()
}

/// One code: how often a change makes the sound trace show it, and which others cannot be kept away.
struct Case {
    code: &'static str,
    count: u64,
    also: &'static [&'static str],
}

fn check(case: &Case, lines: &Lines) {
    let health = examine(lines).health;
    let code = CODES.iter().find(|c| c.code == case.code).expect("a known code");
    let issue = health.issues.iter().find(|i| i.code == case.code);
    let issue = issue.unwrap_or_else(|| panic!("{} is not among {:?}", case.code, health.issues));
    let softened = code.softened && lines.0.last().is_some_and(|l| l["outcome"] == "failed");
    let severity = if softened { Severity::Warning } else { code.severity };
    assert_eq!(issue.severity, severity, "{issue:?}");
    assert_eq!(issue.count, case.count, "{issue:?}");
    assert!(issue.message.starts_with(code.message), "{issue:?}");
    let mut others: Vec<&str> = health.issues.iter().map(|i| i.code).filter(|c| *c != case.code).collect();
    others.sort_unstable();
    assert_eq!(others, case.also, "beside {}: {:#?}", case.code, health.issues);
    let errors = codes(&health, Severity::Error).len();
    assert_eq!(health.structurally_valid, errors == 0);
    assert_eq!(health.count(Severity::Error), errors);
}

/// `code, count, [others in alphabetical order]: change`, each a test of the code's name.
macro_rules! cases {
    ($($code:ident, $count:literal, $also:expr => |$lines:ident| $change:expr;)+) => {
        $(
            #[test]
            fn $code() {
                let mut lines = Lines::sound();
                {
                    let $lines = &mut lines;
                    $change;
                }
                check(&Case { code: stringify!($code), count: $count, also: &$also }, &lines);
            }
        )+
        /// Codes that have a case.
        const CASES: &[&str] = &[$(stringify!($code)),+];
    };
}

/// A span under the measured region, closed.
fn span(lines: &mut Lines, id: &str, parent: Option<&str>, name: &str, start_ns: u64, duration_ns: u64) {
    lines.add(json!({"kind": "span_start", "id": id, "parent_id": parent, "name": name, "start_ns": start_ns,
                     "span_kind": "op", "measured": false}));
    lines.add(json!({"kind": "span_end", "id": id, "duration_ns": duration_ns}));
}

/// Takes a field out of a line.
fn remove(line: &mut Value, field: &str) {
    line.as_object_mut().expect("an object").remove(field);
}

cases! {
    run_provenance_invalid, 4, [] => |t| {
        t.meta()["run_id"] = json!(" ");
        t.meta()["device"] = json!("");
        // Step 0, and 2 warm-up steps before it.
        t.meta()["capture_step"] = json!(0);
    };
    root_count, 1, [] => |t| span(t, "s5", None, "second root", 0, 10);
    measurement_count, 1, [] => |t| t.line("span_start", "id", "s1")["measured"] = json!(false);
    duplicate_span_id, 1, [] => |t| span(t, "s2", Some("s1"), "same id", 200, 100);
    unknown_parent, 1, [] => |t| span(t, "s5", Some("s77"), "orphan", 200, 10);
    span_cycle, 1, [] => |t| {
        span(t, "s5", Some("s6"), "grandparent", 200, 10);
        span(t, "s6", Some("s5"), "grandchild", 200, 10);
    };
    open_span, 2, [] => |t| {
        t.add(json!({"kind": "span_start", "id": "s5", "parent_id": "s1", "name": "open", "start_ns": 300,
                     "span_kind": "op", "measured": false}));
        t.drop("span_end", "id", "s4");
    };
    child_outside_parent, 3, [] => |t| {
        span(t, "s5", Some("s2"), "before", 199, 10);
        span(t, "s6", Some("s2"), "longer", 290, 11);
        span(t, "s7", Some("s2"), "after", 301, 0);
    };
    unknown_span, 5, [] => |t| {
        t.line("op", "op_name", "relu")["span_id"] = json!("s77");
        t.line("tensor", "tensor_id", "T2")["span_id"] = json!("s77");
        t.line("tensor_stats", "label", "hidden")["span_id"] = json!("s77");
        t.line("memory", "action", "alloc")["span_id"] = json!("s77");
        t.line("device_interval", "device", "cuda:0")["span_id"] = json!("no id of this recorder");
    };
    operation_outside_span, 1, [] => |t| t.line("op", "op_name", "relu")["timestamp_ns"] = json!(301);
    memory_outside_span, 1, [] => |t| t.line("memory", "action", "alloc")["timestamp_ns"] = json!(199);
    // The root and the measured span end at 1000 and 900; the checkpoint is at 950.
    terminal_precedes_evidence, 2, [] => |t| {
        t.line("device_memory", "device", "cpu")["timestamp_ns"] = json!(950);
        t.terminal()["timestamp_ns"] = json!(940);
    };
    complete_with_failure_reason, 1, [] => |t| t.terminal()["reason"] = json!("loss is NaN");
    failed_without_reason, 1, ["capture_failed"] => |t| t.terminal()["outcome"] = json!("failed");
    // Alloc, alloc, free: the second is the duplicate, and nothing stays behind.
    duplicate_allocation, 1, [] => |t| {
        let alloc = t.line("memory", "action", "alloc").clone();
        t.0.insert(5, alloc);
    };
    allocation_size_mismatch, 1, [] => |t| t.line("memory", "action", "free")["bytes"] = json!(17);
    unpaired_free, 1, [] => |t| t.again("memory", "action", "free", |_| {});
    empty_device_interval, 1, [] => |t| t.line("device_interval", "device", "cuda:0")["duration_ns"] = json!(0);
    empty_device_memory_sample, 1, [] => |t| remove(t.line("device_memory", "device", "cpu"), "used_bytes");
    call_edge_hierarchy_mismatch, 1, [] => |t| t.line("edge", "edge_kind", "call")["from_span"] = json!("s0");
    call_edge_duration_mismatch, 1, [] => |t| t.line("edge", "edge_kind", "call")["host_duration_ns"] = json!(99);
    unknown_call_edge_span, 3, [] => |t| {
        t.line("edge", "edge_kind", "call")["from_span"] = json!("s77");
        t.add(json!({"kind": "edge", "edge_kind": "call", "to_span": "s88", "host_duration_ns": 1}));
    };
    unknown_data_edge_tensor, 1, [] => |t| t.line("edge", "edge_kind", "data")["from_tensor"] = json!("T77");
    empty_data_edge_endpoint, 2, [] => |t| {
        t.line("edge", "edge_kind", "data")["from_tensor"] = json!("");
        remove(t.line("edge", "edge_kind", "data"), "to_tensor");
    };
    duplicate_required_semantic_label, 1, [] => |t| {
        t.contract()["required_semantic_labels"] = json!(["forward", "backward", "forward"]);
    };
    empty_required_semantic_label, 1, [] => |t| {
        t.contract()["required_semantic_labels"] = json!(["forward", "backward", ""]);
    };
    // `update2` names no span, `twice` two.
    required_semantic_label_cardinality, 2, [] => |t| {
        t.contract()["required_semantic_labels"] = json!(["forward", "backward", "update2", "twice"]);
        t.contract()["cpu_only_semantic_labels"] = json!(["backward", "update2", "twice"]);
        span(t, "s5", Some("s1"), "twice", 200, 10);
        span(t, "s6", Some("s1"), "twice", 200, 10);
    };
    duplicate_semantic_label_classification, 1, [] => |t| {
        t.contract()["gpu_expected_semantic_labels"] = json!(["forward", "forward"]);
    };
    empty_semantic_label_classification, 1, [] => |t| {
        t.contract()["gpu_expected_semantic_labels"] = json!(["forward", ""]);
    };
    overlapping_semantic_label_classification, 1, [] => |t| {
        t.contract()["cpu_only_semantic_labels"] = json!(["backward", "forward"]);
    };
    unrequired_semantic_label_classification, 1, [] => |t| {
        t.contract()["cpu_only_semantic_labels"] = json!(["backward", "update"]);
    };
    incomplete_semantic_label_partition, 1, [] => |t| t.contract()["cpu_only_semantic_labels"] = json!([]);
    duplicate_gradient_event_id, 1, [] => |t| t.line("gradient", "key", "b")["event_id"] = json!("g1");
    empty_gradient_event_id, 1, [] => |t| t.line("gradient", "key", "b")["event_id"] = json!("");
    // A parameter without a name is none of the manifest either.
    empty_gradient_parameter_key, 1, ["gradient_manifest_undeclared_key"] => |t| {
        t.again("gradient", "key", "b", |line| {
            line["event_id"] = json!("g9");
            line["key"] = json!("");
        });
    };
    // Present without a norm, zero with -0.0, missing with one.
    gradient_state_norm_inconsistent, 3, [] => |t| {
        remove(t.line("gradient", "key", "b"), "norm");
        t.line("gradient", "key", "e1")["norm"] = json!(-0.0);
        t.line("gradient", "key", "frozen")["norm"] = json!(0.0);
    };
    gradient_contract_missing, 1, [] => |t| remove(t.contract(), "gradient_contract");
    // A digest of other entries, and a rule without members.
    gradient_contract_invalid, 2, [] => |t| {
        t.contract()["gradient_contract"]["manifest_sha256"] = json!("sha256:00");
        let rule = json!({"family": "nobody", "expectation": "inactive", "min_present": 0});
        t.contract()["gradient_contract"]["families"].as_array_mut().expect("a list").push(rule);
    };
    gradient_contract_without_complete_coverage, 1, [] => |t| t.contract()["gradients"] = json!("partial");
    // Once among the gradients, once in the manifest.
    gradient_manifest_duplicate_key, 2, [] => |t| {
        t.again("gradient", "key", "e2", |line| line["event_id"] = json!("g9"));
        let entry = json!({"root": "p", "key": "e2", "family": "expert"});
        t.contract()["gradient_contract"]["expected"].as_array_mut().expect("a list").push(entry);
    };
    gradient_manifest_undeclared_key, 1, [] => |t| {
        t.again("gradient", "key", "b", |line| {
            line["event_id"] = json!("g9");
            line["key"] = json!("stranger");
        });
    };
    gradient_manifest_missing_key, 1, [] => |t| t.drop("gradient", "key", "frozen");
    // Two promised, one present.
    gradient_active_family_below_minimum, 1, [] => |t| {
        t.line("gradient", "key", "b")["state"] = json!("zero");
        t.line("gradient", "key", "b")["norm"] = json!(0.0);
    };
    gradient_inactive_family_leakage, 1, [] => |t| {
        t.line("gradient", "key", "frozen")["state"] = json!("present");
        t.line("gradient", "key", "frozen")["norm"] = json!(0.5);
    };
    // None would be fine, two would be; one is not.
    gradient_conditional_family_below_minimum, 1, [] => |t| {
        t.line("gradient", "key", "e1")["state"] = json!("present");
        t.line("gradient", "key", "e1")["norm"] = json!(0.5);
    };
    gradient_family_non_finite, 1, [] => |t| t.line("gradient", "key", "e2")["state"] = json!("non_finite");
    forward_absent, 1, [] => |t| remove(t.line("span_start", "id", "s2"), "step");
    backward_absent, 1, [] => |t| remove(t.line("span_start", "id", "s3"), "step");
    optimizer_absent, 1, [] => |t| remove(t.line("span_start", "id", "s4"), "step");
    // The op showed T1, which the data edge names.
    operations_absent, 1, [] => |t| {
        t.without("op");
        t.without("edge");
    };
    tensors_absent, 1, [] => |t| t.without("tensor");
    gradients_absent, 1, [] => |t| {
        t.without("gradient");
        t.contract()["gradients"] = json!("partial");
        remove(t.contract(), "gradient_contract");
    };
    logical_memory_absent, 1, [] => |t| t.without("memory");
    physical_memory_absent, 1, [] => |t| t.without("device_memory");
    device_timing_absent, 1, [] => |t| t.without("device_interval");
    retained_allocations, 2, [] => |t| {
        t.drop("memory", "action", "free");
        t.again("memory", "action", "alloc", |line| line["storage_id"] = json!("B"));
    };
    events_lost, 1, [] => |t| t.terminal()["events_lost"] = json!(3);
    capture_failed, 1, [] => |t| {
        t.terminal()["outcome"] = json!("failed");
        t.terminal()["reason"] = json!("loss is NaN");
    };
    capture_interrupted, 1, [] => |t| {
        t.terminal()["outcome"] = json!("failed");
        t.terminal()["reason"] = json!("dropped");
        t.terminal()["interrupted"] = json!(true);
    };
}

#[test]
fn every_code_has_a_case() {
    let without: Vec<&str> = CODES.iter().map(|c| c.code).filter(|c| !CASES.contains(c)).collect();
    assert!(without.is_empty(), "codes without a case: {without:?}");
    assert_eq!(CASES.len(), CODES.len(), "no case is for an unknown code, no code is listed twice");
}

#[test]
fn a_sound_trace_has_no_issue() {
    let health = examine(&Lines::sound()).health;
    assert_eq!(health.issues, []);
    assert!(health.is_sound());
    assert_eq!(health.unsound_reason(), None);
    let c = health.counts;
    assert_eq!((c.spans, c.closed_spans, c.root_spans, c.measured_spans), (5, 5, 1, 1));
    assert_eq!((c.forward_spans, c.backward_spans, c.optimizer_spans), (1, 1, 1));
    assert_eq!((c.operations, c.tensors, c.tensor_stats, c.gradients, c.memory_events), (1, 1, 1, 5, 2));
    assert_eq!((c.device_memory_samples, c.device_intervals, c.call_edges, c.data_edges), (1, 1, 1, 1));
}

#[test]
fn inference_lacks_no_step_and_no_gradient() {
    let mut lines = Lines::sound();
    lines.meta()["phase"] = json!("infer");
    for id in ["s2", "s3", "s4"] {
        remove(lines.line("span_start", "id", id), "step");
    }
    lines.without("gradient");
    lines.contract()["gradients"] = json!("none");
    remove(lines.contract(), "gradient_contract");
    assert_eq!(examine(&lines).health.issues, []);
}

/// A failed or interrupted capture did not get as far as closing its spans: that is no second fault.
#[test]
fn an_unfinished_capture_softens_what_follows_from_its_end() {
    for interrupted in [false, true] {
        let mut lines = Lines::sound();
        lines.drop("span_end", "id", "s3");
        lines.line("span_start", "id", "s1")["measured"] = json!(false);
        lines.line("span_start", "id", "s2")["name"] = json!("another name");
        let complete = examine(&lines).health;
        let three = ["measurement_count", "open_span", "required_semantic_label_cardinality"];
        assert_eq!(codes(&complete, Severity::Error), three);
        lines.terminal()["outcome"] = json!("failed");
        lines.terminal()["reason"] = json!("out of memory");
        lines.terminal()["interrupted"] = json!(interrupted);
        let health = examine(&lines).health;
        let ended = if interrupted { "capture_interrupted" } else { "capture_failed" };
        assert_eq!(codes(&health, Severity::Error), [""; 0]);
        assert_eq!(codes(&health, Severity::Warning), [three[0], three[1], three[2], ended]);
        assert!(health.structurally_valid && !health.capture_complete && !health.is_sound());
        let reason = health.unsound_reason().expect("a reason");
        assert_eq!(reason, format!("health code {ended}: {}: out of memory", message(ended)));
    }
}

fn message(code: &str) -> &'static str {
    CODES.iter().find(|c| c.code == code).expect("a known code").message
}

#[test]
fn an_issue_stays_small_whatever_the_trace_holds() {
    let mut lines = Lines::sound();
    for i in 0..1000 {
        let line = json!({"kind": "tensor_stats", "span_id": format!("s{}", 1000 + i), "label": "x", "shape": [],
                          "dtype": "f32", "elements": 1, "non_finite": 0, "rms": 1.0, "abs_max": 1.0, "mean": 1.0});
        lines.add(line);
    }
    // 100 KB of two-byte letters, so that a cut at any byte would split one.
    lines.contract()["required_semantic_labels"] = json!(["forward", "backward", "é".repeat(50_000)]);
    let health = examine(&lines).health;
    let unknown = health.issues.iter().find(|i| i.code == "unknown_span").expect("the code");
    assert_eq!((unknown.count, unknown.ids.len()), (1000, 10));
    for issue in &health.issues {
        assert!(issue.message.len() < 4_000, "{} has {} bytes", issue.code, issue.message.len());
    }
}

/// Writes one table of a trace directory.
fn table<R: Row>(dir: &Path, name: &str, mut builder: TableBuilder<R>, rows: &[R::Of<'_>]) {
    let spec = candle_graph_record::tables::events().into_iter().find(|s| s.name == name).expect("an event table");
    for (seq, row) in (0..).zip(rows) {
        builder.push(seq, row);
    }
    let batch = builder.finish("run-1", &spec.schema(Some("run-1")));
    std::fs::create_dir_all(dir.join(layout::TABLES)).expect("a directory");
    write_table(&dir.join(layout::TABLES).join(format!("{name}.parquet")), &spec, &[batch]).expect("a written table");
}

/// A trace directory with the run record of the sound trace, its contract reduced to partial gradients.
fn directory(world: &World) -> std::path::PathBuf {
    let source = world.write("sound.jsonl", Lines::sound().text());
    let mut record = load::open(&source, Options::default()).expect("a readable trace").run;
    record.contract.gradients = CoverageLevel::Partial;
    record.contract.gradient_contract = None;
    record.contract.required_semantic_labels.clear();
    record.contract.gpu_expected_semantic_labels.clear();
    record.contract.cpu_only_semantic_labels.clear();
    let dir = world.path("trace");
    std::fs::create_dir(&dir).expect("a directory");
    write_table(&dir.join(layout::RUN), &run::spec(), &[record.to_batch()]).expect("a written record");
    let span = |span_id, parent_id, name, measured, start_ns, duration_ns| SpanRow {
        span_id,
        parent_id,
        name,
        kind: "function",
        step: None,
        measured,
        thread_id: 0,
        start_ns,
        duration_ns: Some(duration_ns),
        cpu_ns: None,
    };
    let rows = [span(0, None, "train", false, 0, 1000), span(1, Some(0), "update", true, 100, 800)];
    table(&dir, "spans", SPANS.builder(), &rows);
    dir
}

fn errors_of(dir: &Path) -> Vec<(&'static str, u64)> {
    let trace = load::open(dir, Options::default()).expect("a readable trace");
    let health = Evidence::gather(trace, Limits::default(), &[]).expect("evidence").health;
    health.issues.iter().filter(|i| i.severity == Severity::Error).map(|i| (i.code, i.count)).collect()
}

#[test]
fn a_directory_can_say_what_json_cannot() {
    let world = World::new();
    let dir = directory(&world);
    assert_eq!(errors_of(&dir), []);
    let gradient = |event_id, key, state, norm| GradientRow { event_id, root: "p", key, state, norm };
    let rows = [
        gradient("g1", "a", "present", Some(f64::NAN)),
        gradient("g2", "b", "present", Some(f64::INFINITY)),
        gradient("g3", "c", "present", Some(-1.0)),
        gradient("g4", "d", "zero", Some(-0.0)),
        gradient("g5", "e", "non_finite", Some(f64::NAN)),
        gradient("g6", "f", "vanished", None),
        gradient("g7", "g", "present", Some(f64::MIN_POSITIVE)),
    ];
    // The last is fine.
    table(&dir, "gradients", GRADIENTS.builder(), &rows);
    let interval = |duration_ns| DeviceIntervalRow {
        span_id: 1,
        device: "cuda:0",
        stream_id: "7",
        clock_id: "gpu",
        backend: "cuda",
        start_ns: 0,
        duration_ns,
    };
    table(&dir, "device_intervals", DEVICE_INTERVALS.builder(), &[interval(-5), interval(0), interval(1)]);
    assert_eq!(errors_of(&dir), [("empty_device_interval", 2), ("gradient_state_norm_inconsistent", 6)]);
}

/// Level and reason of one plane.
fn plane(lines: &Lines, name: &str) -> (Level, String, String) {
    let evidence = examine(lines);
    let c = &evidence.capabilities[name];
    (c.level, c.reason.clone(), c.source.clone())
}

/// Plane, its level in the contract, the words for it, its rows' kind in JSON lines, how many the sound trace has, what
/// they are called as a source.
const PLANES: [(&str, &str, &str, &str, u64, &str); 7] = [
    ("operation_coverage", "operations", "operations", "op", 1, "ops"),
    ("tensor_coverage", "tensors", "tensors", "tensor", 1, "tensors"),
    ("gradient_coverage", "gradients", "gradients", "gradient", 5, "gradients"),
    ("logical_memory_coverage", "logical_memory", "logical memory", "memory", 2, "memory"),
    ("physical_memory_coverage", "physical_memory", "physical memory", "device_memory", 1, "device_memory"),
    ("nested_device_time", "device_timing", "device timing", "device_interval", 1, "device_intervals"),
    // One tensor and one storage of that category.
    ("activation_coverage", "activations", "activations", "", 2, "tensors and memory of category activation"),
];

/// The sound trace without its gradient contract, so that gradients can have any level.
fn plain() -> Lines {
    let mut lines = Lines::sound();
    remove(lines.contract(), "gradient_contract");
    lines.contract()["gradients"] = json!("partial");
    lines
}

#[test]
fn declared_and_observed_give_the_level() {
    for (plane_name, field, label, kind, count, source) in PLANES {
        let level = |declared: &str, recorded: bool| {
            let mut lines = if field == "gradients" && declared == "complete" { Lines::sound() } else { plain() };
            lines.contract()[field] = json!(declared);
            if !recorded {
                if kind.is_empty() {
                    lines.line("tensor", "tensor_id", "T2")["category"] = json!("other");
                    for line in lines.0.iter_mut().filter(|l| l["kind"] == "memory") {
                        line["category"] = json!("other");
                    }
                } else {
                    lines.without(kind);
                }
            }
            plane(&lines, plane_name)
        };
        let none = "none".to_owned();
        let source = source.to_owned();
        assert_eq!(
            level("partial", true),
            (Level::Partial, format!("{label} declared partial; {count} recorded"), source.clone())
        );
        assert_eq!(
            level("partial", false),
            (Level::Unavailable, format!("{label} declared partial, but nothing of it was recorded"), none.clone())
        );
        assert_eq!(
            level("none", true),
            (
                Level::Partial,
                format!("{label} not declared; {count} recorded, which never makes it complete"),
                source.clone()
            )
        );
        assert_eq!(
            level("none", false),
            (Level::Unavailable, format!("{label} neither declared nor recorded"), none.clone())
        );
        let (found, reason, from) = level("complete", true);
        assert_eq!((found, from), (Level::Complete, source.clone()), "{plane_name}");
        if field == "gradients" {
            assert!(reason.starts_with("5 manifest entries and 3 family rules hold against sha256:"), "{reason}");
        } else {
            assert_eq!(reason, format!("{label} declared complete; {count} recorded"));
        }
        let (found, reason, from) = level("complete", false);
        assert_eq!((found, from), (Level::Invalid, source.clone()), "{plane_name}");
        if field == "gradients" {
            // The manifest names five that are not there.
            assert!(reason.starts_with("health code gradient_manifest_missing_key: "), "{reason}");
        } else {
            assert_eq!(reason, format!("{label} declared complete, but nothing of it was recorded"));
        }
    }
}

#[test]
fn an_unfinished_or_lossy_capture_is_never_complete() {
    for (plane_name, field, label, ..) in PLANES {
        let mut failed = if field == "gradients" { Lines::sound() } else { plain() };
        failed.terminal()["outcome"] = json!("failed");
        failed.terminal()["reason"] = json!("out of memory");
        let (level, reason, _) = plane(&failed, plane_name);
        assert_eq!((level, reason), (Level::Partial, format!("{label} declared complete, but the capture is failed")));
        let mut lossy = if field == "gradients" { Lines::sound() } else { plain() };
        lossy.terminal()["events_lost"] = json!(3);
        let (level, reason, _) = plane(&lossy, plane_name);
        let expected = format!("{label} declared complete, but the recorder refused or lost 3 facts");
        assert_eq!((level, reason), (Level::Partial, expected));
    }
}

#[test]
fn a_contradiction_makes_its_plane_invalid_and_no_other() {
    type Contradiction = (&'static str, &'static str, fn(&mut Lines));
    let cases: [Contradiction; 6] = [
        ("operation_coverage", "operation_outside_span", |t| {
            t.line("op", "op_name", "relu")["timestamp_ns"] = json!(301);
        }),
        ("tensor_coverage", "unknown_data_edge_tensor", |t| {
            t.line("edge", "edge_kind", "data")["from_tensor"] = json!("T77");
        }),
        ("gradient_coverage", "gradient_family_non_finite", |t| {
            t.line("gradient", "key", "e2")["state"] = json!("non_finite");
        }),
        ("logical_memory_coverage", "unpaired_free", |t| t.again("memory", "action", "free", |_| {})),
        ("physical_memory_coverage", "empty_device_memory_sample", |t| {
            remove(t.line("device_memory", "device", "cpu"), "used_bytes");
        }),
        ("nested_device_time", "empty_device_interval", |t| {
            t.line("device_interval", "device", "cuda:0")["duration_ns"] = json!(0);
        }),
    ];
    for (name, code, change) in cases {
        let mut lines = Lines::sound();
        change(&mut lines);
        let evidence = examine(&lines);
        let capability = &evidence.capabilities[name];
        assert_eq!(capability.level, Level::Invalid, "{name}");
        assert!(capability.reason.starts_with(&format!("health code {code}: ")), "{}", capability.reason);
        let invalid: Vec<&str> =
            evidence.capabilities.iter().filter(|(_, c)| c.level == Level::Invalid).map(|(n, _)| *n).collect();
        let mut expected = [name, "structural_trace"];
        expected.sort_unstable();
        assert_eq!(invalid, expected);
        let structural = &evidence.capabilities["structural_trace"];
        assert_eq!(structural.reason, format!("1 structural errors; first {code}"));
        // Times are derived from a sound capture only.
        for name in ["outer_wall_time", "nested_host_time"] {
            let time = &evidence.capabilities[name];
            assert_eq!(time.level, Level::Unavailable, "{name}");
            assert!(time.reason.starts_with(&format!("health code {code}: ")), "{}", time.reason);
        }
    }
}

#[test]
fn a_sound_trace_has_every_plane_but_the_gpus() {
    let evidence = examine(&Lines::sound());
    assert_eq!(evidence.trace.run.outcome, Outcome::Complete);
    let of = |level| -> Vec<&str> {
        evidence.capabilities.iter().filter(|(_, c)| c.level == level).map(|(n, _)| *n).collect()
    };
    assert_eq!(of(Level::Unavailable), ["gpu_correlation", "provenance_binding"]);
    assert_eq!(of(Level::Complete).len(), evidence.capabilities.len() - 2);
    assert_eq!(evidence.gaps(), ["no Nsight reports were supplied"]);
    let findings: Vec<&str> = evidence.findings(true).expect("findings").iter().map(|f| f.code).collect();
    // Of 800 ns the three steps cover 300, and the only storage is the peak. The expert family has no gradient, as data
    // may have it; the only operation takes 10 ns.
    let expected = ["largest_observed_host_self_time", "untracked_time", "peak_held_by_one_storage"];
    assert_eq!(findings, expected);
}

#[test]
fn an_unsound_trace_has_no_finding() {
    let mut lines = Lines::sound();
    lines.terminal()["outcome"] = json!("failed");
    lines.terminal()["reason"] = json!("out of memory");
    assert!(examine(&lines).findings(true).expect("findings").is_empty());
}
