"""Labels, names and paths are data: whatever they hold, documents stay bounded and valid, terminals unharmed."""

import csv
import io
import json
import os
import shutil
import sys

import pytest
from random_traces import meta, span_lines, terminal, write_lines

BOUND = 64 * 1024
LONG = "long " + "x" * 1_000_000
TEXTS = {
    "script": "</script><script>alert(1)</script><!-- ]]>",
    "ansi": "\x1b[31mred\x1b[0m\x1b]0;title\x07\x9b31m\x1b[2J",
    "controls": "".join(map(chr, range(1, 32))) + "\x7f\x80\x85\x9f",
    "newlines": "a\nb\r\nc\rd\u2028e\u2029f\n",
    "direction": "abc\u202egnp.exe\u2066x\u2069\u200f\u061c",
    "quotes": 'it\'s "quoted" `back` \\n \\',
    "sql": "'; DROP TABLE ops; --",
    "parameter": "$label $label_prefix ${x} $1 ? {} {0}",
    "percent": "%s %n 100% %00 %2F _",
    "emoji": "👩‍🚀🔥 é e\u0301 \U0010ffff",
    "blank": " ",
    "spaces": "  two  spaces\t",
    "commas": "a,b;\"c\",'d'",
    "glob": "*?[a-z]{b,c}",
    "dash": "--help",
    "formula": "=1+1",
    "words": "NULL",
    "ends": "\ufeffbyte order mark",
    "empty": "",
}


def gradient(index, key):
    return {"kind": "gradient", "event_id": f"g{index}", "root": "model", "key": key, "state": "present", "norm": 1.0}


def lines_with(texts, meta_line):
    """A sound trace in which every text is a span, an operation, a tensor, a statistic, a gradient, a device, a tag."""
    root, root_end = span_lines("s0", None, meta_line["entrypoint"], 0, 10_000)
    region, region_end = span_lines("s1", "s0", "update", 10, 9_000, measured=True)
    lines, ends = [root, region], [region_end, root_end]
    for index, text in enumerate(texts):
        start, end = span_lines(f"s{index + 2}", "s1", text, 20 + index, 1_000)
        base = {"span_id": f"s{index + 2}", "device": text or "cpu", "shape": [2], "dtype": "f32"}
        time = 100 + index
        lines += [
            start,
            {**base, "kind": "op", "op_name": text, "duration_ns": index, "timestamp_ns": time, "inputs": [text]},
            {**base, "kind": "tensor", "tensor_id": f"t{index}", "label": text, "category": "activation"},
            {**base, "kind": "tensor_stats", "label": text, "elements": 2, "non_finite": 1},
            {**base, "kind": "memory", "timestamp_ns": time, "storage_id": f"m{index}{text}", "tensor_id": text,
             "bytes": 8, "action": "alloc", "category": "other", "op_name": text},
            {"kind": "device_memory", "timestamp_ns": time, "device": text or "cpu", "used_bytes": 5},
        ]  # fmt: skip
        if text:
            lines.append(gradient(index, text))
        ends.insert(0, end)
    return [meta_line, *lines, *ends, terminal(10_000)]


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """Every text but the long one, in a file whose name is hostile too."""
    line = meta(entrypoint=TEXTS["ansi"] + TEXTS["script"], tags={t: t for t in TEXTS.values()})
    folder = tmp_path_factory.mktemp("hostile") / "ünïcode *?[a] 'q' \"d\" $x;&#%41 \n\x1b[31m"
    folder.mkdir()
    return write_lines(folder / "<b> trace.jsonl", lines_with(TEXTS.values(), line))


@pytest.fixture(scope="module")
def long_trace(tmp_path_factory):
    """Texts of a megabyte, some of characters that JSON spells in six bytes."""
    line = meta(run_id=LONG, entrypoint=LONG, device=LONG, tags={LONG: LONG}, os=LONG, cpu_model=LONG)
    line |= {"correlation_id": LONG, "candle_version": LONG}
    texts = [LONG, LONG + "!", "\x01" * 1_000_000, "🔥" * 250_000]
    return write_lines(tmp_path_factory.mktemp("long") / "long.jsonl", lines_with(texts, line))


