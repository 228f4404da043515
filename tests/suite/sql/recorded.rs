//! Rows of the queries that list and total what was recorded, and of the spans' times.

use candle_graph::query::{self, Filter, Page};
use serde_json::json;

use super::{golden, golden_sql, session, values};
use crate::world::trace;

// golden.jsonl, in ns. The region is `update`, 100 to 900.
//
//   s0 train      0 ───────────────────────────── 1000   thread 0
//   s6 data         50 ──── 250                          thread 2, under s0
//   s8 decode        80 ─ 120                            thread 2, under s6
//   s1 update          100 ─────────────────── 900       thread 0, under s0, measured
//   s2 forward            200 ── 400                     thread 0, under s1
//   s5 matmul              250-300                       thread 0, under s2
//   s4 norm                    350 (no length)           thread 0, under s2
//   s3 backward                300 ── 500                thread 1, under s1
//   s9 optimizer                     600 ───── 900       thread 0, under s1
//   s7 late                                     950-980  thread 0, under s0

#[test]
fn span_times_subtract_the_union_of_the_children() {
    golden_sql(
        "golden.jsonl",
        "SELECT span_id, scope, total_ns, self_ns, measured_ns, measured_self_ns FROM span_times ORDER BY span_id",
        json!([
            // Children cover 50-900 and 950-980: 850 + 30 = 880 of 1000. In the region s1 covers all 800.
            [0, "outside", 1000, 120, 800, 0],
            // 200-400 and 300-500 overlap: 300 together, not 400; with 600-900 that is 600 of 800.
            [1, "measured_subtree", 800, 200, 800, 200],
            // 50 of matmul, 0 of norm.
            [2, "measured_subtree", 200, 150, 200, 150],
            [3, "measured_subtree", 200, 200, 200, 200],
            [4, "measured_subtree", 0, 0, 0, 0],
            [5, "measured_subtree", 50, 50, 50, 50],
            // 200 - 40 = 160 whole. In the region: 100-250 is 150, less decode's 100-120.
            [6, "concurrent_overlap", 200, 160, 150, 130],
            [7, "outside", 30, 30, 0, 0],
            // Only 100-120 of 80-120 lies in the region.
            [8, "concurrent_overlap", 40, 40, 20, 20],
            [9, "measured_subtree", 300, 300, 300, 300],
        ]),
    );
}

#[test]
fn measured_region_is_the_measured_span() {
    golden_sql("golden.jsonl", "SELECT * FROM measured_region", json!([["golden", 1, "update", 100, 900, 800]]));
}

#[test]
fn slowest_host_ranks_self_time_in_the_region() {
    golden(
        "golden.jsonl",
        "slowest_host",
        json!([
            ["s9", "optimizer", "function", "measured_subtree", 300, 300, 300, 300, 290, 600],
            // 200 each: the earlier first.
            ["s1", "update", "function", "measured_subtree", 800, 200, 800, 200, null, 100],
            ["s3", "backward", "function", "measured_subtree", 200, 200, 200, 200, null, 300],
            ["s2", "forward", "module", "measured_subtree", 200, 150, 200, 150, 120, 200],
            ["s6", "data", "function", "concurrent_overlap", 200, 160, 150, 130, null, 50],
            ["s5", "matmul", "op", "measured_subtree", 50, 50, 50, 50, null, 250],
            ["s8", "decode", "function", "concurrent_overlap", 40, 40, 20, 20, 35, 80],
            ["s4", "norm", "op", "measured_subtree", 0, 0, 0, 0, null, 350],
        ]),
    );
}

