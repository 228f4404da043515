//! Rows of the queries about logical memory, and of physical memory beside it.

use serde_json::json;

use super::{golden, golden_sql};

// memory.jsonl: storages by time in ns, sizes in bytes. Spans: s1 update 100-900, in it s2 forward 100-400, in that
// s3 layer 150-250; s4 backward 400-800, in s1.
//
//   P  40 cpu     100 ─────────────────────────────────   allocated in s1
//   A  30 cpu         200 ──────────── 500                in s3 by linear; also T4; freed in s4 through T8, a gradient
//   Z   0 cpu         200 ─────────────────────────────   in s3
//   V  20 cuda:0       210 ─ 250                          in s3 by linear, freed in s2 as s3 closes
//   B  50 cuda:0              300 ──────────── 600        in s2 by relu; its end was not seen
//   G  30 cpu                          500 ────── 700     in s4 by backward, whose output it is
//   H  60 cpu                           510 ───────────   in s4 by backward
//
// Live: 40, 70, 70, 90, 70, 120, then at 500 first 90, then 120; 180 at 510: the peak; 130, 100.

#[test]
fn lifetimes_name_every_tensor_that_shared_a_storage() {
    golden(
        "memory.jsonl",
        "lifetimes",
        json!([
            [
                "H",
                "cpu",
                60,
                "gradient",
                "f32",
                [15],
                "backward",
                "s4",
                "backward",
                ["G2"],
                510,
                null,
                "retained",
                null
            ],
            [
                "B",
                "cuda:0",
                50,
                "activation",
                "u8",
                [50],
                "relu",
                "s2",
                "forward",
                ["T3"],
                300,
                600,
                "end_unobserved",
                300
            ],
            ["P", "cpu", 40, "parameter", "f32", [10], null, "s1", "update", ["W"], 100, null, "retained", null],
            // T1 from the allocation and from a tensor record, T4 from a tensor record, T8 from the free.
            [
                "A",
                "cpu",
                30,
                "activation",
                "u8",
                [30],
                "linear",
                "s3",
                "layer",
                ["T1", "T4", "T8"],
                200,
                500,
                "freed",
                300
            ],
            ["G", "cpu", 30, "gradient", "u8", [30], "backward", "s4", "backward", ["G1"], 500, 700, "freed", 200],
            ["V", "cuda:0", 20, "activation", "f32", [5], "linear", "s3", "layer", ["T2"], 210, 250, "freed", 40],
            ["Z", "cpu", 0, "other", "f32", [0], null, "s3", "layer", ["T0"], 200, null, "retained", null],
        ]),
    );
    golden(
        "memory.jsonl",
        "retained_storages",
        json!([
            [
                "H",
                "cpu",
                60,
                "gradient",
                "f32",
                [15],
                "backward",
                "s4",
                "backward",
                ["G2"],
                510,
                null,
                "retained",
                null
            ],
            ["P", "cpu", 40, "parameter", "f32", [10], null, "s1", "update", ["W"], 100, null, "retained", null],
            ["Z", "cpu", 0, "other", "f32", [0], null, "s3", "layer", ["T0"], 200, null, "retained", null],
        ]),
    );
    golden_sql(
        "memory.jsonl",
        "SELECT storage_id, bytes, tensor_ids, start_ns, end_ns, ending FROM storages ORDER BY alloc_seq LIMIT 2",
        json!([["P", 40, ["W"], 100, null, "retained"], ["A", 30, ["T1", "T4", "T8"], 200, 500, "freed"]]),
    );
    golden_sql(
        "memory.jsonl",
        "SELECT storage_id, tensor_id, span_id, op_name, category, start_ns, end_ns, ending FROM storage_lifetimes \
         ORDER BY alloc_seq LIMIT 2",
        json!([
            ["P", "W", 1, null, "parameter", 100, null, "retained"],
            // The free called it a gradient and named another tensor.
            ["A", "T1", 3, "linear", "activation", 200, 500, "freed"],
        ]),
    );
}

