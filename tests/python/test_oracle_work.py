"""FLOP counted by a walk over small models of the operations, from the shapes that made the trace.

Each operation is generated together with the shapes of its operands, and its FLOP are counted by loops over the indices
that the arithmetic runs over, or by whole-number products where a loop would be too long.
"""

import itertools
import math
import random
from fractions import Fraction

import pytest
import random_traces
from harness import bound, query_files, same

SEEDS = range(300, 360)
QUERIES = query_files()
LIMIT = 2**63 - 1


def loop(*sizes):
    """How many steps nested loops over `sizes` take: counted one by one when they are few."""
    if 0 < math.prod(sizes) <= 200:
        return sum(1 for _ in itertools.product(*(range(s) for s in sizes)))
    return math.prod(sizes)


def matmul(rng, dims):
    batch, m, k, n = [dims() for _ in range(rng.randint(0, 2))], dims(), dims(), dims()
    name = rng.choice(["matmul", "MatMul", "broadcast_matmul", "bmm"])
    left = batch if name != "broadcast_matmul" or rng.random() < 0.5 else []
    # A product and a sum for every term of every element.
    return name, [[*left, m, k], [*batch, k, n]], [*batch, m, n], 2 * loop(*batch, m, n, k), "matmul"


def linear(rng, dims):
    rows, k, n = [dims() for _ in range(rng.randint(1, 2))], dims(), dims()
    weight = rng.choice([[n, k], [k, n]])
    inputs = [[*rows, k], weight] + ([[n]] if rng.random() < 0.5 else [])
    return "linear", inputs, [*rows, n], 2 * loop(*rows, n, k), "linear"


def conv(rng, dims):
    rank = rng.choice([1, 2])
    batch, groups, per_in, per_out = dims(), rng.randint(1, 3), dims(), dims()
    size = [rng.randint(3, 6) for _ in range(rank)]
    kernel = [rng.randint(1, 3) for _ in range(rank)]
    out = [s - k + 1 for s, k in zip(size, kernel)]
    inputs = [[batch, groups * per_in, *size], [groups * per_out, per_in, *kernel]]
    flops = 2 * loop(batch, groups, per_out, *out, per_in, *kernel)
    return f"conv{rank}d", inputs, [batch, groups * per_out, *out], flops, "convolution"


def conv_transpose(rng, dims):
    rank = rng.choice([1, 2])
    batch, channels, per_out = dims(), dims(), dims()
    size = [rng.randint(1, 5) for _ in range(rank)]
    kernel = [rng.randint(1, 3) for _ in range(rank)]
    out = [s + k - 1 for s, k in zip(size, kernel)]
    # Every element of the input is spread over the kernel of every output channel.
    flops = 2 * loop(batch, channels, *size, per_out, *kernel)
    inputs = [[batch, channels, *size], [channels, per_out, *kernel]]
    name = rng.choice([f"conv_transpose{rank}d", f"conv-transpose{rank}d"])
    return name, inputs, [batch, per_out, *out], flops, "transposed convolution"


def by_element(rng, dims):
    steps = {
        "softmax": ("softmax", ["max", "sub", "exp", "sum", "div"]),
        "log-softmax": ("softmax", ["max", "sub", "exp", "sum", "sub"]),
        "layer-norm": ("layer norm", ["sum", "sub", "sqr", "sum", "mul", "scale", "shift"]),
        "rms_norm": ("rms norm", ["sqr", "sum", "mul", "scale"]),
        "rotary-emb": ("rotary embedding", ["mul", "mul", "add"]),
        "affine": ("affine", ["mul", "add"]),
        "Add": ("elementwise", ["add"]),
        "broadcast_mul": ("elementwise", ["mul"]),
        "gelu": ("elementwise", ["gelu"]),
        "exp": ("elementwise", ["exp"]),
        "where-cond": ("movement", []),
        "transpose": ("movement", []),
        "broadcast_as": ("movement", []),
    }
    name = rng.choice(list(steps))
    rule, arithmetic = steps[name]
    shape = [dims() for _ in range(rng.choice([0, 1, 2, 3, 8]))]
    return name, [shape], shape, len(arithmetic) * loop(*shape), rule


def reduction(rng, dims):
    shape = [dims() for _ in range(rng.randint(0, 4))]
    name = rng.choice(["sum", "mean", "max", "argmin", "sum_all", "mean_keepdim"])
    return name, [shape], [], loop(*shape), "reduction"


def unknown(rng, dims):
    return rng.choice(["adamw", "backward", "matmul_", "näh"]), [[dims()]], [dims()], None, None


