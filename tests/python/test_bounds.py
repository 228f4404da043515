"""Every answer that was not asked for whole stays small whatever the labels are, and says what it left out."""

import json

import pytest
from harness import REPOSITORY
from random_traces import meta, span_lines, terminal, write_lines

BOUND = 256 * 1024


def kinds():
    """The catalogue, from the schema that is checked in: test_schemas holds it against the program."""
    schema = json.loads((REPOSITORY / "schemas/query.json").read_text())
    return schema["properties"]["kind"]["enum"]


@pytest.fixture(scope="module")
def catalogue(cli):
    found = {k["name"]: k for k in cli("protocol").json["query_kinds"]}
    assert list(found) == kinds()
    return found


def lines_with(label):
    """A valid trace in which every text of the program's is `label` and a number."""
    contract = {
        name: "complete"
        for name in (
            "operations",
            "activations",
            "tensors",
            "gradients",
            "logical_memory",
            "physical_memory",
            "device_timing",
        )
    }
    rows = 60
    expected = [{"root": f"{label}r", "key": f"{i}{label}", "family": f"{label}f"} for i in range(rows)]
    contract["gradient_contract"] = {
        "expected": expected,
        "families": [{"family": f"{label}f", "expectation": "active", "min_present": 1}],
    }
    text = {"shape": [2] * 8, "dtype": "f32"}
    lines = [meta(entrypoint=f"{label}root", capture_contract=contract, tags={label: label})]
    ends = []
    for name, parent, at in (("s0", None, 0), ("s1", "s0", 10)):
        start, end = span_lines(name, parent, f"{label}{'root' if at == 0 else name}", at, 10_000 - 2 * at, at > 0)
        lines.append(start)
        ends.append(end)
    for i in range(rows):
        span, tensor, storage = f"s{i + 2}", f"{label}t{i}", f"{label}m{i}"
        at = 20 + i * 20
        start, end = span_lines(span, "s1", f"{label}{i}", at, 15, kind="op")
        device = {"device": f"{label}d{i % 3}"}
        lines += [
            start,
            {"kind": "memory", "timestamp_ns": at + 1, "storage_id": storage, "tensor_id": tensor, "span_id": span}
            | {"op_name": f"{label}o", "bytes": 64, "action": "alloc", "category": "activation"}
            | device
            | text,
            {"kind": "op", "span_id": span, "op_name": f"{label}o{i}", "inputs": [f"{label}t{i - 1}"] * 40}
            | {"output": tensor, "duration_ns": 5, "timestamp_ns": at + 1}
            | {"output_dense_bytes": 32, "input_dense_bytes": 32}
            | device
            | text,
            {"kind": "tensor", "span_id": span, "tensor_id": tensor, "label": f"{label}{i}"}
            | {"requires_grad": False, "dense_bytes": 32, "category": "activation", "storage_id": storage}
            | device
            | text,
            {"kind": "tensor_stats", "span_id": span, "label": f"{label}{i}", "elements": 4}
            | {"non_finite": 1, "rms": 0.0, "abs_max": 0.0, "mean": 0.0}
            | text,
            {"kind": "device_interval", "span_id": span, "stream_id": f"{label}q", "clock_id": f"{label}c"}
            | {"backend": f"{label}b", "start_ns": at * 2, "duration_ns": 10}
            | device,
            {"kind": "device_memory", "timestamp_ns": at + 2, "used_bytes": 1000 + i} | device,
            {"kind": "gradient", "event_id": f"g{i}", "root": f"{label}r", "key": f"{i}{label}"}
            | ({"state": "zero", "norm": 0.0} if i else {"state": "present", "norm": 1.0}),
            end,
        ]
    return [*lines, *reversed(ends), terminal(10_000)]


@pytest.fixture(scope="module", params=["\u0001"])
def long_labels(request, tmp_path_factory):
    """Texts of 1,200 characters, each six bytes of JSON, in thousands of places."""
    unit = request.param
    return write_lines(tmp_path_factory.mktemp("long") / "long.jsonl", lines_with(unit * 1_200))


def test_no_answer_is_large(cli, catalogue, long_labels):
    calls = {}
    for kind, facts in catalogue.items():
        calls[kind, ""] = ("query", long_labels, "--kind", kind)
        if facts["collection"]:
            calls[kind, "limit"] = ("query", long_labels, "--kind", kind, "--limit", "1000")
        if facts["takes_filter"]:
            calls[kind, "filter"] = ("query", long_labels, "--kind", kind, "--label", "y" * 100_000)
    for call, answer in zip(calls, cli.batch(calls.values())):
        assert answer.code == 0, f"{call}: {answer.err.decode()[:300]}"
        assert len(answer.out) <= BOUND, f"{call}: {len(answer.out)} bytes"
    overview = cli("overview", long_labels, "--format", "json")
    assert overview.code == 0 and len(overview.out) <= BOUND


def assert_cut_of(shown, whole):
    """A row of a page is the row of `--all`, or says where it is shorter."""
    lengths = shown.get("cut_lists", {})
    for name, value in whole.items():
        if isinstance(value, list):
            assert len(shown[name]) == min(len(value), 32)
            assert lengths.get(name) == (len(value) if len(value) > 32 else None)
        elif isinstance(value, str) and shown[name] != value:
            head, middle, tail = shown[name].split("…")
            assert value.startswith(head) and value.endswith(tail) and f"[{len(value.encode())} bytes," in middle
        else:
            assert shown[name] == value


