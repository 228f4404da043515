"""Bundles that want the reader's memory or time: their hashes are right, and they are refused all the same, quickly."""

import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bundles import copy, seal

HERE = Path(__file__).parent
MOST_MEMORY = 256 << 20
MOST_SECONDS = 5


@pytest.fixture(scope="module")
def bundle(cli, digits, tmp_path_factory):
    target = tmp_path_factory.mktemp("bundle") / "b"
    cli.fresh("report", digits, "--bundle", target)
    return target


@pytest.fixture
def forged(bundle, tmp_path):
    return copy(bundle, tmp_path / "b")


@pytest.fixture
def refused(binary, forged):
    """Every command refuses the bundle with one line, within bounds; gives that line."""

    def check(commands=(["verify"], ["verify", "--semantic"], ["overview"], ["sql", "SELECT count(*) FROM ops"])):
        for command, *more in commands:
            call = [sys.executable, "-S", HERE / "measured.py", binary, command, forged, *more]
            told = json.loads(subprocess.run(call, cwd=forged.parent, check=True, capture_output=True).stdout)
            err = told["err"]
            assert told["code"] == 1, (command, told)
            assert err.count("\n") == 1 and err.startswith("error: "), told
            assert told["bytes"] <= MOST_MEMORY, f"{command}: {told['bytes'] >> 20} MiB; {err}"
            assert told["seconds"] <= MOST_SECONDS, f"{command}: {told['seconds']:.1f} s; {err}"
        return err

    return check


def with_footer(path, change):
    """Rewrites a Parquet file with its footer changed."""
    data = path.read_bytes()
    length = struct.unpack("<I", data[-8:-4])[0]
    footer = change(data[-8 - length : -8])
    path.write_bytes(data[: -8 - length] + footer + struct.pack("<I", len(footer)) + b"PAR1")


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def zigzag(value):
    return varint(value << 1)


def test_a_footer_that_claims_rows_without_end(forged, refused):
    path = forged / "tables/ops.parquet"
    rows = pq.ParquetFile(path).metadata.num_rows

    def more(footer):
        # Field 3 of the file's metadata, an i64: its number of rows. It follows the schema.
        old, new = b"\x16" + zigzag(rows), b"\x16" + zigzag(1 << 60)
        at = footer.index(old + b"\x19")
        return footer[:at] + new + footer[at + len(old) :]

    with_footer(path, more)
    seal(forged)
    assert "rows" in refused()


def test_row_groups_that_claim_rows_without_end(forged, refused):
    path = forged / "tables/ops.parquet"
    rows = pq.ParquetFile(path).metadata.num_rows
    with_footer(path, lambda footer: footer.replace(b"\x16" + zigzag(rows), b"\x16" + zigzag(1 << 60)))
    seal(forged)
    assert "rows" in refused()


@pytest.mark.parametrize(
    "footer",
    [
        b"\x15\x02\x19\xfc" + varint(2**31 - 1),  # two billion elements of a schema
        b"\x15\x02\x19\x1c\x15\x00\x48\x01r\x15" + zigzag(2**31 - 1) + b"\x00\x00",  # a node of two billion children
        b"\x15\x02\x19\x1c\x48\x01r\x00\x16\x00\x19\xfc" + varint(2**31 - 1),  # two billion row groups
        b"\x1c" * 100_000,  # structures in structures
        b"\x19" * 100_000,  # lists in lists
        b"\x15\x02\x18" + varint(1 << 60),  # text of 2^60 bytes
        b"",
        b"\x00",
    ],
)
def test_a_footer_that_claims_more_than_it_has(forged, refused, footer):
    with_footer(forged / "tables/ops.parquet", lambda _: footer)
    seal(forged)
    assert "ops.parquet" in refused()


def test_a_schema_nested_without_end(forged, refused):
    def nested(levels):
        # Each a group of one child: repetition required, name "x", one child.
        node = b"\x35\x00\x18\x01x\x15\x02\x00"
        return b"\x15\x02\x19\xfc" + varint(levels + 1) + node * levels + b"\x15\x02\x25\x00\x18\x01y\x00" + b"\x16\x00\x19\x0c\x00"

    for levels in (1_000, 100_000, 1_000_000):
        with_footer(forged / "tables/ops.parquet", lambda _, n=levels: nested(n))
        seal(forged)
        told = refused()
        # What is short enough for the guard is the library's to refuse.
        assert ("its footer" if levels > 1_024 else "ops.parquet") in told


