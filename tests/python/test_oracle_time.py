"""Where host and device time went, worked out instant by instant from the facts a trace was made of.

Time is cut at every endpoint: between two cuts nothing begins or ends, so what holds at one instant holds between them.
"""

import json
import random
from itertools import pairwise
from pathlib import Path

import naive
import pytest
import random_traces
from harness import assert_rows, bound, query_files

SEEDS = range(100, 160)
QUERIES = query_files()
STEPS = ["forward", "backward", "optimizer", "untracked"]


def device_facts(rng, spans):
    """Intervals on several clocks: overlapping, touching, nested, repeated, without length."""
    clocks = [(d, c) for d in ("cuda:0", "cuda:1", "näh") for c in ("event", "cupti")]
    clocks = rng.sample(clocks, rng.randint(0, 4))
    # A narrow range makes intervals touch and tie; a high origin shows whether integers pass through floats.
    width, origin = rng.choice([(12, 0), (200, 7), (10**9, 2**60)])
    facts = []
    for _ in range(rng.choice([1, 5, 40]) if clocks else 0):
        device, clock = rng.choice(clocks)
        start, end = sorted(origin + rng.randint(0, width) for _ in range(2))
        facts.append(
            {
                "span": rng.choice(spans),
                "device": device,
                "stream_id": rng.choice(["7", "8", "12"]),
                "clock_id": clock,
                "backend": rng.choice(["cuda", "cupti"]),
                "start_ns": start,
                "duration_ns": rng.choice([end - start, 1, min(3, end - start)]),
            }
        )
    return facts


def deepen(rng, lines):
    """More spans below those of the region, level under level: side by side, overlapping, ending together."""
    opened = {line["id"]: line for line in lines if line["kind"] == "span_start"}
    ends = {line["id"]: line["duration_ns"] for line in lines if line["kind"] == "span_end"}
    region = next(line for line in opened.values() if line["measured"])
    level = [(region["id"], region["start_ns"], region["start_ns"] + ends[region["id"]])]
    for depth in range(rng.choice([0, 3, 7])):
        below = []
        for parent, low, high in level:
            for _ in range(rng.choice([1, 2, 4] if len(level) < 20 else [0, 1])):
                start, end = sorted(rng.choice([low, high, *(rng.randint(low, high) for _ in range(4))]) for _ in "se")
                step = {"step": rng.choice(STEPS[:3])} if rng.random() < 0.1 else {}
                # Unlike any id of the generator's, and in no order.
                span_id = f"s{10**6 + rng.randint(0, 10**9)}"
                lines += random_traces.span_lines(
                    span_id, parent, f"level{depth}", start, end - start, kind="op", thread_id=rng.randint(1, 4), **step
                )
                below.append((span_id, start, end))
        level = below


def damage(rng, lines):
    """Spans that never close, reach beyond their parent, or are their own ancestors: still one partition."""
    starts = [line for line in lines if line["kind"] == "span_start"]
    opened = {line["id"]: line for line in starts}
    plain = [line for line in starts if not line["measured"] and "parent_id" in line]
    region = next(line for line in starts if line["measured"])
    lost = set()
    for line in rng.sample(plain, min(len(plain), rng.randint(1, 4))):
        what = rng.choice(["open", "early", "late", "cycle"])
        end = next(e for e in lines if e["kind"] == "span_end" and e["id"] == line["id"])
        if what == "open":
            lost.add(line["id"])
        elif what == "early":
            back = rng.randint(0, line["start_ns"])
            line["start_ns"] -= back
            end["duration_ns"] += back
        elif what == "late":
            end["duration_ns"] += rng.randint(0, 10 * end["duration_ns"] + 10)
        elif opened[region["parent_id"]].get("parent_id"):
            # The region's parent hangs below one of the region's descendants, or below itself.
            opened[region["parent_id"]]["parent_id"] = line["id"]
    return [line for line in lines if not (line["kind"] == "span_end" and line["id"] in lost)]