MAKERS = [matmul, linear, conv, conv_transpose, by_element, by_element, reduction, unknown]
# Where the shape of an input is lost, what is left may still do.
NEEDS = {
    "matmul": lambda first, second: first or second,
    "linear": lambda first, second: first or second,
    "convolution": lambda first, second: second,
    "transposed convolution": lambda first, second: first and second,
    "reduction": lambda first, second: first,
}


def write(path, seed):
    """A trace of one span with operations whose FLOP are known."""
    rng = random.Random(seed)
    synchronized = rng.random() < 0.3
    mode = "device_synchronized" if synchronized else "host"
    largest = rng.choice([3, 9, 2**10, 2**25])
    dims = lambda: rng.choice([0, 1, largest, rng.randint(1, largest), rng.randint(1, 4)])
    lines, rows, number = [], [], 0
    for _ in range(rng.choice([1, 20, 60])):
        name, shapes, output, flops, rule = rng.choice(MAKERS)(rng, dims)
        known, inputs = [], []
        for shape in shapes:
            number += 1
            inputs.append(f"t{number}")
            source = rng.choice(["tensor", "tensor", "output", "both", "lost", "disagree"])
            known.append(source not in ("lost", "disagree"))
            records = {"both": 2, "tensor": 1, "disagree": 1}.get(source, 0)
            lines += [tensor(f"t{number}", shape)] * records
            if source in ("output", "both"):
                rows.append(made(lines, "contiguous", [], f"t{number}", shape, 0, "movement"))
            if source == "disagree":
                rows.append(made(lines, "contiguous", [], f"t{number}", [*shape, 1], 0, "movement"))
        needed = NEEDS.get(rule, lambda first, second: True)(known[0], len(known) > 1 and known[1])
        reason = None
        if rule is None:
            reason = "unknown operation"
        elif not needed:
            flops, reason = None, "input shapes unknown"
        elif flops > LIMIT:
            flops, reason = None, "out of range"
        row = made(lines, name, inputs, None, output, flops, rule)
        row["uncounted_reason"] = reason
        line = lines[-1]
        line["duration_ns"] = row["duration_ns"] = rng.choice([0, rng.randint(0, 10**9)])
        line["device"] = rng.choice(["cpu", "cpu", "cuda:0"])
        row["device"], row["holds_work"] = line["device"], synchronized or line["device"] == "cpu"
        line["input_dense_bytes"] = rng.choice([0, rng.randint(0, 2**40)])
        if rng.random() < 0.7:
            line["output_dense_bytes"] = rng.randint(0, 2**40)
            row["bytes_moved"] = line["input_dense_bytes"] + line["output_dense_bytes"]
        rows.append(row)
    for row in rows:
        row["holds_work"] = synchronized or row["device"] == "cpu"
    start, end = random_traces.span_lines("s1", None, "random::step", 0, 10, True)
    meta = random_traces.meta(f"work-{seed}", timing_mode=mode)
    random_traces.write_lines(path, [meta, start, *lines, end, random_traces.terminal(10)])
    return rows


def tensor(tensor_id, shape):
    line = {"kind": "tensor", "span_id": "s1", "tensor_id": tensor_id, "shape": shape, "dtype": "f32", "device": "cpu"}
    return line | {"requires_grad": False, "category": "other"}


def made(lines, name, inputs, output, shape, flops, rule):
    """Adds an operation, and gives its row."""
    line = {"kind": "op", "span_id": "s1", "op_name": name, "inputs": inputs, "shape": shape, "dtype": "f32"}
    line |= {"device": "cpu", "duration_ns": 1, "timestamp_ns": 5, "input_dense_bytes": 0}
    if output is not None:
        line["output"] = output
    lines.append(line)
    row = {"name": name, "device": "cpu", "flops": flops, "bytes_moved": None, "duration_ns": 1}
    return row | {"holds_work": True, "rule": rule, "uncounted_reason": None}


def totals(rows):
    """What a group of operations adds up to."""
    counted = [r for r in rows if r["flops"] is not None]
    held = [r for r in counted if r["holds_work"]]
    dense = [r for r in counted if r["bytes_moved"] is not None]
    moved = [r["bytes_moved"] for r in rows if r["bytes_moved"] is not None]
    flops = sum(r["flops"] for r in counted)
    time = sum(r["duration_ns"] for r in held)
    size = sum(r["bytes_moved"] for r in dense)
    return {
        "calls": len(rows),
        "counted_calls": len(counted),
        "flops": flops if counted and flops <= LIMIT else None,
        "bytes_moved": sum(moved) if moved else None,
        "total_ns": sum(r["duration_ns"] for r in rows),
        "counted_ns": sum(r["duration_ns"] for r in counted) if counted else None,
        "flops_per_second": float(Fraction(sum(r["flops"] for r in held) * 10**9, time)) if time else None,
        "intensity": float(Fraction(sum(r["flops"] for r in dense), size)) if size else None,
    }