#[test]
fn spans_come_in_order_of_time() {
    golden(
        "golden.jsonl",
        "spans",
        json!([
            ["s0", null, "train", "root", null, false, "outside", 0, 0, 1000, 120, null],
            ["s6", "s0", "data", "function", null, false, "concurrent_overlap", 2, 50, 200, 160, null],
            ["s8", "s6", "decode", "function", null, false, "concurrent_overlap", 2, 80, 40, 40, 35],
            ["s1", "s0", "update", "function", null, true, "measured_subtree", 0, 100, 800, 200, null],
            ["s2", "s1", "forward", "module", "forward", false, "measured_subtree", 0, 200, 200, 150, 120],
            ["s5", "s2", "matmul", "op", null, false, "measured_subtree", 0, 250, 50, 50, null],
            ["s3", "s1", "backward", "function", "backward", false, "measured_subtree", 1, 300, 200, 200, null],
            ["s4", "s2", "norm", "op", null, false, "measured_subtree", 0, 350, 0, 0, null],
            ["s9", "s1", "optimizer", "function", "optimizer", false, "measured_subtree", 0, 600, 300, 300, 290],
            ["s7", "s0", "late", "function", null, false, "outside", 0, 950, 30, 30, null],
        ]),
    );
}

#[test]
fn call_edges_are_the_closed_children() {
    golden(
        "golden.jsonl",
        "call_edges",
        json!([
            ["call", "s0", "s6", 200],
            ["call", "s6", "s8", 40],
            ["call", "s0", "s1", 800],
            ["call", "s1", "s2", 200],
            ["call", "s2", "s5", 50],
            ["call", "s1", "s3", 200],
            ["call", "s2", "s4", 0],
            ["call", "s1", "s9", 300],
            ["call", "s0", "s7", 30],
        ]),
    );
    // s2 and s4 never closed.
    golden("open.jsonl", "call_edges", json!([["call", "s0", "s1", 80], ["call", "s2", "s3", 10]]));
}

#[test]
fn an_open_span_has_no_times_and_covers_nothing() {
    golden_sql(
        "open.jsonl",
        "SELECT span_id, scope, total_ns, self_ns, measured_ns, measured_self_ns FROM span_times ORDER BY span_id",
        json!([
            // s1 covers 80 of 100; s4 never closed.
            [0, "outside", 100, 20, 80, 0],
            [1, "measured_subtree", 80, 80, 80, 80],
            [2, "measured_subtree", null, null, null, null],
            [3, "measured_subtree", 10, 10, 10, 10],
            // It may or may not have lasted into the region: nobody knows, so it is not called concurrent.
            [4, "outside", null, null, null, null],
        ]),
    );
    golden(
        "open.jsonl",
        "slowest_host",
        json!([
            ["s1", "update", "function", "measured_subtree", 80, 80, 80, 80, null, 10],
            ["s3", "inside it", "op", "measured_subtree", 10, 10, 10, 10, null, 30],
        ]),
    );
}

#[test]
fn without_a_region_nothing_is_measured() {
    golden_sql("no_region.jsonl", "SELECT * FROM measured_region", json!([]));
    golden_sql(
        "no_region.jsonl",
        "SELECT span_id, scope, total_ns, self_ns, measured_ns, measured_self_ns FROM span_times ORDER BY span_id",
        json!([[0, "outside", 100, 80, null, null], [1, "outside", 20, 20, null, null]]),
    );
    golden("no_region.jsonl", "slowest_host", json!([]));
}

#[test]
fn a_parent_cycle_ends_and_children_are_clipped_to_their_parent() {
    golden_sql(
        "damaged.jsonl",
        "SELECT span_id, scope, total_ns, self_ns, measured_ns, measured_self_ns FROM span_times ORDER BY span_id",
        json!([
            // The region is s1, 10-40. s3 covers 30-50 of 0-100, of the region 30-40.
            [0, "concurrent_overlap", 100, 80, 30, 20],
            // s1 and s2 are each other's parent: s2 lies in s1, 20-25, and s1, clipped to it, covers all of s2.
            [1, "measured_subtree", 30, 25, 30, 25],
            [2, "measured_subtree", 5, 0, 5, 0],
            // Of 30-50, s4 (20-35) covers 30-35 and s5 (45-55) covers 45-50; s6 began after the end.
            // In the region 30-40: less s4's 30-35.
            [3, "concurrent_overlap", 20, 10, 10, 5],
            // 20-35 lies whole in the region.
            [4, "concurrent_overlap", 15, 15, 15, 15],
            [5, "outside", 10, 10, 0, 0],
            [6, "outside", 5, 5, 0, 0],
            [7, "outside", 1, 1, 0, 0],
        ]),
    );
}

