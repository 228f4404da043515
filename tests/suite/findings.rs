//! Findings: each rule speaks where its problem is recorded, and stays silent where it is not, or where nobody can know.

use candle_graph::evidence::{Evidence, Finding, Level};
use candle_graph::load::{self, Options};
use candle_graph::output::rows::json_rows;
use candle_graph::session::Limits;
use serde_json::{Value, json};

use crate::world::{Lines, World};

fn findings(lines: &Lines) -> Vec<Finding> {
    let world = World::new();
    let path = world.write("trace.jsonl", lines.text());
    let trace = load::open(&path, Options::default()).expect("a readable trace");
    Evidence::gather(trace, Limits::default(), &[]).expect("evidence").findings(true).expect("findings")
}

fn finding(lines: &Lines, code: &str) -> Option<Finding> {
    findings(lines).into_iter().find(|f| f.code == code)
}

/// The rows a finding rests on: there is no finding without one.
fn rows(finding: &Finding) -> Vec<Value> {
    let rows: Vec<Value> = json_rows(&finding.rows).expect("rows").into_iter().map(Value::Object).collect();
    assert!(!rows.is_empty(), "{}", finding.code);
    rows
}

#[test]
fn an_operation_dominates_where_it_is_felt() {
    let mut lines = Lines::sound();
    // 10 of 800 ns are all operations, and nothing.
    assert!(finding(&lines, "dominant_operation").is_none());
    lines.line("op", "op_name", "relu")["duration_ns"] = json!(60);
    let found = finding(&lines, "dominant_operation").expect("60 of 800 ns");
    assert_eq!((found.requires.as_slice(), found.qualification), (["operation_coverage"].as_slice(), Level::Complete));
    assert_eq!(rows(&found)[0]["total_ns"], 60);
    for name in ["add", "mul", "exp"] {
        lines.again("op", "op_name", "relu", |op| op["op_name"] = json!(name));
    }
    assert!(finding(&lines, "dominant_operation").is_none(), "a quarter each");
    lines.without("op");
    lines.contract()["operations"] = json!("none");
    lines.contract()["activations"] = json!("none");
    assert!(finding(&lines, "dominant_operation").is_none(), "nothing recorded is a gap");
}

#[test]
fn time_in_no_span_is_untracked() {
    let mut lines = Lines::sound();
    let found = finding(&lines, "untracked_time").expect("500 of 800 ns");
    assert_eq!(rows(&found)[0]["measured_overlap_self_time_ns"], 500);
    assert!(found.summary.contains("500 ns of the measured region's 800 ns (62%)"), "{}", found.summary);
    lines.drop("edge", "edge_kind", "call");
    // s2 from 200 to 900 leaves 100 to 200: 12 %; from 150 it leaves 6 %.
    lines.line("span_end", "id", "s2")["duration_ns"] = json!(700);
    assert!(finding(&lines, "untracked_time").is_some());
    lines.line("span_start", "id", "s2")["start_ns"] = json!(150);
    lines.line("span_end", "id", "s2")["duration_ns"] = json!(750);
    assert!(finding(&lines, "untracked_time").is_none());
}

#[test]
fn one_storage_holds_the_peak() {
    let mut lines = Lines::sound();
    let found = finding(&lines, "peak_held_by_one_storage").expect("the only storage");
    assert_eq!(rows(&found)[0]["share"], 1.0);
    // Three more of the same size, live at the same time: a quarter each.
    for storage in ["B", "C", "D"] {
        let alloc =
            lines.0.iter().position(|l| l["kind"] == "memory" && l["action"] == "alloc").expect("an allocation");
        for (place, action, at) in [(alloc + 1, "alloc", 211), (alloc + 2, "free", 440)] {
            let mut line = lines.0[alloc].clone();
            (line["storage_id"], line["action"], line["timestamp_ns"]) = (json!(storage), json!(action), json!(at));
            lines.0.insert(place, line);
        }
    }
    assert!(finding(&lines, "peak_held_by_one_storage").is_none());
}

#[test]
fn a_family_without_a_gradient_is_dead_unless_it_may_be() {
    let mut lines = Lines::sound();
    // frozen is inactive and expert conditional: the contract holds.
    assert!(finding(&lines, "dead_gradient_family").is_none());
    lines.contract()["gradients"] = json!("partial");
    lines.contract().as_object_mut().expect("a contract").remove("gradient_contract");
    assert!(finding(&lines, "dead_gradient_family").is_none(), "without families the root is one, and lives");
    for event in ["g1", "g2"] {
        let line = lines.line("gradient", "event_id", event);
        (line["state"], line["norm"]) = (json!("missing"), Value::Null);
    }
    let found = finding(&lines, "dead_gradient_family").expect("no gradient of root p");
    assert_eq!((found.source.as_str(), found.qualification), ("root:p", Level::Partial));
    assert_eq!(rows(&found)[0]["members"], 5);
    lines.without("gradient");
    lines.contract()["gradients"] = json!("none");
    assert!(finding(&lines, "dead_gradient_family").is_none(), "nothing recorded is a gap");
}

#[test]
fn the_first_value_that_is_not_finite_is_named() {
    let mut lines = Lines::sound();
    assert!(finding(&lines, "non_finite_values").is_none());
    lines.line("tensor_stats", "label", "hidden")["non_finite"] = json!(3);
    let found = findings(&lines).remove(0);
    assert_eq!((found.code, found.source.as_str(), found.next.0), ("non_finite_values", "s2", "first-non-finite"));
    assert!(found.summary.contains("`hidden` in `forward`") && found.summary.contains("3 of 4 elements"));
    assert_eq!(rows(&found)[0]["made_by_op"], "relu");
}

#[test]
fn a_device_that_waits_is_host_bound_only_where_all_its_work_is_known() {
    let mut lines = Lines::sound();
    assert!(finding(&lines, "host_bound_device").is_none(), "one interval has no gap");
    lines.again("device_interval", "clock_id", "gpu", |line| line["start_ns"] = json!(85));
    // 5-25 and 85-105: 40 of 100 ns.
    let found = finding(&lines, "host_bound_device").expect("a clock busy for 40 %");
    assert_eq!(found.source, "cuda:0/gpu");
    assert!(found.summary.contains("busy 40 ns of the 100 ns") && !found.summary.contains("  "), "{}", found.summary);
    assert_eq!(rows(&found)[0]["idle_ns"], 60);
    lines.contract()["device_timing"] = json!("partial");
    assert!(finding(&lines, "host_bound_device").is_none(), "what was not recorded may have been busy");
}
