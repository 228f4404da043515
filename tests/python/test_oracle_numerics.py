"""Where values stopped being finite, what that reached, and gradients against their contract: a search in plain Python.

Each trace is a generated one with tensors, summaries, operations, data edges, gradients and a valid contract drawn into
it: chains, diamonds, cycles, tensors with several labels and labels with several tensors. Many traces are read at once,
so that equal ids of different runs would show.
"""

import hashlib
import json
import math
import random
from collections import Counter, deque

import pytest
import random_traces
from harness import assert_rows, bound, query_files

SEEDS = range(64)
# Walks round a cycle and along a chain are long ones: they keep to one call.
LONG = SEEDS[::8]
FARTHEST = 64
COUNTS = ("nan", "pos_inf", "neg_inf", "non_finite")
NAMES = ["first_non_finite", "reached_non_finite", "gradient_families", "dead_gradients"]
QUERIES = {name: query_files()[name] for name in NAMES}


def summary(rng, span, label, bad):
    """A line of a summary; with `bad` some of its elements are not finite, which a recorder may tell apart or not."""
    elements = rng.randint(1, 9)
    counts = [0, 0, 0]
    for _ in range(rng.randint(1, elements) if bad else 0):
        counts[rng.randrange(3)] += 1
    line = {"kind": "tensor_stats", "span_id": span, "label": label, "shape": [elements], "dtype": "f32"}
    line |= {"elements": elements, "non_finite": sum(counts), "rms": 1.0, "abs_max": 1.0, "mean": 1.0}
    return line if rng.random() < 0.3 else line | dict(zip(COUNTS, counts))


def graph_lines(rng, spans, cycles):
    """Tensors with labels, summaries under those labels, operations and data edges."""
    ids = [f"n{i}" for i in range(rng.choice([3, 8, 20]))]
    labels = [f"label{i}" for i in range(rng.choice([2, 6, 30]))]
    places = rng.sample(spans, min(len(spans), rng.choice([1, 3, 8])))
    lines, named = [], []
    for tensor in ids:
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            named.append((rng.choice(places), rng.choice(labels)))
            line = {"kind": "tensor", "span_id": named[-1][0], "tensor_id": tensor, "shape": [1], "dtype": "f32"}
            line |= {"device": "cpu", "requires_grad": False, "category": "activation"}
            lines.append(line if rng.random() < 0.1 else line | {"label": named[-1][1]})
    for _ in range(rng.choice([0, 5, 20, 20])):
        span, label = rng.choice([*named, (rng.choice(spans), "elsewhere")])
        lines.append(summary(rng, span, label, rng.random() < 0.3))

    def pair():
        a, b = rng.randrange(len(ids)), rng.randrange(len(ids))
        # Forward, or in place; backward only where cycles may be.
        return (ids[a], ids[b]) if cycles and rng.random() < 0.15 else (ids[min(a, b)], ids[max(a, b)])

    for _ in range(rng.choice([0, 6, 25, 25])):
        a, b = pair()
        line = {"kind": "op", "span_id": rng.choice(spans), "op_name": rng.choice(["mul", "add", "log"]), "shape": [1]}
        line |= {"inputs": rng.choice([[a], [a, a], [a, pair()[0]], []]), "dtype": "f32", "device": "cpu"}
        line |= {"duration_ns": 1, "timestamp_ns": 1, "input_dense_bytes": 4}
        lines.append(line if rng.random() < 0.1 else line | {"output": b})
    for _ in range(rng.choice([0, 0, 6])):
        a, b = pair()
        lines.append({"kind": "edge", "edge_kind": "data", "from_tensor": a, "to_tensor": b})
    return lines


def chain_lines(rng, spans):
    """A chain longer than any walk goes, with summaries so far apart that some lie beyond its end."""
    length = rng.choice([FARTHEST, 2 * FARTHEST + 5])
    lines = []
    for i in range(length):
        line = {"kind": "edge", "edge_kind": "data", "from_tensor": f"c{i}", "to_tensor": f"c{i + 1}"}
        lines.append(line)
    turn = rng.randrange(length)
    for i in {0, turn, length, max(turn - FARTHEST, 0), max(turn - FARTHEST - 1, 0), min(turn + FARTHEST + 1, length)}:
        span = rng.choice(spans)
        line = {"kind": "tensor", "span_id": span, "tensor_id": f"c{i}", "label": f"chain{i}", "shape": [1]}
        line |= {"dtype": "f32", "device": "cpu", "requires_grad": False, "category": "activation"}
        lines += [line, summary(rng, span, f"chain{i}", i >= turn)]
    return lines