def promises(text, count):
    """A trace whose contract and tags hold many long texts and whose health has as much to say as it can."""
    names = [f"{i:03}{text}" for i in range(count)]
    expected = [{"root": "model", "key": n, "family": n} for n in names]
    families = [{"family": n, "expectation": "active", "min_present": 1} for n in names]
    contract = {
        "gradients": "complete",
        "gradient_contract": {"manifest_sha256": text, "expected": expected, "families": families},
        "required_semantic_labels": names + names,
        "gpu_expected_semantic_labels": names + [n + "g" for n in names],
        "cpu_only_semantic_labels": names + [n + "c" for n in names],
    }
    line = meta(entrypoint=text, device=text, correlation_id=text, tags={n: n for n in names})
    line |= {"capture_contract": contract, "host_name": text, "os": text, "toolchain": text, "git_revision": text}
    start, end = span_lines("s0", None, text, 0, 10_000, measured=True)
    lines = [line, start]
    for index, name in enumerate(names):
        storage = {"kind": "memory", "timestamp_ns": 5, "storage_id": name, "tensor_id": name, "span_id": "s0"}
        storage |= {"device": name, "bytes": 8, "shape": [2], "dtype": "f32", "category": "other"}
        lines += [
            {**storage, "action": "alloc"},
            {**storage, "action": "alloc"},
            {**storage, "action": "free", "bytes": 9},
            {**storage, "action": "free"},
            {**storage, "action": "alloc", "storage_id": name + "kept"},
            {"kind": "edge", "edge_kind": "data", "from_tensor": name + "a", "to_tensor": name + "b"},
            {"kind": "device_memory", "timestamp_ns": 5, "device": name},
            {**gradient(index, name + "other"), "event_id": name, "state": "zero", "norm": 3.0},
            {**gradient(index, name + "other"), "event_id": name},
            {"kind": "op", "span_id": "s0", "op_name": name, "shape": [], "dtype": "f32", "device": name,
             "duration_ns": 3, "timestamp_ns": 20_000},
        ]  # fmt: skip
    return [*lines, end, terminal(10_000, "failed", reason=text)]


def assert_bounded(answer):
    document = answer.json
    assert len(answer.out) <= BOUND, f"{len(answer.out)} bytes"
    assert document["schema"].startswith("candle-graph/overview/")
    return document


def assert_tame(text):
    """Text for a terminal: no control character but the line feed, nothing that turns the direction of reading."""
    turning = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    wild = {c for c in text if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or c in turning}
    assert not wild, sorted(map(ascii, wild))


def test_overview(cli, trace):
    document = assert_bounded(cli("overview", trace))
    assert document["health"]["structurally_valid"] is True
    assert document["input"]["requested_path"] == str(trace)
    assert all(n["argv"][2] == str(trace) for n in document["next_queries"])
    shown = {r["name"] for r in document["operations"]["by_name"]["rows"]}
    assert shown <= set(TEXTS.values())


def test_overview_as_text(cli, trace):
    answer = cli("overview", trace, "--format", "text")
    assert answer.code == 0 and answer.err == b""
    assert_tame(answer.text)


def test_texts_of_a_megabyte(cli, long_trace):
    document = assert_bounded(cli("overview", long_trace))
    span = document["timing"]["slowest_host_spans"]["rows"][0]
    assert len(span["name"]) < 200
    text = cli("overview", long_trace, "--format", "text")
    assert text.code == 0 and len(text.out) <= BOUND
    assert_tame(text.text)


@pytest.mark.parametrize(
    "text", ["x" * 1000, "é" * 1000, "\x01" * 1000, '"' * 1000], ids=["x", "é", "control", "quote"]
)
def test_as_much_as_an_overview_can_hold(cli, tmp_path, text):
    trace = write_lines(tmp_path / "promises.jsonl", promises(text, 30))
    document = assert_bounded(cli("overview", trace))
    assert document["health"]["error_count"] >= 15
    answer = cli("overview", trace, "--format", "text")
    assert_tame(answer.text)


