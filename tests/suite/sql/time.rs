//! Rows of the queries about where the measured region's time and each device's time went.

use serde_json::json;

use super::{golden, golden_sql};

// time.jsonl, in ns. The region is `update`, 100 to 1100; steps in brackets.
//
//   s0 train      0 ─────────────────────────────────────────── 1200   thread 0
//   s10 layer       50 ── 250                                           thread 2, under s0
//   s1 update          100 ────────────────────────────── 1100          thread 0, under s0, measured
//   s2 forward         100 ───────── 500                                thread 0, under s1 [forward]
//   s3 layer             150 ─ 300                                      thread 0, under s2
//   s4 layer                 200 ─── 450                                thread 1, under s2
//   s5 layer                      400-450                               thread 0, under s2
//   s6 backward                   400 ──────────── 800                  thread 1, under s1 [backward]
//   s8 optimizer                    420-480                             thread 3, under s1 [optimizer]
//   s9 layer                                 600 ─ 800                  thread 1, under s6
//   s7 loader                                         850-900           thread 0, under s1
//   s11 layer                                               1100-1150   thread 0, under s0
//
// Device intervals, on three clocks:
//
//   cuda:0 event   stream 7: s3 0-100 · s4 120-200 · s7 250-250 · s9 300-400 · s6 450-500 (by cupti)
//                  stream 8: s4 50-150 · s5 300-350 · s5 380-400
//   cuda:0 cupti   stream 7: s3 1000-1040
//   cuda:1 event   stream 7: s4 0-30

#[test]
fn hotspots_keep_the_region_and_what_ran_beside_it_apart() {
    golden(
        "time.jsonl",
        "host_hotspots",
        json!([
            // s3, s4, s5, s9: 150 + 250 + 50 + 200. Sorted 50, 150, 200, 250: the median is 150 + 50 / 2; the 99th
            // percentile has rank 3 x 0.99 = 2.97: 200 + 0.97 x 50. CPU time of s3 and s5 is known: 100 + 40.
            ["layer", "measured_subtree", 4, 650, 650, 650, 650, 0.65, 175.0, 248.5, 250, 140],
            // Children cover 100-800 and 850-900: 750 of 1000.
            ["update", "measured_subtree", 1, 1000, 250, 1000, 250, 0.25, 1000.0, 1000.0, 1000, null],
            ["backward", "measured_subtree", 1, 400, 200, 400, 200, 0.2, 400.0, 400.0, 400, null],
            // s10: 100-250 of 50-250 lies in the region. s11 only touches it.
            ["layer", "concurrent_overlap", 1, 200, 200, 150, 150, null, 200.0, 200.0, 200, null],
            // Children cover 150-450.
            ["forward", "measured_subtree", 1, 400, 100, 400, 100, 0.1, 400.0, 400.0, 400, null],
            ["optimizer", "measured_subtree", 1, 60, 60, 60, 60, 0.06, 60.0, 60.0, 60, null],
            ["loader", "measured_subtree", 1, 50, 50, 50, 50, 0.05, 50.0, 50.0, 50, null],
        ]),
    );
    golden("no_region.jsonl", "host_hotspots", json!([]));
}

#[test]
fn critical_spans_share_out_the_region() {
    golden_sql(
        "time.jsonl",
        "SELECT span_id, parent_id, step, depth, from_ns, to_ns, path_ns FROM critical_spans ORDER BY span_id",
        json!([
            // Less s2's 300, s6's 400 and s7's 50.
            [1, null, null, 0, 100, 1100, 250],
            // s6, which ends later, begins at 400. Of the 300 before that, s3 has 50 and s4 200.
            [2, 1, "forward", 1, 100, 400, 50],
            // s4, which ends later, begins at 200.
            [3, 2, "forward", 2, 150, 200, 50],
            // It lasts to 450, but s2 is critical to 400 only. s5 also ends at 450 and began later: never critical.
            [4, 2, "forward", 2, 200, 400, 200],
            // 400 less s9's 200. s8 began and ended within it: never critical.
            [6, 1, "backward", 1, 400, 800, 200],
            [7, 1, null, 1, 850, 900, 50],
            // It ends with its parent.
            [9, 6, "backward", 2, 600, 800, 200],
            // 250 + 50 + 50 + 200 + 200 + 50 + 200 = 1000, the region.
        ]),
    );
    // s2 never closed: the region has its time, and that of s3 below it.
    golden_sql(
        "open.jsonl",
        "SELECT span_id, from_ns, to_ns, path_ns FROM critical_spans ORDER BY span_id",
        json!([[1, 10, 90, 80]]),
    );
    // s1 and s2 are each other's parent: the way down ends where it would begin again.
    golden_sql(
        "damaged.jsonl",
        "SELECT span_id, from_ns, to_ns, path_ns FROM critical_spans ORDER BY span_id",
        json!([[1, 10, 40, 25], [2, 20, 25, 5]]),
    );
}

