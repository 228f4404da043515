"""When each GPU was busy, idle and copying, and what its kernels cost, worked out from the operations of a report.

Time is cut at every endpoint: between two cuts nothing begins or ends, so what runs at one instant runs between them.
The reports are written as `nsys stats` would, their rows in no order. A seed has GPUs and kernels of its own: one run
holds many.
"""

import random
from dataclasses import dataclass
from itertools import pairwise

import naive
import pytest
from harness import REPOSITORY, assert_rows, bound, query_files
from nsight_csv import write

# Seeds of each run.
RUNS = [range(16), range(16, 32), range(32, 48), range(48, 64)]
QUERIES = query_files()
TRACE = (REPOSITORY / "tests/fixtures/nsight/golden.jsonl").read_text()
RUN_ID = "nsight-golden"

KERNELS = ["gemm", 'void f<int, "x">(T1 *, T2)', "näh", "relu"]
# Name: kind and direction.
OTHERS = {
    "[CUDA memcpy Host-to-Device]": ("memcpy", "host_to_device"),
    "[CUDA memcpy HtoD]": ("memcpy", "host_to_device"),
    "[CUDA memcpy DtoH]": ("memcpy", "device_to_host"),
    "[CUDA memcpy Host-to-Array]": ("memcpy", None),
    "[CUDA memset]": ("memset", None),
    "[CUDA Graph 3]": ("graph", None),
    "[something new]": ("other", None),
}
HEADS = ["Start (ns)", "Duration (ns)", "CorrId", "GrdX", "GrdY", "GrdZ", "BlkX", "BlkY", "BlkZ", "Bytes ({})",
         "Device", "Ctx", "Strm", "Name"]  # fmt: skip
SUMMARY = ["Time (%)", "Total Time (ns)", "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)"]


@dataclass(eq=False)
class Operation:
    run_id: str
    device: str | None
    context: int
    stream: int | None
    name: str
    start: int
    end: int
    shape: tuple | None = None
    bytes: int | None = None
    step: int | None = None
    row: int | None = None

    @property
    def kind(self):
        return OTHERS.get(self.name, ("kernel",))[0]

    @property
    def working(self):
        """What a copy can hide behind: a kernel, or a graph in which kernels may run."""
        return self.kind in ("kernel", "graph")


