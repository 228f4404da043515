"""What made the activations and what their storages held, worked out operation by operation in exact integers.

Each operation is looked at by itself: its output's records, the storages allocated for it, the other operations with the
same output. A storage is held, and a clock busy, in the pieces between two endpoints in which it is.
"""

import json
import random

import pytest
import random_traces
from harness import bound, query_files
from naive import length

SEEDS = range(200, 260)
QUERIES = query_files()
RANKED = {
    "activations_by_host_time": "observed_host_duration_ns",
    "activations_by_dense_output": "dense_output_bytes",
    "activations_by_logical_bytes": "logical_allocated_bytes",
    "activations_by_byte_time": "logical_byte_nanoseconds",
}


def extend(path, seed):
    """Replaces the operations, storages and tensors of a random trace by ones that share tensors and storages."""
    rng = random.Random(seed)
    # Every fourth seed has only spans that are called by a number.
    random_traces.write(path, seed - seed % 4)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    kept = [line for line in lines if line["kind"] not in ("op", "memory", "tensor", "tensor_stats")]
    begins = {line["id"]: line for line in kept if line["kind"] == "span_start"}
    ends = {line["id"]: line["duration_ns"] for line in kept if line["kind"] == "span_end"}
    spans = [(i, b["start_ns"], b["start_ns"] + ends[i]) for i, b in begins.items()]
    region = next(s for s in spans if begins[s[0]]["measured"])
    # Most events lie in the region.
    near = [s for s in spans if region[1] <= s[1] and s[2] <= region[2]]
    ops = []
    for number in range(rng.choice([1, 6, 20])):
        # Spans for one operation each, or for none or several by chance.
        above = rng.choice(near)
        start, end = random_traces.inside(rng, above[1], above[2])
        start_line, end_line = random_traces.span_lines(
            f"s{5000 + number}", above[0], "own", start, end - start, kind="op"
        )
        kept[-1:] = [start_line, end_line, kept[-1]]
        begins[start_line["id"]], ends[start_line["id"]] = start_line, end - start
        ops.append((start_line["id"], start, end))
    spans += ops
    origin, end = min(s[1] for s in spans), max(s[2] for s in spans)
    tensors = [f"t{i}" for i in range(rng.choice([3, 30, 120]))]
    facts, storage = [], 0
    for _ in range(rng.choice([1, 30, 80])):
        span = rng.choice(rng.choice([near, near, ops, spans]))
        facts.append(
            {
                "kind": "op",
                "span_id": span[0],
                "op_name": rng.choice(["matmul", "add", "relu"]),
                "inputs": [],
                "output": rng.choice(tensors),
                "shape": [2],
                "dtype": "f32",
                "device": rng.choice(["cpu", "cuda:0"]),
                "duration_ns": rng.choice([0, rng.randint(0, 9), rng.randint(0, 10**12)]),
                "timestamp_ns": rng.randint(span[1], span[2]),
                "input_dense_bytes": 0,
            }
        )
        if rng.random() < 0.1:
            del facts[-1]["output"]
        if rng.random() < 0.7:
            facts[-1]["output_dense_bytes"] = rng.choice([8, rng.randint(0, 2**50)])
    for _ in range(rng.choice([0, 20, 60])):
        facts.append(
            {
                "kind": "tensor",
                "span_id": rng.choice(spans)[0],
                "tensor_id": rng.choice(tensors),
                "shape": [2],
                "dtype": "f32",
                "device": "cpu",
                "requires_grad": False,
                "category": rng.choice(["activation", "activation", "parameter"]),
            }
        )
    for _ in range(rng.choice([0, 20, 60])):
        span, storage = rng.choice(rng.choice([near, spans])), storage + 1
        edges = [region[1], region[2], span[1], span[2], rng.randint(origin, end), rng.randint(region[1], region[2])]
        begin, stop = sorted(rng.choice(edges) for _ in range(2))
        line = {
            "kind": "memory",
            "timestamp_ns": begin,
            "storage_id": f"s{storage}",
            "tensor_id": rng.choice(tensors),
            "span_id": span[0],
            "device": rng.choice(["cpu", "cuda:0"]),
            "bytes": rng.choice([0, 1, rng.randint(1, 2**40), 2**55]),
            "action": "alloc",
            "shape": [2],
            "dtype": "f32",
            "category": rng.choice(["activation", "activation", "other"]),
        }
        facts.append(line)
        if rng.random() < 0.7:
            # Freed through another tensor on the same storage as often as not.
            alias = rng.choice([line["tensor_id"], rng.choice(tensors)])
            facts.append({**line, "action": "free", "timestamp_ns": stop, "tensor_id": alias})
    for _ in range(rng.choice([0, 20, 60])):
        facts.append(
            {
                "kind": "device_interval",
                "span_id": rng.choice(rng.choice([ops, ops, near]))[0],
                "device": rng.choice(["cuda:0", "cuda:1"]),
                "stream_id": rng.choice(["7", "8"]),
                "clock_id": rng.choice(["a", "b"]),
                "backend": rng.choice(["cuda", "cupti"]),
                "start_ns": rng.choice([0, 2**60]) + rng.randint(0, 30),
                "duration_ns": rng.randint(1, 12),
            }
        )
    kept[0]["run_id"] = f"run-{seed}"
    random_traces.write_lines(path, [*kept[:-1], *facts, kept[-1]])
    return facts, begins, ends


