//! Rows of the queries over many runs.

use candle_graph::query::{self, Filter, Page};
use serde_json::json;

use super::{golden, session, values};
use crate::world::trace;

#[test]
fn a_run_has_one_wall_time() {
    // Region `update`, 100 to 900.
    golden("golden.jsonl", "series_wall", json!([[2, "golden", 800]]));
    // No region: the run stays, its wall time is unknown.
    golden("no_region.jsonl", "series_wall", json!([[1, "no-region", null]]));
}

#[test]
fn summaries_come_label_by_label() {
    golden(
        "golden.jsonl",
        "series_tensor_stats",
        json!([
            // One of two is not finite, and which kind it is nobody recorded.
            ["grad", 2, "golden", [2], "f32", 2, 1, null, null, null, null, null, null, null, null, null],
            ["hidden", 2, "golden", [4], "f32", 4, 2, 1, 1, 0, null, null, null, 5.0, 7.0, 4.0],
            ["loss", 2, "golden", [], "f64", 1, 0, 0, 0, 0, 2.5, 2.5, -2.5, 2.5, 2.5, -2.5],
        ]),
    );
}

#[test]
fn gradients_come_parameter_by_parameter() {
    golden(
        "golden.jsonl",
        "series_gradients",
        json!([
            ["embedding", "table", 2, "golden", "non_finite", null],
            ["parameters", "fc.bias", 2, "golden", "present", 1.5],
            ["parameters", "fc.weight", 2, "golden", "present", 3.0],
            ["parameters", "frozen", 2, "golden", "missing", null],
            ["parameters", "gate", 2, "golden", "zero", 0.0],
        ]),
    );
}

#[test]
fn runs_are_numbered_by_their_names() {
    let session = session(vec![trace("no_region.jsonl"), trace("golden.jsonl")]);
    let frame = session.sql("SELECT run_id, run_number FROM run_numbers ORDER BY run_number").expect("a plan");
    let rows = values(&session.collect(frame).expect("rows"));
    assert_eq!(json!(rows), json!([["golden", 1], ["no-region", 2]]));
}

#[test]
fn many_runs_come_by_step_and_are_filtered_alike() {
    let session = session(vec![trace("golden.jsonl"), trace("no_region.jsonl")]);
    let rows = |name: &str, filter: &Filter| {
        values(&query::rows(&session, name, filter, Page::ALL).expect("rows"))
            .into_iter()
            .map(|row| json!(row))
            .collect::<Vec<_>>()
    };
    // Steps 1 and 2, whatever order the traces came in.
    assert_eq!(rows("series_wall", &Filter::default()), [json!([1, "no-region", null]), json!([2, "golden", 800])]);
    let prefix = |text: &str| Filter { label_prefix: Some(text.to_owned()), ..Filter::default() };
    assert_eq!(rows("series_gradients", &prefix("parameters/fc.")).len(), 2);
    assert_eq!(rows("series_gradients", &prefix("fc.")).len(), 0, "the label is root/key");
    let one = Filter { label: Some("parameters/gate".to_owned()), ..Filter::default() };
    assert_eq!(rows("series_gradients", &one), [json!(["parameters", "gate", 2, "golden", "zero", 0.0])]);
    assert_eq!(rows("series_tensor_stats", &prefix("h")).len(), 1);
}