def contract(rng, parameters):
    """A valid contract over `parameters`."""
    families = [f"family{i}" for i in range(rng.randint(1, min(4, len(parameters))))]
    # Each family has a member.
    of = [*families, *(rng.choice(families) for _ in parameters[len(families) :])]
    rules = []
    for family in families:
        expectation = rng.choice(["active", "inactive", "data_conditional"])
        least = 0 if expectation == "inactive" else rng.randint(1, of.count(family))
        rules.append({"family": family, "expectation": expectation, "min_present": least})
    entries = [{"root": r, "key": k, "family": f} for (r, k), f in zip(parameters, of)]
    digest = hashlib.sha256(b"candle-graph/gradient-manifest/1\0")
    for part in (entry[name].encode() for entry in entries for name in ("root", "key", "family")):
        digest.update(len(part).to_bytes(8, "little") + part)
    sha = f"sha256:{digest.hexdigest()}"
    levels = ("operations", "activations", "tensors", "logical_memory", "physical_memory", "device_timing")
    return {
        "measurement_scope": "profiled_work",
        **dict.fromkeys(levels, "none"),
        "gradients": "complete",
        "gradient_contract": {"manifest_sha256": sha, "expected": entries, "families": rules},
        "required_semantic_labels": [],
    }


def gradient_lines(rng, parameters):
    """Gradients of most of the parameters, seldom of one twice; in some traces all of one state."""
    some = ["present", "present", "zero", "missing"]
    states = rng.choice([["present"], ["missing"], ["zero", "missing"], some, some])
    if rng.random() < 0.25:
        states = [*states, "non_finite"]
    lines = []
    for root, key in parameters:
        for _ in range(rng.choice([0, 1, 1, 1, 1, 1, 1, 1, 2]) if rng.random() < 0.4 else 1):
            state = rng.choice(states)
            line = {"kind": "gradient", "event_id": f"x{len(lines)}", "root": root, "key": key, "state": state}
            if state in ("present", "zero"):
                line["norm"] = 0.0 if state == "zero" else rng.uniform(0.5, 1) * 10.0 ** rng.choice([0, 1, -200, 200])
            lines.append(line)
    return lines