def test_a_long_path_of_characters_that_json_escapes(cli, tmp_path):
    folder = tmp_path
    while len(os.fsencode(folder)) < 3_500:
        folder = folder / ("\x01" * 250)
    folder.mkdir(parents=True)
    trace = write_lines(folder / "t.jsonl", lines_with(["a"], meta()))
    assert_bounded(cli("overview", trace))


def label_flag(flag, text):
    """Words that look like options need the form with an equals sign."""
    return [f"--{flag}={text}"] if text.startswith("-") else [f"--{flag}", text]


def test_label_finds_exactly_its_rows(cli, trace):
    calls = [("query", trace, "--kind", "labels", "--all", *label_flag("label", t)) for t in TEXTS.values()]
    for (name, text), answer in zip(TEXTS.items(), cli.batch(calls)):
        result = answer.json["result"]
        expected = [{"kind": k, "label": text, "events": 1} for k in ("spans", "tensors", "tensor-stats")]
        assert result["rows"] == expected, name
        assert answer.json["filter"]["label"] == text


@pytest.mark.parametrize("name", ["ansi", "newlines", "sql", "parameter", "dash", "emoji"])
def test_label_finds_rows_of_other_kinds(cli, trace, name):
    text = TEXTS[name]
    calls = [
        ("query", trace, "--kind", "ops", "--all", *label_flag("label", text)),
        ("query", trace, "--kind", "tensors", "--all", *label_flag("label-prefix", text)),
        ("query", trace, "--kind", "gradients", "--all", "--label", f"model/{text}"),
        ("query", trace, "--kind", "spans", "--all", *label_flag("label", text)),
    ]
    ops, tensors, gradients, spans = (a.json["result"]["rows"] for a in cli.batch(calls))
    assert [r["name"] for r in ops] == [text]
    assert [r["label"] for r in tensors] == [t for t in TEXTS.values() if t.startswith(text)]
    assert [(r["root"], r["key"]) for r in gradients] == [("model", text)]
    assert [r["name"] for r in spans] == [text]


def test_nothing_was_dropped(cli, trace):
    assert cli.rows(trace, "SELECT count(*) AS n FROM ops") == [{"n": len(TEXTS)}]
    answer = cli("sql", trace, "DROP TABLE ops")
    assert answer.code == 1 and answer.out == b""


def test_prefix_of_a_long_label(cli, long_trace):
    answer = cli("query", long_trace, "--kind", "labels", "--all", "--label-prefix", LONG[:100_000])
    rows = answer.json["result"]["rows"]
    assert [r["label"] for r in rows if r["kind"] == "tensors"] == [LONG, LONG + "!"]


@pytest.mark.parametrize("name", ["trace", "long_trace"])
def test_csv_reads_back_as_the_same_text(cli, request, name):
    trace = request.getfixturevalue(name)
    statement = "SELECT label, span_id, shape, label AS again FROM tensors ORDER BY seq"
    as_csv, as_json = cli.batch(("sql", trace, statement, "--format", f) for f in ("csv", "json"))
    assert as_csv.code == 0 and as_csv.err == b""
    csv.field_size_limit(sys.maxsize)
    rows = list(csv.DictReader(io.StringIO(as_csv.out.decode("utf-8"), newline="")))
    expected = as_json.json["rows"]
    assert [(r["label"], r["again"], r["span_id"]) for r in rows] == [
        (r["label"], r["again"], str(r["span_id"])) for r in expected
    ]
    assert {r["shape"] for r in rows} == {"[2]"}


def test_table_is_tame(cli, trace):
    answer = cli("sql", trace, 'SELECT label AS "\x1b[31m</script>\nlabel" FROM tensors', "--format", "table")
    assert answer.code == 0
    assert_tame(answer.text)
    # One line a row, whatever the labels hold.
    assert answer.text.count("\n") == len(TEXTS) + 5


