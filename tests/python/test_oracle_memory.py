"""Logical memory worked out by brute force: at every event, which storages are live, by looking at each of them.

The traces are those of random_traces with their memory replaced: aliased storages, several devices, many events of one
moment, ends that were never seen, storages of no bytes, retained ones, frees through another tensor, of another
category, in another span. They are read many at once, as identities and span ids collide between runs.
"""

import json
import random
from dataclasses import dataclass

import pytest
import random_traces
from harness import assert_rows, bound, query_files

SEEDS = range(60)
ALONE = [3]
CATEGORIES = ["parameter", "activation", "gradient", "optimizer", "other"]
DEVICES = ["cpu", "cuda:0", "cuda:1"]
QUERIES = query_files()
VIEWS = {
    "span_memory": "SELECT * FROM span_memory ORDER BY run_id, span_id",
    "peak_moment": "SELECT run_id, timestamp_ns, live_bytes FROM peak_moment ORDER BY run_id",
    "peak_storages": "SELECT run_id, device, storage_id, bytes, peak_ns, peak_live_bytes FROM peak_storages "
    "ORDER BY run_id, device, storage_id",
    # What the two views of lifetimes disagree on.
    "storages": "SELECT count(*) AS rows FROM storage_lifetimes AS l FULL JOIN storages AS s ON l.run_id = s.run_id "
    "AND l.device = s.device AND l.storage_id = s.storage_id AND l.alloc_seq = s.alloc_seq AND l.bytes = s.bytes "
    "AND l.span_id = s.span_id AND l.category = s.category AND l.ending = s.ending AND l.start_ns = s.start_ns "
    "AND coalesce(l.end_ns, -1) = coalesce(s.end_ns, -1) AND coalesce(l.end_seq, -1) = coalesce(s.end_seq, -1) "
    "AND l.shape = s.shape AND l.dtype = s.dtype AND coalesce(l.op_name, '') = coalesce(s.op_name, '') "
    "WHERE l.run_id IS NULL OR s.run_id IS NULL",
}


@dataclass
class Storage:
    """One lifetime; begin and end are places in the order of events, end None where there is none."""

    id: str
    alloc: dict
    free: dict | None
    begin: int
    end: int | None
    tensors: set

    def live(self, place):
        """Whether it is live right after the event at `place`."""
        return self.begin <= place and (self.end is None or place < self.end)


class World:
    """One trace: its facts, and its storages by brute force."""

    def __init__(self, path, seed):
        facts = random_traces.write(path, seed)
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        head, tail = lines[0], lines[-1]
        kept = [x for x in lines[1:-1] if x["kind"] not in ("memory", "device_memory", "op", "tensor")]
        self.run_id = facts.run_id
        self.numbers = {}
        spans = [(s, kept_end(kept, s["id"])) for s in kept if s["kind"] == "span_start"]
        added = invent(random.Random(seed + 1000), spans)
        lines = [*kept, *added]
        random_traces.write_lines(path, [head, *lines, tail])
        for line in lines:
            for name in ("id", "parent_id", "span_id"):
                if name in line:
                    self.number(line[name])
        self.path = path
        self.names = {s["id"]: s["name"] for s, _ in spans}
        self.parents = {s["id"]: s.get("parent_id") for s, _ in spans}
        self.starts = {s["id"]: s["start_ns"] for s, _ in spans}
        self.ends = {s["id"]: s["start_ns"] + e["duration_ns"] for s, e in spans}
        self.ops = [x for x in lines if x["kind"] == "op"]
        for index, op in enumerate(self.ops):
            op["index"] = sum(o["span_id"] == op["span_id"] for o in self.ops[:index])
        self.samples = [x for x in lines if x["kind"] == "device_memory"]
        # Stable: events of one moment stay in the order of the lines.
        self.timed = sorted((x for x in lines if "memory" in x["kind"]), key=lambda x: x["timestamp_ns"])
        self.events = [x for x in self.timed if x["kind"] == "memory"]
        self.storages = list(self.pair([x for x in lines if x["kind"] == "tensor"]))

    def number(self, name):
        """A span's number: that of `s<number>`, any other the next of -1, -2, …"""
        if name[:1] == "s" and name[1:].isdigit():
            return int(name[1:])
        return self.numbers.setdefault(name, -1 - len(self.numbers))

    def pair(self, tensors):
        for begin, alloc in enumerate(self.events):
            if alloc["action"] != "alloc":
                continue
            key = (alloc["device"], alloc["storage_id"])
            same = [(i, x) for i, x in enumerate(self.events) if (x["device"], x["storage_id"]) == key]
            ends = [(i, x) for i, x in same if x["action"] == "free"]
            seen = {x["tensor_id"] for _, x in same}
            seen |= {t["tensor_id"] for t in tensors if (t["device"], t.get("storage_id")) == key}
            end, free = ends[0] if ends else (None, None)
            yield Storage(alloc["storage_id"], alloc, free, begin, end, seen)

    def live(self, place, storages=None):
        return [s for s in (self.storages if storages is None else storages) if s.live(place)]

    def live_bytes(self, place, storages=None):
        return sum(s.alloc["bytes"] for s in self.live(place, storages))

    def peak(self):
        """The place of the peak."""
        totals = [self.live_bytes(place) for place in range(len(self.events))]
        return totals.index(max(totals)) if totals else None

    def below(self, span):
        """Storages allocated in a span or a span below it."""

        def inside(other):
            while other is not None and other != span:
                other = self.parents[other]
            return other == span

        return [s for s in self.storages if inside(s.alloc["span_id"])]


