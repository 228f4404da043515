//! Rows of the queries on values that are not finite, and on gradients against their contract.

use serde_json::json;

use super::{golden, golden_sql};

// numerics.jsonl: which tensor flowed into which, with the operation; `e` is a recorded data edge.
//
//   X ─┬─ matmul ─ H ─ relu ─ R ─┬─ log ─ L ─ mul ─ Q ─┬─ sum ─ S ─ backward ─ GW ─e─ W
//   W ─┘                         └─────────────────────┘       S ─e─ GB
//
// mul takes L twice, add_ writes W into itself, and with GW ─e─ W the graph is a cycle of seven.
// Spans: s0 train > s1 update > s2 forward > s5 loss (no step of its own), and s1 > s3 backward.
// Summaries: H finite (3), A finite (7), L -inf (9), S NaN (13); in s3 `grad` NaN (20), of GW or GB; `clip` finite
// (21), of no tensor; L again (23). The numbers are places in the order of recording, from the record of W at 0.

#[test]
fn a_summary_has_a_tensor_where_its_span_and_label_name_one() {
    golden_sql(
        "numerics.jsonl",
        "SELECT seq, span_id, label, tensor_id, elements, nan, pos_inf, neg_inf, non_finite
         FROM stat_tensors ORDER BY seq",
        json!([
            [3, 2, "hidden", "H", 4, 0, 0, 0, 0],
            [7, 5, "accuracy", "A", 4, 0, 0, 0, 0],
            [9, 5, "log", "L", 4, 0, 0, 1, 1],
            [13, 5, "loss", "S", 1, 1, 0, 0, 1],
            // GW and GB were both recorded as `grad` in s3.
            [20, 3, "grad", null, 4, 4, 0, 0, 4],
            // A scalar: no tensor was recorded under its label.
            [21, 3, "clip", null, 1, 0, 0, 0, 0],
            [23, 3, "log", "L", 4, 0, 0, 1, 1],
        ]),
    );
    golden_sql(
        "golden.jsonl",
        // T2 and T3 were both recorded as `hidden`.
        "SELECT label, tensor_id FROM stat_tensors ORDER BY seq",
        json!([["hidden", null], ["loss", null], ["grad", null]]),
    );
}

#[test]
fn non_finite_events_are_summaries_and_gradients_in_order() {
    golden_sql(
        "numerics.jsonl",
        "SELECT * FROM non_finite_events ORDER BY seq",
        json!([
            ["numerics", 9, "tensor_stats", "log", 5, "L", 4, 0, 0, 1, 1],
            ["numerics", 13, "tensor_stats", "loss", 5, "S", 1, 1, 0, 0, 1],
            ["numerics", 20, "tensor_stats", "grad", 3, null, 4, 4, 0, 0, 4],
            ["numerics", 23, "tensor_stats", "log", 3, "L", 4, 0, 0, 1, 1],
            ["numerics", 28, "gradient", "parameters/c", null, null, null, null, null, null, null],
        ]),
    );
    // The two rows of non_finite_stats, and the gradient of embedding/table.
    golden_sql(
        "golden.jsonl",
        "SELECT kind, label, non_finite FROM non_finite_events ORDER BY seq",
        json!([["tensor_stats", "hidden", 2], ["tensor_stats", "grad", 1], ["gradient", "embedding/table", null]]),
    );
}