@pytest.mark.parametrize("kind", ["labels", "ops", "lifetimes"])
def test_pages_that_were_cut_go_on_where_they_ended(cli, long_labels, kind):
    whole = cli("query", long_labels, "--kind", kind, "--all").json["result"]["rows"]
    found, offset, pages = [], 0, 0
    while offset is not None:
        page = cli("query", long_labels, "--kind", kind, "--limit", "1000", "--offset", offset).json["result"]
        assert page["matched"] == len(whole) and page["displayed"] == len(page["rows"]) > 0
        assert page["truncated"] is (len(page["rows"]) < len(whole))
        found += page["rows"]
        offset, pages = page["next_offset"], pages + 1
    assert len(found) == len(whole) and pages < 20
    for shown, row in zip(found, whole):
        assert_cut_of(shown, row)


def test_a_page_of_short_rows_is_never_cut(cli, digits, catalogue):
    for kind in (k for k, facts in catalogue.items() if facts["collection"]):
        page = cli("query", digits, "--kind", kind, "--limit", "100").json["result"]
        assert page["displayed"] == min(100, page["total"] or 0), kind
        assert not any("cut_lists" in row for row in page["rows"] or []), kind


def test_flags_are_taken_or_refused_as_the_catalogue_says(cli, digits, catalogue):
    flags = {
        "takes_filter": [("--label", "a"), ("--label-prefix", "a")],
        "collection": [("--limit", "5"), ("--offset", "1")],
        "takes_all": [("--all",)],
    }
    for kind, facts in catalogue.items():
        for fact, tried in flags.items():
            for flag in tried:
                answer = cli("query", digits, "--kind", kind, *flag)
                if facts[fact]:
                    assert answer.code == 0, f"{kind} {flag}: {answer.err.decode()}"
                else:
                    assert answer.code == 2 and answer.out == b"" and flag[0] in answer.err.decode(), (kind, flag)


# What a trace without the plane answers: where the state is, and what must be null.
ABSENT = {
    "slowest-device": ["slowest_device_spans", "total"],
    "device-busy": ["total", "matched", "rows"],
    "device-idle": ["total", "matched", "rows"],
    "activations": ["observed_activation_operations", "unattributed_activation_storages"],
    "heaviest": ["heaviest_spans", "heaviest_ops"],
    "lifetimes": ["total", "matched", "rows"],
    "ops": ["total", "matched", "rows"],
    "work": ["total", "matched", "rows"],
    "uncounted-work": ["total", "matched", "rows"],
    "tensors": ["total", "matched", "rows"],
    "tensor-stats": ["total", "matched", "rows"],
    "gradients": ["total", "matched", "rows"],
    "gradient-families": ["total", "matched", "rows"],
    "dead-gradients": ["total", "matched", "rows"],
    "first-non-finite": ["first"],
    "gpu-status": ["provenance_binding", "capture", "devices"],
    "gpu-correlation": ["mode", "complete", "ledger", "labels"],
    "gpu-phases": ["phases", "kernels", "copies"],
    "gpu-kernels": ["source", "kernels", "memory_operations", "launches", "api_functions"],
    "gpu-attribution-gaps": [
        "totals",
        "outside",
        "labels_without_kernels",
        "missing_expected",
        "unexpected_observed",
        "unexpected_cpu_only",
        "duplicates",
    ],
}


def test_what_was_not_recorded_is_unavailable_and_never_zero(cli, tmp_path, catalogue):
    root, region = span_lines("s0", None, "random::step", 0, 100), span_lines("s1", "s0", "update", 10, 50, True)
    lines = [meta(phase="infer"), root[0], region[0], region[1], root[1], terminal(100)]
    trace = write_lines(tmp_path / "bare.jsonl", lines)
    for kind in catalogue:
        result = cli("query", trace, "--kind", kind).json["result"]
        if kind in ABSENT:
            assert result["status"] == "unavailable" and result["reason"], kind
            assert all(result[name] is None for name in ABSENT[kind]), kind
        elif kind == "memory":
            for plane, facts in result.items():
                assert facts["status"] == "unavailable" and facts["reason"] and facts["by_device"] is None, plane
            assert result["logical"]["total_allocated_bytes"] is None and result["logical"]["peak"] is None
        elif kind != "capabilities":
            assert result["status"] == "available" and result["total"] > 0, kind


def test_a_failed_capture_is_refused_by_name(cli, tmp_path, catalogue):
    root = span_lines("s0", None, "random::step", 0, 100)
    trace = write_lines(tmp_path / "failed.jsonl", [meta(), *root, terminal(100, "failed", reason="out of memory")])
    for kind, facts in catalogue.items():
        answer = cli("query", trace, "--kind", kind)
        if facts["needs_complete_capture"]:
            assert answer.code == 1 and answer.out == b"", kind
            assert "capture_failed" in answer.err.decode() and kind in answer.err.decode(), kind
        else:
            assert answer.code == 0, f"{kind}: {answer.err.decode()}"
