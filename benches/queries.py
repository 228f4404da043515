#!/usr/bin/env python3
"""Times every query of queries/ beside DuckDB, on the same Parquet files and with the same result.

    cargo build --release --features all --bins --example scale
    BIN=target/release/candle-graph SCALE=target/release/examples/scale benches/queries.py [OPERATIONS] [QUERY…]

Each side is a process of its own with two threads and 2 GiB for its engine, and writes the rows as Parquet with zstd.
Ours is timed whole, from its start to its end; DuckDB from the statement to its end, without the start of Python. The
table says for each query the median of three runs (one where a run takes over ten seconds), the ratio, and both peaks
of memory. Rows and the sums of the integer columns must agree.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
QUERIES = ROOT / "queries"
BIN, SCALE = os.environ["BIN"], os.environ["SCALE"]
LIMIT_MIB = 2048
RUNS, LONG_S, PATIENCE_S = 3, 5, 150

DUCK = r"""
import json, sys, time, resource, duckdb
files, views, text, out, limit = json.load(sys.stdin)
c = duckdb.connect()
c.execute(f"SET threads=2; SET memory_limit='{limit}MiB'; SET enable_progress_bar=false")
for name, file in files.items(): c.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{file}')")
for name, view in views.items(): c.execute(f"CREATE VIEW {name} AS {view}")
began = time.perf_counter()
c.execute(f"COPY ({text}) TO '{out}' (FORMAT parquet, COMPRESSION zstd)")
print(json.dumps([time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def views():
    """Every view, each after those it reads."""
    texts = {p.stem: p.read_text() for p in (QUERIES / "views").glob("*.sql")}
    reads = {n: re.search(r"^-- Reads: (.*)$", t, re.M).group(1).split(", ") for n, t in texts.items()}
    ordered = {}
    while len(ordered) < len(texts):
        ready = [n for n in sorted(texts) if n not in ordered and all(r in ordered or r not in texts for r in reads[n])]
        ordered.update({n: texts[n] for n in ready})
    return ordered


def own(trace, text, out):
    """Seconds and MiB of one run; an error's text where it fails."""
    command = [BIN, "sql", trace, text, "--memory-limit", str(LIMIT_MIB), "--format", "parquet", "-o", out]
    with tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.perf_counter() - began > PATIENCE_S:
                process.kill()
                os.wait4(process.pid, 0)
                return f"more than {PATIENCE_S} s"
            time.sleep(0.002)
        seconds = time.perf_counter() - began
        if status:
            errors.seek(0)
            return errors.read().decode(errors="replace").strip()[:160]
    return seconds, usage.ru_maxrss / 1024


def duck(files, text, out):
    """The same for DuckDB."""
    given = json.dumps([files, VIEWS, text, str(out), LIMIT_MIB])
    try:
        done = subprocess.run(
            [sys.executable, "-c", DUCK], input=given, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"more than {PATIENCE_S} s"
    return tuple(json.loads(done.stdout)) if done.returncode == 0 else done.stderr.strip()[-160:]


def several(run):
    """The median of a few runs."""
    found = []
    for _ in range(RUNS):
        one = run()
        if isinstance(one, str):
            return one
        found.append(one)
        if one[0] > LONG_S:
            break
    return statistics.median(s for s, _ in found), max(m for _, m in found)


def digest(file):
    """Rows, and the sum of each integer column."""
    import duckdb

    relation = duckdb.read_parquet(str(file))
    integers = [n for n, t in zip(relation.columns, relation.types) if str(t) == "BIGINT"]
    sums = "".join(f", sum({n}::HUGEINT)" for n in integers)
    return duckdb.sql(f"SELECT count(*){sums} FROM read_parquet('{file}')").fetchall()


def main():
    operations = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    chosen = sys.argv[2:] or [p.stem for p in sorted(QUERIES.glob("*.sql"))]
    with tempfile.TemporaryDirectory(prefix="candle-graph-bench-") as room:
        room = Path(room)
        trace = room / "trace"
        subprocess.run([SCALE, trace, str(operations)], check=True, stdout=subprocess.DEVNULL)
        files = {}
        for table in sorted(p.stem for p in (ROOT / "schemas/tables").glob("*.json")):
            file = trace / ("run.parquet" if table == "run" else f"tables/{table}.parquet")
            if table == "schema":
                continue
            if not file.exists():
                file = room / f"{table}.parquet"
                command = [BIN, "sql", trace, f"SELECT * FROM {table}", "--format", "parquet", "-o", file]
                subprocess.run(command, check=True)
            files[table] = str(file)
        print(f"{operations:,} operations; seconds (peak MiB), engine limit {LIMIT_MIB} MiB, 2 threads")
        print(f"{'query':24} {'candle-graph':>16} {'DuckDB':>16} {'ratio':>6}  rows")
        for name in chosen:
            text = re.sub(r"\$label(_prefix)?\b", "CAST(NULL AS VARCHAR)", (QUERIES / f"{name}.sql").read_text())
            outs = room / "own.parquet", room / "duck.parquet"
            sides = several(lambda: own(trace, text, outs[0])), several(lambda: duck(files, text, outs[1]))
            shown = [f"{s[0]:.2f} ({s[1]:.0f})" if isinstance(s, tuple) else "failed" for s in sides]
            ratio, rows = "", ""
            if all(isinstance(s, tuple) for s in sides):
                ratio = f"{sides[0][0] / sides[1][0]:.2f}"
                digests = [digest(out) for out in outs]
                rows = f"{digests[0][0][0]:,}" if digests[0] == digests[1] else f"DIFFERENT {digests}"
            print(f"{name:24} {shown[0]:>16} {shown[1]:>16} {ratio:>6}  {rows}", flush=True)
            for who, side in zip(("candle-graph", "DuckDB"), sides):
                if isinstance(side, str):
                    print(f"    {who}: {side}")


VIEWS = views()

if __name__ == "__main__":
    main()