#[test]
fn data_flow_has_a_row_an_input() {
    golden_sql(
        "numerics.jsonl",
        "SELECT seq, tensor_id, from_tensors, source, span_id, op_name FROM tensor_origins ORDER BY seq",
        json!([
            [1, "H", ["X", "W"], "op", 2, "matmul"],
            [4, "R", ["H"], "op", 2, "relu"],
            [5, "L", ["R"], "op", 5, "log"],
            [10, "Q", ["L", "L"], "op", 5, "mul"],
            [11, "S", ["Q", "R"], "op", 5, "sum"],
            [16, "GW", ["S"], "op", 3, "backward"],
            [17, "GB", ["S"], "edge", null, null],
            [24, "W", ["GW"], "edge", null, null],
            [25, "W", ["W"], "op", 3, "add_"],
        ]),
    );
    golden_sql(
        "numerics.jsonl",
        "SELECT seq, from_tensor, to_tensor, source, span_id, op_name FROM data_flow ORDER BY seq, from_tensor",
        json!([
            [1, "W", "H", "op", 2, "matmul"],
            [1, "X", "H", "op", 2, "matmul"],
            [4, "H", "R", "op", 2, "relu"],
            [5, "R", "L", "op", 5, "log"],
            // L times L is one row.
            [10, "L", "Q", "op", 5, "mul"],
            [11, "Q", "S", "op", 5, "sum"],
            [11, "R", "S", "op", 5, "sum"],
            [16, "S", "GW", "op", 3, "backward"],
            [17, "S", "GB", "edge", null, null],
            [24, "GW", "W", "edge", null, null],
            [25, "W", "W", "op", 3, "add_"],
        ]),
    );
    // One operation of golden.jsonl has inputs and no output, one an output and no inputs.
    golden_sql(
        "golden.jsonl",
        "SELECT from_tensor, to_tensor, op_name FROM data_flow ORDER BY seq, from_tensor",
        json!([["T1", "T2", "matmul"], ["T2", "T4", "add"], ["T3", "T4", "add"]]),
    );
}

#[test]
fn first_non_finite_looks_back_along_the_data_path() {
    golden(
        "numerics.jsonl",
        "first_non_finite",
        json!([[
            // s5 has no step; its parent is the forward.
            "tensor_stats",
            "log",
            9,
            "s5",
            "loss",
            "forward",
            "L",
            4,
            0,
            0,
            1,
            1,
            // A at 7 is later than H at 3, but L was not made from it: L ← R ← H.
            "hidden",
            "s2",
            3,
            "data_edges",
            // 13, 20, 23 and the gradient 28; of 4 summaries and 14 gradients.
            4,
            18,
            "log",
            "s5",
            "loss"
        ]]),
    );
    golden(
        "golden.jsonl",
        "first_non_finite",
        // Nothing before it. After it: `grad` and embedding/table, of 2 summaries and 5 gradients.
        json!([[
            "tensor_stats",
            "hidden",
            19,
            "s2",
            "forward",
            "forward",
            null,
            4,
            1,
            1,
            0,
            2,
            null,
            null,
            null,
            null,
            2,
            7,
            null,
            null,
            null
        ]]),
    );
    golden("no_region.jsonl", "first_non_finite", json!([]));
}

#[test]
fn reached_non_finite_walks_down_the_data_path() {
    golden(
        "numerics.jsonl",
        "reached_non_finite",
        json!([
            // L itself, met again in the backward.
            ["downstream", 0, "L", "log", "non_finite", "tensor_stats", "log", "s3", "backward", 4, 1, 23],
            // Known by the operation alone.
            ["downstream", 1, "Q", "mul", null, "op", null, "s5", "loss", null, null, 10],
            ["downstream", 2, "S", "sum", "non_finite", "tensor_stats", "loss", "s5", "loss", 1, 1, 13],
            // The summary `grad` is of one of the two; nothing says of which.
            ["downstream", 3, "GW", "backward", null, "tensor", "grad", "s3", "backward", null, null, 18],
            ["downstream", 3, "GB", null, null, "tensor", "grad", "s3", "backward", null, null, 19],
            ["downstream", 4, "W", "add_", null, "tensor", "w", "s2", "forward", null, null, 0],
            // Round the cycle: recorded before the update, so still finite.
            ["downstream", 5, "H", "matmul", "finite", "tensor_stats", "hidden", "s2", "forward", 4, 0, 3],
            ["downstream", 6, "R", "relu", null, "op", null, "s2", "forward", null, null, 4],
            ["later", null, null, null, "non_finite", "tensor_stats", "grad", "s3", "backward", 4, 4, 20],
            ["later", null, null, null, "non_finite", "gradient", "parameters/c", null, null, null, null, 28],
        ]),
    );
    golden(
        "golden.jsonl",
        "reached_non_finite",
        // The tensor of `hidden` is not known, so nothing is known to be downstream.
        json!([
            ["later", null, null, null, "non_finite", "tensor_stats", "grad", "s3", "backward", 2, 1, 24],
            ["later", null, null, null, "non_finite", "gradient", "embedding/table", null, null, null, null, 29],
        ]),
    );
    golden("no_region.jsonl", "reached_non_finite", json!([]));
}