def kept_end(lines, span):
    return next(x for x in lines if x["kind"] == "span_end" and x["id"] == span)


def invent(rng, spans):
    """Lines of storages, tensors on them, operations and checkpoints."""
    lines = []
    spans = [(s["id"], s["start_ns"], s["start_ns"] + e["duration_ns"]) for s, e in spans]
    by_id = {s[0]: s for s in spans}
    first, last = min(s for _, s, _ in spans), max(e for _, _, e in spans)
    # Few moments, so that many events share one; the ends of spans among them.
    moments = sorted(rng.choice([rng.randint(first, last), rng.choice(spans)[2]]) for _ in range(12))
    ops = ["matmul", "add", "backward"]
    for index in range(rng.choice([0, 1, 5, 12, 20])):
        span, start, end = rng.choice(spans)
        fitting = [m for m in moments if start <= m <= end]
        time = rng.choice(fitting) if fitting and rng.random() < 0.7 else rng.randint(start, end)
        device = rng.choice(DEVICES[: rng.randint(1, 3)])
        alloc = {
            "kind": "memory",
            "timestamp_ns": time,
            "storage_id": f"x{rng.randint(0, 12)}",
            "tensor_id": f"T{rng.choice([index, index, rng.randint(0, 9)])}",
            "span_id": span,
            "device": device,
            "bytes": rng.choice([0, 64, rng.randint(1, 4), rng.randint(1, 2**48)]),
            "action": "alloc",
            "shape": [index],
            "dtype": rng.choice(["f32", "u8"]),
            "category": rng.choice(CATEGORIES),
        }
        # The same identity on another device is another storage; on this one it would live twice.
        if any((x["device"], x["storage_id"]) == (device, alloc["storage_id"]) for x in lines):
            alloc["storage_id"] = f"y{index}"
        if rng.random() < 0.6:
            alloc["op_name"] = rng.choice(ops)
        lines.append(alloc)
        if rng.random() < 0.7:
            later = [m for m in [*moments, time] if m >= time]
            free = {
                **alloc,
                "action": "free",
                "timestamp_ns": rng.choice([rng.choice(later), rng.randint(time, last), end]),
            }
            if rng.random() < 0.3:
                free |= {"category": rng.choice(CATEGORIES), "tensor_id": "other", "span_id": rng.choice(spans)[0]}
            if rng.random() < 0.3:
                free["end_unobserved"] = True
            lines.append(free)
        view = {k: alloc[k] for k in ("span_id", "device", "storage_id", "shape", "dtype", "category")}
        view |= {"kind": "tensor", "requires_grad": False}
        for _ in range(rng.choice([0, 0, 1, 3])):
            lines.append(view | {"tensor_id": f"V{rng.randint(0, 5)}"})
        if rng.random() < 0.2:
            lines.append(view | {"tensor_id": alloc["tensor_id"], "storage_id": "never allocated"})
    named = [x for x in lines if x.get("op_name") and x["action"] == "alloc"]
    for _ in range(rng.choice([0, 4, 16])):
        claim = {"span_id": rng.choice(spans)[0], "op_name": rng.choice(ops)}
        if named and rng.random() < 0.5:
            # Where it may be the one that an allocation names.
            claim = rng.choice(named)
        span, start, end = by_id[claim["span_id"]]
        op = {"kind": "op", "span_id": span, "op_name": claim["op_name"], "inputs": [], "shape": [2], "dtype": "f32"}
        op |= {"device": "cpu", "duration_ns": rng.randint(0, 9), "timestamp_ns": rng.randint(start, end)}
        op |= {"input_dense_bytes": 0}
        if rng.random() < 0.7:
            op["output"] = f"T{rng.randint(0, 30)}"
        if rng.random() < 0.5:
            op["output_dense_bytes"] = rng.randint(0, 2**40)
        lines.append(op)
    for _ in range(rng.choice([0, 1, 6])):
        sample = {"kind": "device_memory", "timestamp_ns": rng.choice([*moments, rng.randint(first, last)])}
        sample |= {"device": rng.choice([*DEVICES, "pool", "process"])}
        known = [k for k in ("used_bytes", "free_bytes", "reserved_bytes", "capacity_bytes") if rng.random() < 0.6]
        lines.append(sample | {k: rng.randint(0, 2**49) for k in known or ["used_bytes"]})
    return interleave(rng, lines)


