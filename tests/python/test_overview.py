"""Every number that an overview shows is what other programs compute from the same files."""

import re

import naive
import pandas_overview
import polars_overview
import pytest
from conftest import RANDOM_SEEDS
from harness import assert_rows, bound, level_p99, query_files

ROWS = 5


@pytest.fixture(scope="module")
def overview(cli, digits):
    return cli("overview", digits, "--format", "json").json


@pytest.fixture(scope="module", params=[polars_overview, pandas_overview], ids=["polars", "pandas"])
def numbers(request, digits):
    return request.param.numbers(digits)


def assert_bounded(shown, expected, what):
    """A list shows the first rows and says how many there are."""
    assert shown["total"] == len(expected), what
    assert shown["displayed"] == len(shown["rows"]) == min(ROWS, len(expected)), what
    assert shown["truncated"] is (len(expected) > ROWS), what
    assert_rows(shown["rows"], expected[:ROWS], what)


def test_counts(overview, numbers):
    assert overview["counts"] == numbers["counts"]
    assert numbers["counts"]["operations"] > 0 and numbers["counts"]["memory_events"] > 0


def test_host_time(overview, numbers):
    timing = overview["timing"]
    assert timing["outer_wall_time_ns"] == numbers["outer_wall_time_ns"]
    assert_bounded(timing["slowest_host_spans"], numbers["slowest_host_spans"], "slowest spans")
    assert overview["timing_unavailable_reason"] is None


def test_operations(overview, numbers):
    assert_bounded(overview["operations"]["by_name"], numbers["by_name"], "operations")
    assert sum(r["share"] for r in numbers["by_name"]) == pytest.approx(1)


def test_gradients(overview, numbers):
    assert_rows(overview["gradients"]["states"], numbers["states"], "gradient states")


def test_memory(overview, numbers):
    memory = overview["memory"]
    assert_bounded(memory["by_device"], numbers["by_device"], "logical memory")
    assert_bounded(memory["physical_by_device"], numbers["physical_by_device"], "physical memory")
    assert memory["logical"] is (numbers["counts"]["memory_events"] > 0)
    assert memory["physical"] is (numbers["counts"]["device_memory_samples"] > 0)


def test_capabilities_count_what_is_there(overview, numbers):
    observed = {
        "activation_coverage": numbers["activations"],
        "operation_coverage": numbers["counts"]["operations"],
        "tensor_coverage": numbers["counts"]["tensors"],
        "logical_memory_coverage": numbers["counts"]["memory_events"],
        "physical_memory_coverage": numbers["counts"]["device_memory_samples"],
    }
    for plane, count in observed.items():
        assert re.search(rf"\b{count} recorded", overview["capabilities"][plane]["reason"]), plane


def test_findings_say_the_same(overview, numbers):
    by_code = {f["code"]: f for f in overview["findings"]["rows"]}
    slowest, op = numbers["slowest_host_spans"][0], numbers["by_name"][0]
    finding = by_code["largest_observed_host_self_time"]
    assert finding["source"] == slowest["id"]
    assert f"`{slowest['name']}`" in finding["summary"]
    assert f"{duration(slowest['measured_overlap_self_time_ns'])} of its" in finding["summary"]
    assert f"of its {duration(slowest['full_duration_ns'])}" in finding["summary"]
    if op["share"] < 1 / 3 or op["total_ns"] < 0.05 * numbers["outer_wall_time_ns"]:
        assert "dominant_operation" not in by_code
        return
    finding = by_code["dominant_operation"]
    assert finding["source"] == f"op:{op['name']}"
    assert f"{duration(op['total_ns'])} over {op['calls']} calls, {op['share'] * 100:.0f}%" in finding["summary"]


def duration(ns):
    if ns is None:
        return "-"
    for least, unit, digits in [(1e9, "s", 3), (1e6, "ms", 3), (1e3, "µs", 2)]:
        if ns >= least:
            return f"{ns / least:.{digits}f} {unit}"
    return f"{ns} ns"


def size(count):
    if count is None:
        return "-"
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    power = 0
    while count >= 1024 ** (power + 1) and power < 4:
        power += 1
    return f"{count} B" if power == 0 else f"{count / 1024**power:.1f} {units[power]}"


def test_text(cli, digits, numbers):
    answer = cli("overview", digits, "--format", "text")
    assert answer.code == 0 and answer.err == b""
    lines = [" ".join(line.split()) for line in answer.text.splitlines()]
    counts = numbers["counts"]
    assert (
        f"{counts['spans']} spans, {counts['operations']} operations, {counts['tensors']} tensors, "
        f"{counts['tensor_stats']} statistics, {counts['gradients']} gradients, {counts['memory_events']} memory events; 0 lost"
    ) in lines
    spans = numbers["slowest_host_spans"]
    shown = f" {ROWS} of {len(spans)}" if len(spans) > ROWS else ""
    assert f"Host time {duration(numbers['outer_wall_time_ns'])} in the measured region{shown}" in lines
    expected = [
        f"{r['name']} {duration(r['measured_overlap_self_time_ns'])} {duration(r['full_duration_ns'])} "
        f"{duration(r['cpu_ns'])} {r['scope']}"
        for r in spans[:ROWS]
    ]
    expected += [
        f"{r['name']} {r['calls']} {duration(r['total_ns'])} {r['share'] * 100:.1f} % {duration(r['cpu_ns'])}"
        for r in numbers["by_name"][:ROWS]
    ]
    expected += [", ".join(f"{r['gradients']} {r['state']}" for r in numbers["states"])]
    expected += [
        f"{r['device']} {size(r['peak_live_bytes'])} {duration(r['peak_timestamp_ns'])} "
        f"{size(r['total_allocated_bytes'])} {r['storage_allocation_count']} {size(r['retained_bytes'])}"
        for r in numbers["by_device"]
    ]
    expected += [
        f"{r['device']} {r['samples']} {size(r['min_used_bytes'])} {size(r['max_used_bytes'])} "
        f"{size(r['max_reserved_bytes'])}"
        for r in numbers["physical_by_device"]
    ]
    missing = [line for line in expected if line not in lines]
    assert not missing, "\n".join([*missing, "---", *lines])