#[test]
fn gradient_expectations_join_the_manifest_with_its_rules() {
    golden_sql(
        "numerics.jsonl",
        "SELECT root, key, family, expectation, min_present FROM gradient_expectations ORDER BY key",
        json!([
            ["parameters", "a", "head", "active", 2],
            ["parameters", "b", "head", "active", 2],
            ["parameters", "c", "head", "active", 2],
            ["parameters", "d", "tail", "active", 2],
            ["parameters", "e", "tail", "active", 2],
            ["parameters", "f", "frozen", "inactive", 0],
            ["embedding", "g", "frozen", "inactive", 0],
            ["parameters", "i", "router", "data_conditional", 2],
            ["parameters", "j", "router", "data_conditional", 2],
            ["parameters", "k", "router", "data_conditional", 2],
            ["parameters", "m", "expert", "data_conditional", 1],
            ["parameters", "n", "expert", "data_conditional", 1],
            ["parameters", "o", "lost", "active", 1],
            ["parameters", "p", "lost", "active", 1],
        ]),
    );
    golden_sql("golden.jsonl", "SELECT * FROM gradient_expectations", json!([]));
}

#[test]
fn gradient_families_are_held_to_their_rules() {
    golden(
        "numerics.jsonl",
        "gradient_families",
        json!([
            // None present, so nothing was promised: m missing, n zero.
            ["expert", null, "data_conditional", 1, 2, 0, 1, 1, 0, 0, null, null, null, "holds", null],
            // Members in two roots; embedding/g has a gradient.
            [
                "frozen",
                null,
                "inactive",
                0,
                2,
                1,
                0,
                1,
                0,
                0,
                1.0,
                1.0,
                1.0,
                "violated",
                "inactive family has 1 present"
            ],
            // 3 and 4: together 5. Two are present as promised, but c is not finite.
            ["head", null, "active", 2, 3, 2, 0, 0, 1, 0, 3.0, 4.0, 5.0, "violated", "1 non_finite"],
            ["lost", null, "active", 1, 2, 1, 0, 0, 0, 1, 1.0, 1.0, 1.0, "violated", "1 unrecorded"],
            // 6 and 8: together 10. The minimum of two is met without k.
            ["router", null, "data_conditional", 2, 3, 2, 0, 1, 0, 0, 6.0, 8.0, 10.0, "holds", null],
            ["tail", null, "active", 2, 2, 1, 1, 0, 0, 0, 2.0, 2.0, 2.0, "violated", "present 1 of at least 2"],
            [null, "extra", null, null, 1, 0, 0, 1, 0, 0, null, null, null, "violated", "1 not in the manifest"],
        ]),
    );
    golden(
        "golden.jsonl",
        "gradient_families",
        json!([
            [null, "embedding", null, null, 1, 0, 0, 0, 1, 0, null, null, null, null, null],
            // sqrt(1.5² + 3²) = sqrt(11.25), 3 x sqrt(0.5² + 1²).
            [null, "parameters", null, null, 4, 2, 1, 1, 0, 0, 1.5, 3.0, 3.0 * 1.25_f64.sqrt(), null, null],
        ]),
    );
    golden("no_region.jsonl", "gradient_families", json!([]));
}

#[test]
fn dead_gradients_put_the_unexpected_first() {
    golden(
        "numerics.jsonl",
        "dead_gradients",
        json!([
            ["parameters", "e", "tail", "active", "zero", false],
            ["parameters", "p", "lost", "active", "unrecorded", false],
            // The manifest does not name it, so no rule judges it.
            ["extra", "z", null, null, "missing", null],
            ["parameters", "f", "frozen", "inactive", "missing", true],
            ["parameters", "k", "router", "data_conditional", "missing", true],
            ["parameters", "m", "expert", "data_conditional", "missing", true],
            ["parameters", "n", "expert", "data_conditional", "zero", true],
        ]),
    );
    golden(
        "golden.jsonl",
        "dead_gradients",
        json!([
            ["parameters", "frozen", null, null, "missing", null],
            ["parameters", "gate", null, null, "zero", null],
        ]),
    );
}