def interleave(rng, lines):
    """Lines in any order, but that no storage ends before it began."""
    groups = {}
    for line in lines:
        memory = line["kind"] == "memory"
        groups.setdefault((line["device"], line["storage_id"]) if memory else id(line), []).append(line)
    groups, mixed = list(groups.values()), []
    while groups:
        group = rng.choice(groups)
        mixed.append(group.pop(0))
        groups = [g for g in groups if g]
    return mixed


# The rows expected of one world, each after what orders it among the rows of all.


def lifetime(world, storage):
    alloc, free = storage.alloc, storage.free
    end = free and free["timestamp_ns"]
    return {
        "storage_id": storage.id,
        "device": alloc["device"],
        "bytes": alloc["bytes"],
        "category": alloc["category"],
        "dtype": alloc["dtype"],
        "shape": alloc["shape"],
        "op_name": alloc.get("op_name"),
        "allocation_span_id": f"s{world.number(alloc['span_id'])}",
        "allocation_span_name": world.names[alloc["span_id"]],
        "tensor_ids": sorted(storage.tensors),
        "start_timestamp_ns": alloc["timestamp_ns"],
        "end_timestamp_ns": end,
        "ending": "retained" if free is None else "end_unobserved" if free.get("end_unobserved") else "freed",
        "live_ns": None if free is None else end - alloc["timestamp_ns"],
    }


def by_size(world, storage):
    # Places of one run only: runs are apart before them.
    return (-storage.alloc["bytes"], storage.alloc["timestamp_ns"], world.run_id, storage.begin)


def lifetimes(world):
    return [(by_size(world, s), lifetime(world, s)) for s in world.storages]


def retained_storages(world):
    return [(by_size(world, s), lifetime(world, s)) for s in world.storages if s.free is None]


def share(part, whole):
    return part / whole if whole else None


def peak_storages_ranked(world):
    place = world.peak()
    if place is None:
        return []
    total, now = world.live_bytes(place), world.events[place]["timestamp_ns"]
    rows = []
    for s in world.live(place):
        more = {"age_ns": now - s.alloc["timestamp_ns"], "share": share(s.alloc["bytes"], total)}
        rows.append((by_size(world, s), lifetime(world, s) | more))
    return rows


def memory_peak(world):
    place = world.peak()
    if place is None:
        return []
    live = world.live(place)
    row = {
        "timestamp_ns": world.events[place]["timestamp_ns"],
        "live_bytes": world.live_bytes(place),
        "storages": len(live),
        "devices": len({s.alloc["device"] for s in live}),
    }
    return [((world.run_id,), row)]


