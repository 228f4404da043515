//! Rows of the counts of floating-point operations.

use serde_json::json;

use super::{golden, golden_sql};

#[test]
fn work_is_counted_from_name_and_shapes() {
    golden_sql(
        "work.jsonl",
        "SELECT name, flops, bytes_moved, holds_work, rule, uncounted_reason FROM op_work ORDER BY seq",
        json!([
            // X [2, 3] by W [3, 4]: 2 x 8 x 3.
            ["matmul", 48, 104, true, "matmul", null],
            // The first input is unknown, the second is enough.
            ["Matmul", 48, 104, true, "matmul", null],
            // X [2, 3] by [5, 4].
            ["matmul", null, null, true, "matmul", "shapes disagree"],
            // D is recorded as [7, 7] and as [49].
            ["matmul", null, null, true, "matmul", "input shapes unknown"],
            // 2 x 2^31 x 2^31 x 2^31.
            ["matmul", null, null, true, "matmul", "out of range"],
            // The first input is the output [2, 4] of the first matmul: 2 x 10 x 4.
            ["linear", 80, 152, true, "linear", null],
            // Output 1 x 6 x 2 x 2, filters of 2 x 3 x 3: 2 x 24 x 18.
            ["conv2d", 864, null, true, "convolution", null],
            // Its 24 elements, each into 2 x 3 x 3.
            ["conv-transpose2d", 864, null, true, "transposed convolution", null],
            ["softmax-last-dim", 50, null, true, "softmax", null],
            ["layer-norm", 70, null, true, "layer norm", null],
            ["rms-norm", 40, null, true, "rms norm", null],
            ["broadcast_add", 10, 104, true, "elementwise", null],
            ["broadcast_as", 0, null, true, "movement", null],
            // On a device whose host time is launch time.
            ["gelu", 10, 80, false, "elementwise", null],
            ["affine", 20, null, true, "affine", null],
            // The 10 elements of its input.
            ["sum", 10, null, true, "reduction", null],
            // Nine dimensions.
            ["add", null, null, true, "elementwise", "out of range"],
            ["adamw", null, null, true, null, "unknown operation"],
        ]),
    );
}

#[test]
fn op_work_by_name_gives_rates_where_host_time_holds_the_work() {
    golden(
        "work.jsonl",
        "op_work_by_name",
        json!([
            // 864 in 20 ns.
            ["conv-transpose2d", "cpu", "transposed convolution", 1, 1, 864, null, 20, 20, 43.2e9, null],
            ["conv2d", "cpu", "convolution", 1, 1, 864, null, 20, 20, 43.2e9, null],
            ["linear", "cpu", "linear", 1, 1, 80, 152, 10, 10, 8e9, 80.0 / 152.0],
            ["layer-norm", "cpu", "layer norm", 1, 1, 70, null, 7, 7, 10e9, null],
            ["softmax-last-dim", "cpu", "softmax", 1, 1, 50, null, 0, 0, null, null],
            // One of four, 10 of 10 + 5 + 5 + 5 ns.
            ["matmul", "cpu", "matmul", 4, 1, 48, 104, 25, 10, 4.8e9, 48.0 / 104.0],
            ["Matmul", "cpu", "matmul", 1, 1, 48, 104, 20, 20, 2.4e9, 48.0 / 104.0],
            ["rms-norm", "cpu", "rms norm", 1, 1, 40, null, 4, 4, 10e9, null],
            ["affine", "cpu", "affine", 1, 1, 20, null, 0, 0, null, null],
            ["broadcast_add", "cpu", "elementwise", 1, 1, 10, 104, 10, 10, 1e9, 10.0 / 104.0],
            ["gelu", "cuda:0", "elementwise", 1, 1, 10, 80, 10, 10, null, 0.125],
            ["sum", "cpu", "reduction", 1, 1, 10, null, 5, 5, 2e9, null],
            ["broadcast_as", "cpu", "movement", 1, 1, 0, null, 3, 3, 0.0, null],
            ["adamw", "cpu", null, 1, 0, null, null, 14, null, null, null],
            ["add", "cpu", "elementwise", 1, 0, null, null, 2, null, null, null],
        ]),
    );
}

#[test]
fn uncounted_work_has_a_share_of_the_host_time() {
    // Of 150 ns.
    golden(
        "work.jsonl",
        "uncounted_work",
        json!([
            ["adamw", "unknown operation", 1, 14, 14.0 / 150.0],
            ["matmul", "input shapes unknown", 1, 5, 5.0 / 150.0],
            ["matmul", "out of range", 1, 5, 5.0 / 150.0],
            ["matmul", "shapes disagree", 1, 5, 5.0 / 150.0],
            ["add", "out of range", 1, 2, 2.0 / 150.0],
        ]),
    );
}

#[test]
fn work_totals_are_those_of_the_counted_operations() {
    // FLOP: 48 + 48 + 80 + 864 + 864 + 50 + 70 + 40 + 10 + 0 + 10 + 20 + 10 = 2114. Uncounted: 14 + 5 + 5 + 5 + 2 = 31
    // of 150 ns. The rate leaves gelu out: 2104 in 109 ns. Bytes are known of matmul, Matmul, linear, broadcast_add and
    // gelu: 48 + 48 + 80 + 10 + 10 = 196 FLOP by 104 + 104 + 152 + 104 + 80 = 544.
    golden(
        "work.jsonl",
        "work_totals",
        json!([["work", 18, 13, 2114, 544, 150, 119, 119.0 / 150.0, 2104.0 * 1e9 / 109.0, 196.0 / 544.0]]),
    );
    golden("no_region.jsonl", "work_totals", json!([["no-region", 0, 0, null, null, null, null, null, null, null]]));
}
