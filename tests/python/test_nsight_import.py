"""Nsight reports become tables: real files as pandas reads them, made-up ones in every dialect that means the same."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from harness import REPOSITORY
from nsight_csv import COLUMNS, REPORTS, read
from nsight_world import HEADS, WORLD, Dialect

GOLDEN = REPOSITORY / "tests/fixtures/golden.jsonl"
REAL = Path(os.environ.get("CANDLE_GRAPH_DATA", REPOSITORY.parent / "shared/data")) / "nsight"
REAL_FILES = sorted(str(p.relative_to(REAL)) for p in REAL.rglob("*") if p.is_file())
# What no name says: reports that are kept, files of another form.
REMARKS = {
    "transcribed/pipit/nbody-nvtx_trace.excerpt.csv": "has the columns of nvtx_pushpop_trace",
    "not-csv/stats_stdout_column_format.txt": "aligned in columns, and no CSV",
    "transcribed/locale/nsys2021_es_locale_column_format.excerpt.txt": "aligned in columns, and no CSV",
    "transcribed/timeunit/nsys2022.4.2_timeunit_ms_column.excerpt.txt": "aligned in columns, and no CSV",
}


def sql(cli, folder, query, *more):
    return cli.fresh("sql", GOLDEN, "--nsight-dir", folder, query, *more)


def states(cli, folder):
    """What became of each report by its table, and of each file that is kept."""
    rows = sql(cli, folder, "SELECT * FROM nsight_reports", "--format", "json").json["rows"]
    assert [r["table"] for r in rows if r["state"] != "retained"] == list(REPORTS)
    return {r["table"] or r["file"]: r for r in rows}


def columns_of(cli, folder, table):
    """The rows of a table as they were read, column by column."""
    out = folder.parent / f"{folder.name}-{table}.parquet"
    answer = sql(cli, folder, f"SELECT * FROM {table} ORDER BY row", "--format", "parquet", "-o", out)
    assert answer.code == 0, answer.err
    found = pq.read_table(out).to_pydict()
    assert found.pop("row") == list(range(len(found["run_id"])))
    found.pop("run_id")
    assert sorted(found) == sorted(COLUMNS[table])
    return found


def assert_columns(found, expected):
    for column, wanted in expected.items():
        assert len(found[column]) == len(wanted), f"{column}: rows"
        for at, (a, b) in enumerate(zip(found[column], wanted)):
            assert type(a) is type(b) and a == b, f"{column}, row {at}: {a!r}, expected {b!r}"


def folder_of(tmp_path, files):
    folder = tmp_path / "nsight"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def table_of(name):
    """The table of a real file, by the one word in its name that is a report's."""
    stem = re.sub(r"\.csv|\.excerpt|\.txt", "", Path(name).name)
    found = [t for t, names in REPORTS.items() if re.search(rf"(^|_)({'|'.join(names)})(_older)?$", stem)]
    return found[0] if found else None


def test_the_real_files_are_here():
    if not REAL_FILES:
        pytest.skip(f"no {REAL}; set CANDLE_GRAPH_DATA to the folder that holds nsight/")
    assert {table_of(name) for name in REAL_FILES} >= set(REPORTS) - {"nvtx_pushpop_trace"}


@pytest.mark.parametrize("name", REAL_FILES)
def test_real_file(cli, tmp_path, name):
    folder = folder_of(tmp_path, {Path(name).name: (REAL / name).read_bytes()})
    found, table = states(cli, folder), table_of(name)
    kept = found.get(Path(name).name)
    if table is None:
        assert {found[t]["state"] for t in REPORTS} == {"unavailable"}
        assert REMARKS.get(name, "") in (kept["reason"] or "")
        assert (kept["reason"] is None) == (name not in REMARKS)
        return
    assert kept is None and name not in REMARKS
    expected = read(REAL / name, table)
    columns = columns_of(cli, folder, table)
    assert_columns(columns, expected)
    rows = len(expected["name" if "name" in expected else "operation"])
    assert found[table] | {"state": "available", "file": Path(name).name, "rows": rows, "reason": None} == found[table]
    assert {found[t]["state"] for t in REPORTS if t != table} == {"unavailable"}
    numbers = {c: [v for v in values if v is not None] for c, values in expected.items() if is_number(values)}
    sums = ", ".join(f"SUM({c}) AS {c}" for c in numbers)
    [answer] = sql(cli, folder, f"SELECT {sums} FROM {table}", "--format", "json").json["rows"]
    for column, known in numbers.items():
        # Integers add up exactly, floats in whatever order.
        total = pytest.approx(sum(known), rel=1e-12) if any(isinstance(v, float) for v in known) else sum(known)
        assert answer[column] == (total if known else None), column


