#!/usr/bin/env python3
"""Times `compare` at a size: two cohorts of five runs, then of a thousand, each run of 10,000 operations.

    cargo build --release --features all --bins --example scale
    export BIN=target/release/candle-graph SCALE=target/release/examples/scale
    benches/compare.py [OPERATIONS] [RUNS]...

Needs pyarrow. A few runs are real recordings of the example; the others are these with a run id, a start and a wall
time of their own, their recorded tables written anew. What a bundle holds beside them, and no comparison reads but its
hash, is one file with many links, so that a thousand bundles need 0.5 GB and not 2. RIVAL names the program of
candle-graph 0.10.1: it then publishes and compares the first five of each cohort, from the same lines.

Seconds are wall times of whole processes, the best of three where one takes below ten seconds; CPU is user and system
time; memory is the peak of the process.
"""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone
from multiprocessing import Pool
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

BIN, SCALE = Path(os.environ["BIN"]).resolve(), Path(os.environ["SCALE"]).resolve()
RECORDED = ["spans", "ops", "tensors", "memory"]
# Real recordings of which the runs of a cohort are made.
TEMPLATES = 3
# Bars: runs a cohort, seconds, MiB.
BARS = {5: (1.0, None), 1000: (60.0, 1000)}
IDENTITY = {
    "workload_id": "scale::update",
    "model_id": "scale",
    "config_id": "default",
    "data_id": "none",
    "seed_policy": "fixed",
    "physical_batch": 1,
    "accumulation_steps": 1,
    "precision": "f32",
    "device_state": "cpu",
}
START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def run(*command):
    """Wall seconds, CPU seconds, MiB."""
    with tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        if status:
            errors.seek(0)
            sys.exit(f"{command[:2]} failed: {errors.read().decode(errors='replace')[:400]}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def say(what, measured, remark=""):
    wall, cpu, memory = measured
    print(f"{what:<40} {wall:8.2f} s  {cpu:8.2f} s CPU  {memory:7.0f} MiB  {remark}", flush=True)


def template(folder, operations):
    """A real recording, published; and what its copies share: the rest of the files with their hashes."""
    trace = folder.with_suffix(".trace")
    subprocess.run([SCALE, trace, str(operations)], check=True, capture_output=True)
    subprocess.run([BIN, "report", trace, "--bundle", folder], check=True, capture_output=True)
    shutil.rmtree(trace)


def derived(arguments):
    """One run of a cohort from a template."""
    source, bundle, cohort, number, place = arguments
    rng = random.Random(f"{cohort} {number}")
    record = json.loads((source / "run.json").read_bytes())
    started = START + timedelta(seconds=10 * place)
    # The candidate is 3 % slower, and both vary by 2 %; what is added to the region is added to what encloses it.
    share = rng.gauss(0.03 if cohort == "candidate" else 0.0, 0.02)
    more = max(0, int((0.2 + share) * record["ended_ns"]))
    record |= {
        "run_id": f"run-{cohort}-{number:04}",
        "timestamp": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "ended_ns": record["ended_ns"] + more,
        "comparison_identity": {**IDENTITY, "implementation_id": cohort},
    }
    (bundle / "tables").mkdir(parents=True)
    changed = {"run.json": (json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()}
    for name in RECORDED:
        table = pq.read_table(source / f"tables/{name}.parquet", partitioning=None)
        metadata = {**table.schema.metadata, b"candle_graph.run_id": record["run_id"].encode()}
        field = table.schema.field("run_id")
        ids = pa.array([record["run_id"]], field.type).take(pa.array([0] * len(table)))
        table = table.set_column(0, field, ids)
        if name == "spans":
            spans = table.to_pydict()
            outer = [m or p is None for m, p in zip(spans["measured"], spans["parent_id"])]
            longer = [d + more if o else d for d, o in zip(spans["duration_ns"], outer)]
            at = table.schema.get_field_index("duration_ns")
            table = table.set_column(at, table.schema.field(at), pa.array(longer, pa.int64()))
        sink = pa.BufferOutputStream()
        pq.write_table(table.replace_schema_metadata(metadata), sink, compression="zstd")
        changed[f"tables/{name}.parquet"] = sink.getvalue().to_pybytes()
    manifest = json.loads((source / "bundle.json").read_bytes())
    manifest["run_id"] = record["run_id"]
    for entry in manifest["files"]:
        data = changed.get(entry["path"])
        if data is None:
            os.link(source / entry["path"], bundle / entry["path"])
        else:
            (bundle / entry["path"]).write_bytes(data)
            entry |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (bundle / "bundle.json").write_text(json.dumps(manifest, indent=2) + "\n")
    return bundle


def cohorts(work, operations, runs):
    """Two cohorts in turn: ABBA."""
    for number in range(TEMPLATES):
        template(work / f"template-{number}", operations)
    jobs = []
    for number in range(runs):
        pair = ["baseline", "candidate"] if number % 2 == 0 else ["candidate", "baseline"]
        for at, cohort in enumerate(pair):
            source = work / f"template-{number % TEMPLATES}"
            jobs.append((source, work / cohort / f"{number:04}", cohort, number, 2 * number + at))
    with Pool() as pool:
        made = pool.map(derived, jobs, chunksize=8)
    return {cohort: [b for b in made if b.parent.name == cohort] for cohort in ["baseline", "candidate"]}


def republished(rival, bundle, work):
    """The same run as the other program's bundle."""
    lines, to = work / "lines.jsonl", work / "rival" / bundle.parent.name / bundle.name
    to.parent.mkdir(parents=True, exist_ok=True)
    lines.unlink(missing_ok=True)
    subprocess.run([BIN, "export", bundle, "--format", "jsonl", "-o", lines], check=True)
    subprocess.run([rival, "report", lines, "--bundle", to], check=True, stdout=subprocess.DEVNULL)
    return to


def compare(binary, of, runs):
    command = [binary, "compare", "--baseline", *of["baseline"][:runs], "--candidate", *of["candidate"][:runs]]
    best = run(*command)
    for _ in range(2 if best[0] < 10 else 0):
        best = min(best, run(*command))
    return best


def main():
    operations = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    sizes = sorted(int(n) for n in sys.argv[2:]) or list(BARS)
    work = Path(tempfile.mkdtemp(dir=os.environ.get("WORK")))
    try:
        of = cohorts(work, operations, sizes[-1])
        print(f"{operations:,} operations a run")
        for runs in sizes:
            measured = compare(BIN, of, runs)
            seconds, memory = BARS.get(runs, (None, None))
            bars = [f"bar {seconds:.0f} s"] if seconds else []
            bars += [f"{memory} MiB"] if memory else []
            say(f"compare 2 x {runs}", measured, ", ".join(bars))
        if rival := os.environ.get("RIVAL"):
            theirs = {cohort: [republished(rival, bundle, work) for bundle in of[cohort][:5]] for cohort in of}
            say("candle-graph 0.10.1 compare 2 x 5", compare(rival, theirs, 5))
    finally:
        if not os.environ.get("KEEP"):
            shutil.rmtree(work)


main()