def measured(begins):
    """The region's span and all below it."""
    inside = {next(i for i, b in begins.items() if b["measured"])}
    while True:
        more = {i for i, b in begins.items() if b.get("parent_id") in inside} | inside
        if more == inside:
            return inside
        inside = more


def expected(facts, begins, ends):
    """Every activation-producing operation, and the storages none of them owns."""
    inside = measured(begins)
    region = next(i for i, b in begins.items() if b["measured"])
    low, high = begins[region]["start_ns"], begins[region]["start_ns"] + ends[region]
    ops = [f for f in facts if f["kind"] == "op"]
    places = {}
    for op in ops:
        op["op_index"] = places[op["span_id"]] = places.get(op["span_id"], -1) + 1
    frees = {f["storage_id"]: f["timestamp_ns"] for f in facts if f["kind"] == "memory" and f["action"] == "free"}
    storages = [
        f
        for f in facts
        if f["kind"] == "memory" and f["action"] == "alloc" and f["category"] == "activation" and f["span_id"] in inside
    ]
    rows, owned = [], set()
    for op in ops:
        if op["span_id"] not in inside or "output" not in op:
            continue
        recorded = any(
            f["kind"] == "tensor" and f["tensor_id"] == op["output"] and f["category"] == "activation" for f in facts
        )
        alone = sum(o.get("output") == op["output"] for o in ops) == 1
        own = [s for s in storages if alone and s["tensor_id"] == op["output"]]
        owned |= {s["storage_id"] for s in own}
        sources = ["tensor_output"] * recorded + ["logical_storage"] * bool(own)
        if not sources:
            continue
        lives = []
        for s in own:
            end = frees.get(s["storage_id"])
            until = max(high, s["timestamp_ns"]) + 1 if end is None else end
            held = length([(s["timestamp_ns"], until)], low, high)
            last_moment = s["timestamp_ns"] < high < until
            lives.append((s["bytes"], held, last_moment))
        rows.append(
            {
                "id": f"{op['span_id']}/op/{op['op_index']}",
                "span_id": op["span_id"],
                "name": op["op_name"],
                "output_tensor_id": op["output"],
                "device": op["device"],
                "start_ns": op["timestamp_ns"],
                "observed_host_duration_ns": op["duration_ns"],
                "dense_output_bytes": op.get("output_dense_bytes"),
                "classification_sources": sources,
                "logical_storage_count": len(own) or None,
                "logical_allocated_bytes": sum(b for b, _, _ in lives) if own else None,
                "logical_storage_live_duration_ns": sum(t for _, t, _ in lives) if own else None,
                "logical_byte_nanoseconds": sum(b * t for b, t, _ in lives) if own else None,
                "logical_retained_bytes_at_measured_end": sum(b for b, _, last in lives if last) if own else None,
            }
        )
    return rows, [s for s in storages if s["storage_id"] not in owned]


def device_busy(facts, begins):
    """Busy time by clock of every span that is an operation's own."""
    rows = {}
    counts = {}
    for f in facts:
        if f["kind"] == "op":
            counts[f["span_id"]] = counts.get(f["span_id"], 0) + 1
    dedicated = {span for span, count in counts.items() if count == 1 and begins[span]["span_kind"] == "op"}
    for f in facts:
        if f["kind"] == "device_interval" and f["span_id"] in dedicated:
            rows.setdefault((f["span_id"], f["device"], f["clock_id"]), []).append(f)
    for key, found in rows.items():
        pieces = [(f["start_ns"], f["start_ns"] + f["duration_ns"]) for f in found]
        busy = length(pieces, min(p[0] for p in pieces), max(p[1] for p in pieces))
        names = (sorted({f[c] for f in found}) for c in ("stream_id", "backend"))
        rows[key] = {"busy": busy, "count": len(found), "names": list(names)}
    return rows


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """Per run, in the order of run ids: its facts, spans and ends."""
    folder = tmp_path_factory.mktemp("activations")
    found = {}
    for seed in SEEDS:
        # Spans may be those of another seed's trace; the run is this one's.
        path = folder / f"activations-{seed}.jsonl"
        found[f"run-{seed}"] = (path, *extend(path, seed))
    return found


@pytest.fixture(scope="module")
def few(worlds):
    """The runs that are ranked against each other."""
    return list(worlds)[:15]