def table_with(path, **columns):
    """Writes a table again with some of its columns replaced, in the form the recorder gives it."""
    table = pq.read_table(path)
    rows = {len(c) for c in columns.values()}.pop()
    arrays = {}
    for field in table.schema:
        if field.name in columns:
            arrays[field.name] = columns[field.name]
        elif field.name == "seq":
            arrays[field.name] = pa.array(range(rows), pa.int64())
        else:
            arrays[field.name] = pa.repeat(table[field.name][0], rows)
    return pa.table([arrays[f.name] for f in table.schema], schema=table.schema)


def test_a_page_that_grows_without_measure(forged, refused):
    """One gigabyte of one letter in a page of 100 KB."""
    path = forged / "tables/ops.parquet"
    bomb = table_with(path, name=pa.array(["a" * (512 << 20)] * 2, pa.string()))
    pq.write_table(bomb, path, compression="zstd", use_dictionary=False, data_page_size=2 << 30, write_statistics=False)
    assert path.stat().st_size < 2 << 20
    seal(forged)
    assert "more than any recorder writes" in refused()


def test_a_dictionary_that_grows_without_measure(forged, refused):
    """One megabyte that stands once in a dictionary and 100,000 times in the rows."""
    path = forged / "tables/ops.parquet"
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000, pa.int32()), pa.array(["a" * (1 << 20)]))
    table = table_with(path, name=pa.array(["x"] * 100_000))
    at = table.schema.get_field_index("name")
    metadata = table.schema.metadata
    table = table.set_column(at, pa.field("name", dictionary.type, nullable=False), dictionary).replace_schema_metadata(metadata)
    pq.write_table(table, path, compression="zstd", use_dictionary=["name"], write_statistics=False)
    assert path.stat().st_size < 4 << 20
    seal(forged)
    assert "column name" in refused()


def test_a_list_that_grows_without_measure(forged, refused):
    """One row whose inputs are a hundred million texts."""
    path = forged / "tables/ops.parquet"
    items = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), 20_000_000), pa.array(["a"]))
    table = pq.read_table(path).slice(0, 1)
    at = table.schema.get_field_index("inputs")
    inputs = pa.ListArray.from_arrays(pa.array([0, len(items)], pa.int32()), items)
    field = pa.field("inputs", inputs.type, nullable=False)
    table = table.set_column(at, field, inputs)
    pq.write_table(table, path, compression="zstd", write_statistics=False)
    seal(forged)
    assert "column inputs" in refused()


def test_rows_that_no_file_of_its_size_can_hold(forged, refused):
    """Forty million rows in a few kilobytes: constant columns, and the numbers of the rows constant too."""
    path = forged / "tables/device_memory.parquet"
    table = pq.read_table(path)
    rows = 40_000_000
    arrays = [pa.repeat(table[f.name][0], rows) for f in table.schema]
    pq.write_table(
        pa.table(arrays, schema=table.schema), path, compression="zstd", row_group_size=rows, data_page_size=1 << 28,
        max_rows_per_page=rows, write_statistics=False,
    )  # fmt: skip
    assert path.stat().st_size < 30_000
    seal(forged)
    assert "rows" in refused()


def test_padding_makes_no_room_for_rows(forged, refused):
    """The same, in a file that a footer full of text makes large enough."""
    path = forged / "tables/device_memory.parquet"
    table = pq.read_table(path)
    rows = 40_000_000
    arrays = [pa.repeat(table[f.name][0], rows) for f in table.schema]
    schema = table.schema.with_metadata({**table.schema.metadata, b"padding": b"x" * 400_000})
    pq.write_table(
        pa.table(arrays, schema=schema), path, compression="zstd", row_group_size=rows, data_page_size=1 << 28,
        max_rows_per_page=rows, write_statistics=False,
    )  # fmt: skip
    seal(forged)
    assert "rows" in refused()