def peak_moment(world):
    return [
        (k, {"run_id": world.run_id, "timestamp_ns": r["timestamp_ns"], "live_bytes": r["live_bytes"]})
        for k, r in memory_peak(world)
    ]


def peak_storages(world):
    rows = []
    for _, r in peak_storages_ranked(world):
        _, peak = memory_peak(world)[0]
        row = {"run_id": world.run_id, "device": r["device"], "storage_id": r["storage_id"], "bytes": r["bytes"]}
        row |= {"peak_ns": peak["timestamp_ns"], "peak_live_bytes": peak["live_bytes"]}
        rows.append(((world.run_id, r["device"], r["storage_id"]), row))
    return rows


def peak_composition(world):
    held = [row for _, row in peak_storages_ranked(world)]
    total = sum(r["bytes"] for r in held)
    rows = []
    keys = {"device": "device", "category": "category", "span": "allocation_span_id", "op": "op_name"}
    for rank, (dimension, column) in enumerate(keys.items()):
        for value in {r[column] for r in held}:
            of_value = [r for r in held if r[column] == value]
            size = sum(r["bytes"] for r in of_value)
            row = {
                "dimension": dimension,
                "value": value,
                "label": of_value[0]["allocation_span_name"] if dimension == "span" else None,
                "bytes": size,
                "storages": len(of_value),
                "share": share(size, total),
            }
            tie = (int(value[1:]), "") if dimension == "span" else (0, "\U0010ffff" if value is None else value)
            rows.append(((rank, -size, *tie, world.run_id), row))
    return rows


def memory_timeline(world):
    of = {id(s.alloc): s for s in world.storages} | {id(s.free): s for s in world.storages if s.free}
    rows = []
    for place, event in enumerate(world.events):
        alloc = of[id(event)].alloc
        begins = event["action"] == "alloc"
        live = world.live(place)
        row = {
            "timestamp_ns": event["timestamp_ns"],
            "action": "end_unobserved" if event.get("end_unobserved") else event["action"],
            "storage_id": event["storage_id"],
            "device": event["device"],
            "category": alloc["category"],
            "delta_bytes": alloc["bytes"] if begins else -alloc["bytes"],
            "live_bytes": world.live_bytes(place),
            "device_live_bytes": sum(s.alloc["bytes"] for s in live if s.alloc["device"] == alloc["device"]),
            "category_live_bytes": sum(s.alloc["bytes"] for s in live if s.alloc["category"] == alloc["category"]),
        }
        rows.append(((world.run_id, place), row))
    return rows


