"""Campaigns and series against numbers computed apart from the program, and the page of plots as a browser meets it.

The expected series is written down by whoever makes the captures, and for recorded ones read from their Parquet files.
"""

import hashlib
import json
import math
import os
import random
import re
import subprocess
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from jsonschema import Draft202012Validator
from test_schemas import lax

STEPS = [1, 2, 5]
LABELS = ["loss", "a/b", "a", "", "é 中", "x" * 400, "<b>&\"'", "\u202eturned", "tab\there", "p/w"]
SEEDS = range(2)


def publish(cli, trace, bundle):
    answer = cli.fresh("report", trace, "--bundle", bundle)
    assert answer.code == 0, answer.err.decode()


def identity(bundle):
    return hashlib.sha256((bundle / "bundle.json").read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def recorded(cli, tmp_path_factory):
    """A campaign of one program, recorded: manifest `campaign.json` and a bundle for each step."""
    folder = tmp_path_factory.mktemp("recorded")
    example = Path(os.environ["CANDLE_GRAPH_DIGITS"]).resolve()
    for step in STEPS:
        arguments = [example, folder / f"trace-{step}", "--updates", str(step), "--capture", str(step)]
        subprocess.run(arguments, cwd=folder, check=True, capture_output=True)
        publish(cli, folder / f"trace-{step}", folder / f"step-{step}")
    planned = [{"capture_step": step, "bundle": f"step-{step}"} for step in reversed(STEPS)]
    manifest = {
        "schema": "candle-graph/campaign/1",
        "campaign_id": "digits",
        "entrypoint": "digits::update",
        "planned": planned,
    }
    (folder / "campaign.json").write_text(json.dumps(manifest))
    return folder


def rows(bundle, table):
    path = bundle / "tables" / f"{table}.parquet"
    found = pq.read_table(path, partitioning=None).to_pylist() if path.exists() else []
    return sorted(found, key=lambda row: row["seq"])


def test_a_recorded_series_is_what_the_tables_hold(cli, recorded):
    series = cli("series", "--manifest", recorded / "campaign.json").json
    wall, stats, gradients = [], {}, {}
    for step, given in zip(STEPS, series["inputs"], strict=True):
        bundle = recorded / f"step-{step}"
        run_id = json.loads((bundle / "run.json").read_bytes())["run_id"]
        assert given["capture_step"] == step and given["run_id"] == run_id
        assert given["manifest_sha256"] == identity(bundle)
        assert Path(given["bundle"]) == bundle
        point = {"capture_step": step, "run_id": run_id}
        [region] = [row for row in rows(bundle, "spans") if row["measured"]]
        wall.append({**point, "outer_wall_time_ns": region["duration_ns"]})
        for row in rows(bundle, "tensor_stats"):
            kept = {k: v for k, v in row.items() if k not in ("run_id", "seq", "span_id", "label")}
            stats.setdefault(row["label"], []).append({**point, **kept})
        for row in rows(bundle, "gradients"):
            kept = {k: row[k] for k in ("root", "key", "state", "norm")}
            gradients.setdefault(f"{row['root']}/{row['key']}", []).append({**point, **kept})
    assert series["outer_wall_time"] == wall
    assert series["tensor_stats"] == stats and len(stats) > 5
    assert series["gradients"] == gradients and len(gradients) == 6


def test_the_order_and_the_way_of_naming_captures_change_nothing(cli, recorded):
    bundles = [recorded / f"step-{step}" for step in STEPS]
    first = cli("series", "--manifest", recorded / "campaign.json")
    for seed in range(3):
        random.Random(seed).shuffle(bundles)
        assert cli.fresh("series", "--bundle", *bundles).out == first.out


def capture(seed, step):
    """One capture as JSON lines, and what a series must say of it."""
    choose = random.Random(f"{seed}/{step}")
    run_id = f"run-{seed}-{step}"
    wall = choose.randrange(1, 10 ** choose.randrange(1, 13))
    meta = {
        "kind": "meta",
        "schema": "candle-graph/trace/10",
        "run_id": run_id,
        "correlation_id": "c",
        "entrypoint": "train",
        "phase": "infer",
        "timestamp": "2026-01-02T03:04:05Z",
        "capture_step": step,
        "warmup_steps": step - 1,
        "device": "cpu",
    }
    span = {"kind": "span_start", "span_kind": "function"}
    lines = [
        meta,
        {**span, "id": "s0", "name": "train", "start_ns": 0, "measured": False},
        {**span, "id": "s1", "parent_id": "s0", "name": "update", "start_ns": 5, "measured": True},
    ]
    stats, gradients = {}, {}
    for label in choose.sample([name for name in LABELS if name], k=7):
        for _ in range(choose.choice([1, 1, 1, 3])):
            number = choose.choice([0.0, -2.5, 1e-300, 1e300, choose.uniform(-1, 1), None])
            scalar = choose.random() < 0.7
            shape = [] if scalar else [2, 3]
            bad = 0 if number is not None else 1
            value = {
                "rms": abs(number or 0.0),
                "abs_max": abs(number or 0.0),
                "mean": number or 0.0,
            }
            counts = {"elements": math.prod(shape), "non_finite": bad, "nan": bad, "pos_inf": 0, "neg_inf": 0}
            line = {"kind": "tensor_stats", "span_id": "s1", "label": label, "shape": shape, "dtype": "f64"}
            lines.append({**line, **counts, **value})
            expected = dict.fromkeys(value) if bad else value
            point = {"capture_step": step, "run_id": run_id, "shape": shape, **counts, **expected}
            stats.setdefault(label, []).append(point)
    for index, key in enumerate(choose.sample(["w", "b", "a/b", "<k>", "\u202e"], k=4)):
        state = choose.choice(["present", "zero", "missing", "non_finite"])
        norm = {"present": choose.uniform(0.1, 9), "zero": 0.0}.get(state)
        line = {"kind": "gradient", "event_id": f"g{index}", "root": "p", "key": key, "state": state}
        lines.append({**line, "norm": norm} if norm is not None else line)
        point = {"capture_step": step, "run_id": run_id, "state": state, "norm": norm}
        gradients.setdefault(f"p/{key}", []).append(point)
    lines += [
        {"kind": "span_end", "id": "s1", "duration_ns": wall},
        {"kind": "span_end", "id": "s0", "duration_ns": wall + 10},
        {"kind": "terminal", "outcome": "complete", "timestamp_ns": wall + 10},
    ]
    return lines, run_id, wall, stats, gradients


@pytest.fixture(scope="module")
def random_campaigns(cli, tmp_path_factory):
    """For each seed the bundles of three captures, and what was written into each."""
    made = {}
    for seed in SEEDS:
        folder = tmp_path_factory.mktemp(f"random-{seed}")
        for step in sorted(random.Random(seed).sample(range(1, 10**6), k=3)):
            lines, *expected = capture(seed, step)
            trace = folder / f"{step}.jsonl"
            trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
            publish(cli, trace, folder / str(step))
            made.setdefault(seed, []).append((step, folder / str(step), expected))
    return made


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_series_is_what_was_written(cli, random_campaigns, seed):
    captures = random_campaigns[seed]
    series = cli("series", "--bundle", *(bundle for _, bundle, _ in reversed(captures))).json
    wall, stats, gradients = [], {}, {}
    for step, _, (run_id, ns, recorded_stats, recorded_gradients) in captures:
        wall.append({"capture_step": step, "run_id": run_id, "outer_wall_time_ns": ns})
        for label, points in recorded_stats.items():
            stats.setdefault(label, []).extend(points)
        for label, points in recorded_gradients.items():
            gradients.setdefault(label, []).extend(points)
    assert series["outer_wall_time"] == wall
    # Of the fields that a series adds, those that a person can predict from the lines.
    keys = next(iter(stats.values()))[0].keys()
    found = {label: [{k: p[k] for k in keys} for p in points] for label, points in series["tensor_stats"].items()}
    assert found == stats and list(found) == sorted(stats, key=lambda text: text.encode())
    keys = ("capture_step", "run_id", "state", "norm")
    found = {label: [{k: p[k] for k in keys} for p in points] for label, points in series["gradients"].items()}
    assert found == gradients


class Page(HTMLParser):
    """A page as a browser reads it: its tags, balanced, and every address and style in it."""

    VOID = ("meta", "link", "br")
    ALLOWED = frozenset(
        "html head meta title link style body h1 h2 p a ul li b svg path text circle figure figcaption span dl div dt dd "
        "table thead tbody tr th td code pre".split()
    )

    def __init__(self, text):
        super().__init__()
        self.open, self.addresses, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], self.open

    def handle_starttag(self, tag, attrs):
        assert tag in self.ALLOWED, tag
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            if name in ("href", "src", "action", "data"):
                self.addresses.append(value)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_page_is_sound_and_draws_every_number(cli, random_campaigns, seed, tmp_path):
    bundles = [bundle for _, bundle, _ in random_campaigns[seed]]
    arguments = ("series", "--bundle", *bundles)
    answer = cli.fresh(*arguments, "--report", tmp_path / "page.html", "-o", tmp_path / "series.json")
    assert (answer.code, answer.out, answer.err) == (0, b"", b"")
    series = json.loads((tmp_path / "series.json").read_bytes())
    text = (tmp_path / "page.html").read_text()
    page = Page(text)
    assert set(page.addresses) <= {"data:,", "#wall", "#gradients", "#scalars", "#tensors", "#inputs", "#again"}
    assert "default-src 'none'" in text and "@import" not in text and "url(" not in text
    figures = re.findall(r"<figure.*?</figure>", text, re.DOTALL)
    numbers = [[p["outer_wall_time_ns"] for p in series["outer_wall_time"]]]
    numbers += [[p["norm"] for p in points] for points in series["gradients"].values()]
    is_scalar = {
        label: all(p["shape"] == [] and p["elements"] == 1 for p in points)
        for label, points in series["tensor_stats"].items()
    }
    for scalars in (True, False):
        for label, points in series["tensor_stats"].items():
            if is_scalar[label] == scalars:
                numbers.append([p["mean" if scalars else "rms"] for p in points])
    assert len(figures) == len(numbers)
    for figure, values in zip(figures, numbers):
        [svg] = re.findall(r"<svg.*?</svg>", figure, re.DOTALL)
        tree = ET.fromstring(svg)
        dots = [dot for dot in tree.iter("circle") if dot.get("class") == "main"]
        assert len(dots) == sum(value is not None for value in values), figure
        assert all(dot.find("title").text for dot in dots)
        _, _, width, height = map(float, tree.get("viewBox").split())
        assert all(0 < float(d.get("cx")) < width and 0 < float(d.get("cy")) < height for d in dots)
        # The higher the number, the higher the dot.
        drawn = [value for value in values if value is not None]
        for (a, x), (b, y) in zip(
            sorted(zip(drawn, dots), key=lambda p: p[0]), sorted(zip(drawn, dots), key=lambda p: p[0])[1:]
        ):
            assert float(x.get("cy")) >= float(y.get("cy")), (a, b)


