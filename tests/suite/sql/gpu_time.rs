//! Rows of the queries about when each GPU worked and what its kernels and copies cost.

use serde_json::json;

use super::{golden, golden_sql};

// nsight/busy, in ns; the report's rows are in no order:
//
//   A (0)   stream 7    gemm 100-300 · relu 300-350 · relu 500-500 · memset 800-820 · gemm 900-1000 (another grid)
//           stream 13   copy in 150-250 · copy out 320-450 · copy in 650-820 · relu 900-950
//           stream 21   graph 600-700 · something new 900-960
//   B (1)   stream 7    relu 0-40 · gemm 40-40 (context 2) · copy 70-100 (context 3)
//   no name             gemm 5-10

#[test]
fn a_gpu_is_busy_while_anything_runs() {
    golden(
        "nsight/busy.jsonl",
        "gpu_busy",
        json!([
            // Busy 350 + 0 + 220 + 100. Kernels and the graph 250 + 100 + 100; copies 100 + 130 + 170, of which 100, 30
            // and 50 beside a kernel or the graph.
            ["A (0)", 100, 1000, 900, 670, 230, 670.0 / 900.0, 11, 5, 1, 3, 450, 400, 180, 220, 3],
            // The same stream number in two contexts is two streams.
            ["B (1)", 0, 100, 100, 70, 30, 0.7, 3, 2, 0, 1, 40, 30, 0, 30, 2],
            [null, 5, 10, 5, 5, 0, 1.0, 1, 1, 0, 0, 5, 0, 0, 0, 0],
        ]),
    );
    golden(
        "nsight/golden.jsonl",
        "gpu_busy",
        json!([
            // Busy 1900-3700, 4000-4100, 4700-4800, 5200-6400, 8200-8600. Kernels 2000-3500 and 5200-6400. Copies 500 +
            // 500 + 100 + 400, of which 2000-2400 and 3200-3500 beside a kernel.
            ["NVIDIA H200 (0)", 1900, 8600, 6700, 3600, 3100, 3600.0 / 6700.0, 11, 6, 0, 4, 2700, 1500, 700, 800, 3],
            ["NVIDIA H200 (1)", 9700, 10000, 300, 300, 0, 1.0, 1, 1, 0, 0, 300, 0, 0, 0, 1],
        ]),
    );
}

#[test]
fn operations_that_touch_are_one_stretch() {
    golden_sql(
        "nsight/busy.jsonl",
        "SELECT device, start_ns, end_ns, operations FROM gpu_unions ORDER BY device NULLS LAST, start_ns",
        json!([
            ["A (0)", 100, 450, 4],
            // A moment of work.
            ["A (0)", 500, 500, 1],
            ["A (0)", 600, 820, 3],
            ["A (0)", 900, 1000, 3],
            ["B (1)", 0, 40, 2],
            ["B (1)", 70, 100, 1],
            [null, 5, 10, 1],
        ]),
    );
    golden_sql(
        "nsight/busy.jsonl",
        "SELECT * FROM gpu_devices ORDER BY device_number",
        json!([
            ["nsight-busy", "A (0)", 1, 11, 100, 1000],
            ["nsight-busy", "B (1)", 2, 3, 0, 100],
            ["nsight-busy", null, 3, 1, 5, 10],
        ]),
    );
}

#[test]
fn gaps_name_what_ended_and_what_began() {
    golden(
        "nsight/busy.jsonl",
        "gpu_idle",
        json!([
            ["A (0)", 500, 600, 100, "relu", "[CUDA Graph 3]"],
            // The memset ended at 820 too, and began later; of the three that began at 900 relu ended first.
            ["A (0)", 820, 900, 80, "[CUDA memcpy Host-to-Device]", "relu"],
            ["A (0)", 450, 500, 50, "[CUDA memcpy DtoH]", "relu"],
            // gemm without length ended at 40 as well.
            ["B (1)", 40, 70, 30, "relu", "[CUDA memcpy Device-to-Device]"],
        ]),
    );
    golden("golden.jsonl", "gpu_idle", json!([]));
}

#[test]
fn hotspots_add_up_every_execution() {
    golden(
        "nsight/busy.jsonl",
        "gpu_hotspots",
        json!([
            // 0, 5, 100, 200: the median is 5 + 95 / 2; the 99th percentile has rank 3 x 0.99 = 2.97: 100 + 0.97 x 100.
            ["gemm", 4, 305, 76.25, 52.5, 197.0, 200, 305.0 / 445.0, 2],
            // 0, 40, 50, 50, on three streams and two GPUs; no shape is printed.
            ["relu", 4, 140, 35.0, 45.0, 50.0, 50, 140.0 / 445.0, null],
        ]),
    );
    golden(
        "nsight/golden.jsonl",
        "gpu_hotspots",
        json!([
            // 500 and 1000: rank 0.99.
            ["gemm(float *, int)", 2, 1500, 750.0, 750.0, 995.0, 1000, 1500.0 / 3400.0, 2],
            ["relu", 2, 800, 400.0, 400.0, 400.0, 400, 800.0 / 3400.0, 1],
            ["reduce", 1, 600, 600.0, 600.0, 600.0, 600, 600.0 / 3400.0, 1],
            ["epilogue", 1, 300, 300.0, 300.0, 300.0, 300, 300.0 / 3400.0, 1],
            ["ncclDevKernel_AllReduce", 1, 200, 200.0, 200.0, 200.0, 200, 200.0 / 3400.0, 1],
        ]),
    );
}

#[test]
fn summaries_are_as_printed() {
    golden(
        "nsight/busy.jsonl",
        "gpu_kernel_summary",
        json!([
            ["gemm", 3, 205, 46.1, 68.3, 5.0, 0, 200, 113.9, [1, 1, 1], [128, 1, 1]],
            ["relu", 4, 140, 31.5, 35.0, 45.0, 0, 50, 23.8, [16, 1, 1], [256, 1, 1]],
            ["gemm", 1, 100, 22.5, 100.0, 100.0, 100, 100, 0.0, [2, 1, 1], [128, 1, 1]],
        ]),
    );
    // A report of 2021 has no median.
    golden(
        "nsight/busy.jsonl",
        "cuda_api_functions",
        json!([
            ["cudaLaunchKernel", 3, 300, 75.0, 100.0, null, 50, 150, 50.0],
            ["cudaMemcpyAsync", 1, 100, 25.0, 100.0, null, 100, 100, 0.0],
        ]),
    );
}

#[test]
fn copies_and_memsets_go_by_kind_and_direction() {
    golden(
        "nsight/busy.jsonl",
        "gpu_memory_operations",
        json!([
            ["memcpy", "host_to_device", 2, 5120, 1, 270, 270.0 / 510.0],
            ["memcpy", "device_to_host", 1, 512, 1, 130, 130.0 / 510.0],
            // No size is printed: unknown, not 0.
            ["other", null, 1, null, null, 60, 60.0 / 510.0],
            ["memcpy", "device_to_device", 1, null, null, 30, 30.0 / 510.0],
            ["memset", null, 1, 256, 1, 20, 20.0 / 510.0],
        ]),
    );
    golden(
        "nsight/golden.jsonl",
        "gpu_memory_operations",
        json!([
            // 0.004 + 0.008 + 0.001 MB, each rounded to a thousand bytes.
            ["memcpy", "host_to_device", 3, 13000, 1000, 1100, 0.6875],
            ["memcpy", "device_to_host", 1, 2000, 1000, 400, 0.25],
            ["memset", null, 1, 0, 1000, 100, 0.0625],
        ]),
    );
}