# Generated traces: the oracle works from the facts, so reading JSON lines is under test as well.


@pytest.fixture(scope="module")
def packets(cli, random_inputs):
    cli.batch(("import", f.path) for f in random_inputs)
    return {f.run_id: (f, cli("import", f.path).json) for f in random_inputs}


@pytest.fixture(params=[f"run-{seed}" for seed in RANDOM_SEEDS])
def packet(request, packets):
    return packets[request.param]


def test_random_traces_are_sound_and_awkward(packets):
    for run_id, (_, packet) in packets.items():
        errors = [i for i in packet["summary"]["health"]["issues"] if i["severity"] == "error"]
        assert errors == [], run_id
    times = [r for facts, _ in packets.values() for r in naive.span_times(facts.spans)]
    scopes = [r["scope"] for r in times]
    assert all(scopes.count(s) > 20 for s in ("measured_subtree", "concurrent_overlap", "outside"))
    assert sum(r["total_ns"] == 0 for r in times) > 20
    assert sum(0 < r["self_ns"] < r["total_ns"] for r in times) > 20
    assert any(r["span_id"] < 0 for r in times) and any(r["start_ns"] > 2**52 for r in times)


def test_random_host_time(packet):
    facts, packet = packet
    region = next(s for s in facts.spans if s["measured"])
    assert packet["summary"]["outer_wall_time_ns"] == region["duration_ns"]
    assert_rows(packet["summary"]["slowest_host_spans"], naive.slowest_host(facts.spans), "slowest-host")
    assert_rows(packet["graph"]["spans"], naive.spans(facts.spans), "spans")
    edges = [
        {"kind": "call", "from_span": r["parent_id"], "to_span": r["id"], "host_duration_ns": r["host_total_time_ns"]}
        for r in naive.spans(facts.spans)
        if r["parent_id"] is not None
    ]
    assert_rows(packet["graph"]["edges"], edges, "call edges")


def test_random_operations(packet):
    facts, packet = packet
    expected = naive.ops(facts.ops)
    assert_rows(level_p99(packet["summary"]["operations"], expected), expected, "ops")


def test_random_memory(packet):
    facts, packet = packet
    assert_rows(packet["summary"]["memory"]["logical"]["by_device"] or [], naive.memory_totals(facts.memory), "memory_totals")
    physical = packet["summary"]["memory"]["physical"]["by_device"] or []
    assert_rows(physical, naive.device_memory(facts.device_memory), "device_memory")


def test_random_values(packet):
    facts, packet = packet
    assert_rows(packet["summary"]["labels"], naive.labels(facts), "labels")
    gradients = [
        {"root": g["root"], "key": g["key"], "state": g["state"], "norm": g.get("norm")} for g in facts.gradients
    ]
    assert_rows(packet["summary"]["gradients"], gradients, "gradients", tolerance=0)
    for row, fact in zip(packet["summary"]["tensor_stats"], facts.tensor_stats, strict=True):
        finite = fact["non_finite"] == 0
        for column in ("rms", "abs_max", "mean"):
            assert row[column] == (fact[column] if finite else None)
        assert (row["label"], row["elements"], row["non_finite"]) == (
            fact["label"],
            fact["elements"],
            fact["non_finite"],
        )


@pytest.mark.parametrize("seed", [2, 3, 11])
def test_queries_give_the_rows_of_the_packet(cli, packets, seed):
    facts, packet = packets[f"run-{seed}"]
    calls = [("slowest-host",), ("spans", "--all"), ("ops", "--all")]
    slowest, spans, ops = (a.json["result"] for a in cli.batch(("query", facts.path, "--kind", *c) for c in calls))
    assert slowest["slowest_host_spans"] == packet["summary"]["slowest_host_spans"][:50]
    assert slowest["total"] == len(packet["summary"]["slowest_host_spans"])
    assert slowest["outer_wall_time_ns"] == packet["summary"]["outer_wall_time_ns"]
    assert spans["rows"] == packet["graph"]["spans"] and spans["edges"] == packet["graph"]["edges"]
    assert ops["rows"] == packet["summary"]["operations"]


def test_many_traces_at_once_stay_apart(cli, random_inputs):
    """Span ids of different runs collide; run_id keeps the spans, regions and storages of each apart."""
    paths = [f.path for f in random_inputs]
    columns = "run_id, span_id, total_ns, self_ns, scope, measured_ns, measured_self_ns"
    totals = query_files()["memory_totals"]
    calls = [
        ("sql", *paths, f"SELECT {columns} FROM span_times ORDER BY run_id, start_ns, span_id", "--format", "json"),
        ("sql", *paths, bound(totals), "--format", "json"),
    ]
    times, memory = (a.json["rows"] for a in cli.batch(calls))
    names = columns.split(", ")[1:]
    expected = [
        {"run_id": f.run_id, **{n: r[n] for n in names}}
        for f in sorted(random_inputs, key=lambda f: f.run_id)
        for r in naive.span_times(f.spans)
    ]
    assert_rows(times, expected, "span_times of all runs")
    expected = [row for f in random_inputs for row in naive.memory_totals(f.memory)]
    as_set = lambda rows: sorted(repr(sorted(r.items())) for r in rows)  # noqa: E731
    assert as_set(memory) == as_set(expected)
