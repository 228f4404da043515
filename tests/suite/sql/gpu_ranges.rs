//! Rows of the queries about whose the GPU's work is: NVTX ranges, the calls in them, and the operations that these caused.

use serde_json::json;

use super::{golden, golden_sql};

// nsight/golden, one capture in ns, process 100. A call's number is its correlation id, and that of what it caused.
//
//   thread 100   trainer/update     1000 ───────────────────────────────────────── 9000
//                  trainer/forward    1100 ───────── 4000
//                    cuBLAS:gemm         2050-2500
//                  trainer/backward                    4500 ────── 7000
//                  trainer/host-io                                     7200-7600
//                calls: 12 malloc 600 · 1 launch 1200 · 2 launch 2100 · 3 copy 2600 · 5 memset 4600 · 4 graph launch 5000 ·
//                       9 synchronize 7300 · 10 copy 8000 · 8 launch 9500
//   thread 101   trainer/prefetch     1500 ───── 3500                       StartEnd
//                trainer/prefetch             3200 ─── 4200                 StartEnd
//                NCCL:all_reduce                          5050-5250
//                calls: 7 copy 1600 · 11 copy 3300 · 6 launch 5100
//
//   GPU 0   stream 7    1 gemm 2000-3000 · 2 gemm 3000-3500 · 5 memset 4700-4800 · 4 relu 5200-5600 · 4 relu 5600-6000 ·
//                       10 copy out 8200-8600
//           stream 13   7 copy in 1900-2400 · 3 copy in 3200-3700 · 11 copy in 4000-4100 · 4 reduce 5800-6400
//           stream 21   6 all-reduce 5300-5500: a decoy, inside the projected time of trainer/backward, launched elsewhere
//   GPU 1   stream 7    8 epilogue 9700-10000
//
// The contract expects forward, backward and never on the GPU, and host-io on the CPU alone.
//
// nsight/joined has no projection, and names without colons. Ranges of process 1: forward 0-100, in it forward 20-60, and
// load 200-300; of process 2: forward 40-60. Calls of process 1: 6 at 0, 1 at 10, 2 (a graph) at 30, 5 at 40, 4 at 100,
// 3 (a copy) at 210; of process 2: 5 at 50. The GPU also ran something of call 77 and of a call without a number.
//
// nsight/doubtful has a projection that does not agree: forward 0-100 (3 calls by the projection) with calls 1 at 10 and 2
// at 20, the latter in cuBLAS:gemm 15-30, which the contract names; host 200-300 with 3, graph 400-500 with 4 (2 kernels,
// counted as 2), NCCL:send 880-950 with 5; late 600-700 StartEnd, of which the projection knows a call that no report has.

#[test]
fn reports_are_listed_with_what_became_of_them() {
    golden(
        "nsight/golden.jsonl",
        "gpu_reports",
        json!([
            [
                "cuda_gpu_trace",
                "gpu_trace",
                "available",
                "capture_cuda_gpu_trace.csv",
                12,
                1,
                null,
                ["sizes are rounded to 1000 bytes, as the report prints them"]
            ],
            ["cuda_gpu_kern_sum", "gpu_kernels", "available", "capture_cuda_gpu_kern_sum.csv", 5, 1, null, []],
            ["cuda_api_sum", "cuda_api", "available", "capture_cuda_api_sum.csv", 6, 1, null, []],
            ["cuda_gpu_mem_time_sum", "gpu_mem_time", "available", "capture_cuda_gpu_mem_time_sum.csv", 3, 1, null, []],
            ["nvtx_gpu_proj_trace", "nvtx_gpu_proj", "available", "capture_nvtx_gpu_proj_trace.csv", 7, 1, null, []],
            ["cuda_api_trace", "cuda_api_trace", "available", "capture_cuda_api_trace.csv", 12, 1, null, []],
            ["nvtx_pushpop_trace", "nvtx_pushpop_trace", "available", "capture_nvtx_pushpop_trace.csv", 6, 1, null, []],
            [null, null, "retained", "capture-manifest.json", null, null, null, []],
            [null, null, "retained", "capture.nsys-rep", null, null, null, []],
        ]),
    );
    golden("golden.jsonl", "gpu_reports", json!([]));
    golden_sql(
        "nsight/joined.jsonl",
        "SELECT * FROM gpu_sources",
        json!([["nsight-joined", true, true, false, true, true]]),
    );
    golden_sql(
        "nsight/busy.jsonl",
        "SELECT * FROM gpu_sources",
        json!([["nsight-busy", true, false, false, false, false]]),
    );
}

