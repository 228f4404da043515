"""JSON-lines traces: a small writer for hand-made ones, and a seeded generator of awkward but valid ones.

The generator keeps the facts it writes, so that an oracle can work from them without reading any file back.
"""

import json
import random
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Facts:
    """One trace: its file, and what was put into it, in the order of the lines."""

    path: Path
    run_id: str
    entrypoint: str
    spans: list = field(default_factory=list)
    ops: list = field(default_factory=list)
    tensors: list = field(default_factory=list)
    tensor_stats: list = field(default_factory=list)
    gradients: list = field(default_factory=list)
    memory: list = field(default_factory=list)
    device_memory: list = field(default_factory=list)


def meta(run_id="run", entrypoint="random::step", **other):
    """A first line that promises nothing."""
    return {
        "kind": "meta",
        "schema": "candle-graph/trace/10",
        "run_id": run_id,
        "correlation_id": f"{entrypoint}/update-1",
        "entrypoint": entrypoint,
        "phase": "train",
        "timestamp": "2026-01-02T03:04:05.678Z",
        "capture_step": 1,
        "warmup_steps": 0,
        "device": "cpu",
        "measured_region_device_synchronized": False,
        "timing_mode": "host",
        "tags": {},
        **other,
    }


def span_lines(span_id, parent_id, name, start_ns, duration_ns, measured=False, kind="function", **other):
    """The two lines of a span."""
    start = {"kind": "span_start", "id": span_id, "name": name, "start_ns": start_ns, "span_kind": kind}
    start |= {"measured": measured} | other
    if parent_id is not None:
        start["parent_id"] = parent_id
    return start, {"kind": "span_end", "id": span_id, "duration_ns": duration_ns}


def terminal(timestamp_ns, outcome="complete", **other):
    """A last line."""
    return {"kind": "terminal", "outcome": outcome, "timestamp_ns": timestamp_ns, **other}