def load(lines):
    """Spans by id, as a reader should see them, in the order in which the lines name them."""
    other, spans = {}, {}

    def numbered(span_id):
        if span_id[:1] == "s" and span_id[1:].isdigit():
            return int(span_id[1:])
        return other.setdefault(span_id, -1 - len(other))

    for line in lines:
        for name in ("id", "parent_id", "span_id"):
            if name in line:
                line[f"{name} number"] = numbered(line[name])
        if line["kind"] == "span_start":
            spans[line["id number"]] = {
                "span_id": line["id number"],
                "parent_id": line.get("parent_id number"),
                "name": line["name"],
                "thread_id": line["thread_id"],
                "kind": line["span_kind"],
                "step": line.get("step"),
                "measured": line["measured"],
                "start": line["start_ns"],
                "end": None,
                "cpu_ns": None,
            }
        elif line["kind"] == "span_end":
            span = spans[line["id number"]]
            span["end"] = span["start"] + line["duration_ns"]
            span["cpu_ns"] = line.get("cpu_ns")
    return spans


class World:
    """One generated trace with more spans and device intervals, and in every third seed damage."""

    def __init__(self, folder, seed):
        rng = random.Random(seed)
        path = Path(folder) / f"time-{seed}.jsonl"
        self.facts = random_traces.write(path, seed)
        self.damaged = seed % 3 == 0
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        meta, *lines, end = lines
        deepen(rng, lines)
        if self.damaged:
            lines = damage(rng, lines)
        ids = [line["id"] for line in lines if line["kind"] == "span_start"]
        self.intervals = device_facts(rng, ids)
        keys = ("device", "stream_id", "clock_id", "backend", "start_ns", "duration_ns")
        for fact in self.intervals:
            lines.append({"kind": "device_interval", "span_id": fact["span"], **{k: fact[k] for k in keys}})
        random_traces.write_lines(path, [meta, *lines, end])
        self.spans = load(lines)
        for fact, line in zip(self.intervals, lines[len(lines) - len(self.intervals) :], strict=True):
            fact["span_id"] = line["span_id number"]
        self.path, self.run_id = path, self.facts.run_id
        self.region = next(s for s in self.spans.values() if s["measured"])


def pieces(points, low, high):
    """Pieces of [low, high) between neighbouring points."""
    cuts = sorted({low, high, *(p for p in points if low < p < high)})
    return list(pairwise(cuts))


def runs_at(span, at, bounds):
    """Whether a closed span runs at an instant that lies within `bounds`."""
    return span["end"] is not None and span["start"] <= at < span["end"] and bounds[0] <= at < bounds[1]


def critical_stack(world, at):
    """The region and below it, level by level, the running child that ends last, at one instant."""
    stack = [world.region]
    bounds = (world.region["start"], world.region["end"])
    while True:
        running = [
            s
            for s in world.spans.values()
            if s["parent_id"] == stack[-1]["span_id"] and s not in stack and runs_at(s, at, bounds)
        ]
        if not running:
            return stack
        # An end beyond the parent's is the parent's, and so is a start before it.
        last = min(running, key=lambda s: (-min(s["end"], bounds[1]), max(s["start"], bounds[0]), s["span_id"]))
        bounds = (max(bounds[0], last["start"]), min(bounds[1], last["end"]))
        stack.append(last)


def critical_spans(world):
    """Rows of view critical_spans, by span id."""
    region, rows = world.region, {}

    def row(stack):
        steps = [s["step"] for s in stack if s["step"]]
        return {
            "run_id": world.run_id,
            "span_id": stack[-1]["span_id"],
            "parent_id": stack[-2]["span_id"] if len(stack) > 1 else None,
            "name": stack[-1]["name"],
            "kind": stack[-1]["kind"],
            "step": steps[-1] if steps else None,
            "depth": len(stack) - 1,
            "from_ns": None,
            "to_ns": None,
            "path_ns": 0,
        }

    rows[region["span_id"]] = row([region]) | {"from_ns": region["start"], "to_ns": region["end"]}
    points = [p for s in world.spans.values() if s["end"] is not None for p in (s["start"], s["end"])]
    for low, high in pieces(points, region["start"], region["end"]):
        stack = critical_stack(world, low)
        for depth in range(1, len(stack)):
            found = rows.setdefault(stack[depth]["span_id"], row(stack[: depth + 1]))
            # One interval: it begins where it was first met, and goes on where it left off.
            assert found["to_ns"] in (None, low), "critical for one interval"
            found["from_ns"] = low if found["from_ns"] is None else found["from_ns"]
            found["to_ns"] = high
        rows[stack[-1]["span_id"]]["path_ns"] += high - low
    assert sum(r["path_ns"] for r in rows.values()) == region["end"] - region["start"]
    return [rows[i] for i in sorted(rows)]