#[test]
fn the_timeline_keeps_the_category_of_the_allocation() {
    golden(
        "memory.jsonl",
        "memory_timeline",
        json!([
            [100, "alloc", "P", "cpu", "parameter", 40, 40, 40, 40],
            [200, "alloc", "A", "cpu", "activation", 30, 70, 70, 30],
            [200, "alloc", "Z", "cpu", "other", 0, 70, 70, 0],
            [210, "alloc", "V", "cuda:0", "activation", 20, 90, 20, 50],
            [250, "free", "V", "cuda:0", "activation", -20, 70, 0, 30],
            // The activations A and B, on two devices.
            [300, "alloc", "B", "cuda:0", "activation", 50, 120, 50, 80],
            // Recorded as the free of a gradient.
            [500, "free", "A", "cpu", "activation", -30, 90, 40, 50],
            [500, "alloc", "G", "cpu", "gradient", 30, 120, 70, 30],
            [510, "alloc", "H", "cpu", "gradient", 60, 180, 130, 90],
            [600, "end_unobserved", "B", "cuda:0", "activation", -50, 130, 0, 0],
            [700, "free", "G", "cpu", "gradient", -30, 100, 100, 60],
        ]),
    );
}

#[test]
fn the_envelope_has_buckets_of_whole_nanoseconds() {
    golden(
        "memory.jsonl",
        "memory_envelope",
        // 100 to 700 are 601 moments: buckets of 7 ns from 100.
        json!([
            // From 0 before the event.
            [100, 107, "cpu", 0, 40, 40],
            // 200 = 100 + 14 x 7 + 2.
            [198, 205, "cpu", 40, 70, 70],
            [205, 212, "cuda:0", 0, 20, 20],
            [247, 254, "cuda:0", 0, 20, 0],
            [296, 303, "cuda:0", 0, 50, 50],
            // Down to 40 and up again in one moment.
            [499, 506, "cpu", 40, 70, 70],
            [506, 513, "cpu", 70, 130, 130],
            [597, 604, "cuda:0", 0, 50, 0],
            [695, 702, "cpu", 100, 130, 100],
        ]),
    );
}

#[test]
fn the_simultaneous_peak_is_no_sum_of_the_devices_peaks() {
    // 130 + 50: here both devices are at their own peaks.
    golden("memory.jsonl", "memory_peak", json!([[510, 180, 5, 2]]));
    // cpu 150 at 220 and again at 320, with 8 on cuda:0 both times: 158 first at 230, when D came.
    golden("golden.jsonl", "memory_peak", json!([[230, 158, 3, 2]]));
    golden("no_region.jsonl", "memory_peak", json!([]));
    golden_sql(
        "memory.jsonl",
        "SELECT run_id, timestamp_ns, live_bytes FROM peak_moment",
        json!([["memory", 510, 180]]),
    );
}

#[test]
fn the_peak_is_held_by_what_was_live_then() {
    golden_sql(
        "memory.jsonl",
        // A ended at 500, before G came; B is still live, although its end was never seen.
        "SELECT storage_id, bytes, peak_ns, peak_live_bytes FROM peak_storages ORDER BY alloc_seq",
        json!([["P", 40, 510, 180], ["Z", 0, 510, 180], ["B", 50, 510, 180], ["G", 30, 510, 180], ["H", 60, 510, 180]]),
    );
    golden(
        "golden.jsonl",
        "peak_storages_ranked",
        json!([
            // Of 158 bytes at 230.
            [
                "A",
                "cpu",
                100,
                "activation",
                "f32",
                [25],
                "matmul",
                "s2",
                "forward",
                ["T2", "T3"],
                210,
                310,
                "freed",
                100,
                20,
                100.0 / 158.0
            ],
            [
                "B",
                "cpu",
                50,
                "parameter",
                "u8",
                [50],
                null,
                "s2",
                "forward",
                ["T1"],
                220,
                400,
                "freed",
                180,
                10,
                50.0 / 158.0
            ],
            [
                "D",
                "cuda:0",
                8,
                "other",
                "f32",
                [2],
                null,
                "s2",
                "forward",
                ["T9"],
                230,
                330,
                "end_unobserved",
                100,
                0,
                8.0 / 158.0
            ],
        ]),
    );
    golden(
        "memory.jsonl",
        "peak_composition",
        json!([
            // P + Z + G + H; B.
            ["device", "cpu", null, 130, 4, 130.0 / 180.0],
            ["device", "cuda:0", null, 50, 1, 50.0 / 180.0],
            ["category", "gradient", null, 90, 2, 0.5],
            ["category", "activation", null, 50, 1, 50.0 / 180.0],
            ["category", "parameter", null, 40, 1, 40.0 / 180.0],
            ["category", "other", null, 0, 1, 0.0],
            ["span", "s4", "backward", 90, 2, 0.5],
            ["span", "s2", "forward", 50, 1, 50.0 / 180.0],
            ["span", "s1", "update", 40, 1, 40.0 / 180.0],
            ["span", "s3", "layer", 0, 1, 0.0],
            ["op", "backward", null, 90, 2, 0.5],
            ["op", "relu", null, 50, 1, 50.0 / 180.0],
            // P and Z named none.
            ["op", null, null, 40, 2, 40.0 / 180.0],
        ]),
    );
}