@pytest.fixture(scope="module")
def answers(cli, worlds, few):
    """What each operation is known by and the counts over all runs, and each ranking over a few."""
    paths = [path for path, *_ in worlds.values()]
    ranked = [worlds[run_id][0] for run_id in few]
    values = "SELECT *, concat('s', span_id, '/op/', op_index) AS id FROM activation_ops ORDER BY start_ns, run_id, seq"
    calls = {"activation_ops": (*paths, values), "activation_summary": (*paths, bound(QUERIES["activation_summary"]))}
    calls |= {name: (*ranked, bound(QUERIES[name])) for name in [*RANKED, "activations_by_device_busy"]}
    found = cli.batch(("sql", *call, "--format", "json") for call in calls.values())
    return dict(zip(calls, (answer.json["rows"] for answer in found)))


@pytest.fixture(scope="module")
def producers(worlds):
    """Every activation-producing operation of all runs, in the order in which ties are listed."""
    rows = [
        {"run_id": run_id, "place": place, **row}
        for run_id, (_, *world) in worlds.items()
        for place, row in enumerate(expected(*world)[0])
    ]
    return sorted(rows, key=lambda r: (r["start_ns"], r["run_id"], r["place"]))


def shown(row):
    return {k: v for k, v in row.items() if k not in ("run_id", "place")}


def whole(row):
    """A row with its exact product as the integer it is."""
    held = row["logical_byte_nanoseconds"]
    return {**row, "logical_byte_nanoseconds": held if held is None else int(held)}


def test_each_operation(answers, producers):
    assert len(answers["activation_ops"]) == len(producers)
    for row, wanted in zip(answers["activation_ops"], producers):
        wanted = {k: v for k, v in wanted.items() if k not in ("place", "span_id")}
        row = whole(row)
        assert {k: row[k] for k in wanted} == wanted


@pytest.mark.parametrize("name", RANKED)
def test_ranking(answers, producers, few, name):
    measure = RANKED[name]
    ranked = [r for r in producers if r["run_id"] in few and r[measure] is not None]
    ranked.sort(key=lambda r: -r[measure])
    assert len(answers[name]) == len(ranked)
    for row, wanted in zip(answers[name], map(shown, ranked)):
        row = whole(row)
        assert {k: row[k] for k in wanted} == wanted


def test_device_busy(answers, worlds, producers, few):
    busy = {run_id: device_busy(*worlds[run_id][1:3]) for run_id in few}
    wanted = [
        {
            **shown(r),
            "clock_device": device,
            "clock_id": clock,
            "device_busy_ns": b["busy"],
            "interval_count": b["count"],
            "streams": b["names"][0],
            "backends": b["names"][1],
        }
        for r in producers
        if r["run_id"] in few
        for (span, device, clock), b in sorted(busy[r["run_id"]].items())
        if span == r["span_id"]
    ]
    wanted.sort(key=lambda r: -r["device_busy_ns"])
    assert len(answers["activations_by_device_busy"]) == len(wanted)
    for row, want in zip(answers["activations_by_device_busy"], wanted):
        row = whole(row)
        assert {k: row[k] for k in want} == want


def test_summary(answers, worlds):
    assert len(answers["activation_summary"]) == len(worlds)
    for found in answers["activation_summary"]:
        _, facts, begins, ends = worlds[found["run_id"]]
        rows, unowned = expected(facts, begins, ends)
        timed = {span for span, _, _ in device_busy(facts, begins)}
        sources = [r["classification_sources"] for r in rows]
        assert found == {
            "run_id": found["run_id"],
            "observed_operations": len(rows),
            "tensor_output_operations": sum("tensor_output" in s for s in sources),
            "logical_storage_operations": sum("logical_storage" in s for s in sources),
            "both_sources_operations": sum(len(s) == 2 for s in sources),
            "dense_output_operations": sum(r["dense_output_bytes"] is not None for r in rows),
            "operations_on_devices": sum(r["device"] != "cpu" for r in rows),
            "operations_with_device_time": sum(r["span_id"] in timed for r in rows),
            "attributed_storages": sum(r["logical_storage_count"] or 0 for r in rows),
            "attributed_bytes": sum(r["logical_allocated_bytes"] or 0 for r in rows),
            "unattributed_storages": len(unowned),
            "unattributed_bytes": sum(s["bytes"] for s in unowned),
        }


def test_the_traces_are_awkward(answers, worlds, producers):
    """The cases above occur, or the tests prove nothing."""
    summary = answers["activation_summary"]
    assert len(producers) > 300 and sum(r["unattributed_storages"] for r in summary) > 100
    assert sum(r["operations_with_device_time"] for r in summary) > 10
    assert all(len(answers[name]) > 5 for name in [*RANKED, "activations_by_device_busy"])
    assert sum((r["logical_byte_nanoseconds"] or 0) > 2**64 for r in producers) > 10
    assert sum((r["logical_storage_count"] or 0) > 1 for r in producers) > 5
    assert sum(r["logical_storage_live_duration_ns"] == 0 for r in producers) > 5
    assert sum((r["logical_retained_bytes_at_measured_end"] or 0) > 0 for r in producers) > 10
    made = [(r["run_id"], r["output_tensor_id"]) for r in producers]
    assert len(made) - len(set(made)) > 20
