"""Runs the built command line and keeps its answers, so that no call is made twice in a session."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

REPOSITORY = Path(__file__).resolve().parents[2]

EVENT_TABLES = [
    "spans",
    "ops",
    "tensors",
    "tensor_stats",
    "gradients",
    "memory",
    "device_memory",
    "device_intervals",
    "edges",
]
NSIGHT_TABLES = [
    "gpu_trace",
    "gpu_kernels",
    "cuda_api",
    "gpu_mem_time",
    "nvtx_gpu_proj",
    "cuda_api_trace",
    "nvtx_pushpop_trace",
    "nsight_reports",
]
VIEWS = [
    "run_numbers",
    "measured_region",
    "span_scopes",
    "span_times",
    "stat_tensors",
    "non_finite_events",
    "tensor_origins",
    "data_flow",
    "gradient_expectations",
    "critical_spans",
    "device_unions",
    "storage_lifetimes",
    "activation_ops",
    "op_device_times",
    "op_work",
    "peak_moment",
    "peak_storages",
    "storages",
    "span_memory",
    "gpu_devices",
    "gpu_unions",
    "semantic_labels",
    "gpu_sources",
    "nvtx_ranges",
    "gpu_calls",
    "range_covers",
    "gpu_call_places",
    "range_calls",
    "range_operations",
    "label_covers",
    "gpu_call_causes",
    "label_operations",
    "label_attribution",
]
# Kinds of `query` that have pages and a filter, and of these the ones that have rows for a digits trace.
COLLECTIONS = ["labels", "hotspots", "spans", "ops", "work", "tensors", "tensor-stats", "gradients"]
PAGED = [
    "critical-path",
    "steps",
    "device-busy",
    "device-idle",
    "lifetimes",
    "uncounted-work",
    "gradient-families",
    "dead-gradients",
]
WHOLE = ["slowest-host", "slowest-device", "activations", "heaviest", "memory", "first-non-finite", "capabilities"]
KINDS = [*COLLECTIONS, *PAGED, *WHOLE]


@dataclass(frozen=True)
class Answer:
    """What one call printed."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self):
        return self.out.decode("utf-8")

    @property
    def json(self):
        """The document of a call that succeeded without a word on standard error."""
        assert self.code == 0, f"exit {self.code}: {self.err.decode('utf-8', 'replace')}"
        assert self.err == b"", self.err
        return json.loads(self.out)