#[test]
fn ranges_of_both_reports_are_one() {
    golden_sql(
        "nsight/golden.jsonl",
        "SELECT range_number, label, name, default_domain, is_program, style, thread_id, level, start_ns, end_ns,
           projected_start_ns, projected_duration_ns, gpu_operations
         FROM nvtx_ranges ORDER BY range_number",
        json!([
            [1, "trainer/update", ":trainer/update", true, true, "PushPop", 100, 0, 1000, 9000, 2000, 6600, 6],
            [2, "trainer/forward", ":trainer/forward", true, true, "PushPop", 100, 1, 1100, 4000, 2000, 1700, 3],
            [3, "cuBLAS:gemm", "cuBLAS:gemm", false, false, "PushPop", 100, 2, 2050, 2500, 3000, 500, 1],
            [4, "trainer/backward", ":trainer/backward", true, true, "PushPop", 100, 1, 4500, 7000, 4700, 1700, 2],
            // It caused nothing: no projection has it.
            [5, "trainer/host-io", ":trainer/host-io", true, true, "PushPop", 100, 1, 7200, 7600, null, null, null],
            // The projection alone has these.
            [6, "trainer/prefetch", ":trainer/prefetch", true, true, "StartEnd", 101, 0, 1500, 3500, 1900, 2200, 2],
            [7, "trainer/prefetch", ":trainer/prefetch", true, true, "StartEnd", 101, 0, 3200, 4200, 4000, 100, 1],
            [8, "NCCL:all_reduce", "NCCL:all_reduce", false, false, "PushPop", 101, 0, 5050, 5250, 5300, 200, 1],
        ]),
    );
    // The synthetic root of the projection has no name. A library's range is the program's where the contract names it.
    golden_sql(
        "nsight/doubtful.jsonl",
        "SELECT label, default_domain, is_program, style FROM nvtx_ranges ORDER BY range_number",
        json!([
            ["forward", true, true, "PushPop"],
            ["cuBLAS:gemm", false, true, "PushPop"],
            ["host", true, true, "PushPop"],
            ["graph", true, true, "PushPop"],
            ["late", true, true, "StartEnd"],
            ["NCCL:send", false, false, "PushPop"],
        ]),
    );
    golden_sql(
        "nsight/golden.jsonl",
        "SELECT anchor_number, range_number, end_ns FROM range_covers ORDER BY anchor_number, range_number",
        json!([
            [1, 1, 9000],
            [2, 1, 9000],
            [2, 2, 4000],
            [3, 1, 9000],
            [3, 2, 4000],
            [3, 3, 2500],
            [4, 1, 9000],
            [4, 4, 7000],
            [5, 1, 9000],
            [5, 5, 7600],
            [6, 6, 3500],
            // 3200 is before 3500.
            [7, 6, 3500],
            [7, 7, 4200],
            [8, 8, 5250],
        ]),
    );
    golden_sql(
        "nsight/golden.jsonl",
        "SELECT anchor_number, label, end_ns FROM label_covers WHERE anchor_number IN (3, 7, 8) ORDER BY anchor_number, label",
        json!([
            [3, "trainer/forward", 4000],
            [3, "trainer/update", 9000],
            // Of two ranges with the label the one that closes last.
            [7, "trainer/prefetch", 4200],
        ]),
    );
}

