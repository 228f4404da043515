"""`export --format jsonl` of the built program: where it goes, what it says, and who can read it.

In: a recorded digits trace, one of 10,000 operations, traces from outside. Out: the same tables and the same overview
after reading the export back; the same counts in the other program, where CANDLE_GRAPH_RIVAL names it.
"""

import json
import os
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import OUTSIDE, outside_trace
from harness import EVENT_TABLES, export_tables

FULL = Path("/dev/full")


@pytest.fixture(scope="session")
def scale(tmp_path_factory):
    """A recorded trace of 10,000 operations, or a skip: the example may not be built."""
    built = Path(os.environ["CANDLE_GRAPH_DIGITS"]).resolve().with_name("scale")
    if not os.access(built, os.X_OK):
        pytest.skip(f"no {built}; cargo build --examples makes it")
    path = tmp_path_factory.mktemp("scale") / "scale.trace"
    subprocess.run([built, path, "10000"], check=True, capture_output=True, timeout=60)
    return path


@pytest.fixture(scope="session")
def exports(cli, tmp_path_factory):
    """Exports of traces, each made once."""
    folder, known = tmp_path_factory.mktemp("exports"), {}

    def export(trace):
        if trace not in known:
            out = folder / f"{len(known)}.jsonl"
            answer = cli.fresh("export", trace, "--format", "jsonl", "-o", out)
            assert (answer.code, answer.out, answer.err) == (0, b"", b""), answer
            known[trace] = out
        return known[trace]

    return export


def kinds(lines):
    """How many lines there are of each kind."""
    found = {}
    for line in lines:
        kind = json.loads(line)["kind"]
        found[kind] = found.get(kind, 0) + 1
    return found


def test_standard_output_and_a_file_are_the_same(cli, digits, exports):
    printed = cli("export", digits, "--format", "jsonl")
    assert printed.code == 0 and printed.err == b""
    assert printed.out == exports(digits).read_bytes()
    lines = printed.out.decode().splitlines()
    first, last = json.loads(lines[0]), json.loads(lines[-1])
    assert (first["kind"], first["schema"]) == ("meta", "candle-graph/trace/10")
    assert (last["kind"], last["outcome"]) == ("terminal", "complete")
    rows = {name: pq.read_metadata(digits / f"tables/{name}.parquet").num_rows for name in ["spans", "ops", "tensors"]}
    found = kinds(lines)
    assert [found["span_start"], found["span_end"], found["op"], found["tensor"]] == [
        rows["spans"], rows["spans"], rows["ops"], rows["tensors"],
    ]  # fmt: skip


def test_the_same_tables_come_back(cli, digits, exports, digits_tables, tmp_path):
    again = export_tables(cli, [exports(digits)], tmp_path)
    for name in [*EVENT_TABLES, "run"]:
        assert pq.read_table(again[name]).equals(pq.read_table(digits_tables[name])), name


@pytest.mark.parametrize("name", ["digits", "scale", *OUTSIDE])
def test_the_same_overview_and_the_same_bytes_come_back(cli, name, exports, request):
    trace = outside_trace(name) if name in OUTSIDE else request.getfixturevalue(name)
    export = exports(trace)
    before, after = (cli("overview", path).text.replace(str(path), "INPUT") for path in [trace, export])
    before, after = json.loads(before), json.loads(after)
    assert {**before, "input": None} == {**after, "input": None}
    assert cli("export", export, "--format", "jsonl").out == export.read_bytes()


def test_every_form_of_input_gives_the_same_lines(cli, digits, exports, tmp_path):
    export = exports(digits).read_bytes()
    assert cli.fresh("export", "-", "--format", "jsonl", stdin=export).out == export
    assert cli.fresh("report", digits, "--bundle", tmp_path / "bundle").code == 0
    assert cli.fresh("export", tmp_path / "bundle", "--format", "jsonl").out == export