def groups(rows, *columns):
    found = {}
    for row in rows:
        found.setdefault(tuple(row[c] for c in columns), []).append(row)
    return found


def alike(found, wanted):
    assert same(found, wanted), {k: (found.get(k), wanted.get(k)) for k in {**found, **wanted}}


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """Per run: its file and the rows of its operations."""
    folder = tmp_path_factory.mktemp("work")
    paths = {f"work-{seed}": folder / f"work-{seed}.jsonl" for seed in SEEDS}
    return {run_id: (path, write(path, seed)) for (run_id, path), seed in zip(paths.items(), SEEDS)}


@pytest.fixture(scope="module")
def answers(cli, worlds):
    """Rows over all runs at once, and those by name for a few runs each by itself."""
    columns = "run_id, name, device, flops, bytes_moved, duration_ns, holds_work, rule, uncounted_reason"
    paths = [path for path, _ in worlds.values()]
    calls = {
        "op_work": (*paths, f"SELECT {columns} FROM op_work ORDER BY run_id, seq"),
        "work_totals": (*paths, bound(QUERIES["work_totals"])),
        "uncounted_work": (*paths, bound(QUERIES["uncounted_work"])),
        "op_work_by_name": (*paths, bound(QUERIES["op_work_by_name"])),
    }
    calls |= {run_id: (worlds[run_id][0], bound(QUERIES["op_work_by_name"])) for run_id in list(worlds)[:8]}
    found = cli.batch(("sql", *call, "--format", "json") for call in calls.values())
    return dict(zip(calls, (answer.json["rows"] for answer in found)))


@pytest.fixture(scope="module")
def operations(worlds):
    return [{"run_id": run_id, **row} for run_id, (_, rows) in sorted(worlds.items()) for row in rows]


def test_each_operation(answers, operations):
    assert len(answers["op_work"]) == len(operations)
    for row, wanted in zip(answers["op_work"], operations):
        alike(row, wanted)


def check_names(found, rows):
    wanted = {
        key: {"name": key[0], "device": key[1], "rule": of[0]["rule"], **totals(of)}
        for key, of in groups(rows, "name", "device").items()
    }
    assert sorted(wanted) == sorted((r["name"], r["device"]) for r in found)
    for row in found:
        alike(row, wanted[row["name"], row["device"]])
    order = [(-1 if r["flops"] is None else r["flops"], r["total_ns"]) for r in found]
    assert order == sorted(order, reverse=True)


def test_by_name(answers, worlds, operations):
    check_names(answers["op_work_by_name"], operations)
    for run_id in list(worlds)[:8]:
        check_names(answers[run_id], worlds[run_id][1])


def test_uncounted(answers, operations):
    time = sum(r["duration_ns"] for r in operations)
    left = groups([r for r in operations if r["uncounted_reason"]], "name", "uncounted_reason")
    wanted = [
        {"name": name, "reason": reason, "calls": len(of), "total_ns": sum(r["duration_ns"] for r in of)}
        for (name, reason), of in left.items()
    ]
    wanted.sort(key=lambda r: (-r["total_ns"], r["name"], r["reason"]))
    assert len(wanted) == len(answers["uncounted_work"])
    for row, want in zip(answers["uncounted_work"], wanted):
        alike(row, {**want, "share": want["total_ns"] / time})


def test_totals(answers, worlds):
    assert [r["run_id"] for r in answers["work_totals"]] == sorted(worlds)
    for row in answers["work_totals"]:
        wanted = totals(worlds[row["run_id"]][1])
        share = (wanted["counted_ns"] or 0) / wanted["total_ns"] if wanted["total_ns"] else None
        alike(row, {"run_id": row["run_id"], **wanted, "counted_share": share})


def test_the_traces_are_awkward(operations):
    """The cases above occur, or the tests prove nothing."""
    reasons = [r["uncounted_reason"] for r in operations]
    assert all(reasons.count(r) > 20 for r in ("unknown operation", "input shapes unknown", "out of range"))
    for rule in {r["rule"] for r in operations} - {None}:
        assert sum(r["rule"] == rule and r["flops"] is not None for r in operations) > 10, rule
    assert sum((r["flops"] or 0) > 2**53 for r in operations) > 5
    assert sum(r["flops"] == 0 and r["rule"] != "movement" for r in operations) > 10