def write(path, seed):
    """A trace, and its lines."""
    rng = random.Random(f"numerics {seed}")
    random_traces.write(path, seed)
    first, *lines, last = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    if rng.random() < 0.8:
        # Else those already there, most of them of no known tensor, would come first nearly always.
        lines = [line | {"non_finite": 0} if line["kind"] == "tensor_stats" else line for line in lines]
    spans = [x["id"] for x in lines if x["kind"] == "span_start" and x["id"][1:].isdigit()]
    more = graph_lines(rng, spans, cycles=seed in LONG) + (chain_lines(rng, spans) if seed in LONG else [])
    rng.shuffle(more)
    declared = [("model", f"w{i:02}") for i in range(12)] + [("head", "bias"), ("head", "weight")]
    rng.shuffle(declared)
    if seed % 3:
        declared = declared[: rng.randint(1, 14)]
        first["capture_contract"] = contract(rng, declared[: len(declared) - (rng.random() < 0.2)] or declared)
    if seed % 3 or rng.random() < 0.3:
        lines = [line for line in lines if line["kind"] != "gradient"]
        more += gradient_lines(rng, declared)
    for line in more:
        # Gradients come late, or one that is not finite would nearly always be the first.
        late = line["kind"] == "gradient" and rng.random() < 0.9
        lines.insert(rng.randint(len(lines) * 3 // 4 if late else 0, len(lines)), line)
    random_traces.write_lines(path, [first, *lines, last])
    return first, lines


class World:
    """What a reader should see of one trace, and the answers to the four questions."""

    def __init__(self, first, lines):
        self.run_id = first["run_id"]
        self.contract = first.get("capture_contract", {}).get("gradient_contract")
        self.spans = {x["id"]: x for x in lines if x["kind"] == "span_start"}
        # A span takes its place in the order of recording when it closes.
        recorded = [x for x in lines if x["kind"] != "span_start"]
        self.by_kind = {}
        for seq, line in enumerate(recorded):
            self.by_kind.setdefault(line["kind"], []).append({**line, "seq": seq})
        self.names()
        self.flows()
        self.gradients = self.by_kind.get("gradient", [])
        self.bad = [s for s in self.stats if s["non_finite"]]
        self.bad += [
            {"seq": g["seq"], "kind": "gradient", "label": f"{g['root']}/{g['key']}", "tensor": None}
            for g in self.gradients
            if g["state"] == "non_finite"
        ]
        self.bad.sort(key=lambda x: x["seq"])

    def names(self):
        """The summaries, each with the one tensor of its span and label."""
        self.tensors = self.by_kind.get("tensor", [])
        self.stats = self.by_kind.get("tensor_stats", [])
        for stat in self.stats:
            same = [t for t in self.tensors if t["span_id"] == stat["span_id"] and t.get("label") == stat["label"]]
            found = {t["tensor_id"] for t in same}
            stat["tensor"] = found.pop() if len(found) == 1 else None

    def flows(self):
        """What leads to and from each tensor, and what made it."""
        self.up, self.down, self.makers = {}, {}, {}
        for op in self.by_kind.get("op", []):
            if "output" in op:
                self.makers.setdefault(op["output"], []).append(op)
                for tensor in op["inputs"]:
                    self.link(tensor, op["output"])
        for edge in self.by_kind.get("edge", []):
            if edge["edge_kind"] == "data":
                self.makers.setdefault(edge["to_tensor"], []).append(edge)
                self.link(edge["from_tensor"], edge["to_tensor"])

    def link(self, source, target):
        self.down.setdefault(source, set()).add(target)
        self.up.setdefault(target, set()).add(source)

    def distances(self, start, links):
        """Fewest steps to every tensor within reach: breadth first."""
        found, queue = {start: 0}, deque([start])
        while queue:
            tensor = queue.popleft()
            if found[tensor] < FARTHEST:
                for other in links.get(tensor, ()):
                    if other not in found:
                        found[other] = found[tensor] + 1
                        queue.append(other)
        return found

    def span_of(self, fact):
        span = fact.get("span_id")
        return span, self.spans[span]["name"] if span else None

    def maker(self, tensor):
        """The first operation that was recorded with this output."""
        made = [op for op in self.by_kind.get("op", []) if tensor and op.get("output") == tensor]
        first = min(made, key=lambda op: op["seq"], default=None)
        return {
            "made_by_op": first and first["op_name"],
            "made_by_span_id": first and first["span_id"],
            "made_by_span_name": first and self.spans[first["span_id"]]["name"],
        }

    def first_non_finite(self):
        if not self.bad:
            return []
        first = self.bad[0]
        span, name = self.span_of(first)
        above = span
        while above and "step" not in self.spans[above]:
            above = self.spans[above].get("parent_id")
        before = [s for s in self.stats if s["seq"] < first["seq"]]
        path = "recording_order" if before else None
        if first["tensor"]:
            upstream = self.distances(first["tensor"], self.up)
            on_path = [s for s in before if s["tensor"] in upstream]
            before, path = (on_path, "data_edges") if on_path else (before, path)
        last = max(before, key=lambda s: s["seq"], default=None)
        return [
            {
                "kind": first["kind"],
                "label": first["label"],
                "seq": first["seq"],
                "span_id": span,
                "span_name": name,
                "step": self.spans[above]["step"] if above else None,
                "tensor_id": first["tensor"],
                "elements": first.get("elements"),
                **{c: first.get(c) for c in COUNTS},
                "last_finite_label": last and last["label"],
                "last_finite_span_id": last and last["span_id"],
                "last_finite_seq": last and last["seq"],
                "path": path,
                "affected_after": len(self.bad) - 1,
                "facts_after": sum(x["seq"] > first["seq"] for x in [*self.stats, *self.gradients]),
                **self.maker(first["tensor"]),
            }
        ]

    def reached_non_finite(self):
        if not self.bad:
            return []
        start = self.bad[0]["tensor"]
        reached = self.distances(start, self.down) if start else {}
        rows = [self.reached(reached, x.get("tensor"), x["kind"], x, "non_finite") for x in self.bad[1:]]
        for tensor in reached.keys() - {x["tensor"] for x in self.bad}:
            told = [("tensor_stats", s) for s in self.stats if s["tensor"] == tensor]
            told += [("tensor", t) for t in self.tensors if t["tensor_id"] == tensor]
            told += sorted(((m["kind"], m) for m in self.makers.get(tensor, [])), key=lambda pair: pair[1]["seq"])
            kind, fact = told[0]
            rows.append(self.reached(reached, tensor, kind, fact, "finite" if kind == "tensor_stats" else None))
        return rows

    def reached(self, reached, tensor, kind, fact, state):
        span, name = self.span_of(fact)
        hops = reached.get(tensor)
        makers = [m["op_name"] for m in self.makers.get(tensor, []) if m["kind"] == "op"] if hops is not None else []
        return {
            "relation": "later" if hops is None else "downstream",
            "hops": hops,
            "tensor_id": tensor,
            "op_name": min(makers, default=None),
            "state": state,
            "kind": kind,
            "label": fact.get("label"),
            "span_id": span,
            "span_name": name,
            "elements": fact.get("elements"),
            "non_finite": fact.get("non_finite"),
            "seq": fact["seq"],
        }

    def judged(self):
        """Each family and each root of undeclared parameters: its rule and its members, as (root, key, state, norm)."""
        last = {(g["root"], g["key"]): g for g in self.gradients}
        times = Counter((g["root"], g["key"]) for g in self.gradients)
        left, groups = dict(last), []
        for rule in (self.contract or {}).get("families", []):
            entries = [e for e in self.contract["expected"] if e["family"] == rule["family"]]
            names = [(e["root"], e["key"]) for e in entries]
            members = [(*n, *self.state(last.get(n))) for n in names]
            groups.append((None, rule, members, sum(times[n] > 1 for n in names)))
            for name in names:
                left.pop(name, None)
        for root in sorted({root for root, _ in left}):
            names = [n for n in left if n[0] == root]
            members = [(*n, *self.state(left[n])) for n in names]
            groups.append((root, None, members, sum(times[n] > 1 for n in names)))
        return groups

    @staticmethod
    def state(gradient):
        return (gradient["state"], gradient.get("norm")) if gradient else ("unrecorded", None)

    def gradient_families(self):
        rows = []
        for root, rule, members, repeated in self.judged():
            counts = Counter(state for _, _, state, _ in members)
            norms = [norm for _, _, state, norm in members if state == "present"]
            reasons = []
            if not rule:
                reasons.append(f"{len(members)} not in the manifest")
            if counts["non_finite"]:
                reasons.append(f"{counts['non_finite']} non_finite")
            kind, least, present = rule and rule["expectation"], rule and rule["min_present"], counts["present"]
            if (kind == "active" and present < least) or (kind == "data_conditional" and 0 < present < least):
                reasons.append(f"present {present} of at least {least}")
            if kind == "inactive" and present:
                reasons.append(f"inactive family has {present} present")
            if counts["unrecorded"]:
                reasons.append(f"{counts['unrecorded']} unrecorded")
            if repeated:
                reasons.append(f"{repeated} recorded more than once")
            if not self.contract:
                reasons = []
            rows.append(
                {
                    "family": rule and rule["family"],
                    "root": root,
                    "expectation": kind,
                    "min_present": least,
                    "members": len(members),
                    **{s: counts[s] for s in ("present", "zero", "missing", "non_finite", "unrecorded")},
                    "norm_min": min(norms, default=None),
                    "norm_max": max(norms, default=None),
                    "norm_l2": math.hypot(*norms) if norms else None,
                    "state": ("violated" if reasons else "holds") if self.contract else None,
                    "reason": "; ".join(reasons) or None,
                }
            )
        return sorted(rows, key=lambda r: (r["family"] is None, r["family"] or "", r["root"] or ""))

    def dead_gradients(self):
        rows = []
        for _, rule, members, _ in self.judged():
            present = sum(state == "present" for _, _, state, _ in members)
            for root, key, state, _ in members:
                if state not in ("zero", "missing", "unrecorded"):
                    continue
                expected = None
                if rule:
                    allowed = {"active": False, "inactive": True}
                    allowed["data_conditional"] = present == 0 or present >= rule["min_present"]
                    expected = state != "unrecorded" and allowed[rule["expectation"]]
                row = {"root": root, "key": key, "family": rule and rule["family"]}
                row |= {"expectation": rule and rule["expectation"], "state": state, "expected": expected}
                rows.append(row)
        return rows


ORDERS = {
    "first_non_finite": lambda run, row: run,
    "reached_non_finite": lambda run, row: (row["hops"] is None, row["hops"] or 0, row["seq"], run),
    "gradient_families": lambda run, row: run,
    "dead_gradients": lambda run, row: ((False, None, True).index(row["expected"]), row["root"], row["key"], run),
}


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """All traces: path and what they hold."""
    folder = tmp_path_factory.mktemp("numerics")
    paths = [folder / f"numerics-{seed}.jsonl" for seed in SEEDS]
    return [(path, World(*write(path, seed))) for path, seed in zip(paths, SEEDS)]


@pytest.fixture(scope="module")
def groups(cli, worlds):
    """The traces in groups, each group read by one call a query."""
    short = [world for seed, world in zip(SEEDS, worlds) if seed not in LONG]
    groups = [[worlds[seed] for seed in LONG], short[::2], short[1::2]]
    texts = [bound(text) for text in QUERIES.values()]
    cli.batch(("sql", *(p for p, _ in g), text, "--format", "json") for g in groups for text in texts)
    return groups


@pytest.mark.parametrize("name", QUERIES)
def test_rows_are_those_of_the_search(cli, groups, name):
    for group in groups:
        expected = [(w.run_id, row) for _, w in group for row in getattr(w, name)()]
        expected.sort(key=lambda pair: ORDERS[name](*pair))
        found = cli.rows(*(path for path, _ in group), bound(QUERIES[name]))
        assert_rows(found, [row for _, row in expected], name)


def test_the_traces_are_awkward(worlds):
    """Every kind of answer occurs: else the comparison above would show little."""
    worlds = [w for _, w in worlds]
    first = [row for w in worlds for row in w.first_non_finite()]
    reached = [row for w in worlds for row in w.reached_non_finite()]
    assert len(first) < len(worlds)
    assert Counter(r["path"] for r in first).keys() == {"data_edges", "recording_order", None}
    assert {r["kind"] for r in first} == {"tensor_stats", "gradient"}
    assert {r["step"] for r in first} == {"forward", "backward", "optimizer", None}
    assert {(r["relation"], r["state"]) for r in reached} >= {
        ("downstream", "finite"),
        ("downstream", "non_finite"),
        ("downstream", None),
        ("later", "non_finite"),
    }
    assert {r["kind"] for r in reached} == {"tensor_stats", "gradient", "tensor", "op", "edge"}
    hops = Counter(r["hops"] for r in reached)
    assert hops[0] and hops[1] > 20 and hops[FARTHEST] and max(h for h in hops if h is not None) == FARTHEST, hops
    families = [row for w in worlds for row in w.gradient_families()]
    held = Counter((r["expectation"], r["state"]) for r in families)
    assert all(held[e, s] > 3 for e in ("active", "inactive", "data_conditional") for s in ("holds", "violated")), held
    assert held[None, None] and held[None, "violated"]
    dead = Counter((r["expectation"], r["state"], r["expected"]) for w in worlds for r in w.dead_gradients())
    assert dead["data_conditional", "missing", True] and dead["data_conditional", "missing", False], dead
    assert dead["active", "unrecorded", False] and dead["inactive", "zero", True] and dead[None, "missing", None], dead


def test_every_later_fact_has_a_row(cli, groups):
    """The rows that are not finite are those that first_non_finite counts."""
    for group in groups:
        paths = [path for path, _ in group]
        first = cli.rows(*paths, bound(QUERIES["first_non_finite"]))
        reached = cli.rows(*paths, bound(QUERIES["reached_non_finite"]))
        assert sum(r["affected_after"] for r in first) == sum(r["state"] == "non_finite" for r in reached)


def test_a_family_is_violated_exactly_where_health_says_so(cli, groups):
    """Another road to the same answer: what the health check, which is no SQL, makes of the gradients' coverage."""
    seen = Counter()
    for group in groups:
        text = "SELECT run_id, level, reason FROM coverage WHERE plane = 'gradient_coverage'"
        levels = {r["run_id"]: (r["level"], r["reason"]) for r in cli.rows(*(path for path, _ in group), text)}
        for _, world in group:
            states = {row["state"] for row in world.gradient_families()}
            assert (levels[world.run_id][0] == "invalid") == ("violated" in states), (levels[world.run_id], states)
            seen[world.contract is not None, "violated" in states] += 1
    assert seen[True, True] > 3 and seen[True, False] > 3 and seen[False, False] > 3, seen