#[test]
fn categories_have_peaks_of_their_own() {
    golden(
        "memory.jsonl",
        "memory_by_category",
        json!([
            // A was gone at 510.
            ["cpu", "activation", 1, 30, 30, 0, 0],
            ["cpu", "gradient", 2, 90, 90, 90, 60],
            ["cpu", "other", 1, 0, 0, 0, 0],
            ["cpu", "parameter", 1, 40, 40, 40, 40],
            // V 20 and B 50 were never live together.
            ["cuda:0", "activation", 2, 70, 50, 50, 0],
        ]),
    );
}

#[test]
fn a_span_answers_for_what_was_allocated_below_it() {
    golden_sql(
        "memory.jsonl",
        "SELECT * FROM span_memory ORDER BY span_id",
        json!([
            ["memory", 0, 0, 0, 180, 100],
            // P itself; below it everything. G was freed before its end: P + H are left.
            ["memory", 1, 1, 40, 180, 100],
            // B itself; A 30 + B 50 at 300. Both outlive it: A until 500 and B until 600.
            ["memory", 2, 1, 50, 80, 80],
            // A + Z + V: 30 + 0 + 20. V was freed as it closed, by another span.
            ["memory", 3, 3, 50, 50, 30],
            // G + H. A and B, which it freed, were never its own.
            ["memory", 4, 2, 90, 90, 60],
        ]),
    );
    golden(
        "memory.jsonl",
        "heaviest_spans",
        json!([
            ["s4", "backward", 90, 90, 60, 2],
            // 50 each: the higher peak first.
            ["s2", "forward", 50, 80, 80, 1],
            ["s3", "layer", 50, 50, 30, 3],
            ["s1", "update", 40, 180, 100, 1],
            ["s0", "train", 0, 180, 100, 0],
        ]),
    );
}

#[test]
fn an_operation_owns_its_outputs_storage_and_what_names_it() {
    golden(
        "memory.jsonl",
        "heaviest_ops",
        json!([
            // G is its output; H, the output of no operation, names it.
            ["s4/op/0", "backward", "op", "s4", [30], "u8", "cpu", 30, 90, 50, 50, 450],
            // A 30 is its output; V 20 names it.
            ["s3/op/0", "linear", "op", "s3", [30], "u8", "cpu", 30, 50, 30, 30, 160],
            ["s2/op/1", "relu", "op", "s2", [50], "u8", "cuda:0", null, 50, 10, 10, 290],
            // A is its output too, but was that of `linear` first.
            ["s2/op/0", "block", "op", "s2", [30], "u8", "cpu", 30, null, 120, 120, 150],
        ]),
    );
}

#[test]
fn physical_memory_stands_beside_the_logical() {
    golden(
        "memory.jsonl",
        "physical_timeline",
        json!([
            // Before the first event nothing was live.
            [90, "cpu", 1000, null, 2000, null, 0, 1000],
            // P 40 + Z 0 + G 30 + H 60, which came at the same moment, recorded earlier.
            [510, "cpu", 1200, null, 2000, null, 130, 1070],
            // B 50 is more than the device says is in use.
            [510, "cuda:0", 30, 70, null, 100, 50, -20],
            // No storage was recorded on it.
            [650, "pool", 5, null, null, null, null, null],
            [900, "cpu", null, 7, null, null, 100, null],
        ]),
    );
    golden(
        "process.jsonl",
        "physical_timeline",
        json!([
            // The process holds what lies on cpu, W 64, and 936 that nobody recorded; cuda:0's V is not in it.
            [60, "process", 1000, null, null, null, 64, 936],
        ]),
    );
}