#[test]
fn calls_are_joined_by_correlation_id_alone() {
    golden_sql(
        "nsight/joined.jsonl",
        "SELECT correlation_id, process_id, thread_id, start_ns, duration_ns, function, ambiguous, operations, kernels, graphs,
           gpu_time_ns, first_operation_row
         FROM gpu_calls ORDER BY correlation_id",
        json!([
            [1, 1, 1, 10, 5, "cudaLaunchKernel", false, 1, 1, 0, 10, 0],
            [2, 1, 1, 30, 5, "cudaGraphLaunch", false, 1, 0, 1, 20, 2],
            [3, 1, 1, 210, 10, "cudaMemcpyAsync", false, 1, 0, 0, 50, 3],
            [4, 1, 1, 100, 5, "cudaLaunchKernel", false, 1, 1, 0, 5, 4],
            // Both processes have a call 5.
            [5, null, null, null, null, null, true, 1, 1, 0, 7, 5],
            [6, 1, 1, 0, 5, "cudaLaunchKernel", false, 1, 1, 0, 10, 1],
        ]),
    );
    golden_sql(
        "nsight/joined.jsonl",
        "SELECT correlation_id, anchor_number, ambiguous FROM gpu_call_places ORDER BY correlation_id",
        json!([
            [1, 1, false],
            [2, 2, false],
            [3, 3, false],
            // The last to begin was the inner forward, and both are closed by then.
            [4, 2, false],
            [5, null, true],
            [6, 1, false],
        ]),
    );
    // Call 6 began in a library's range alone, call 8 in none; of the joined world, call 4 began after both were closed.
    golden_sql(
        "nsight/golden.jsonl",
        "SELECT correlation_id, cause_number, operations, gpu_time_ns FROM gpu_call_causes
         WHERE correlation_id IN (1, 4, 6, 8) ORDER BY correlation_id",
        json!([[1, 1, 1, 1000], [4, 1, 3, 1400], [6, 2, 1, 200], [8, 2, 1, 300]]),
    );
    golden_sql(
        "nsight/joined.jsonl",
        "SELECT correlation_id, cause_number FROM gpu_call_causes WHERE correlation_id >= 4 ORDER BY correlation_id",
        json!([[4, 2], [5, 3], [6, 1]]),
    );
    golden_sql(
        "nsight/joined.jsonl",
        "SELECT range_number, label, calls, operations FROM range_calls ORDER BY range_number",
        json!([[1, "forward", 3, 3], [2, "forward", 1, 1], [3, "load", 1, 1]]),
    );
    golden_sql(
        "nsight/golden.jsonl",
        "SELECT range_number, label, operation_row, correlation_id, start_ns, end_ns, kind, direction, name, bytes
         FROM range_operations WHERE range_number >= 3 ORDER BY range_number, operation_row",
        json!([
            [3, "cuBLAS:gemm", 2, 2, 3000, 3500, "kernel", null, "gemm(float *, int)", null],
            // The graph launch owns three kernels. The decoy ran from 5300 to 5500, and is not among them.
            [4, "trainer/backward", 5, 5, 4700, 4800, "memset", null, "[CUDA memset]", 0],
            [4, "trainer/backward", 6, 4, 5200, 5600, "kernel", null, "relu", null],
            [4, "trainer/backward", 8, 4, 5600, 6000, "kernel", null, "relu", null],
            [4, "trainer/backward", 9, 4, 5800, 6400, "kernel", null, "reduce", null],
            [6, "trainer/prefetch", 0, 7, 1900, 2400, "memcpy", "host_to_device", "[CUDA memcpy Host-to-Device]", 4000],
            // Launched at 3300, in both.
            [
                6,
                "trainer/prefetch",
                4,
                11,
                4000,
                4100,
                "memcpy",
                "host_to_device",
                "[CUDA memcpy Host-to-Device]",
                1000
            ],
            [
                7,
                "trainer/prefetch",
                4,
                11,
                4000,
                4100,
                "memcpy",
                "host_to_device",
                "[CUDA memcpy Host-to-Device]",
                1000
            ],
            [8, "NCCL:all_reduce", 7, 6, 5300, 5500, "kernel", null, "ncclDevKernel_AllReduce", null],
        ]),
    );
    // Once a label, in however many of its ranges; no label of a library.
    golden_sql(
        "nsight/golden.jsonl",
        "SELECT label, count(*), sum(duration_ns), sum(CASE WHEN is_first THEN call_ns END) FROM label_operations
         GROUP BY label ORDER BY label",
        json!([
            ["trainer/backward", 4, 1500, 350],
            ["trainer/forward", 3, 2000, 400],
            ["trainer/prefetch", 2, 600, 400],
            ["trainer/update", 8, 3900, 850],
        ]),
    );
}

#[test]
fn functions_that_launch_are_told_apart() {
    golden(
        "nsight/golden.jsonl",
        "gpu_launches",
        json!([
            ["cudaMemcpyAsync_v3020", 4, 4, 1, 0, 0, 1500, 700],
            ["cudaLaunchKernel_v7000", 4, 4, 1, 0, 0, 2000, 350],
            // One call owns three kernels.
            ["cudaGraphLaunch_v10000", 1, 3, 3, 0, 1, 1400, 300],
            ["cudaMemsetAsync_v3020", 1, 1, 1, 0, 0, 100, 50],
        ]),
    );
    golden(
        "nsight/joined.jsonl",
        "gpu_launches",
        json!([
            // 6, 1 and 4; not 5.
            ["cudaLaunchKernel", 3, 3, 1, 0, 0, 25, 15],
            ["cudaMemcpyAsync", 1, 1, 1, 0, 0, 50, 10],
            // One opaque row.
            ["cudaGraphLaunch", 1, 1, 1, 1, 1, 20, 5],
        ]),
    );
}