def test_statistics_are_not_believed(cli, binary, bundle, forged):
    """A footer that says that all durations are the smallest: the rows say otherwise, and they are what is read."""
    path = forged / "tables/ops.parquet"
    group = pq.ParquetFile(path).metadata.row_group(0)
    column = next(c for c in map(group.column, range(group.num_columns)) if c.path_in_schema == "duration_ns")
    low, high = (struct.pack("<q", v) for v in (column.statistics.min, column.statistics.max))
    assert low != high
    with_footer(path, lambda footer: footer.replace(b"\x08" + high, b"\x08" + low))
    forged_column = pq.ParquetFile(path).metadata.row_group(0).column(
        next(i for i in range(group.num_columns) if group.column(i).path_in_schema == "duration_ns")
    )
    assert forged_column.statistics.max == column.statistics.min, "the forgery took"
    seal(forged)
    for select in (
        "SELECT sum(duration_ns) AS s, max(duration_ns) AS m, min(duration_ns) AS n FROM ops",
        f"SELECT count(*) AS n FROM ops WHERE duration_ns > {column.statistics.min}",
    ):
        assert cli.fresh("sql", forged, select).json["rows"] == cli.fresh("sql", bundle, select).json["rows"], select
    # Nothing that follows was forged, and nothing that follows changed.
    assert cli.fresh("verify", forged, "--semantic").code == 0


@pytest.mark.parametrize("change", ["another run", "a column more", "NULL where it never is", "another order"])
def test_tables_are_as_the_recorder_writes_them(forged, refused, change):
    path = forged / "tables/ops.parquet"
    table = pq.read_table(path)
    if change == "another run":
        at = table.schema.get_field_index("run_id")
        table = table.set_column(at, table.schema.field(at), pa.array(["other"] * len(table)))
    elif change == "a column more":
        table = table.append_column("more", pa.array([1] * len(table)))
    elif change == "NULL where it never is":
        at = table.schema.get_field_index("name")
        table = table.set_column(at, pa.field("name", pa.string()), pa.array([None] * len(table), pa.string()))
    else:
        table = table.select(list(reversed(table.column_names)))
    pq.write_table(table, path, write_statistics=False)
    seal(forged)
    told = refused((["overview"], ["verify", "--semantic"], ["sql", "SELECT count(*) FROM spans"]))
    wanted = "holds rows of run other" if change == "another run" else "has other columns than the recorder writes"
    assert wanted in told


def test_json_nested_without_end(forged, refused):
    for name in ("run.json", "bundle.json"):
        saved = (forged / name).read_bytes()
        for text in ("[" * 1_000_000, '{"a":' * 1_000_000):
            (forged / name).write_text(text)
            if name != "bundle.json":
                seal(forged)
            assert name in refused()
        (forged / name).write_bytes(saved)
        seal(forged)


def test_files_larger_than_they_ever_are(forged, refused):
    """Ten gigabytes that take no room on the disk."""
    for name in ("bundle.json", "signature.json"):
        kept = (forged / name).read_bytes() if (forged / name).exists() else None
        with open(forged / name, "wb") as file:
            file.truncate(10 << 30)
        assert name in refused()
        (forged / name).write_bytes(kept) if kept else (forged / name).unlink()
    with open(forged / "run.json", "wb") as file:
        file.truncate(10 << 30)
    assert "run.json" in refused()
    manifest = json.loads((forged / "bundle.json").read_bytes())
    next(f for f in manifest["files"] if f["path"] == "run.json")["bytes"] = 10 << 30
    (forged / "bundle.json").write_text(json.dumps(manifest, indent=2) + "\n")
    assert "run.json" in refused()


def test_special_files_are_not_waited_for(forged, refused):
    for name in ("bundle.json", "run.json", "tables/ops.parquet", "signature.json"):
        path = forged / name
        saved = path.read_bytes() if path.exists() else None
        for make in (os.mkfifo, lambda p: os.symlink("/dev/zero", p), lambda p: os.mkdir(p), bind):
            path.unlink(missing_ok=True)
            make(path)
            assert path.name in refused()
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        if saved:
            path.write_bytes(saved)


def bind(path):
    """A socket; its name may be no longer than 108 bytes, so it is made from its folder."""
    here = os.getcwd()
    os.chdir(path.parent)
    socket.socket(socket.AF_UNIX).bind(path.name)
    os.chdir(here)