def test_errors_are_one_tame_line(cli, trace, tmp_path):
    bad = tmp_path / "b\x1b[31m\nad\u202e.jsonl"
    write_lines(bad, [meta(), {"kind": "\x1b[2J\n'; DROP"}])
    calls = [
        ("overview", bad),
        ("overview", tmp_path / "ab\x1b[31m\nsent"),
        ("sql", trace, 'SELECT "\x1b[31m\nx" FROM ops'),
        ("sql", trace, "SELECT '\x1b[31m"),
        ("query", trace, "--kind", "spans", "-o", tmp_path / "no\nsuch\x1b" / "file"),
    ]
    for call, answer in zip(calls, cli.batch(calls)):
        assert answer.code == 1 and answer.out == b"", call
        assert answer.err.startswith(b"error: ") and answer.err.count(b"\n") == 1, answer.err
        assert_tame(answer.err.decode())


FOLDERS = [
    "plain",
    "*?[a-z]{b,c}",
    "two  spaces ",
    "ünïcode 名前 🔥 e\u0301",
    "%41%2F%00 100%",
    "'; DROP TABLE ops; --",
    '<script> "q" $label #x?y=1&z',
    "run_id=7",
    "back\\slash",
    "file:",
    "-o",
]


def test_directories_with_hostile_names(cli, digits, tmp_path):
    """A path is one trace, never a pattern, a URL or an option; its neighbours stay out of it."""
    folders = [tmp_path / name / "t" for name in FOLDERS]
    for folder in folders:
        shutil.copytree(digits, folder)
    # What the pattern would also match.
    shutil.copytree(digits, tmp_path / "xxb" / "t")
    expected = cli("query", digits, "--kind", "spans", "--all").json["result"]
    calls = [("query", f, "--kind", "spans", "--all") for f in folders]
    for folder, answer in zip(folders, cli.batch(calls)):
        document = answer.json
        assert document["result"] == expected, folder
        assert document["input"]["requested_path"] == str(folder)
    # They are one run, which is refused when it is given twice.
    refused = cli("sql", *folders[:2], "SELECT 1")
    assert refused.code == 1 and b"same run" in refused.err


def test_output_files_with_hostile_names(cli, digits, tmp_path):
    for name in FOLDERS:
        (tmp_path / name).mkdir()
    calls = [("overview", digits, "-o", tmp_path / name / f"{name}.json") for name in FOLDERS]
    for name, answer in zip(FOLDERS, cli.batch(calls)):
        assert (answer.code, answer.out, answer.err) == (0, b"", b""), name
        assert [p.name for p in (tmp_path / name).iterdir()] == [f"{name}.json"]
        assert json.loads((tmp_path / name / f"{name}.json").read_bytes())["input"]["requested_path"] == str(digits)


def assert_served_or_refused_in_words(answer):
    """The trace is read, or one line says what is wrong with its path: no panic, no message from an engine's inside."""
    assert b"panicked" not in answer.err and b"Object Store" not in answer.err, answer.err
    assert answer.code in (0, 1)
    if answer.code == 0:
        assert answer.err == b"" and json.loads(answer.out)
    else:
        assert answer.out == b"" and answer.err.startswith(b"error: ") and answer.err.count(b"\n") == 1
        assert_tame(answer.err.decode())


NAMES = {"control": b"new\nline\x1b[31m\x7f", "unicode": b"caf\xe9 \xff"}


@pytest.mark.skipif(sys.platform == "darwin", reason="file names are UTF-8 there")
@pytest.mark.parametrize("form", ["directory", "lines"])
@pytest.mark.parametrize("name", NAMES)
def test_names_that_no_url_takes(cli, digits, tmp_path, form, name):
    path = os.path.join(os.fsencode(tmp_path), NAMES[name])
    if form == "directory":
        shutil.copytree(os.fsencode(digits), path)
    else:
        write_lines(path, lines_with(["a"], meta()))
    path = os.fsdecode(path)
    for args in (["overview", path], ["query", path, "--kind", "spans"], ["sql", path, "SELECT 1 AS one FROM spans"]):
        assert_served_or_refused_in_words(cli(*args))
    text = cli("overview", path, "--format", "text")
    assert_tame(text.text)