#[test]
fn the_ledger_compares_the_contract_with_what_was_seen() {
    golden(
        "nsight/golden.jsonl",
        "gpu_correlation",
        json!([
            ["trainer/backward", "gpu_expected", 1, false, "matched"],
            ["trainer/forward", "gpu_expected", 1, false, "matched"],
            ["trainer/host-io", "cpu_only", 0, false, "cpu_only"],
            ["trainer/never", "gpu_expected", 0, false, "missing_expected"],
            ["trainer/prefetch", "none", 2, true, "unexpected_observed"],
            ["trainer/update", "none", 1, false, "span"],
        ]),
    );
    // The contract tells neither side: all it requires is expected. By correlation id: the forward of process 2 has only
    // the ambiguous call.
    golden(
        "nsight/joined.jsonl",
        "gpu_correlation",
        json!([["forward", "gpu_expected", 2, true, "matched"], ["load", "gpu_expected", 1, false, "matched"]]),
    );
    golden(
        "nsight/doubtful.jsonl",
        "gpu_correlation",
        json!([
            ["cuBLAS:gemm", "gpu_expected", 1, false, "matched"],
            ["forward", "gpu_expected", 1, false, "matched"],
            ["graph", "gpu_expected", 1, false, "matched"],
            ["host", "cpu_only", 1, false, "unexpected_cpu_only"],
            ["late", "none", 1, false, "unexpected_observed"],
        ]),
    );
    // No range was read: nothing is known to be missing.
    golden("nsight/busy.jsonl", "gpu_correlation", json!([]));
    golden_sql(
        "nsight/golden.jsonl",
        "SELECT label, role FROM semantic_labels ORDER BY label",
        json!([
            ["trainer/backward", "gpu_expected"],
            ["trainer/forward", "gpu_expected"],
            ["trainer/host-io", "cpu_only"],
            ["trainer/never", "gpu_expected"],
        ]),
    );
    golden("nsight/golden.jsonl", "gpu_idle_labels", json!([["trainer/never", 0, 0, 0, "no_range"]]));
    // It copied.
    golden("nsight/joined.jsonl", "gpu_idle_labels", json!([["load", 1, null, 1, "no_kernel"]]));
}

#[test]
fn a_phase_has_the_work_that_was_launched_in_it() {
    golden(
        "nsight/golden.jsonl",
        "gpu_phases",
        json!([
            // Busy 2000-3700, 4700-4800, 5200-6400, 8200-8600; copies alone 3500-3700 and 8200-8600; calls 100 + 100 + 200 +
            // 50 + 300 + 100.
            [
                "trainer/update",
                "none",
                "exact",
                null,
                1,
                2000,
                6600,
                3400,
                8,
                6,
                6,
                5,
                2900,
                0,
                2,
                900,
                600,
                850,
                3400.0 / 6600.0
            ],
            // Kernels 2000-3500, the copy 3200-3700.
            [
                "trainer/forward",
                "gpu_expected",
                "exact",
                null,
                1,
                2000,
                1700,
                1700,
                3,
                3,
                3,
                2,
                1500,
                0,
                1,
                500,
                200,
                400,
                1.0
            ],
            // The memset 4700-4800, kernels 5200-6400; the decoy adds nothing.
            [
                "trainer/backward",
                "gpu_expected",
                "exact",
                null,
                1,
                4700,
                1700,
                1300,
                4,
                2,
                2,
                3,
                1400,
                0,
                0,
                0,
                0,
                350,
                1300.0 / 1700.0
            ],
            // Two ranges: 2200 + 100 projected, 2 + 1 calls counted, and two operations.
            [
                "trainer/prefetch",
                "none",
                "exact",
                null,
                2,
                1900,
                2300,
                600,
                2,
                2,
                3,
                0,
                0,
                0,
                2,
                600,
                600,
                400,
                600.0 / 2300.0
            ],
        ]),
    );
    let unconfirmed = "no nvtx_gpu_proj_trace was read that could confirm the count";
    golden(
        "nsight/joined.jsonl",
        "gpu_phases",
        json!([
            [
                "load",
                "gpu_expected",
                "correlated",
                unconfirmed,
                1,
                null,
                null,
                50,
                1,
                1,
                null,
                0,
                0,
                0,
                1,
                50,
                50,
                10,
                null
            ],
            // GPU 0 1000-1030, of which the graph 20; GPU 1 1005-1015. Work of the inner range is that of the outer.
            [
                "forward",
                "gpu_expected",
                "correlated",
                unconfirmed,
                2,
                null,
                null,
                40,
                3,
                3,
                null,
                2,
                20,
                1,
                0,
                0,
                0,
                15,
                null
            ],
        ]),
    );
    let counts = |projected: u64, joined: u64| {
        format!(
            "Nsight Systems counts {projected} calls in its ranges, {joined} were joined by correlation id; ranges that differ: \
             1"
        )
    };
    golden(
        "nsight/doubtful.jsonl",
        "gpu_phases",
        json!([
            // 1200-1210 and 1205-1215; the projection counts its operations, not its call.
            ["graph", "gpu_expected", "exact", null, 1, 1200, 15, 15, 2, 1, 2, 2, 20, 0, 0, 0, 0, 2, 1.0],
            ["cuBLAS:gemm", "gpu_expected", "exact", null, 1, 1010, 10, 10, 1, 1, 1, 1, 10, 0, 0, 0, 0, 2, 1.0],
            ["host", "cpu_only", "exact", null, 1, 1100, 4, 4, 1, 1, 1, 0, 0, 0, 0, 0, 0, 2, 1.0],
            [
                "late",
                "none",
                "projected_only",
                counts(1, 0),
                1,
                1600,
                50,
                null,
                null,
                null,
                1,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null
            ],
            [
                "forward",
                "gpu_expected",
                "projected_only",
                counts(3, 2),
                1,
                1000,
                20,
                null,
                null,
                null,
                3,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null
            ],
        ]),
    );
    golden_sql(
        "nsight/doubtful.jsonl",
        "SELECT label, attribution, all_ranges, projected_ranges, working_ranges FROM label_attribution ORDER BY label",
        json!([
            ["cuBLAS:gemm", "exact", 1, 1, 1],
            ["forward", "projected_only", 1, 1, 1],
            ["graph", "exact", 1, 1, 1],
            ["host", "exact", 1, 1, 1],
            ["late", "projected_only", 1, 1, 1],
        ]),
    );
}

