//! Rows of the queries over the runs of a comparison.

use serde_json::json;

use super::golden;

#[test]
fn a_label_has_the_time_of_its_spans_in_the_region() {
    // Region `update`, 100 to 900; `data` and `decode` run beside it and are no part of it, nor is `late` behind it.
    golden(
        "golden.jsonl",
        "cohort_labels",
        json!([
            ["backward", "golden", 1, 200, 200],
            ["forward", "golden", 1, 200, 150],
            ["matmul", "golden", 1, 50, 50],
            ["norm", "golden", 1, 0, 0],
            ["optimizer", "golden", 1, 300, 300],
            // 800 less what its children cover: 200 to 500 and 600 to 900.
            ["update", "golden", 1, 800, 200],
        ]),
    );
    golden("no_region.jsonl", "cohort_labels", json!([]));
}

#[test]
fn an_operation_is_told_by_name_shape_and_dtype() {
    golden(
        "golden.jsonl",
        "cohort_ops",
        json!([
            ["add", [3], "f32", "golden", 1, 100],
            ["matmul", [], "f16", "golden", 1, 0],
            ["matmul", [2, 3], "f32", "golden", 2, 100],
        ]),
    );
    golden("no_region.jsonl", "cohort_ops", json!([]));
}

#[test]
fn summaries_of_a_label_are_averaged() {
    golden(
        "golden.jsonl",
        "cohort_tensor_stats",
        json!([
            ["grad", "golden", 1, null, null, 2, 1],
            ["hidden", "golden", 1, null, null, 4, 2],
            ["loss", "golden", 1, 2.5, 2.5, 1, 0],
        ]),
    );
}

#[test]
fn a_gradient_has_a_norm_and_its_states_counted() {
    golden(
        "golden.jsonl",
        "cohort_gradients",
        json!([
            ["embedding", "table", "golden", 1, null, 1, 0],
            ["parameters", "fc.bias", "golden", 1, 1.5, 0, 0],
            ["parameters", "fc.weight", "golden", 1, 3.0, 0, 0],
            ["parameters", "frozen", "golden", 1, null, 0, 1],
            ["parameters", "gate", "golden", 1, 0.0, 0, 0],
        ]),
    );
}

#[test]
fn memory_peaks_once_a_run() {
    // As memory_peak has it, over all devices at once.
    golden("memory.jsonl", "cohort_memory", json!([["memory", 180]]));
    golden("golden.jsonl", "cohort_memory", json!([["golden", 158]]));
}
