"""What a page shows is what the command line answers: every table, every number beside one, every column of a selection.

In: pages, and `sql` and `overview` on the traces they are made of. Out: the same values, exact in titles and details, and
formatted by rules that are written down here once more.
"""

import json
import re
import shlex
from urllib.parse import unquote

import pytest
from harness import same
from viewer import flat, number, printable
from viewer_tables import compared, told

# Places with tables of queries.
PLACES = {
    "digits": [
        *(f"#view=timings&by={by}" for by in ["name", "ops", "work", "spans", "calls", "path"]),
        *(f"#view=measurements&tab={tab}" for tab in ["values", "gradients", "dead", "families"]),
        "#view=memory",
    ],
    "transformer": ["#view=timings&by=name", "#view=timings&by=ops"],
    "golden": ["#view=timings&by=ops", "#view=measurements&tab=gradients", "#view=memory", "#view=gpu"],
    "gpu": ["#view=gpu"],
    "time": ["#view=timings&by=spans", "#view=gpu"],
    "numerics": [f"#view=measurements&tab={tab}" for tab in ["values", "gradients", "dead", "families"]],
    "failed": ["#view=timings&by=spans", "#view=measurements&tab=values"],
}

# Queries whose tables must have been compared, with rows.
COMPARED = {
    "digits": "host_hotspots ops op_work_by_name spans timeline_ops critical_path tensor_stats gradients gradient_families "
    "peak_storages_ranked memory_totals memory_by_category lifetimes physical_timeline",
    "transformer": "host_hotspots ops",
    "golden": "gpu_hotspots gpu_phases gpu_correlation gpu_attribution_gaps gpu_launches gpu_memory_operations gpu_idle "
    "cuda_api_functions",
    "gpu": "gpu_hotspots gpu_phases gpu_correlation gpu_attribution_gaps gpu_launches",
    "time": "spans device_idle",
    "numerics": "tensor_stats gradients dead_gradients gradient_families",
    "failed": "spans tensor_stats",
}


@pytest.mark.parametrize("name", PLACES)
def test_tables_hold_what_sql_answers(cli, pages, open_page, name):
    shown = open_page(name)
    found = {}
    for place in PLACES[name]:
        print(found)
        found |= compared(cli, pages, name, shown.go(place))
    for query in COMPARED[name].split():
        assert len(found[query]) >= 3, f"{query}: {found.get(query)}"


def rows_of(cli, pages, name, selection):
    """The rows that a selection in an address may mean, as the command line tells them."""
    kind, _, rest = selection.partition(":")
    if kind == "row":
        query, _, row = rest.rpartition(":")
        return [told(cli, pages, name, query)[int(row)]]
    query, column = {"span": ("spans", "id"), "storage": ("lifetimes", "storage_id")}[kind]
    wanted = f"s{rest}" if kind == "span" else rest
    return [row for row in told(cli, pages, name, query) if row[column] == wanted]


# Numbers outside of tables that lead to their row, at least as many.
LEADING = {
    ("digits", "overview"): 12,
    ("digits", "memory"): 8,
    ("golden", "overview"): 5,
    ("golden", "gpu"): 5,
    ("time", "gpu"): 2,
    ("update", "overview"): 12,
}


@pytest.mark.parametrize("name, view", LEADING)
def test_every_number_leads_to_the_row_that_has_it(cli, pages, open_page, name, view):
    leading = [(n, unquote(n["href"])) for n in open_page(name, f"#view={view}").numbers() if n["href"]]
    leading = [(n, re.search("sel=([^&]*)", href)[1]) for n, href in leading if "sel=" in href]
    assert len(leading) >= LEADING[name, view], leading
    for shown, selection in leading:
        (row,) = rows_of(cli, pages, name, selection)
        values = [float(v) for v in row.values() if isinstance(v, (int, float))]
        if "gpu_busy" in selection:
            # A part of a GPU's time may be a time less another one: its title says so.
            values += [a - b for a in values for b in values]
        assert number(shown["title"]) in values, f"{shown} is not in {selection}: {row}"


FIGURES = """() => Object.fromEntries([...document.querySelectorAll('#main section.panel')].map(panel => [
  panel.querySelector('h2')?.innerText,
  [...panel.querySelectorAll('.figure .num')].map(n => n.title),
]))"""


@pytest.mark.parametrize("name", ["digits", "update", "numerics"])
def test_the_headlines_are_those_of_the_overview(cli, pages, open_page, name):
    document = cli("overview", *pages.inputs(name)).json
    figures = open_page(name).page.evaluate(FIGURES)
    counts, physical = document["counts"], document["memory"]["physical_by_device"]["rows"]
    assert number(figures["Gradients"][0]) == counts["gradients"]
    assert number(figures["Values"][0]) == counts["tensor_stat_non_finite_events"]
    if document["timing"]:
        assert number(figures["Where the time goes"][0]) == document["timing"]["outer_wall_time_ns"]
    if document["memory"]["logical"]:
        (peak,) = cli.rows(*pages.inputs(name), "--query", "memory_peak")
        assert number(figures["What holds the memory"][0]) == peak["live_bytes"]
    assert [number(n) for n in figures["Physical memory"]] == [row["max_used_bytes"] for row in physical][:3]