def write_lines(path, lines):
    """Writes a trace."""
    with open(path, "w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return path


def inside(rng, start, end, zero=0.15):
    """An interval within [start, end]: often touching an edge, sometimes of no length."""
    points = sorted(rng.choice([start, end, rng.randint(start, end)]) for _ in range(2))
    if rng.random() < zero:
        points[1] = points[0]
    return points[0], points[1]


def grow(rng, spans, parent, depth, names):
    """Children under `parent`, overlapping each other as threads do."""
    for _ in range(rng.choice([0, 1, 2, 3, 5]) if depth < 4 else 0):
        start, end = inside(rng, parent["start"], parent["end"])
        child = {
            "parent": parent,
            "start": start,
            "end": end,
            "depth": depth,
            "name": rng.choice(names),
            "kind": rng.choice(["function", "op", "module"]),
            "step": rng.choice([None, "forward", "backward", "optimizer"]),
            "thread": rng.randint(1, 4),
            "measured": False,
        }
        spans.append(child)
        grow(rng, spans, child, depth + 1, names)


def write(path, seed):
    """A valid, complete trace of nested, concurrent, overlapping and empty spans, with every kind of event."""
    rng = random.Random(seed)
    facts = Facts(Path(path), f"run-{seed}", "random::step")
    scale = rng.choice([50, 1_000, 1_000_000, 3_000_000_000])
    # A session clock near 2^52 shows whether integers pass through floats anywhere.
    origin = rng.choice([0, 7, 4_503_599_627_370_496 + 12_345])
    names = [f"layer{i}/{j}" for i in range(3) for j in range(3)] + ["näh", "a b", "x"]
    root = {
        "parent": None,
        "start": origin,
        "end": origin + 10 * scale,
        "depth": 0,
        "name": facts.entrypoint,
        "kind": "function",
        "step": None,
        "thread": 1,
        "measured": False,
    }
    spans = [root]
    above = root
    for depth in range(1, rng.choice([1, 1, 2, 3])):
        # The region may lie below other spans: they contain it and overlap it, and are still outside.
        above = {**root, "parent": above, "depth": depth, "name": "outer", "start": origin, "end": root["end"]}
        spans.append(above)
    region = {**root, "parent": above, "depth": above["depth"] + 1, "name": "update", "measured": True}
    region["start"], region["end"] = origin + 3 * scale, origin + 3 * scale + rng.randint(1, 5 * scale)
    spans.append(region)
    grow(rng, spans, region, region["depth"] + 1, names)
    grow(rng, spans, root, 1, names)
    edges = [region["start"], region["end"], root["start"], root["end"]]
    for _ in range(rng.randint(0, 12)):
        # Beside the region: before, across an edge, around it, touching it, after.
        start, end = sorted(rng.choice([*edges, rng.randint(root["start"], root["end"])]) for _ in range(2))
        spans.append({**root, "parent": root, "depth": 1, "name": "worker", "start": start, "end": end, "thread": 9})
    number(rng, spans, words=seed % 4 == 3)
    lines = [line for index, span in enumerate(spans) for line in timed_span(rng, span, index)]
    lines += op_lines(rng, spans, facts) + memory_lines(rng, spans)
    lines += tensor_lines(rng, spans, names)
    lines.sort(key=lambda timed: timed[:2])
    lines = swap_neighbours(rng, [line for _, _, line in lines])
    if rng.random() < 0.7:
        lines += gradient_lines(rng)
    lines += [device_memory_line(rng, spans) for _ in range(rng.choice([0, 1, 6]))]
    end = terminal(root["end"] + rng.randint(0, 5))
    write_lines(facts.path, [meta(facts.run_id, facts.entrypoint), *lines, end])
    collect(facts, spans, lines)
    return facts


def number(rng, spans, words):
    """Ids in no order; in some traces also ids that are no `s<number>`."""
    numbers = rng.sample(range(1, 40 * len(spans)), len(spans))
    for span, n in zip(spans, numbers):
        span["id"] = f"worker-{n}" if words and rng.random() < 0.3 else f"s{n}"


def timed_span(rng, span, index):
    start, end = span_lines(
        span["id"],
        span["parent"] and span["parent"]["id"],
        span["name"],
        span["start"],
        span["end"] - span["start"],
        span["measured"],
        span["kind"],
        thread_id=span["thread"],
    )
    if span["step"]:
        start["step"] = span["step"]
    span["cpu"] = rng.choice([None, rng.randint(0, 10**9)])
    if span["cpu"] is not None:
        end["cpu_ns"] = span["cpu"]
    # Parents open before their children and close after them, whatever the ties; a span opens before it closes.
    opened = (0, span["depth"], index) if span["start"] < span["end"] else (2, span["depth"], index)
    closed = (1, -span["depth"], index) if span["start"] < span["end"] else (2, span["depth"], index)
    return [(span["start"], opened, start), (span["end"], closed, end)]


def op_lines(rng, spans, facts):
    del facts
    lines = []
    kinds = [(n, s, d, dev) for n in ["matmul", "add", "relu'"] for s in ([], [2, 3], [2, 30]) for d in ["f32", "bf16"]
             for dev in ["cpu", "cuda:0"]]  # fmt: skip
    chosen = rng.sample(kinds, rng.randint(1, 8))
    top = rng.choice([3, 1_000, 10**12])
    for _ in range(rng.choice([0, 1, 30, 120])):
        span = rng.choice(spans)
        name, shape, dtype, device = rng.choice(chosen)
        time = rng.randint(span["start"], span["end"])
        line = {
            "kind": "op",
            "span_id": span["id"],
            "op_name": name,
            "inputs": rng.choice([[], ["t1"], ["t1", "t2"]]),
            "shape": shape,
            "dtype": dtype,
            "device": device,
            "duration_ns": rng.choice([0, rng.randint(0, top), rng.randint(0, top)]),
            "timestamp_ns": time,
            "input_dense_bytes": rng.randint(0, 2**40),
        }
        if rng.random() < 0.6:
            line["output_dense_bytes"] = rng.randint(0, 2**40)
        if rng.random() < 0.5:
            line["cpu_ns"] = rng.randint(0, top)
        lines.append((time, (1, 0, 0), line))
    return lines


def memory_lines(rng, spans):
    """Storages that live and die, at addresses that are used again; on one device often at one moment."""
    lines = []
    for device in rng.sample(["cpu", "cuda:0", "cuda:1"], rng.randint(0, 3)):
        for address in range(rng.randint(1, 6)):
            span = rng.choice([s for s in spans if s["end"] - s["start"] >= 2] or spans[:1])
            times = sorted(rng.randint(span["start"], span["end"]) for _ in range(2 * rng.randint(1, 5)))
            for birth in range(0, len(times), 2):
                line = {
                    "kind": "memory",
                    "timestamp_ns": times[birth],
                    "storage_id": f"{device}:{address:#x}",
                    "tensor_id": f"t{birth}",
                    "span_id": span["id"],
                    "device": device,
                    "bytes": rng.choice([0, 64, rng.randint(1, 2**48)]),
                    "action": "alloc",
                    "shape": [birth],
                    "dtype": "f32",
                    "category": rng.choice(["parameter", "activation", "gradient", "optimizer", "other"]),
                }
                lines.append((times[birth], (1, address, birth), line))
                if birth + 2 < len(times) or rng.random() < 0.6:
                    end = {**line, "action": "free", "timestamp_ns": times[birth + 1]}
                    if rng.random() < 0.3:
                        end["end_unobserved"] = True
                    lines.append((times[birth + 1], (1, address, birth + 1), end))
    return lines


def tensor_lines(rng, spans, names):
    lines = []
    for index in range(rng.randint(0, 20)):
        span = rng.choice(spans)
        line = {
            "kind": "tensor",
            "span_id": span["id"],
            "tensor_id": f"t{index}",
            "shape": [index],
            "dtype": "f32",
            "device": "cpu",
            "requires_grad": rng.random() < 0.5,
            "category": rng.choice(["parameter", "activation", "gradient"]),
        }
        if rng.random() < 0.7:
            line["label"] = rng.choice(names)
        lines.append((span["start"], (1, 0, index), line))
    for index in range(rng.randint(0, 15)):
        span = rng.choice(spans)
        elements = rng.randint(1, 1000)
        line = {
            "kind": "tensor_stats",
            "span_id": span["id"],
            "label": rng.choice(names),
            "shape": [elements],
            "dtype": "f32",
            "elements": elements,
            "non_finite": rng.choice([0, 0, rng.randint(0, elements)]),
            "rms": rng.random(),
            "abs_max": rng.random() * 1e300,
            "mean": -rng.random() * 1e-300,
        }
        lines.append((span["end"], (1, 1, index), line))
    return lines


def gradient_lines(rng):
    lines = []
    for index in range(rng.randint(1, 12)):
        state = rng.choice(["present", "present", "zero", "missing", "non_finite"])
        line = {"kind": "gradient", "event_id": f"g{index}", "root": "model", "key": f"w{index:02}", "state": state}
        if state in ("present", "zero"):
            line["norm"] = 0.0 if state == "zero" else rng.random() * 10.0 ** rng.randint(-300, 300)
        lines.append(line)
    return lines


def device_memory_line(rng, spans):
    used = rng.randint(0, 2**45)
    line = {"kind": "device_memory", "timestamp_ns": rng.randint(spans[0]["start"], spans[0]["end"])}
    line |= {"device": rng.choice(["cpu", "cuda:0"]), "used_bytes": used}
    if rng.random() < 0.5:
        line |= {"reserved_bytes": used + rng.randint(0, 2**30)}
    if rng.random() < 0.3:
        line |= {"capacity_bytes": 2**46}
    return line


def swap_neighbours(rng, lines):
    """Threads hand their events in late: neighbours of different storages change places, times stay."""
    for i in range(len(lines) - 1):
        first, second = lines[i], lines[i + 1]
        both = first["kind"] == second["kind"] == "memory" and first["storage_id"] != second["storage_id"]
        if both and rng.random() < 0.5:
            lines[i], lines[i + 1] = second, first
    return lines


def collect(facts, spans, lines):
    """What a reader should see: ids as numbers (`s<n>` is n, any other the next of -1, -2, …), order of recording."""
    other = {}

    def numbered(span_id):
        if span_id[:1] == "s" and span_id[1:].isdigit():
            return int(span_id[1:])
        return other.setdefault(span_id, -1 - len(other))

    for line in lines:
        # Ids are numbered in the order in which the lines name them: the span's own before its parent's.
        for name in ("id", "parent_id", "span_id"):
            if name in line:
                numbered(line[name])
        kind = line["kind"]
        if kind in ("tensor", "op", "gradient"):
            kind += "s"
        if kind in ("ops", "tensors", "tensor_stats", "gradients", "memory", "device_memory"):
            getattr(facts, kind).append(line)
    for span in spans:
        facts.spans.append(
            {
                "span_id": numbered(span["id"]),
                "parent_id": span["parent"] and numbered(span["parent"]["id"]),
                "name": span["name"],
                "kind": span["kind"],
                "step": span["step"],
                "measured": span["measured"],
                "thread_id": span["thread"],
                "start_ns": span["start"],
                "duration_ns": span["end"] - span["start"],
                "cpu_ns": span["cpu"],
            }
        )
