#!/usr/bin/env python3
"""Times whole commands on synthetic traces of growing size, beside another recorder's binary where one is given.

    cargo build --release --features all --bins --example scale
    BIN=target/release/candle-graph SCALE=target/release/examples/scale [RIVAL=path/to/candle-graph] benches/overview.py

For each number of operations (with a tensor, an allocation and a free for each and a span for every ten) it records a
trace directory and the same as JSON lines, runs each command several times and prints the median wall time, the peak
memory of the process, and the ratio to the other binary on the same JSON lines.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN = os.environ["BIN"]
SCALE = os.environ["SCALE"]
RIVAL = os.environ.get("RIVAL")
SIZES = [int(n) for n in sys.argv[1:]] or [25, 1_000, 10_000, 100_000, 1_000_000]
COMMANDS = {
    "overview": ["overview"],
    "query slowest-host": ["query", "--kind", "slowest-host"],
    "query ops": ["query", "--kind", "ops"],
    "query labels": ["query", "--kind", "labels"],
}
RUNS = 5
PATIENCE_S = 60


def run(binary, command, trace):
    """Median seconds and peak MiB of a few runs; None where one takes too long or fails."""
    seconds, peak = [], 0
    for _ in range(RUNS):
        started = time.perf_counter()
        process = subprocess.Popen([binary, command[0], trace, *command[1:]], stdout=subprocess.DEVNULL)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.perf_counter() - started > PATIENCE_S:
                process.kill()
                os.wait4(process.pid, 0)
                return None
            time.sleep(0.001)
        if status != 0:
            return None
        seconds.append(time.perf_counter() - started)
        peak = max(peak, usage.ru_maxrss)
        if seconds[-1] > 10:
            break
    return statistics.median(seconds), peak / 1024


def main():
    room = Path(tempfile.mkdtemp(prefix="candle-graph-bench-"))
    try:
        print(f"{'ops':>9} {'command':<20} {'directory':>10} {'MiB':>6} {'JSON lines':>11} {'rival':>9} {'ratio':>7}")
        for size in SIZES:
            directory, lines = room / f"{size}.trace", room / f"{size}.jsonl"
            for path in (directory, lines):
                subprocess.run([SCALE, path, str(size)], check=True, stdout=subprocess.DEVNULL)
            for name, command in COMMANDS.items():
                own = run(BIN, command, directory)
                imported = run(BIN, command, lines) if size <= 100_000 else None
                other = run(RIVAL, command, lines) if RIVAL and size <= 10_000 else None
                cell = lambda r: f"{r[0]:.3f} s" if r else "-"
                ratio = f"{other[0] / own[0]:.1f}x" if own and other else "-"
                print(
                    f"{size:>9} {name:<20} {cell(own):>10} {own[1] if own else 0:>6.0f} {cell(imported):>11} "
                    f"{cell(other):>9} {ratio:>7}",
                    flush=True,
                )
            shutil.rmtree(directory)
            lines.unlink()
    finally:
        shutil.rmtree(room, ignore_errors=True)


if __name__ == "__main__":
    main()