class World:
    """One run: its operations and the rows of its summaries, on disk as a trace and a folder of reports."""

    def __init__(self, folder, number, seeds):
        rng = random.Random(number)
        self.run_id = f"run-{rng.randint(0, 10**9)}-{number}"
        self.trace = folder / f"{number}.jsonl"
        self.trace.write_text(TRACE.replace(f'"{RUN_ID}"', f'"{self.run_id}"'))
        self.reports = folder / f"{number}"
        self.reports.mkdir()
        self.bundle = folder / f"{number}-bundle"
        self.operations = [o for seed in seeds for o in self.draw(random.Random(seed), seed % 16)]
        rng.shuffle(self.operations)
        for row, operation in enumerate(self.operations):
            operation.row = row
        self.kernels = self.summary(rng, KERNELS, grid=number % 2 == 0)
        self.functions = self.summary(rng, ["cudaLaunchKernel_v7000", "cuMemAlloc_v2", "cudaFree_v3020"], grid=False)
        self.write(megabytes=number % 2 == 1)

    def draw(self, rng, nth):
        """The operations of one seed; the same GPUs and kernels are in every run."""
        some = [f"H200 ({nth}.{n})" for n in range(2)]
        devices = rng.choice([some[:1], some[:1], some, [some[0], None, some[1]]])
        # A narrow range makes operations touch and tie; a high origin shows whether integers pass through floats.
        width, origin, count = rng.choice([(12, 0, 15), (60, 7, 40), (10**9, 2**61, 40), (4000, 10**18, 60), (5, 1, 2)])
        kinds = rng.choice([KERNELS, [*KERNELS, *OTHERS], list(OTHERS), ["gemm", "[CUDA memcpy HtoD]"]])
        shapes = rng.choice([[None], [(1, 1, 1, 128, 1, 1)], [(n, 1, 2, 32 * n, 1, 1) for n in (1, 2, 3)]])
        found = []
        for _ in range(rng.randint(1, count)):
            start = origin + rng.randint(0, width)
            length = rng.choice([0, 1, 2, rng.randint(0, width), rng.randint(0, width // 4 + 1)])
            operation = Operation(
                self.run_id,
                rng.choice(devices),
                rng.choice([1, 2]),
                rng.choice([7, 13, 21, None]),
                name if (name := rng.choice(kinds)) in OTHERS else f"{name} {nth}",
                start,
                start + length,
            )
            if operation.kind == "kernel":
                operation.shape = rng.choice(shapes)
            elif operation.kind in ("memcpy", "memset") and rng.random() < 0.9:
                operation.bytes = rng.choice([0, 1, 2048, 5_000_000])
            if rng.random() < 0.3 and found:
                # One directly behind another, or inside it, or just as long.
                other = rng.choice(found)
                at, until = rng.choice([(other.end, other.end + length), (other.start, other.end)])
                operation.start, operation.end, operation.device = at, until, other.device
            found.append(operation)
        return found

    def summary(self, rng, names, grid):
        rows = []
        for at, name in enumerate(rng.choices(names, k=rng.randint(2, 9))):
            total = rng.choice([0, 100, 100, rng.randint(0, 10**15)])
            row = {"name": name, "count": rng.randint(1, 9), "total_ns": total, "time_percent": at / 4}
            row |= {"mean_ns": total / 4, "median_ns": total / 8, "min_ns": total // 3, "max_ns": total}
            row["stddev_ns"] = at / 2
            row |= {"grid": [at + 1, 1, 2] if grid else None, "block": [32, 1, at + 1] if grid else None}
            rows.append(row)
        return rows

    def write(self, megabytes):
        unit, step = ("MB", 1000) if megabytes else ("B", 1)
        rows = []
        for o in self.operations:
            size = ""
            if o.bytes is not None:
                # Printed to three digits: what is left of a size is its thousands.
                o.bytes, o.step = o.bytes // step * step, step
                size = f"{o.bytes // 10**6}.{o.bytes // 1000 % 1000:03}" if megabytes else o.bytes
            stream = "" if o.stream is None else o.stream
            where = [o.device or "", o.context, stream, o.name]
            rows.append([o.start, o.end - o.start, o.row // 2, *(o.shape or [""] * 6), size, *where])
        (self.reports / "x_cuda_gpu_trace.csv").write_text(write(rows, [h.format(unit) for h in HEADS]))
        for report, count, found in [
            ("cuda_gpu_kern_sum", "Instances", self.kernels),
            ("cuda_api_sum", "Num Calls", self.functions),
        ]:
            triples = ["grid", "block"] if found and found[0]["grid"] else []
            columns = ["time_percent", "total_ns", "mean_ns", "median_ns", "min_ns", "max_ns", "stddev_ns", "count"]
            cells = [
                [*(row[c] for c in columns), *(" ".join(f"{n:4}" for n in row[c]) for c in triples), row["name"]]
                for row in found
            ]
            heads = [*SUMMARY, count, *(f"{c.title()}XYZ" for c in triples), "Name"]
            (self.reports / f"x_{report}.csv").write_text(write(cells, heads))


def by_device(worlds):
    """The operations of every GPU of every run, in the order of queries: a GPU without a name last."""
    found = naive.grouped([vars(o) | {"o": o} for w in worlds for o in w.operations], "device", "run_id")
    key = lambda item: (item[0][0] is None, item[0][0] or "", item[0][1])
    return [(*where, [row["o"] for row in rows]) for where, rows in sorted(found.items(), key=key)]


def covered(operations):
    """Pieces of time in which something runs."""
    cuts = sorted({p for o in operations for p in (o.start, o.end)})
    return [(a, b) for a, b in pairwise(cuts) if any(o.start <= a and b <= o.end for o in operations)]


def length(pieces):
    return sum(b - a for a, b in pieces)


def stretches(operations):
    """Maximal stretches, moments of work among them."""
    found = []
    moments = [(o.start, o.start) for o in operations if o.start == o.end]
    for a, b in sorted(covered(operations) + moments):
        if found and a <= found[-1][1]:
            found[-1][1] = max(b, found[-1][1])
        else:
            found.append([a, b])
    return found


def gpu_unions(worlds):
    rows = []
    for device, run_id, operations in by_device(worlds):
        for a, b in stretches(operations):
            inside = sum(a <= o.start and o.end <= b for o in operations)
            rows.append({"run_id": run_id, "device": device, "start_ns": a, "end_ns": b, "operations": inside})
    return sorted(rows, key=lambda r: (r["run_id"], r["device"] is None, r["device"] or "", r["start_ns"]))


def gpu_busy(worlds):
    rows = []
    for device, _, operations in by_device(worlds):
        copies = [o for o in operations if o.kind == "memcpy"]
        working = [o for o in operations if o.working]
        first, last = min(o.start for o in operations), max(o.end for o in operations)
        busy = length(covered(operations))
        # Every piece of the timeline is short enough to ask each operation about it.
        cuts = sorted({p for o in operations for p in (o.start, o.end)})
        runs = lambda found, a, b: any(o.start <= a and b <= o.end for o in found)
        both = [(a, b) for a, b in pairwise(cuts) if runs(copies, a, b) and runs(working, a, b)]
        alone = [(a, b) for a, b in pairwise(cuts) if runs(copies, a, b) and not runs(working, a, b)]
        rows.append(
            {
                "device": device,
                "first_start_ns": first,
                "last_end_ns": last,
                "window_ns": last - first,
                "busy_ns": busy,
                "idle_ns": last - first - busy,
                "utilisation": busy / (last - first) if last > first else None,
                "operations": len(operations),
                "kernels": sum(o.kind == "kernel" for o in operations),
                "graphs": sum(o.kind == "graph" for o in operations),
                "copies": len(copies),
                "kernel_busy_ns": length(covered(working)),
                "copy_busy_ns": length(covered(copies)),
                "overlapped_ns": length(both),
                "exposed_copy_ns": length(alone),
                "streams": len({(o.context, o.stream) for o in operations if o.stream is not None}),
            }
        )
    return rows


def gpu_idle(worlds):
    rows = []
    for device, run_id, operations in by_device(worlds):
        for (_, low), (high, _) in pairwise(stretches(operations)):
            before = min((o for o in operations if o.end == low), key=lambda o: (o.start, o.row))
            after = min((o for o in operations if o.start == high), key=lambda o: (o.end, o.row))
            row = {"device": device, "start_ns": low, "end_ns": high, "idle_ns": high - low}
            row |= {"before_name": before.name, "after_name": after.name}
            rows.append((-row["idle_ns"], device is None, device or "", low, run_id, row))
    return [r[-1] for r in sorted(rows, key=lambda r: r[:-1])]


def gpu_hotspots(worlds):
    kernels = [o for w in worlds for o in w.operations if o.kind == "kernel"]
    everything = sum(o.end - o.start for o in kernels)
    rows = []
    for name in {o.name for o in kernels}:
        found = [o for o in kernels if o.name == name]
        times = [o.end - o.start for o in found]
        rows.append(
            {
                "name": name,
                "kernels": len(times),
                "total_ns": sum(times),
                "mean_ns": sum(times) / len(times),
                "p50_ns": naive.percentile(times, "0.5"),
                "p99_ns": naive.percentile(times, "0.99"),
                "longest_ns": max(times),
                "share_of_kernel_time": sum(times) / everything if everything else None,
                "launch_shapes": len({o.shape for o in found} - {None}) or None,
            }
        )
    return sorted(rows, key=lambda r: (-r["total_ns"], r["name"].encode()))


def gpu_memory_operations(worlds):
    found = [o for w in worlds for o in w.operations if not o.working]
    everything = sum(o.end - o.start for o in found)
    what = lambda o: OTHERS[o.name]
    rows = []
    for kind, direction in {what(o) for o in found}:
        some = [o for o in found if what(o) == (kind, direction)]
        total = sum(o.end - o.start for o in some)
        rows.append(
            {
                "kind": kind,
                "direction": direction,
                "operations": len(some),
                "bytes": naive.total(o.bytes for o in some),
                "bytes_step": max((o.step for o in some if o.step is not None), default=None),
                "total_ns": total,
                "share": total / everything if everything else None,
            }
        )
    return sorted(rows, key=lambda r: (-r["total_ns"], r["kind"], r["direction"] is None, r["direction"] or ""))


def summarised(rows_of, count, keep):
    """Rows of a summary, in the order of queries."""

    def rows(worlds):
        found = [(row, at, w.run_id) for w in worlds for at, row in enumerate(rows_of(w))]
        found.sort(key=lambda r: (-r[0]["total_ns"], r[0]["name"].encode(), r[1], r[2]))
        return [{key: row[count if key == "count" else key] for key in keep} for row, _, _ in found]

    return rows


TIMES = ["total_ns", "time_percent", "mean_ns", "median_ns", "min_ns", "max_ns", "stddev_ns"]


def renamed(rows, to):
    return [{(to if k == "count" else k): v for k, v in row.items()} for row in rows]


def gpu_kernel_summary(worlds):
    keep = ["name", "count", *TIMES, "grid", "block"]
    return renamed(summarised(lambda w: w.kernels, "count", keep)(worlds), "instances")


def cuda_api_functions(worlds):
    return renamed(summarised(lambda w: w.functions, "count", ["name", "count", *TIMES])(worlds), "calls")


UNIONS = "SELECT * FROM gpu_unions ORDER BY run_id, device NULLS LAST, start_ns"
ORACLES = {
    o.__name__: o
    for o in [
        gpu_busy,
        gpu_idle,
        gpu_hotspots,
        gpu_memory_operations,
        gpu_kernel_summary,
        cuda_api_functions,
        gpu_unions,
    ]
}
SWEEPS = ["gpu_busy", "gpu_idle", "gpu_hotspots"]


def text_of(name):
    return UNIONS if name == "gpu_unions" else bound(QUERIES[name])


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpu-time")
    return [World(folder, number, seeds) for number, seeds in enumerate(RUNS)]


@pytest.fixture(scope="module")
def answers(cli, worlds):
    """The rows of each run alone, from its reports: of queries that sweep over time always, of the others by turns."""
    plain = [name for name in ORACLES if name not in SWEEPS]
    asked = [(w, name) for at, w in enumerate(worlds) for name in [*SWEEPS, plain[at % len(plain)]]]
    given = [("sql", w.trace, "--nsight-dir", w.reports, text_of(name), "--format", "json") for w, name in asked]
    return [(w, name, answer.json["rows"]) for (w, name), answer in zip(asked, cli.batch(given))]


@pytest.fixture(scope="module")
def together(cli, worlds):
    """The rows of two runs at once: their GPUs and kernels are the same, and run_id must keep them apart."""
    published = cli.batch(("report", w.trace, "--nsight-dir", w.reports, "--bundle", w.bundle) for w in worlds[:2])
    assert [a.err for a in published if a.code] == []
    bundles = [w.bundle for w in worlds[:2]]
    found = cli.batch(("sql", *bundles, text_of(name), "--format", "json") for name in ORACLES)
    return {name: answer.json["rows"] for name, answer in zip(ORACLES, found)}


def test_worlds_are_awkward(worlds):
    operations = [o for w in worlds for o in w.operations]
    assert sum(o.start == o.end for o in operations) > 50
    assert {o.kind for o in operations} == {"kernel", "memcpy", "memset", "graph", "other"}
    busy = gpu_busy(worlds)
    assert sum(r["overlapped_ns"] > 0 for r in busy) > 10 and sum(r["exposed_copy_ns"] > 0 for r in busy) > 10
    assert any(r["window_ns"] == 0 for r in busy) and any(r["device"] is None for r in busy)
    assert max(r["last_end_ns"] for r in busy) > 2**61
    unions = gpu_unions(worlds)
    assert any(r["start_ns"] == r["end_ns"] for r in unions) and any(r["operations"] > 3 for r in unions)
    assert len(gpu_idle(worlds)) > 100 and max(r["streams"] for r in busy) == 6
    nested = [(a, b) for *_, found in by_device(worlds) for a in found for b in found
              if a.start < b.start and b.end < a.end]  # fmt: skip
    assert len(nested) > 100
    kernels = [r for w in worlds for r in gpu_hotspots([w])]
    assert any(r["launch_shapes"] == 3 for r in kernels) and any(r["launch_shapes"] is None for r in kernels)


@pytest.mark.parametrize("name", ORACLES)
def test_queries(answers, name):
    found = [(world, rows) for world, asked, rows in answers if asked == name]
    assert found
    for world, rows in found:
        assert_rows(rows, ORACLES[name]([world]), f"{name} of {world.run_id}")


@pytest.mark.parametrize("name", ORACLES)
def test_runs_together(together, worlds, name):
    assert_rows(together[name], ORACLES[name](worlds[:2]), name)


def test_a_gpu_is_busy_or_idle(answers):
    rows = {(world.run_id, name): rows for world, name, rows in answers}
    for run_id in {run_id for run_id, _ in rows}:
        busy = rows[run_id, "gpu_busy"]
        for row in busy:
            assert row["busy_ns"] + row["idle_ns"] == row["window_ns"]
            assert row["overlapped_ns"] + row["exposed_copy_ns"] == row["copy_busy_ns"]
            assert max(row["kernel_busy_ns"], row["copy_busy_ns"]) <= row["busy_ns"]
        assert sum(r["idle_ns"] for r in busy) == sum(r["idle_ns"] for r in rows[run_id, "gpu_idle"])