def is_number(values):
    return not any(isinstance(v, str) for v in values)


@pytest.mark.parametrize("name", [n for n in REAL_FILES if table_of(n)])
def test_real_file_written_by_another_hand(cli, tmp_path, name):
    """The same rows as a spreadsheet leaves them: a byte-order mark, CRLF, quotes all over, columns turned round."""
    table = table_of(name)
    with open(REAL / name, newline="", encoding="utf-8") as file:
        rows = [list(reversed(row)) for row in csv.reader(file) if row]
    path = tmp_path / "turned.csv"
    with open(path, "w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    folder = folder_of(tmp_path, {f"turned_{REPORTS[table][1]}.csv": path.read_bytes()})
    assert_columns(columns_of(cli, folder, table), read(REAL / name, table))


PROCESSING = (
    "Generating SQLite file /tmp/x.sqlite from /tmp/x.nsys-rep\n"
    "Processing [/tmp/x.sqlite] with [/opt/nvidia/reports/r.py]... \n"
)
NOTICE = (
    "\nNOTICE: Existing SQLite export found: x.sqlite\n"
    "        It is assumed file was previously exported from: x.nsys-rep\n"
    "        Consider using --force-export=true if needed.\n\n"
)
YEAR_2021 = Dialect(
    time="ns", times=(("Start", "sec"), ("Duration", "nsec")), size="MB", space="", old_names=True,
    leave_out=("Med", "GreenCtx"),
    rename=(("Avg", "Average*"), ("Min", "Minimum*"), ("Max", "Maximum*"), ("StdDev", "StdDev*"),
            ("Throughput", "Thru"), ("Count", "Operations")),
)  # fmt: skip
YEAR_2023 = Dialect(size="MB", null="None", leave_out=("GreenCtx",))
PLAIN = Dialect()
DIALECTS = {
    "plain": PLAIN,
    "2021": YEAR_2021,
    "2023": YEAR_2023,
    "byte order mark": PLAIN.but(encoding="utf-8-sig"),
    "crlf": PLAIN.but(line="\r\n"),
    "crlf and byte order mark": PLAIN.but(line="\r\n", encoding="utf-8-sig", before="\r\n"),
    "blank last lines": PLAIN.but(after="\n\n\n"),
    "blank last lines with spaces": PLAIN.but(after="  \n\t\r\n\n"),
    "preamble": PLAIN.but(before=PROCESSING),
    "preamble with crlf": PLAIN.but(before=PROCESSING.replace("\n", "\r\n"), line="\r\n"),
    "existing export": PLAIN.but(before=NOTICE + PROCESSING),
    "doubled suffix": PLAIN.but(file="{0}_{0}.csv"),
    "suffix behind an ending": PLAIN.but(file="run.csv_{}.csv"),
    "bare name": PLAIN.but(file="{}.csv"),
    "old names": PLAIN.but(old_names=True),
    "capitals": PLAIN.but(file="RUN-{}.CSV"),
    "a name of spaces and points": PLAIN.but(file="my run v1.2 {}.csv"),
    "columns turned round": PLAIN.but(reverse=True),
    "unknown columns": PLAIN.but(more=(("Café (°C)", "12,5"), ("Next", '"'))),
    "quoted all over": PLAIN.but(quoting=csv.QUOTE_ALL),
    "no space before units": PLAIN.but(space=""),
    "no green context": PLAIN.but(leave_out=("GreenCtx",)),
    "None cells": PLAIN.but(null="None"),
    "microseconds": PLAIN.but(time="us", size="KB", rate="KB"),
    "milliseconds": PLAIN.but(time="ms", size="MB", rate="GB"),
    "seconds": PLAIN.but(time="s", size="GB", rate="MiB"),
    "sec and nsec": PLAIN.but(times=(("Start", "sec"), ("Duration", "nsec"), ("Total Time", "msec"))),
    "binary sizes": PLAIN.but(size="KiB"),
    "megabytes of three decimals": PLAIN.but(size="MB", size_decimals=3),
    "mebibytes of three decimals": PLAIN.but(size="MiB", size_decimals=3),
}


@pytest.mark.parametrize("name", DIALECTS)
def test_dialect(cli, tmp_path, name):
    dialect = DIALECTS[name]
    folder = folder_of(tmp_path, dialect.files())
    found = states(cli, folder)
    for table in HEADS:
        about = found[table]
        wanted = ("available", dialect.file_name(table), len(WORLD[table]), None)
        assert (about["state"], about["file"], about["rows"], about["reason"]) == wanted
        unread = [n for n in about["notes"] if n.startswith("columns that are not read")]
        assert len(unread) == bool(dialect.more) and all("Café (°C), Next" in n for n in unread)
        assert_columns(columns_of(cli, folder, table), dialect.expected(table))


def test_last_line_without_end(cli, tmp_path):
    files = {name: text.rstrip(b"\n") for name, text in PLAIN.files().items()}
    folder = folder_of(tmp_path, files)
    found = states(cli, folder)
    for table in HEADS:
        assert "the last line has no end" in "".join(found[table]["notes"])
        assert_columns(columns_of(cli, folder, table), PLAIN.expected(table))


def test_long_names_do_not_fill_the_memory(cli, tmp_path):
    """A batch is bounded by its bytes too: what a file of the longest names takes is less than the file."""
    row = b"1,2,3,7," + b"name of a kernel " * 50_000 + b"\n"
    folder = folder_of(tmp_path, {"cuda_gpu_trace.csv": b"Start (ns),Duration (ns),CorrId,Strm,Name\n" + row * 300})
    query = "SELECT rows FROM nsight_reports LIMIT 1"
    measured = [sys.executable, Path(__file__).with_name("measured.py")]
    command = [*measured, cli.binary, "sql", GOLDEN, "--nsight-dir", folder, query, "--format", "csv"]
    took = json.loads(subprocess.run(command, capture_output=True, check=True, cwd=tmp_path).stdout)
    assert (took["code"], took["out"].split()) == (0, ["rows", "300"]), took
    assert took["bytes"] < 300 * len(row), took


@pytest.mark.parametrize("cell", [" 512    1    1", "512 1 1", "\t 512 1  1 "])
def test_grids_in_one_cell(cli, tmp_path, cell):
    """2022.4 tells grids apart in the summary of kernels."""
    text = PLAIN.but(more=(("GridXYZ", cell), ("BlockXYZ", "  64    2    1"))).text("gpu_kernels")
    columns = columns_of(cli, folder_of(tmp_path, {"gpukernsum.csv": text.encode()}), "gpu_kernels")
    found = {tuple(columns[f"{word}_{axis}"][0] for axis in "xyz") for word in ["grid", "block"]}
    assert found == {(512, 1, 1), (64, 2, 1)}


@pytest.mark.parametrize(
    "cell, unit, wanted",
    [("1.234567", "s", 1_234_567_000), ("0.06501276200000001", "sec", 65_012_762), ("1.2e-05", "s", 12_000),
     ("0.1992", "ms", 199_200), ("98439583.0", "ns", 98_439_583), ("+7", "us", 7_000), ("0", "s", 0),
     ("4611686018427387903", "ns", 2**62 - 1), ("4611686018.427387903", "s", 2**62 - 1), ("1e3", "ns", 1000)],
)  # fmt: skip
def test_times_are_exact(cli, tmp_path, cell, unit, wanted):
    heads = f"Start ({unit}),Duration ({unit}),CorrId,Strm,Name\n"
    folder = folder_of(tmp_path, {"cuda_gpu_trace.csv": f"{heads}{cell},{cell},1,7,k\n".encode()})
    columns = columns_of(cli, folder, "gpu_trace")
    assert (columns["start_ns"], columns["duration_ns"]) == ([wanted], [wanted])