# A selection of each kind, and how the recorded rows behind it are found in its table.
SELECTED = {
    "digits": "span:3 op:4:0 row:host_hotspots:1 row:ops:0 row:gradients:1 row:tensor_stats:2 row:critical_path:0 "
    "row:lifetimes:0 row:memory_peak:0 row:peak_composition:1 row:step_split:0 row:gradient_families:0",
    "golden": "gpu:2 row:gpu_hotspots:0 row:gpu_busy:0 row:gpu_reports:0 row:cuda_api_functions:0",
    "time": "device:1 row:device_busy:0",
    # Beyond what a floating-point number holds exactly.
    "failed": "device:0",
}
NUMBERED = {"device": "timeline_device", "gpu": "timeline_gpu", "op": "timeline_ops", "span": "spans"}


def selected_row(cli, pages, name, selection):
    kind, *rest = selection.split(":")
    if kind == "row":
        return told(cli, pages, name, rest[0])[int(rest[1])]
    rows = told(cli, pages, name, NUMBERED[kind])
    keys = {"op": ["span_id", "op_index"], "span": ["id"], "gpu": ["row"], "device": []}[kind]
    wanted = [f"s{rest[0]}" if kind in ("op", "span") else int(rest[0]), *map(int, rest[1:])]
    if not keys:
        return rows[wanted[0]]
    (row,) = [row for row in rows if [row[key] for key in keys] == wanted]
    return row


@pytest.mark.parametrize("name", SELECTED)
def test_a_selection_shows_its_whole_row_and_where_it_is_from(cli, pages, open_page, name):
    shown = open_page(name)
    for selection in SELECTED[name].split():
        details = shown.go(f"#view=timings&sel={selection}").details()
        assert_details(cli, pages, name, selection, details)


def assert_details(cli, pages, name, selection, details):
    row = selected_row(cli, pages, name, selection)
    assert set(row) <= set(details["columns"])
    for column, value in row.items():
        told_, where = details["columns"][column], f"{selection}, {column}: {details['columns'][column]}, {value}"
        if value is None:
            assert told_["absent"], where
        elif isinstance(value, bool):
            assert told_["text"] == ("yes" if value else "no"), where
        elif isinstance(value, (int, float)):
            exact = number(told_["small"]) if " · " in told_["small"] else number(told_["text"])
            assert same(exact, value), where
        else:
            assert told_["text"] == printable(value), where
    words = shlex.split(details["command"])
    assert words[:3] == ["candle-graph", "sql", "TRACE"]
    if details["statement"] is None:
        assert words[3] == "--query" and told(cli, pages, name, words[4])
        return
    assert words[3] == " ".join(details["statement"].split())
    behind = cli.rows(*pages.inputs(name), words[3])
    kind = selection.split(":")[0]
    assert len(behind) == 1 or kind == "row" and behind, behind
    for column in {"name", "start_ns", "duration_ns", "shape", "norm", "label", "kind", "report"} & set(row) & set(behind[0]):
        if kind != "row" or column in ("name", "label", "report", "norm"):
            assert same(flat(behind[0][column]), row[column]), column


def test_a_comparison_shows_its_document(pages, open_page):
    shown = open_page("attention")
    document = json.loads(pages.inputs("attention")[0].read_text(encoding="utf-8"))
    first, _, rest = document["headline"].partition(": ")
    assert shown.text("#verdict") == first and rest.lower() in shown.text(".panel.lead").lower()
    grids = {grid["label"]: grid for grid in shown.grids()}

    def of(heading, grid, row):
        return row["cells"][[c["text"] for c in grid["columns"]].index(heading)]["title"]

    grid, labels = grids["Own time by label"], {row["label"]: row for row in document["labels"]["rows"]}
    assert grid["total"] == len(labels) and len(grid["rows"]) >= 5
    for row in grid["rows"]:
        known = labels[of("label", grid, row)]
        assert number(of("change", grid, row)) == known["median_delta"]
        assert number(of("p", grid, row)) == known["p"]
        for cohort in ["baseline", "candidate"]:
            assert number(of(cohort, grid, row)) == known[cohort]["median"]
    grid = grids["Runs"]
    runs = {run["run_id"]: run for cohort in ["baseline", "candidate"] for run in document["inputs"][cohort]}
    assert {of("run id", grid, row) for row in grid["rows"]} == set(runs)
    for row in grid["rows"]:
        run = runs[of("run id", grid, row)]
        assert number(of("wall time", grid, row)) == run["outer_wall_time_ns"]
        assert of("manifest", grid, row) == run["manifest_sha256"]