def test_a_reader_that_goes_away_is_no_error(binary, scale):
    command = f'"{binary}" export "{scale}" --format jsonl'
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -n 1; exit ${{PIPESTATUS[0]}}"], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["kind"] == "meta"


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_one_clear_error(binary, cli, scale):
    answer = cli.fresh("export", scale, "--format", "jsonl", "-o", FULL)
    with FULL.open("wb") as full:
        done = subprocess.run(
            [binary, "export", scale, "--format", "jsonl"], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    for code, err, where in [(answer.code, answer.err, b"/dev/full"), (done.returncode, done.stderr, b"standard output")]:
        assert code == 1
        assert err.startswith(b"error: " + where) and err.count(b"\n") == 1 and b"No space left" in err, err


def test_what_is_wrong_leaves_no_file(cli, digits, tmp_path):
    out = tmp_path / "out.jsonl"
    assert cli.fresh("export", digits, "-o", out).code == 2, "the form is to be named"
    assert cli.fresh("export", digits, "--format", "xml", "-o", out).code == 2
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(cli("export", digits, "--format", "jsonl").out[:-30])
    answer = cli.fresh("export", cut, "--format", "jsonl", "-o", out)
    assert answer.code == 1 and str(cut).encode() in answer.err
    inside = cli.fresh("export", digits, "--format", "jsonl", "-o", digits / "tables/out.jsonl")
    assert inside.code == 1 and b"which is being read" in inside.err
    assert not out.exists() and sorted(tmp_path.iterdir()) == [cut]
    # What precedes the cut is an interrupted capture, and returns as one.
    assert cli.fresh("export", cut, "--salvage", "--format", "jsonl", "-o", out).code == 0
    last = json.loads(out.read_text().splitlines()[-1])
    assert last["interrupted"] and last["no_end"] and last["reason"].startswith("salvaged up to line")
    assert cli("overview", out).json["provenance"]["outcome"] == "interrupted"


# The other program.


@pytest.fixture(scope="session")
def rival():
    path = os.environ.get("CANDLE_GRAPH_RIVAL")
    if not path:
        pytest.skip("set CANDLE_GRAPH_RIVAL to the executable of candle-graph 0.10")

    def run(*args):
        done = subprocess.run([path, *map(str, args)], capture_output=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    return run


def verdict(document):
    """What a document says of the capture as a whole."""
    return {k: document["health"][k] for k in ["capture_complete", "structurally_valid"]}


@pytest.mark.parametrize("name", ["digits", "scale"])
def test_the_other_program_reads_the_export(cli, rival, name, exports, request):
    export = exports(request.getfixturevalue(name))
    ours, theirs = cli("overview", export).json, rival("summary", export)
    coverage = theirs["health"]["coverage"]
    assert coverage["operations"] >= 10 and coverage["spans"] >= 10
    assert coverage == {k: ours["counts"][k] for k in coverage}, "every number it counts is ours"
    assert verdict(theirs) == verdict(ours)


@pytest.mark.parametrize("name", OUTSIDE)
def test_both_read_what_the_other_program_recorded(cli, rival, name, exports):
    trace = outside_trace(name)
    ours, theirs = cli("overview", trace).json, rival("summary", trace)
    coverage = theirs["health"]["coverage"]
    assert coverage == {k: ours["counts"][k] for k in coverage}
    assert verdict(theirs) == verdict(ours)
    again = rival("summary", exports(trace))
    differing = [k for k in theirs if k != "input" and again[k] != theirs[k]]
    assert differing == [], "our export says to it what the original says"


def test_the_other_program_passes_over_fields_it_does_not_know(rival, exports, tmp_path):
    export = exports(outside_trace("trace-mlp"))
    lines = [json.loads(line) for line in export.read_text().splitlines()]
    for number, line in enumerate(lines):
        line |= {"seq": number, "cells": {"norm": "NaN:7ff8000000000001", "rms": None}, "end_unobserved": True}
    lines[0] |= {"tables": "candle-graph/tables/1", "started_at_us": -1}
    lines[-1] |= {"interrupted": True, "no_end": True, "no_reason": True, "events_lost": 3}
    more = tmp_path / "more.jsonl"
    more.write_text("".join(json.dumps(line) + "\n" for line in lines))
    plain, other = rival("summary", export), rival("summary", more)
    assert [k for k in plain if k != "input" and other[k] != plain[k]] == []
