#!/usr/bin/env python3
"""Times what reads Nsight reports, at a size.

    cargo build --release --features all --bins --example digits
    BIN=target/release/candle-graph DIGITS=target/release/examples/digits benches/nsight.py [OPERATIONS] [JOINED]

Two made-up captures, each given to the trace of one run of the digits example:

* a timeline: `cuda_gpu_trace` alone, OPERATIONS rows (5,000,000) with names as long as real ones. How fast it is read
  on one core, beside `sha256sum` of the same file, which reads each byte once too; then the kernels ranked from the
  bundle that was published of it, beside DuckDB over the same Parquet.
* a joined capture: JOINED operations (1,000,000), as many calls, and a range for every twenty calls, in stacks of two
  to four on two threads. Every kind of GPU question, then `overview` and `report`.

Seconds are wall times of whole processes; CPU is user and system time; memory is the peak of the process.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN, DIGITS = os.environ["BIN"], os.environ["DIGITS"]
TRACE_HEAD = (
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),"
    "Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name"
)
CALL_HEAD = "Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name"
RANGE_HEAD = "Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild (ns),Name,PID,TID,Lvl,NumChild,RangeId,ParentId,RangeStack,NameTree"
LONG = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_{0}x128_64x3_tn_align{0}>(T1::Params), at::native::vectorized_elementwise_kernel<(int){0}, at::native::CUDAFunctor_add<float>, std::array<char *, (unsigned long)3>>(int, T2, T3)"
KERNELS = [f'"{LONG.format(n)}"' for n in range(40)]


def operation(rng, at, start):
    """One row of the timeline, and when the next begins."""
    length = rng.randrange(1_000, 40_000)
    if at % 10 == 0:
        copied = f"{rng.randrange(1, 9000) / 1000:.3f},{rng.randrange(9000)}.500,Pinned,Device"
        row = f"{start},{length},{at},,,,,,,,,,{copied},NVIDIA H100 (0),1,,14,[CUDA memcpy Host-to-Device]"
    else:
        name = KERNELS[rng.randrange(40)]
        shape = f"{rng.randrange(1, 9) * 64},1,1,128,1,1,32,0.000,0.049"
        row = f"{start},{length},{at},{shape},,,,,NVIDIA H100 (0),1,,{7 + at % 3},{name}"
    return row, start + length + rng.randrange(0, 2_000)


def timeline(path, operations):
    rng, start = random.Random(5), 10**9
    with path.open("w") as out:
        out.write(TRACE_HEAD + "\n")
        for at in range(1, operations + 1):
            row, start = operation(rng, at, start)
            out.write(row + "\n")


def joined(folder, operations):
    """Operations, their calls, and ranges around those; each call begins in every range of the stack that is open."""
    rng, gpu, host = random.Random(7), 10**9, 10**9
    labels = ["step", "forward", "attention", "feed-forward", "loss", "backward", "optimizer"]
    with (folder / "x_cuda_gpu_trace.csv").open("w") as trace, (folder / "x_cuda_api_trace.csv").open("w") as calls, (
        folder / "x_nvtx_pushpop_trace.csv"
    ).open("w") as ranges:
        for out, head in [(trace, TRACE_HEAD), (calls, CALL_HEAD), (ranges, RANGE_HEAD)]:
            out.write(head + "\n")
        number, at = 0, 0
        while at < operations:
            depth, tid, begun = 2 + number % 3, 100 + number % 2, host
            count = min(20 * depth, operations - at)
            for _ in range(count):
                at += 1
                row, gpu = operation(rng, at, gpu)
                trace.write(row + "\n")
                host += 2_000
                calls.write(f"{host},1500,cudaLaunchKernel,0,{at},1,{tid},20,main\n")
            host += 5_000
            for level in range(depth):
                number += 1
                start, end = begun + level, host - level
                name = labels[0] if level == 0 else labels[1 + rng.randrange(6)]
                ranges.write(
                    f"{start},{end},{end - start},0,{end - start},:{name},1,{tid},{level},0,{number},,:{number},:{name}\n"
                )
            host += 1_000


def run(*command, cores=None, check=True):
    """Wall seconds, CPU seconds, MiB."""
    if cores:
        command = ["taskset", "-c", cores, *command]
    with tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        if status and check:
            errors.seek(0)
            sys.exit(f"{command[:4]} failed: {errors.read().decode(errors='replace')[:400]}")
        failed = " FAILED" if status else ""
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, failed


def say(what, measured, remark=""):
    wall, cpu, memory, failed = measured
    print(f"{what:<52} {wall:8.2f} s  {cpu:8.2f} s CPU  {memory:7.0f} MiB{failed}  {remark}", flush=True)


def main():
    operations = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    work = Path(tempfile.mkdtemp(dir=os.environ.get("WORK")))
    try:
        trace = work / "digits.trace"
        # The data of the example lies in the repository.
        subprocess.run([DIGITS, str(trace)], check=True, capture_output=True, cwd=Path(__file__).resolve().parents[1])
        if operations:
            folder = work / "timeline"
            folder.mkdir()
            source = folder / "x_cuda_gpu_trace.csv"
            timeline(source, operations)
            size = source.stat().st_size
            print(f"timeline: {operations:,} rows, {size / 1e6:,.0f} MB, {size / operations:.0f} B a row")
            run("cat", source)
            hashed = run("sha256sum", source)
            say("sha256sum of the file", hashed, f"{size / hashed[0] / 1e6:.0f} MB/s")
            with_reports = ["sql", trace, "SELECT count(*) FROM gpu_trace", "--nsight-dir", folder]
            read = run(BIN, *with_reports, cores="0")
            say("read and counted, one core", read, f"{size / read[0] / 1e6:.0f} MB/s, hashed too")
            say("report --bundle", run(BIN, "report", trace, "--nsight-dir", folder, "--bundle", work / "b"))
            say("query gpu-kernels of the bundle", run(BIN, "query", work / "b", "--kind", "gpu-kernels"))
            say("sql --query gpu_hotspots of the bundle", run(BIN, "sql", work / "b", "--query", "gpu_hotspots"))
            say("verify the bundle", run(BIN, "verify", work / "b"))
            table = work / "b/tables/gpu_trace.parquet"
            query = (Path(__file__).resolve().parents[1] / "queries/gpu_hotspots.sql").read_text()
            duck = "import duckdb, sys; c = duckdb.connect(); c.execute('SET threads=2'); " + (
                "c.execute(f\"CREATE VIEW gpu_trace AS SELECT * FROM read_parquet('{sys.argv[1]}')\"); c.sql(sys.argv[2]).fetchall()"
            )
            say("the same SQL in DuckDB, its start included", run(sys.executable, "-c", duck, table, query, check=False))
        if calls:
            folder = work / "joined"
            folder.mkdir()
            joined(folder, calls)
            ranges = sum(1 for _ in (folder / "x_nvtx_pushpop_trace.csv").open()) - 1
            print(f"joined: {calls:,} operations, {calls:,} calls, {ranges:,} ranges")
            given = ["--nsight-dir", folder]
            for kind in ["gpu-status", "gpu-correlation", "gpu-phases", "gpu-kernels", "gpu-attribution-gaps"]:
                say(f"query {kind}", run(BIN, "query", trace, "--kind", kind, *given, check=False))
            say("overview", run(BIN, "overview", trace, *given, check=False))
            say("report", run(BIN, "report", trace, *given, "--bundle", work / "j", check=False))
            say("overview of the bundle", run(BIN, "overview", work / "j", check=False))
    finally:
        shutil.rmtree(work)


main()
