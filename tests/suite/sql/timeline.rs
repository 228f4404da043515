//! Rows of the queries that a timeline and a graph are drawn from: facts as they were recorded, in the order of drawing.

use serde_json::json;

use super::golden;

#[test]
fn operations_come_by_thread_and_then_by_time() {
    golden(
        "golden.jsonl",
        "timeline_ops",
        json!([
            // The stream names no thread of an operation.
            [null, 250, 40, 6, "s5", 0, "matmul", [2, 3], "f32", "cpu", 30, 24, 48],
            [null, 300, 60, 9, "s2", 0, "matmul", [2, 3], "f32", "cpu", null, null, 2],
            [null, 310, 100, 10, "s3", 0, "add", [3], "f32", "cpu", null, 12, 24],
            [null, 360, 0, 15, "s2", 1, "matmul", [], "f16", "cpu", null, 2, 4],
        ]),
    );
}

#[test]
fn device_intervals_come_by_clock_and_stream() {
    golden(
        "activations.jsonl",
        "timeline_device",
        json!([
            ["cuda:0", "c0", "7", 0, 10, 8, "s4", "matmul", "cuda"],
            ["cuda:0", "c0", "7", 100, 5, 10, "s4", "matmul", "cuda"],
            ["cuda:0", "c0", "7", 200, 50, 17, "s5", "two ops", "cuda"],
            ["cuda:0", "c0", "8", 5, 10, 9, "s4", "matmul", "cuda"],
            // Another clock, whatever its times say.
            ["cuda:0", "c1", "7", 3, 4, 11, "s4", "matmul", "cuda"],
        ]),
    );
}

#[test]
fn gpu_operations_come_by_stream_and_keep_their_place_in_the_report() {
    golden(
        "nsight/busy.jsonl",
        "timeline_gpu",
        json!([
            ["A (0)", 1, 7, 100, 200, 3, "kernel", null, "gemm", null, 1],
            ["A (0)", 1, 7, 300, 50, 4, "kernel", null, "relu", null, 2],
            ["A (0)", 1, 7, 500, 0, 7, "kernel", null, "relu", null, 5],
            ["A (0)", 1, 7, 800, 20, 10, "memset", null, "[CUDA memset]", 256, 8],
            ["A (0)", 1, 7, 900, 100, 0, "kernel", null, "gemm", null, 9],
            ["A (0)", 1, 13, 150, 100, 5, "memcpy", "host_to_device", "[CUDA memcpy Host-to-Device]", 1024, 3],
            ["A (0)", 1, 13, 320, 130, 6, "memcpy", "device_to_host", "[CUDA memcpy DtoH]", 512, 4],
            ["A (0)", 1, 13, 650, 170, 9, "memcpy", "host_to_device", "[CUDA memcpy Host-to-Device]", 4096, 7],
            ["A (0)", 1, 13, 900, 50, 2, "kernel", null, "relu", null, 11],
            ["A (0)", 1, 21, 600, 100, 8, "graph", null, "[CUDA Graph 3]", null, 6],
            ["A (0)", 1, 21, 900, 60, 1, "other", null, "[something new]", null, 10],
            ["B (1)", 2, 7, 0, 40, 11, "kernel", null, "relu", null, 12],
            ["B (1)", 2, 7, 40, 0, 12, "kernel", null, "gemm", null, 13],
            ["B (1)", 3, 7, 70, 30, 13, "memcpy", "device_to_device", "[CUDA memcpy Device-to-Device]", null, 14],
            // A row that names no GPU comes last.
            [null, null, null, 5, 5, 14, "kernel", null, "gemm", null, 15],
        ]),
    );
}

#[test]
fn ranges_come_by_thread_and_depth() {
    golden(
        "nsight/joined.jsonl",
        "timeline_ranges",
        json!([
            [1, 1, 0, 0, 100, 0, "forward"],
            [1, 1, 0, 200, 100, 2, "load"],
            [1, 1, 1, 20, 40, 1, "forward"],
            // Another process.
            [2, 1, 0, 40, 20, 3, "forward"],
        ]),
    );
}

#[test]
fn flow_comes_in_order_of_recording() {
    golden(
        "numerics.jsonl",
        "flow",
        json!([
            [1, "op", "s2", "matmul", "W", "H"],
            [1, "op", "s2", "matmul", "X", "H"],
            [4, "op", "s2", "relu", "H", "R"],
            [5, "op", "s5", "log", "R", "L"],
            [10, "op", "s5", "mul", "L", "Q"],
            [11, "op", "s5", "sum", "Q", "S"],
            [11, "op", "s5", "sum", "R", "S"],
            [16, "op", "s3", "backward", "S", "GW"],
            [17, "edge", null, null, "S", "GB"],
            [24, "edge", null, null, "GW", "W"],
            [25, "op", "s3", "add_", "W", "W"],
        ]),
    );
}