def critical_path(worlds):
    rows = [
        row | {"share": row["path_ns"] / (world.region["end"] - world.region["start"])}
        for world in worlds
        for row in critical_spans(world)
        if row["path_ns"] > 0
    ]
    rows.sort(key=lambda r: (r["from_ns"], r["depth"], r["run_id"], r["span_id"]))
    return [
        {
            "id": f"s{r['span_id']}",
            "parent_id": None if r["parent_id"] is None else f"s{r['parent_id']}",
            **{k: r[k] for k in ("name", "kind", "step", "depth", "from_ns", "to_ns", "path_ns", "share")},
        }
        for r in rows
    ]


def below_region(world, span):
    seen = set()
    while span is not None and span["span_id"] not in seen:
        if span is world.region:
            return True
        seen.add(span["span_id"])
        span = world.spans.get(span["parent_id"])
    return False


def step_split(world):
    wall = world.region["end"] - world.region["start"]
    closed = [s for s in world.spans.values() if s["end"] is not None and below_region(world, s)]
    rows = []
    for step in STEPS:
        stated = sum((s["step"] or "untracked") == step for s in closed)
        time = sum(r["path_ns"] for r in critical_spans(world) if (r["step"] or "untracked") == step)
        known = stated or step == "untracked"
        assert known or not time
        share = time / wall if known and wall else None
        rows.append({"step": step, "spans": stated, "wall_ns": time if known else None, "share": share})
    return rows


def host_hotspots(worlds):
    """Of all traces together, which must be undamaged."""
    wall = sum(w.region["end"] - w.region["start"] for w in worlds)
    times = [
        row
        for world in worlds
        for row in naive.span_times(
            [s | {"start_ns": s["start"], "duration_ns": s["end"] - s["start"]} for s in world.spans.values()]
        )
        if row["scope"] != "outside"
    ]
    rows = []
    for (name, scope), spans in naive.grouped(times, "name", "scope").items():
        total = [s["total_ns"] for s in spans]
        own = sum(s["measured_self_ns"] for s in spans)
        rows.append(
            {
                "name": name,
                "scope": scope,
                "calls": len(spans),
                "total_ns": sum(total),
                "self_ns": sum(s["self_ns"] for s in spans),
                "measured_ns": sum(s["measured_ns"] for s in spans),
                "measured_self_ns": own,
                "share": own / wall if scope == "measured_subtree" and wall else None,
                "p50_ns": naive.percentile(total, "0.5"),
                "p99_ns": naive.percentile(total, "0.99"),
                "max_ns": max(total),
                "cpu_ns": naive.total(s["cpu_ns"] for s in spans),
            }
        )
    return sorted(rows, key=lambda r: (-r["measured_self_ns"], r["name"].encode(), r["scope"]))


def by_clock(world, *more):
    """Intervals with a length, by device and clock."""
    lasting = [i for i in world.intervals if i["duration_ns"] > 0]
    return sorted(naive.grouped(lasting, "device", "clock_id", *more).items())


def ends(intervals):
    return [(i["start_ns"], i["start_ns"] + i["duration_ns"]) for i in intervals]


def stretches(intervals):
    """Neighbouring pieces that some interval covers, joined."""
    found, times = [], ends(intervals)
    low, high = min(s for s, _ in times), max(e for _, e in times)
    for a, b in pieces([p for time in times for p in time], low, high):
        if any(s <= a and b <= e for s, e in times):
            if found and found[-1][1] == a:
                found[-1][1] = b
            else:
                found.append([a, b])
    return found