class Cli:
    """The command line, with a memory."""

    def __init__(self, binary, cwd):
        self.binary = str(binary)
        self.cwd = cwd
        self.known = {}

    def fresh(self, *args, env=None, stdin=None):
        """Runs the program now."""
        done = subprocess.run(
            [self.binary, *(str(a) for a in args)],
            cwd=self.cwd,
            env={**os.environ, **(env or {})},
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def __call__(self, *args):
        """The answer to `args`, from memory where it was asked before. Inputs do not change within a session."""
        key = tuple(str(a) for a in args)
        if key not in self.known:
            self.known[key] = self.fresh(*key)
        return self.known[key]

    def batch(self, calls):
        """The answers to many calls, as many at a time as there are cores."""
        calls = [tuple(str(a) for a in call) for call in calls]
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return list(pool.map(lambda call: self(*call), calls))

    def rows(self, *args):
        """The rows of `sql`."""
        return self("sql", *args, "--format", "json").json["rows"]


def query_files():
    """Every query's name and text."""
    return {p.stem: p.read_text() for p in sorted((REPOSITORY / "queries").glob("*.sql"))}


def view_files():
    """Every view's name and text, each after the views it reads."""
    found = {p.stem: p.read_text() for p in (REPOSITORY / "queries/views").glob("*.sql")}
    assert sorted(found) == sorted(VIEWS), "list the new view in VIEWS, after the views it reads"
    return {name: found[name] for name in VIEWS}


def columns_of(text):
    """The columns a SQL file's header promises: name to type."""
    columns, inside = {}, False
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        if line.startswith("--     ") and inside:
            # The meaning goes on.
            continue
        if line.startswith("--   ") and inside:
            name, rest = line[5:].split(" (", 1)
            columns[name] = rest.split("): ", 1)[0].rsplit(", ", 1)[0]
        else:
            inside = line == "-- Columns:"
    return columns


def takes(text, parameter):
    """Whether a SQL file uses `$parameter`; `$label` is not `$label_prefix`."""
    return any(
        not (text[at + len(parameter) + 1 :][:1].isalnum() or text[at + len(parameter) + 1 :][:1] == "_")
        for at in (i for i in range(len(text)) if text.startswith("$" + parameter, i))
    )


def literal(value):
    """A value as SQL text, for a command line that binds no parameters of free SQL."""
    return "CAST(NULL AS VARCHAR)" if value is None else "'" + value.replace("'", "''") + "'"


def bound(text, label=None, label_prefix=None):
    """A query with its parameters written out. A statement that begins with a comment would look like an option."""
    return "\n" + text.replace("$label_prefix", literal(label_prefix)).replace("$label", literal(label))


def read_table(path):
    """One Parquet file as Arrow, its schema free of metadata."""
    return pq.read_table(path, partitioning=None).replace_schema_metadata(None)


def inputs(traces, nsight=None):
    """Traces as arguments of the command line, with the folder of Nsight reports that belongs to them."""
    return (*traces, *(("--nsight-dir", nsight) if nsight else ()))


def export_tables(cli, traces, folder, nsight=None):
    """Every stored table of every trace as one Parquet file a table, the empty ones too."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [*EVENT_TABLES, *NSIGHT_TABLES, "run"]
    given = inputs(traces, nsight)
    for name, answer in zip(
        names,
        cli.batch(
            ("sql", *given, f"SELECT * FROM {name}", "--format", "parquet", "-o", folder / f"{name}.parquet")
            for name in names
        ),
    ):
        assert answer.code == 0, f"{name}: {answer.err.decode()}"
    return {name: folder / f"{name}.parquet" for name in names}


def of_run(tables, run_id):
    """The rows of one run."""
    return {name: t.filter(pa.compute.equal(t["run_id"], run_id)) for name, t in tables.items()}


def same(left, right, tolerance=1e-12):
    """Whether two values of a row are the same: integers and text exactly, floats to the last few bits."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        # JSON holds an integer beyond 64 bits as its digits.
        return left is not None and right is not None and Decimal(left) == Decimal(right)
    if isinstance(left, float) or isinstance(right, float):
        if left is None or right is None:
            return left is right
        if left != left or right != right:
            return left != left and right != right
        return left == right or abs(left - right) <= tolerance * max(abs(left), abs(right))
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(a, b, tolerance) for a, b in zip(left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k], tolerance) for k in left)
    return type(left) is type(right) and left == right


def level_p99(found, expected):
    """Takes over p99_ns from `expected` where it agrees to a millionth of the longest time: DataFusion interpolates
    between two ranks in steps of a millionth of their distance. Everything else in a row must agree exactly."""
    assert len(found) == len(expected)
    rows = [dict(row) for row in found]
    for row, wanted in zip(rows, expected):
        if abs(row["p99_ns"] - wanted["p99_ns"]) <= 1e-6 * wanted["max_ns"]:
            row["p99_ns"] = wanted["p99_ns"]
    return rows


def assert_rows(found, expected, what, tolerance=1e-12):
    """Same rows in the same order; the message names the first difference."""
    for index, (a, b) in enumerate(zip(found, expected)):
        if not same(a, b, tolerance):
            columns = [k for k in {**a, **b} if not same(a.get(k), b.get(k), tolerance)]
            shown = {k: (a.get(k), b.get(k)) for k in columns}
            raise AssertionError(f"{what}: row {index} differs in (found, expected): {shown}")
    assert len(found) == len(expected), f"{what}: {len(found)} rows, expected {len(expected)}"