def memory_envelope(world):
    if not world.events:
        return []
    first, last = world.events[0]["timestamp_ns"], world.events[-1]["timestamp_ns"]
    width = -(-(last - first + 1) // 100)
    rows = []
    for device in DEVICES:
        own = [s for s in world.storages if s.alloc["device"] == device]
        for bucket in range(100):
            start, end = first + bucket * width, first + (bucket + 1) * width
            inside = [i for i, x in enumerate(world.events) if start <= x["timestamp_ns"] < end]
            if any(world.events[i]["device"] == device for i in inside):
                # From what it began with to what it left.
                levels = [world.live_bytes(i, own) for i in [inside[0] - 1, *inside]]
                row = {"start_ns": start, "end_ns": end, "device": device, "min_live_bytes": min(levels)}
                row |= {"max_live_bytes": max(levels), "last_live_bytes": levels[-1]}
                rows.append(((world.run_id, start, device), row))
    return rows


def memory_by_category(world):
    rows = []
    for device, category in {(s.alloc["device"], s.alloc["category"]) for s in world.storages}:
        own = [s for s in world.storages if (s.alloc["device"], s.alloc["category"]) == (device, category)]
        row = {
            "device": device,
            "category": category,
            "allocations": len(own),
            "allocated_bytes": sum(s.alloc["bytes"] for s in own),
            "peak_live_bytes": max(world.live_bytes(i, own) for i in range(len(world.events))),
            "live_at_peak_bytes": world.live_bytes(world.peak(), own),
            "retained_bytes": sum(s.alloc["bytes"] for s in own if s.free is None),
        }
        rows.append(((device, category, world.run_id), row))
    return rows


def span_memory(world):
    rows = []
    for span in world.names:
        below = world.below(span)
        if not below:
            continue
        own = [s for s in below if s.alloc["span_id"] == span]
        left = [s for s in below if s.free is None or s.free["timestamp_ns"] > world.ends[span]]
        row = {
            "run_id": world.run_id,
            "span_id": world.number(span),
            "allocations": len(own),
            "allocated_bytes": sum(s.alloc["bytes"] for s in own),
            "peak_live_bytes": max(world.live_bytes(i, below) for i in range(len(world.events))),
            "residual_bytes": sum(s.alloc["bytes"] for s in left),
        }
        rows.append(((world.run_id, row["span_id"]), row | {"span": span}))
    return rows


def heaviest_spans(world):
    rows = []
    for _, r in span_memory(world):
        row = {"id": f"s{r['span_id']}", "name": world.names[r["span"]]}
        row |= {k: r[k] for k in ("allocated_bytes", "peak_live_bytes", "residual_bytes", "allocations")}
        key = (-r["allocated_bytes"], -r["peak_live_bytes"], world.starts[r["span"]], world.run_id, r["span_id"])
        rows.append((key, row))
    return rows


def owner(world, storage):
    """The operation a storage belongs to, or None."""
    tensor = storage.alloc["tensor_id"]
    for op in world.ops:
        if op.get("output") == tensor:
            return op
    claims = {(s.alloc["span_id"], s.alloc.get("op_name")) for s in world.storages if s.alloc["tensor_id"] == tensor}
    if len(claims) > 1:
        return None
    named = [op for op in world.ops if (op["span_id"], op["op_name"]) in claims]
    return named[0] if len(named) == 1 else None


def heaviest_ops(world):
    owned = {}
    for storage in world.storages:
        op = owner(world, storage)
        if op is not None:
            owned.setdefault(id(op), []).append(storage.alloc["bytes"])
    rows = []
    for op in world.ops:
        span = world.number(op["span_id"])
        size = sum(owned[id(op)]) if id(op) in owned else None
        row = {
            "id": f"s{span}/op/{op['index']}",
            "name": op["op_name"],
            "kind": "op",
            "parent_id": f"s{span}",
            "shape": op["shape"],
            "dtype": op["dtype"],
            "device": op["device"],
            "dense_bytes": op.get("output_dense_bytes"),
            "allocated_bytes": size,
            "host_total_time_ns": op["duration_ns"],
            "host_self_time_ns": op["duration_ns"],
            "start_ns": op["timestamp_ns"],
        }
        key = (size is None, -(size or 0), op["timestamp_ns"], world.run_id, span, op["index"])
        rows.append((key, row))
    return rows


def physical_timeline(world):
    rows = []
    recorded = {s.alloc["device"] for s in world.storages}
    for index, sample in enumerate(world.samples):
        # A process holds what lies in the host's memory.
        logical_device = "cpu" if sample["device"] == "process" else sample["device"]
        own = [s for s in world.storages if s.alloc["device"] == logical_device]
        place = next(i for i, x in enumerate(world.timed) if x is sample)
        before = sum(x["kind"] == "memory" for x in world.timed[:place])
        logical = world.live_bytes(before - 1, own) if logical_device in recorded else None
        sizes = {k: sample.get(k) for k in ("used_bytes", "free_bytes", "reserved_bytes", "capacity_bytes")}
        used = sizes["used_bytes"]
        row = {"timestamp_ns": sample["timestamp_ns"], "device": sample["device"], **sizes}
        row |= {"logical_live_bytes": logical}
        row |= {"unexplained_bytes": None if None in (used, logical) else used - logical}
        rows.append(((sample["timestamp_ns"], world.run_id, index), row))
    return rows


ORACLES = {
    f.__name__: f
    for f in (
        lifetimes,
        retained_storages,
        peak_storages_ranked,
        memory_peak,
        peak_composition,
        memory_timeline,
        memory_envelope,
        memory_by_category,
        heaviest_spans,
        heaviest_ops,
        physical_timeline,
        span_memory,
        peak_moment,
        peak_storages,
    )
}


def expected(name, worlds):
    """The rows of all worlds together, in their order."""
    keyed = sorted((pair for w in worlds for pair in ORACLES[name](w)), key=lambda pair: pair[0])
    return [{k: v for k, v in row.items() if k != "span"} for _, row in keyed]


def text_of(name):
    return VIEWS[name] if name in VIEWS else bound(QUERIES[name])


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    return [World(folder / f"memory-{seed}.jsonl", seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def groups(cli, worlds):
    """All worlds, read at once, and some alone; every call made."""
    groups = [worlds, *([worlds[i]] for i in ALONE)]
    names = [*ORACLES, "storages"]
    cli.batch(("sql", *(w.path for w in g), text_of(n), "--format", "json") for g in groups for n in names)
    return groups


def test_the_worlds_are_awkward(worlds):
    storages = [(w, s) for w in worlds for s in w.storages]
    times = [(w.run_id, x["timestamp_ns"]) for w in worlds for x in w.events]
    assert len(times) - len(set(times)) > 100
    assert sum(len(s.tensors) > 1 for _, s in storages) > 100
    assert sum(s.alloc["bytes"] == 0 for _, s in storages) > 50
    assert sum(s.free is None for _, s in storages) > 50
    assert sum(s.free is not None and s.free["timestamp_ns"] == s.alloc["timestamp_ns"] for _, s in storages) > 20
    assert sum(s.free is not None and s.free["category"] != s.alloc["category"] for _, s in storages) > 20
    assert sum(bool(s.free and s.free.get("end_unobserved")) for _, s in storages) > 50
    assert sum(s.free is not None and s.free["timestamp_ns"] == w.ends[s.alloc["span_id"]] for w, s in storages) > 5
    assert sum(len({s.alloc["device"] for s in w.storages}) > 1 for w in worlds) > 20
    identities = [(w.run_id, s.id) for w, s in storages]
    assert len(identities) - len(set(identities)) > 10
    owners = [owner(w, s) for w, s in storages]
    assert sum(o is not None for o in owners) > 50
    assert sum(o is not None and o.get("output") != s.alloc["tensor_id"] for o, (_, s) in zip(owners, storages)) > 10
    assert any(not w.events for w in worlds)
    levels = [r for w in worlds for r in ORACLES["span_memory"](w)]
    assert sum(r["peak_live_bytes"] > r["allocated_bytes"] for _, r in levels) > 50


@pytest.mark.parametrize("name", ORACLES)
def test_rows_are_those_of_brute_force(cli, groups, name):
    for group in groups:
        found = cli.rows(*(w.path for w in group), text_of(name))
        assert_rows(found, expected(name, group), f"{name} of {group[0].run_id} and {len(group) - 1} more", tolerance=0)


def test_both_views_of_lifetimes_agree(cli, groups):
    for group in groups:
        assert cli.rows(*(w.path for w in group), VIEWS["storages"]) == [{"rows": 0}]


def test_totals_agree_with_the_lifetimes(cli, worlds):
    rows = []
    for world in worlds:
        for device in {s.alloc["device"] for s in world.storages}:
            own = [s for s in world.storages if s.alloc["device"] == device]
            live = [world.live_bytes(i, own) for i in range(len(world.events))]
            # The first event of the device is the first moment that counts.
            at = max((i for i in range(len(live)) if world.events[i]["device"] == device), key=lambda i: (live[i], -i))
            ends = [s.free for s in own if s.free]
            row = {
                "device": device,
                "storage_allocation_count": len(own),
                "matched_storage_free_count": sum(not f.get("end_unobserved") for f in ends),
                "unobserved_end_count": sum(bool(f.get("end_unobserved")) for f in ends),
                "total_allocated_bytes": sum(s.alloc["bytes"] for s in own),
                "peak_live_bytes": live[at],
                "peak_timestamp_ns": world.events[at]["timestamp_ns"],
                "retained_bytes": live[-1],
            }
            rows.append(((device, world.run_id), row))
    found = cli.rows(*(w.path for w in worlds), bound(QUERIES["memory_totals"]))
    assert_rows(found, [row for _, row in sorted(rows, key=lambda pair: pair[0])], "memory_totals")