def test_documents_have_their_schema(cli, recorded):
    manifest = recorded / "campaign.json"
    documents = {
        "campaign": json.loads(manifest.read_bytes()),
        "campaign-status": cli("campaign-status", "--manifest", manifest).json,
        "series": cli("series", "--manifest", manifest).json,
    }
    for name, document in documents.items():
        schema = cli("schema", name).json
        Draft202012Validator.check_schema(schema)
        validator = Draft202012Validator(schema)
        errors = [e.message[:200] for e in validator.iter_errors(document)]
        assert errors == [], name
        assert document["schema"] == schema["properties"]["schema"]["const"]
        assert cli("protocol").json["schemas"][name] == document["schema"]
        # Labels of a series are whatever was recorded: any may be absent.
        accepted = [p for p in lax(validator, document) if not re.fullmatch(r"without/(tensor_stats|gradients)/.+", p)]
        accepted += [
            p for p in lax(validator, document) if re.fullmatch(r"without/(tensor_stats|gradients)/.+/0/\w+", p)
        ]
        assert accepted == [], name


def test_every_state_has_a_schema(cli, recorded, tmp_path):
    validator = Draft202012Validator(cli("schema", "campaign-status").json)
    manifest = json.loads((recorded / "campaign.json").read_bytes())
    manifest["planned"] = [
        {"capture_step": 1, "bundle": "step-1"},
        {"capture_step": 2, "bundle": "step-5"},
        {"capture_step": 3, "bundle": "trace-5"},
        {"capture_step": 4, "bundle": "nothing"},
    ]
    (recorded / "states.json").write_text(json.dumps(manifest))
    status = cli("campaign-status", "--manifest", recorded / "states.json").json
    states = [c["state"] for c in status["captures"]]
    assert [s["state"] for s in states] == ["published", "identity_mismatch", "verification_failed", "missing"]
    assert "is a trace directory and no bundle" in states[2]["reason"]
    assert [e.message for e in validator.iter_errors(status)] == []
    for state in states:
        for key in state:
            wrong = json.loads(json.dumps(status))
            wrong["captures"] = [{**wrong["captures"][0], "state": {k: v for k, v in state.items() if k != key}}]
            assert not validator.is_valid(wrong), (state, key)