#[test]
fn ops_total_by_name_shape_dtype_and_device() {
    golden(
        "golden.jsonl",
        "ops",
        json!([
            ["add", [3], "f32", "cpu", 1, 100, 100.0, 100.0, 100, null, 12, 24],
            // 40 and 60: median 50, p99 40 + 0.99 x 20 = 59.8. One has CPU time and an output footprint.
            ["matmul", [2, 3], "f32", "cpu", 2, 100, 50.0, 59.8, 60, 30, 24, 50],
            ["matmul", [], "f16", "cpu", 1, 0, 0.0, 0.0, 0, null, 2, 4],
        ]),
    );
}

#[test]
fn the_region_has_a_wall_time_and_a_number_of_ranked_spans() {
    golden("golden.jsonl", "outer_wall", json!([["s1", "update", 800]]));
    // The eight rows of slowest_host.
    golden("golden.jsonl", "ranked_spans", json!([[8]]));
    golden("no_region.jsonl", "outer_wall", json!([]));
    golden("no_region.jsonl", "ranked_spans", json!([[0]]));
}

#[test]
fn non_finite_stats_begin_with_the_first() {
    golden(
        "golden.jsonl",
        "non_finite_stats",
        // The second does not tell NaN from infinity: 0.10's lines have one count.
        json!([["hidden", "s2", "forward", 4, 1, 1, 0, 2], ["grad", "s3", "backward", 2, null, null, null, 1]]),
    );
}

#[test]
fn op_names_share_the_host_time_of_all_operations() {
    // 100 and 40 + 60 + 0: half each, so by name.
    golden("golden.jsonl", "op_names", json!([["add", 1, 100, 0.5, null], ["matmul", 3, 100, 0.5, 30]]));
}

#[test]
fn tensors_keep_aliases_apart() {
    golden(
        "golden.jsonl",
        "tensors",
        json!([
            ["T1", null, "s2", [50], "u8", "cpu", true, 50, "parameter", null],
            // Two views of storage A.
            ["T2", "hidden", "s2", [5, 5], "f32", "cpu", false, 100, "activation", "A"],
            ["T3", "hidden", "s2", [25], "f32", "cpu", false, null, "activation", "A"],
        ]),
    );
}

#[test]
fn tensor_stats_with_a_nan_are_null_and_the_finite_part_is_kept() {
    golden(
        "golden.jsonl",
        "tensor_stats",
        json!([
            // [1, 7, NaN, inf]: the finite part has rms sqrt((1 + 49) / 2) = 5 and mean 4.
            ["hidden", "s2", [4], "f32", 4, 2, 1, 1, 0, null, null, null, 5.0, 7.0, 4.0],
            ["loss", "s3", [], "f64", 1, 0, 0, 0, 0, 2.5, 2.5, -2.5, 2.5, 2.5, -2.5],
            // The recorder did not say which of NaN and infinity it met, nor what the rest was.
            ["grad", "s3", [2], "f32", 2, 1, null, null, null, null, null, null, null, null, null],
        ]),
    );
    golden("golden.jsonl", "tensor_stat_totals", json!([[3, 2, 3]]));
    golden("no_region.jsonl", "tensor_stat_totals", json!([[0, 0, 0]]));
}