def device_unions(world):
    return [
        {
            "run_id": world.run_id,
            "device": device,
            "clock_id": clock,
            "start_ns": low,
            "end_ns": high,
            "intervals": sum(low <= s < high for s, _ in ends(intervals)),
        }
        for (device, clock), intervals in by_clock(world)
        for low, high in stretches(intervals)
    ]


def device_busy(world):
    rows = []
    for (device, clock), intervals in by_clock(world):
        times = ends(intervals)
        first, last = min(s for s, _ in times), max(e for _, e in times)
        busy = naive.length(times, first, last)
        rows.append(
            {
                "run_id": world.run_id,
                "device": device,
                "clock_id": clock,
                "intervals": len(intervals),
                "streams": len({i["stream_id"] for i in intervals}),
                "spans": len({i["span_id"] for i in intervals}),
                "busy_ns": busy,
                "summed_ns": sum(i["duration_ns"] for i in intervals),
                "first_ns": first,
                "last_ns": last,
                "window_ns": last - first,
                "idle_ns": last - first - busy,
                "utilisation": busy / (last - first),
                "backends": sorted({i["backend"] for i in intervals}),
            }
        )
    return rows


def slowest_device(world):
    rows = []
    for (device, clock, span_id), intervals in by_clock(world, "span_id"):
        times = ends(intervals)
        rows.append(
            {
                "run_id": world.run_id,
                "id": f"s{span_id}",
                "name": world.spans[span_id]["name"],
                "device": device,
                "clock_id": clock,
                "device_busy_ns": naive.length(times, min(s for s, _ in times), max(e for _, e in times)),
                "interval_count": len(intervals),
                "streams": sorted({i["stream_id"] for i in intervals}),
                "backends": sorted({i["backend"] for i in intervals}),
            }
        )
    return rows


def device_idle(world):
    rows = []
    for (device, clock), intervals in by_clock(world):
        merged = stretches(intervals)
        for (_, low), (high, _) in pairwise(merged):
            row = {"run_id": world.run_id, "device": device, "clock_id": clock}
            row |= {"start_ns": low, "end_ns": high, "idle_ns": high - low}
            row["before_span"] = min(i["span_id"] for i in intervals if i["start_ns"] + i["duration_ns"] == low)
            row["after_span"] = min(i["span_id"] for i in intervals if i["start_ns"] == high)
            rows.append(row | {k: f"s{row[k]}" for k in ("before_span", "after_span")})
    return rows


def together(oracle, *order):
    """The rows of a query over many traces, in its order; a `-` before a column: largest first."""

    def key(row):
        # Span ids are ordered as numbers.
        values = [int(row[c][1:]) if c == "id" else row[c.lstrip("-")] for c in order]
        return [-v if c.startswith("-") else v for c, v in zip(order, values)]

    def rows(worlds):
        found = sorted((row for world in worlds for row in oracle(world)), key=key)
        return [{k: v for k, v in row.items() if k != "run_id"} for row in found]

    return rows


