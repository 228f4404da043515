"""Every emitted document and every table row validates against the schema the tool prints, and a wrong one does not."""

import copy
import datetime
import json
import shutil

import pyarrow.parquet as pq
import pytest
from conftest import OUTSIDE
from harness import COLLECTIONS, EVENT_TABLES, KINDS, NSIGHT_TABLES, PAGED, REPOSITORY, export_tables
from jsonschema import Draft202012Validator

DOCUMENTS = ["evidence", "overview", "protocol", "query", "sql", "summary"]
# Held to their schemas where they are made: below, test_series.py, test_bundle.py, test_cohort.py.
ELSEWHERE = [
    "nsight-capture",
    *["campaign", "campaign-status", "cohort", "comparison", "noise", "schedule", "series"],
    *["bundle", "bundle-evidence", "bundle-verification", "publication", "redaction", "run", "verify"],
]
TABLES = [*EVENT_TABLES, *NSIGHT_TABLES, "run", "coverage", "schema"]
NEED_SOUND = {
    "slowest-host",
    "slowest-device",
    "hotspots",
    "critical-path",
    "steps",
    "heaviest",
    "spans",
    "tensors",
    "gradients",
}
SQL = "SELECT name, shape, duration_ns, cpu_ns FROM ops ORDER BY seq"


@pytest.fixture(scope="module")
def validators(cli):
    names = [*DOCUMENTS, *ELSEWHERE, *(f"tables/{t}" for t in TABLES)]
    schemas = {name: answer.json for name, answer in zip(names, cli.batch(("schema", name) for name in names))}
    for schema in schemas.values():
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        Draft202012Validator.check_schema(schema)
    return {name: Draft202012Validator(schema) for name, schema in schemas.items()}


def assert_valid(validator, document, what):
    errors = [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in validator.iter_errors(document)]
    assert errors == [], f"{what}: {errors[:5]}"


def calls_of(trace):
    """Schema, strictness and call of every document of one trace."""
    yield "overview", False, ("overview", trace, "--format", "json")
    yield "summary", False, ("summary", trace)
    yield "evidence", False, ("import", trace)
    yield "sql", False, ("sql", trace, SQL, "--format", "json")
    for kind in KINDS:
        pages = ("--limit", "7", "--offset", "1") if kind in (*COLLECTIONS, *PAGED) else ()
        yield "query", kind in NEED_SOUND, ("query", trace, "--kind", kind, *pages)
    for kind in COLLECTIONS:
        yield "query", kind in NEED_SOUND, ("query", trace, "--kind", kind, "--all")


def test_every_schema_is_listed(cli, validators):
    assert sorted(cli("schema").text.split()) == sorted(validators)
    listed = cli("protocol").json["schemas"]
    for name in DOCUMENTS:
        assert validators[name].schema["properties"]["schema"]["const"] == listed.get(name), name


def test_a_name_without_schema(cli):
    answer = cli("schema", "nothing")
    assert answer.code == 2 and answer.out == b""


def test_protocol(cli, validators):
    assert_valid(validators["protocol"], cli("protocol").json, "protocol")


@pytest.mark.parametrize("name", ["digits", *OUTSIDE])
def test_documents(cli, request, validators, name):
    trace = request.getfixturevalue("digits") if name == "digits" else request.getfixturevalue("outside")[name]
    expected = list(calls_of(trace))
    sound = name != "trace-failed"
    for (schema, strict, call), answer in zip(expected, cli.batch(c for _, _, c in expected)):
        if strict and not sound:
            assert answer.code == 1 and b"capture_failed" in answer.err, call
            continue
        document = answer.json
        assert_valid(validators[schema], document, " ".join(map(str, call)))
        assert document["schema"] == validators[schema].schema["properties"]["schema"]["const"]


