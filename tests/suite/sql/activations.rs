//! Rows of the rankings of activations.

use serde_json::json;

use super::{golden, golden_sql};

// activations.jsonl, in ns. The region is `update` (s2), 100 to 900; s1 lies before it.
//
//   s3 forward   linear -> T4, view -> T5, plain -> T6, no output, twice -> T7
//   s4 matmul    a span of its own: matmul -> T1
//   s5 two ops   add -> T2, relu -> T2
//   s6 softmax   a span of its own, without device intervals: softmax -> T3
//
// Recorded as activations: T0 (outside), T1, T2, T4 (and once as other), T5.
// Activation storages: A0 for T0 outside; A1 for T1, 100 bytes, 220-600; A2 for T2, 50 bytes; A3 and A4 for T3, 10
// bytes, 315-415, and 20 bytes, 320 to beyond the end; A7 for T7, 7 bytes, also the output of an operation outside.

#[test]
fn an_operation_is_classified_by_its_output_or_by_a_storage_only_it_can_own() {
    let both = json!(["tensor_output", "logical_storage"]);
    golden_sql(
        "activations.jsonl",
        "SELECT span_id, op_index, name, output_tensor_id, start_ns, observed_host_duration_ns, dense_output_bytes,
           classification_sources, logical_storage_count, logical_allocated_bytes, logical_storage_live_duration_ns,
           logical_byte_nanoseconds, logical_retained_bytes_at_measured_end
         FROM activation_ops ORDER BY span_id, op_index",
        json!([
            [3, 0, "linear", "T4", 340, 30, 16, ["tensor_output"], null, null, null, null, null],
            [3, 1, "view", "T5", 350, 1, 64, ["tensor_output"], null, null, null, null, null],
            // 220 to 600 is 380; 100 x 380 = 38000.
            [4, 0, "matmul", "T1", 215, 30, 64, both, 1, 100, 380, "38000", 0],
            // Both have output T2: A2 belongs to neither.
            [5, 0, "add", "T2", 262, 5, 32, ["tensor_output"], null, null, null, null, null],
            [5, 1, "relu", "T2", 270, 4, 32, ["tensor_output"], null, null, null, null, null],
            // 315-415 and 320-900: 100 + 580; 10 x 100 + 20 x 580 = 12600. A4 is live at 900.
            [6, 0, "softmax", "T3", 312, 6, null, ["logical_storage"], 2, 30, 680, "12600", 20],
        ]),
    );
    // C was allocated for add's output T4, 320 to 700; A for matmul's T2, 210 to 310, which is recorded as well.
    golden_sql(
        "golden.jsonl",
        "SELECT span_id, op_index, name, classification_sources, logical_byte_nanoseconds
         FROM activation_ops ORDER BY span_id",
        json!([[3, 0, "add", ["logical_storage"], "38000"], [5, 0, "matmul", both, "10000"]]),
    );
    golden_sql("no_region.jsonl", "SELECT * FROM activation_ops", json!([]));
}

#[test]
fn activations_are_counted_by_evidence() {
    // Two with storages, five with a recorded output, matmul with both. Storages in the region: A1, A2, A3, A4 and A7;
    // owned are A1, A3 and A4 with 100 + 10 + 20; A2 and A7 are not: 50 + 7.
    golden("activations.jsonl", "activation_summary", json!([["activations", 6, 5, 2, 1, 5, 3, 1, 3, 130, 2, 57]]));
    // Without a region nobody can say.
    let unknown = json!([["no-region", null, null, null, null, null, null, null, null, null, null, null]]);
    golden("no_region.jsonl", "activation_summary", unknown);
}

#[test]
fn device_time_belongs_to_an_operation_that_has_a_span_of_its_own() {
    // c0: 0-10 and 5-15 overlap, 15 together, and 100-105: 20. c1 is another clock. s5 holds two operations.
    golden_sql(
        "activations.jsonl",
        "SELECT * FROM op_device_times ORDER BY span_id, clock_id",
        json!([
            ["activations", 4, "cuda:0", "c0", 20, 3, ["7", "8"], ["cuda"]],
            ["activations", 4, "cuda:0", "c1", 4, 1, ["7"], ["cuda"]],
        ]),
    );
    let sources = json!(["tensor_output", "logical_storage"]);
    golden(
        "activations.jsonl",
        "activations_by_device_busy",
        json!([
            [
                "s4/op/0",
                "s4",
                0,
                "matmul",
                "T1",
                [2],
                "f32",
                "cuda:0",
                "cuda:0",
                "c0",
                20,
                3,
                ["7", "8"],
                ["cuda"],
                215,
                30,
                64,
                sources,
                1,
                100,
                380,
                "38000",
                0
            ],
            [
                "s4/op/0",
                "s4",
                0,
                "matmul",
                "T1",
                [2],
                "f32",
                "cuda:0",
                "cuda:0",
                "c1",
                4,
                1,
                ["7"],
                ["cuda"],
                215,
                30,
                64,
                sources,
                1,
                100,
                380,
                "38000",
                0
            ],
        ]),
    );
}

#[test]
fn each_measure_has_its_own_ranking() {
    let (output, storage) = (json!(["tensor_output"]), json!(["logical_storage"]));
    let both = json!(["tensor_output", "logical_storage"]);
    let matmul =
        json!(["s4/op/0", "s4", 0, "matmul", "T1", [2], "f32", "cuda:0", 215, 30, 64, both, 1, 100, 380, "38000", 0]);
    let linear = json!([
        "s3/op/0",
        "s3",
        0,
        "linear",
        "T4",
        [2],
        "f32",
        "cpu",
        340,
        30,
        16,
        output,
        null,
        null,
        null,
        null,
        null
    ]);
    let softmax =
        json!(["s6/op/0", "s6", 0, "softmax", "T3", [2], "f32", "cpu", 312, 6, null, storage, 2, 30, 680, "12600", 20]);
    let add = json!([
        "s5/op/0",
        "s5",
        0,
        "add",
        "T2",
        [2],
        "f32",
        "cuda:0",
        262,
        5,
        32,
        output,
        null,
        null,
        null,
        null,
        null
    ]);
    let relu = json!([
        "s5/op/1",
        "s5",
        1,
        "relu",
        "T2",
        [2],
        "f32",
        "cuda:0",
        270,
        4,
        32,
        output,
        null,
        null,
        null,
        null,
        null
    ]);
    let view =
        json!(["s3/op/1", "s3", 1, "view", "T5", [2], "f32", "cpu", 350, 1, 64, output, null, null, null, null, null]);
    // Of equals the earlier is first: matmul before linear, matmul before view, add before relu.
    golden("activations.jsonl", "activations_by_host_time", json!([matmul, linear, softmax, add, relu, view]));
    // softmax did not say.
    golden("activations.jsonl", "activations_by_dense_output", json!([matmul, view, add, relu, linear]));
    golden("activations.jsonl", "activations_by_logical_bytes", json!([matmul, softmax]));
    golden("activations.jsonl", "activations_by_byte_time", json!([matmul, softmax]));
}