#[test]
fn a_phase_shows_its_kernels_and_copies() {
    golden(
        "nsight/golden.jsonl",
        "gpu_phase_kernels",
        json!([
            ["trainer/backward", "relu", 2, 800, 400, 800.0 / 1400.0],
            ["trainer/backward", "reduce", 1, 600, 600, 600.0 / 1400.0],
            ["trainer/forward", "gemm(float *, int)", 2, 1500, 1000, 1.0],
            ["trainer/update", "gemm(float *, int)", 2, 1500, 1000, 1500.0 / 2900.0],
            ["trainer/update", "relu", 2, 800, 400, 800.0 / 2900.0],
            ["trainer/update", "reduce", 1, 600, 600, 600.0 / 2900.0],
        ]),
    );
    golden(
        "nsight/golden.jsonl",
        "gpu_phase_copies",
        json!([
            // The report prints thousands of bytes: 0 are fewer than 500.
            ["trainer/backward", "memset", null, 1, 0, 1000, 100],
            ["trainer/forward", "memcpy", "host_to_device", 1, 8000, 1000, 500],
            ["trainer/prefetch", "memcpy", "host_to_device", 2, 5000, 1000, 600],
            ["trainer/update", "memcpy", "host_to_device", 1, 8000, 1000, 500],
            ["trainer/update", "memcpy", "device_to_host", 1, 2000, 1000, 400],
            ["trainer/update", "memset", null, 1, 0, 1000, 100],
        ]),
    );
}

#[test]
fn what_belongs_to_no_label_is_told() {
    golden("nsight/golden.jsonl", "gpu_attribution_totals", json!([[12, 5000, 10, 4500, 2, 500, 0.1, 0, 0, 0, 0]]));
    golden(
        "nsight/golden.jsonl",
        "gpu_attribution_gaps",
        json!([
            ["outside", "kernel", "epilogue", 1, 300, 0.06],
            // Launched in a library's range, and in none of the program.
            ["outside", "kernel", "ncclDevKernel_AllReduce", 1, 200, 0.04],
        ]),
    );
    // Calls 6, 1, 2, 3 of 10 + 10 + 20 + 50; call 4, which began as forward closed; call 5 of two processes; 77 and none.
    golden("nsight/joined.jsonl", "gpu_attribution_totals", json!([[8, 107, 4, 90, 1, 5, 5.0 / 107.0, 1, 7, 2, 5]]));
    golden(
        "nsight/joined.jsonl",
        "gpu_attribution_gaps",
        json!([
            ["ambiguous", "kernel", "k", 1, 7, 7.0 / 107.0],
            ["without_call", "kernel", "k", 2, 5, 5.0 / 107.0],
            ["outside", "kernel", "tail", 1, 5, 5.0 / 107.0],
        ]),
    );
    // No call was read.
    golden("nsight/busy.jsonl", "gpu_attribution_totals", json!([]));
    golden("nsight/busy.jsonl", "gpu_attribution_gaps", json!([]));
}