def leaves(value, path=()):
    """Paths to every scalar and every empty container; of a list the first item stands for all."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    found = False
    for key, item in items:
        found = True
        yield from leaves(item, (*path, key))
    if not found:
        yield path


def nodes(value, path=()):
    """Paths to every object."""
    if isinstance(value, dict):
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, item in items:
        yield from nodes(item, (*path, key))


def at(document, path):
    for key in path:
        document = document[key]
    return document


# The producer's own words: shapes that the tool passes on, not results it computes.
FREE = {"capture_contract", "comparison_identity", "tags"}
# Maps by name, where any name may be there or not.
MAPS = {
    "required_reports",
    "source_revisions",
    "capabilities",
    "schemas",
    "qualifications",
    "lists",
    "live_bytes_by_device",
    "live_bytes_by_category",
}


def lax(validator, document):
    """Changes that a strict schema refuses and this one accepts: a missing field, a value of a wrong type."""
    accepted = []
    for path in nodes(document):
        if FREE & set(path) or path[-1:] and path[-1] in MAPS:
            continue
        if path == ("result",) and document["kind"] == "capabilities":
            continue
        for key in at(document, path):
            changed = copy.deepcopy(document)
            del at(changed, path)[key]
            if validator.is_valid(changed):
                accepted.append(("without", *path, key))
    for path in leaves(document):
        if not path or FREE & set(path):
            continue
        changed = copy.deepcopy(document)
        at(changed, path[:-1])[path[-1]] = [{"wrong": True}]
        if validator.is_valid(changed):
            accepted.append(("wrong type", *path))
    return sorted({"/".join("0" if isinstance(k, int) else str(k) for k in path) for path in accepted})


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_field_can_go_or_change_its_type(cli, digits, validators, name):
    kinds = [("query", digits, "--kind", k) + (("--all",) if k in (*COLLECTIONS, *PAGED) else ()) for k in KINDS]
    calls = {
        "overview": [("overview", digits, "--format", "json")],
        "summary": [("summary", digits)],
        "evidence": [("import", digits)],
        "protocol": [("protocol",)],
        "sql": [("sql", digits, SQL, "--format", "json")],
        "query": kinds,
    }[name]
    found = {" ".join(map(str, call)): lax(validators[name], cli(*call).json) for call in calls}
    if name == "sql":
        # The columns of free SQL are whatever was asked for.
        found = {call: [p for p in places if "/rows/0/" not in p] for call, places in found.items()}
    places = sorted({place for places in found.values() for place in places})
    assert not places, f"{len(places)} changes are accepted:\n" + "\n".join(places)


def plain(value):
    """A cell as JSON has it: moments as text, maps as lists of pairs."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.isoformat() if isinstance(value, datetime.datetime) else value


def test_documents_and_rows_of_a_capture(cli, validators, tmp_path):
    golden = REPOSITORY / "tests/fixtures/nsight"
    trace, reports = golden / "golden.jsonl", tmp_path / "capture"
    shutil.copytree(golden / "golden", reports, ignore=shutil.ignore_patterns("*.json"))
    assert cli("nsight-manifest", "--trace", trace, "--dir", reports).code == 0
    assert_valid(validators["nsight-capture"], json.loads((reports / "capture-manifest.json").read_text()), "manifest")
    calls = {("overview", "--format", "json"): "overview", ("summary",): "summary", ("import",): "evidence"}
    listed = cli("protocol").json["query_kinds"]
    gpu = [kind["name"] for kind in listed if kind["name"].startswith("gpu-")]
    assert len(gpu) == 5
    calls |= {("query", "--kind", kind): "query" for kind in gpu}
    for (command, *more), name in calls.items():
        document = cli(command, trace, "--nsight-dir", reports, *more).json
        assert_valid(validators[name], document, " ".join([command, *more]))
        if name == "query":
            assert document["result"]["status"] == "available"
            assert lax(validators[name], document) == []
    for name, file in export_tables(cli, [trace], tmp_path, reports).items():
        rows = [plain(row) for row in pq.read_table(file).to_pylist()]
        assert rows or name not in NSIGHT_TABLES, name
        for row in rows:
            assert_valid(validators[f"tables/{name}"], row, name)


@pytest.fixture(scope="module")
def table_rows(digits_tables):
    return {name: [plain(r) for r in pq.read_table(f).to_pylist()] for name, f in digits_tables.items()}


def test_table_rows_of_digits(cli, digits, validators, table_rows):
    for name, rows in table_rows.items():
        for row in rows:
            assert_valid(validators[f"tables/{name}"], row, name)
    for name in ["coverage", "schema", "run", "spans"]:
        rows = cli.rows(digits, f"SELECT * FROM {name}")
        assert rows, name
        for row in rows:
            assert_valid(validators[f"tables/{name}"], row, name)


def test_table_rows_of_outside_traces(cli, outside, validators, tmp_path_factory):
    for name, file in export_tables(cli, outside.values(), tmp_path_factory.mktemp("schemas")).items():
        for row in pq.read_table(file).to_pylist()[:500]:
            assert_valid(validators[f"tables/{name}"], plain(row), name)


def test_wrong_table_rows_are_refused(table_rows, validators):
    for name, rows in table_rows.items():
        validator = validators[f"tables/{name}"]
        assert not validator.is_valid({}), name
        for row in rows[:1]:
            assert not validator.is_valid({**row, "extra": 1}), name
            for column in row:
                assert not validator.is_valid({k: v for k, v in row.items() if k != column}), (name, column)
                # A map may be an object or a list of pairs.
                wrong = 5 if column == "tags" else [{"wrong": True}]
                assert not validator.is_valid({**row, column: wrong}), (name, column)