#[test]
fn the_critical_path_is_what_the_region_waits_for() {
    golden(
        "time.jsonl",
        "critical_path",
        json!([
            ["s1", null, "update", "function", null, 0, 100, 1100, 250, 0.25],
            ["s2", "s1", "forward", "function", "forward", 1, 100, 400, 50, 0.05],
            ["s3", "s2", "layer", "module", "forward", 2, 150, 200, 50, 0.05],
            ["s4", "s2", "layer", "module", "forward", 2, 200, 400, 200, 0.2],
            ["s6", "s1", "backward", "function", "backward", 1, 400, 800, 200, 0.2],
            ["s9", "s6", "layer", "module", "backward", 2, 600, 800, 200, 0.2],
            ["s7", "s1", "loader", "function", null, 1, 850, 900, 50, 0.05],
        ]),
    );
    golden("no_region.jsonl", "critical_path", json!([]));
}

#[test]
fn steps_add_up_to_the_region() {
    golden(
        "time.jsonl",
        "step_split",
        json!([
            // s2, s3 and s4: 50 + 50 + 200. s3 and s4 state no step; they lie in s2, which does.
            ["forward", 1, 300, 0.3],
            ["backward", 1, 400, 0.4],
            // s8 was recorded, but the region never waits for it.
            ["optimizer", 1, 0, 0.0],
            // s1 and s7: 250 + 50. Six of the nine spans state no step.
            ["untracked", 6, 300, 0.3],
        ]),
    );
    golden(
        "open.jsonl",
        "step_split",
        json!([
            ["forward", 0, null, null],
            ["backward", 0, null, null],
            ["optimizer", 0, null, null],
            // s1 and s3.
            ["untracked", 2, 80, 1.0],
        ]),
    );
    golden("no_region.jsonl", "step_split", json!([]));
}

#[test]
fn device_intervals_of_one_clock_merge() {
    golden_sql(
        "time.jsonl",
        "SELECT * FROM device_unions ORDER BY device, clock_id, start_ns",
        json!([
            ["time", "cuda:0", "cupti", 1000, 1040, 1],
            // 0-100, 50-150 and 120-200. s7's 250-250 has no length.
            ["time", "cuda:0", "event", 0, 200, 3],
            ["time", "cuda:0", "event", 300, 400, 3],
            ["time", "cuda:0", "event", 450, 500, 1],
            ["time", "cuda:1", "event", 0, 30, 1],
        ]),
    );
}

#[test]
fn a_device_is_busy_once_however_many_streams_run() {
    golden(
        "time.jsonl",
        "device_busy",
        json!([
            ["cuda:0", "cupti", 1, 1, 1, 40, 40, 1000, 1040, 40, 0, 1.0, ["cupti"]],
            // Spans s3, s4, s5, s6, s9. Busy 200 + 100 + 50; summed 100 + 100 + 80 + 100 + 50 + 20 + 50.
            ["cuda:0", "event", 7, 2, 5, 350, 500, 0, 500, 500, 150, 0.7, ["cuda", "cupti"]],
            ["cuda:1", "event", 1, 1, 1, 30, 30, 0, 30, 30, 0, 1.0, ["cuda"]],
        ]),
    );
    golden("golden.jsonl", "device_busy", json!([]));
}

#[test]
fn device_time_of_a_span_is_kept_by_clock() {
    golden(
        "time.jsonl",
        "slowest_device",
        json!([
            // 50-150 and 120-200 on two streams: 150, not 180.
            ["s4", "layer", "cuda:0", "event", 150, 2, ["7", "8"], ["cuda"]],
            // 100 each: the smaller id first.
            ["s3", "layer", "cuda:0", "event", 100, 1, ["7"], ["cuda"]],
            ["s9", "layer", "cuda:0", "event", 100, 1, ["7"], ["cuda"]],
            ["s5", "layer", "cuda:0", "event", 70, 2, ["8"], ["cuda"]],
            ["s6", "backward", "cuda:0", "event", 50, 1, ["7"], ["cupti"]],
            ["s3", "layer", "cuda:0", "cupti", 40, 1, ["7"], ["cupti"]],
            ["s4", "layer", "cuda:1", "event", 30, 1, ["7"], ["cuda"]],
        ]),
    );
}

#[test]
fn idle_gaps_lie_between_busy_stretches() {
    golden(
        "time.jsonl",
        "device_idle",
        json!([
            // s4's interval ended at 200; those of s5 and s9 began at 300.
            ["cuda:0", "event", 200, 300, 100, "s4", "s5"],
            // Those of s5 and s9 ended at 400.
            ["cuda:0", "event", 400, 450, 50, "s5", "s6"],
        ]),
    );
}