#[test]
fn gradients_come_by_root_and_key() {
    golden(
        "golden.jsonl",
        "gradients",
        json!([
            ["embedding", "table", "non_finite", null],
            ["parameters", "fc.bias", "present", 1.5],
            ["parameters", "fc.weight", "present", 3.0],
            ["parameters", "frozen", "missing", null],
            ["parameters", "gate", "zero", 0.0],
        ]),
    );
    golden(
        "golden.jsonl",
        "gradient_states",
        json!([
            ["missing", 1, null, null],
            ["non_finite", 1, null, null],
            ["present", 2, 1.5, 3.0],
            ["zero", 1, 0.0, 0.0]
        ]),
    );
}

#[test]
fn gradient_problems_put_the_worst_first() {
    golden(
        "golden.jsonl",
        "gradient_problems",
        json!([
            ["embedding", "table", "non_finite"],
            ["parameters", "frozen", "missing"],
            ["parameters", "gate", "zero"],
        ]),
    );
}

#[test]
fn memory_peaks_at_the_first_of_equal_moments() {
    golden(
        "golden.jsonl",
        "memory_totals",
        json!([
            // 210: +100 = 100; 220: +50 = 150, the peak; 310: -100 = 50; 320: +100 = 150 again; 400: -50, then +50,
            // which in the other order would be 200; 700: -100 = 50. Allocated: 100 + 50 + 100 + 50.
            ["cpu", 4, 3, 0, 300, 150, 220, 50],
            // Its end was only inferred.
            ["cuda:0", 1, 0, 1, 8, 8, 230, 0],
        ]),
    );
    // T2 and T3; storages A and C.
    golden("golden.jsonl", "activation_evidence", json!([[2, 2]]));
}

#[test]
fn device_memory_ranges_leave_out_what_was_not_given() {
    golden("golden.jsonl", "device_memory", json!([["cpu", 1, null, null, null, null], ["cuda:0", 2, 10, 30, 64, 80]]));
}

#[test]
fn labels_count_events_kind_by_kind() {
    golden(
        "golden.jsonl",
        "labels",
        json!([
            ["spans", "backward", 1],
            ["spans", "data", 1],
            ["spans", "decode", 1],
            ["spans", "forward", 1],
            ["spans", "late", 1],
            ["spans", "matmul", 1],
            ["spans", "norm", 1],
            ["spans", "optimizer", 1],
            ["spans", "train", 1],
            ["spans", "update", 1],
            ["tensors", "hidden", 2],
            ["tensor-stats", "grad", 1],
            ["tensor-stats", "hidden", 1],
            ["tensor-stats", "loss", 1],
            ["gradients", "embedding/table", 1],
            ["gradients", "parameters/fc.bias", 1],
            ["gradients", "parameters/fc.weight", 1],
            ["gradients", "parameters/frozen", 1],
            ["gradients", "parameters/gate", 1],
        ]),
    );
    golden(
        "open.jsonl",
        "labels",
        json!(
            [["spans", "inside it", 1], ["spans", "never closed", 2], ["spans", "train", 1], ["spans", "update", 1],]
        ),
    );
}

#[test]
fn filters_are_exact_or_by_prefix_and_never_patterns() {
    let session = session(vec![trace("golden.jsonl")]);
    let labels = |label: Option<&str>, prefix: Option<&str>| -> Vec<String> {
        let filter = Filter { label: label.map(str::to_owned), label_prefix: prefix.map(str::to_owned) };
        let rows = query::rows(&session, "labels", &filter, Page::ALL).expect("rows");
        values(&rows).iter().map(|r| r[1].as_str().expect("a label").to_owned()).collect()
    };
    let none: [&str; 0] = [];
    assert_eq!(labels(Some("hidden"), None), ["hidden", "hidden"]);
    assert_eq!(labels(Some("hid"), None), none);
    assert_eq!(labels(None, Some("de")), ["decode"]);
    assert_eq!(labels(None, Some("parameters/fc.")), ["parameters/fc.bias", "parameters/fc.weight"]);
    assert_eq!(labels(None, Some("%")), none);
    assert_eq!(labels(Some("x' OR '1'='1"), None), none);
}