VIEWS = {
    "critical_spans": (critical_spans, "run_id, span_id"),
    "device_unions": (device_unions, "run_id, device, clock_id, start_ns"),
}
ORACLES = {
    "critical_path": critical_path,
    "step_split": lambda worlds: [row for w in sorted(worlds, key=lambda w: w.run_id) for row in step_split(w)],
    "host_hotspots": host_hotspots,
    "device_busy": together(device_busy, "device", "clock_id", "run_id"),
    "slowest_device": together(slowest_device, "-device_busy_ns", "run_id", "id", "device", "clock_id"),
    "device_idle": together(device_idle, "-idle_ns", "device", "clock_id", "start_ns", "run_id"),
}
# What damage to spans can change, and where the law has to hold all the same.
OF_DAMAGED = ["critical_spans", "critical_path", "step_split"]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("time")
    return [World(folder, seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def groups(worlds):
    """The traces of one call: their ids, devices and clocks are the same, and run_id must keep them apart."""
    sound = [w for w in worlds if not w.damaged]
    names = [*VIEWS, *ORACLES]
    return [(sound, names), ([w for w in worlds if w.damaged], OF_DAMAGED)]


@pytest.fixture(scope="module")
def answers(cli, groups):
    """The rows of every view and query over every group of traces."""
    texts = {name: f"SELECT * FROM {name} ORDER BY {order}" for name, (_, order) in VIEWS.items()}
    texts |= {name: bound(QUERIES[name]) for name in ORACLES}
    found = cli.batch(
        ("sql", *(w.path for w in group), texts[name], "--format", "json") for group, names in groups for name in names
    )
    rows = iter([answer.json["rows"] for answer in found])
    return [(group, {name: next(rows) for name in names}) for group, names in groups]


def test_traces_are_awkward(worlds):
    rows = [r for world in worlds for r in critical_spans(world)]
    assert sum(r["depth"] >= 4 for r in rows) > 50
    assert sum(r["path_ns"] == 0 for r in rows) > 20
    spans = [s for world in worlds for s in world.spans.values()]
    assert sum(s["end"] is None for s in spans) > 5 and any(s["start"] == s["end"] for s in spans)
    assert any(below_region(w, w.spans.get(w.region["parent_id"])) for w in worlds), "a cycle through the region"
    parents = [(s, w.spans.get(s["parent_id"])) for w in worlds for s in w.spans.values()]
    closed = [(s["end"], p["end"]) for s, p in parents if p and None not in (s["end"], p["end"])]
    assert sum(child > parent for child, parent in closed) > 5
    split = [r for world in worlds for r in step_split(world)]
    assert any(r["wall_ns"] == 0 for r in split) and any(r["wall_ns"] is None for r in split)
    intervals = [i for world in worlds for i in world.intervals]
    assert any(i["duration_ns"] == 0 for i in intervals)
    assert sum(len(device_idle(world)) for world in worlds) > 50
    assert any(r["summed_ns"] > r["busy_ns"] for world in worlds for r in device_busy(world))


@pytest.mark.parametrize("name", VIEWS)
def test_views(answers, name):
    for group, rows in answers:
        if name in rows:
            expected = [row for world in sorted(group, key=lambda w: w.run_id) for row in VIEWS[name][0](world)]
            assert_rows(rows[name], expected, name)


@pytest.mark.parametrize("name", ORACLES)
def test_queries(answers, name):
    for group, rows in answers:
        if name in rows:
            assert_rows(rows[name], ORACLES[name](group), name)


def test_the_region_is_shared_out_exactly(answers):
    """To the last nanosecond, in damaged traces too."""
    for group, rows in answers:
        walls = {w.run_id: w.region["end"] - w.region["start"] for w in group}
        for (run_id,), path in naive.grouped(rows["critical_spans"], "run_id").items():
            assert sum(r["path_ns"] for r in path) == walls[run_id]
            assert all(0 <= r["path_ns"] <= r["to_ns"] - r["from_ns"] for r in path)
        assert sum(r["path_ns"] for r in rows["critical_path"]) == sum(walls.values())
        split = [rows["step_split"][i : i + 4] for i in range(0, len(rows["step_split"]), 4)]
        for (_, wall), four in zip(sorted(walls.items()), split, strict=True):
            assert [r["step"] for r in four] == STEPS
            assert sum(r["wall_ns"] or 0 for r in four) == wall


def test_a_clock_is_busy_or_idle(answers):
    rows = answers[0][1]
    idle = sum(r["idle_ns"] for r in rows["device_idle"])
    assert sum(r["idle_ns"] for r in rows["device_busy"]) == idle
    assert all(r["busy_ns"] + r["idle_ns"] == r["window_ns"] for r in rows["device_busy"])


def test_one_trace_alone(cli, worlds):
    """As many at once; and a filter by name keeps whole rows."""
    world = max(worlds, key=lambda w: len(slowest_device(w)))
    expected = ORACLES["slowest_device"]([world])
    name = expected[0]["name"]
    text = QUERIES["slowest_device"]
    assert_rows(cli.rows(world.path, bound(text)), expected, "all")
    kept = [r for r in expected if r["name"] == name]
    assert_rows(cli.rows(world.path, bound(text, label=name)), kept, "label")
    kept = [r for r in expected if r["name"].startswith(name[:2])]
    assert_rows(cli.rows(world.path, bound(text, label_prefix=name[:2])), kept, "label_prefix")
