"""The tables of a finished trace open in other programs with no options, and mean there what docs/tables.md says."""

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from harness import REPOSITORY

ARROW = {
    "Int64": pa.int64(),
    "Utf8": pa.string(),
    "Boolean": pa.bool_(),
    "Float64": pa.float64(),
    "List<Int64>": pa.list_(pa.int64()),
    "List<Utf8>": pa.list_(pa.string()),
    "Timestamp(us, UTC)": pa.timestamp("us", "UTC"),
}
POLARS = {
    "Int64": pl.Int64,
    "Utf8": pl.String,
    "Boolean": pl.Boolean,
    "Float64": pl.Float64,
    "List<Int64>": pl.List(pl.Int64),
    "List<Utf8>": pl.List(pl.String),
    "Timestamp(us, UTC)": pl.Datetime("us", "UTC"),
}
DUCKDB = {
    "Int64": "BIGINT",
    "Utf8": "VARCHAR",
    "Boolean": "BOOLEAN",
    "Float64": "DOUBLE",
    "List<Int64>": "BIGINT[]",
    "List<Utf8>": "VARCHAR[]",
    "Timestamp(us, UTC)": "TIMESTAMP WITH TIME ZONE",
}


def documented():
    """The tables of docs/tables.md: table to column to (type, nullable, unit)."""
    tables, columns = {}, None
    for line in (REPOSITORY / "docs/tables.md").read_text().splitlines():
        if line.startswith("## "):
            columns = tables.setdefault(line[3:], {})
        elif line.startswith("| `"):
            name, kind, null, unit = (cell.strip() for cell in line.split(" | ")[:4])
            columns[name.strip("|` ")] = (kind, null == "yes", unit)
    return tables


DOCUMENTED = documented()


def files_of(trace):
    return {p.stem: p for p in [*sorted((trace / "tables").glob("*.parquet")), trace / "run.parquet"]}


def same_type(found, wanted):
    """Arrow types, whatever the items of a list are called."""
    if pa.types.is_list(found) and pa.types.is_list(wanted):
        return found.value_type == wanted.value_type
    return found == wanted


def test_a_finished_trace_holds_one_file_a_table(digits):
    files = files_of(digits)
    assert {"spans", "ops", "tensors", "tensor_stats", "gradients", "memory", "device_memory", "run"} <= set(files)
    assert set(files) <= set(DOCUMENTED)
    assert all(pq.read_metadata(f).num_rows > 0 for f in files.values()), "a table without rows has no file"
    others = [p for p in digits.rglob("*") if p.is_file() and p not in files.values()]
    assert others == []


def test_every_reader_takes_every_table(digits):
    for name, path in files_of(digits).items():
        columns = DOCUMENTED[name]
        arrow = pq.read_table(path)
        assert arrow.column_names == list(columns), name
        simple = {c: kind for c, (kind, _, _) in columns.items() if kind in ARROW}
        assert name == "run" or simple.keys() == columns.keys(), f"{name} has a nested column"
        assert all(same_type(arrow.schema.field(c).type, ARROW[kind]) for c, kind in simple.items()), name
        assert {f.name for f in arrow.schema if f.nullable} == {c for c, (_, null, _) in columns.items() if null}

        frame = pl.scan_parquet(path)
        schema = frame.collect_schema()
        assert schema.names() == list(columns), name
        assert {c: schema[c] for c in simple} == {c: POLARS[kind] for c, kind in simple.items()}, name
        assert frame.collect().height == arrow.num_rows

        described = duckdb.sql(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
        types = {row[0]: row[1] for row in described}
        assert list(types) == list(columns), name
        assert {c: types[c] for c in simple} == {c: DUCKDB[kind] for c, kind in simple.items()}, name
        assert len(duckdb.sql(f"SELECT * FROM '{path}'").fetchall()) == arrow.num_rows

        pandas = pd.read_parquet(path)
        assert list(pandas.columns) == list(columns) and len(pandas) == arrow.num_rows
        for column, kind in simple.items():
            if kind == "Int64" and not columns[column][1]:
                assert pandas[column].dtype == "int64", (name, column)
            if kind == "Boolean":
                assert pandas[column].dtype == "bool", (name, column)


def test_readers_agree_on_every_value(digits):
    for name, path in files_of(digits).items():
        if name == "run":
            continue
        rows = pq.read_table(path).to_pylist()
        assert pl.read_parquet(path).to_dicts() == rows, name
        assert duckdb.sql(f"SELECT * FROM '{path}'").to_arrow_table().to_pylist() == rows, name
        nullable = pd.read_parquet(path, dtype_backend="pyarrow")
        assert pa.Table.from_pandas(nullable, preserve_index=False).to_pylist() == rows, name


def test_the_file_says_what_it_is(digits):
    run_id = pq.read_table(digits / "run.parquet")["run_id"][0].as_py()
    for name, path in files_of(digits).items():
        stored = pq.read_metadata(path).metadata
        text = {k.decode(): v.decode() for k, v in stored.items() if not k.startswith(b"ARROW")}
        assert text["candle_graph.table"] == name
        assert text["candle_graph.run_id"] == run_id
        assert text["candle_graph.schema"].startswith("candle-graph/tables/")


def test_units_are_in_the_key_value_metadata(digits):
    for name, path in files_of(digits).items():
        stored = pq.read_metadata(path).metadata
        units = {c: unit for c, (_, _, unit) in DOCUMENTED[name].items()}
        assert {c: stored.get(f"unit.{c}".encode(), b"").decode() for c in units} == units, name


def test_runs_read_as_one_table(digits_runs):
    pattern = digits_runs[0].parent / "*" / "tables" / "ops.parquet"
    wanted = {pq.read_table(r / "run.parquet")["run_id"][0].as_py() for r in digits_runs}
    assert len(wanted) == 3
    rows = sum(pq.read_metadata(r / "tables/ops.parquet").num_rows for r in digits_runs)

    frame = pl.scan_parquet(pattern).collect()
    assert set(frame["run_id"]) == wanted and frame.height == rows
    assert dict(duckdb.sql(f"SELECT run_id, count(*) FROM '{pattern}' GROUP BY 1").fetchall()).keys() == wanted
    assert duckdb.sql(f"SELECT count(*) FROM '{pattern}'").fetchall() == [(rows,)]
    files = sorted(map(str, digits_runs[0].parent.glob("*/tables/ops.parquet")))
    together = pd.concat(map(pd.read_parquet, files))
    assert set(together["run_id"]) == wanted and len(together) == rows
    assert pq.read_table(files).num_rows == rows


def test_sql_over_runs_is_the_same_table(cli, digits_runs):
    counts = cli.rows(*digits_runs, "SELECT run_id, count(*) AS ops FROM ops GROUP BY run_id ORDER BY run_id")
    pattern = digits_runs[0].parent / "*" / "tables" / "ops.parquet"
    expected = duckdb.sql(f"SELECT run_id, count(*) FROM '{pattern}' GROUP BY run_id ORDER BY run_id").fetchall()
    assert [(r["run_id"], r["ops"]) for r in counts] == expected


def test_seq_orders_the_whole_trace(digits):
    seqs = [s for n, f in files_of(digits).items() if n != "run" for s in pq.read_table(f)["seq"].to_pylist()]
    assert len(seqs) == len(set(seqs)) and min(seqs) >= 0


def test_null_is_null(digits):
    path = digits / "tables/spans.parquet"
    root = duckdb.sql(f"SELECT * FROM '{path}' WHERE parent_id IS NULL").to_arrow_table().to_pylist()
    assert len(root) == 1 and root[0]["step"] is None
    assert pl.read_parquet(path)["parent_id"].null_count() == 1
    assert pd.read_parquet(path)["parent_id"].isna().sum() == 1
    for name, file in files_of(digits).items():
        for column, (_, nullable, _) in DOCUMENTED[name].items():
            values = pq.read_table(file)[column].to_pylist()
            if not nullable:
                assert None not in values, (name, column)
            assert "" not in values, (name, column, "an absent text is NULL")
    # A checkpoint of a process knows no capacity.
    assert set(pq.read_table(digits / "tables/device_memory.parquet")["capacity_bytes"].to_pylist()) == {None}


def test_printed_floats_are_the_stored_bits(cli, digits):
    """JSON of a float has every digit it needs: reading it back gives the same bits."""
    kinds = {
        "tensor-stats": ("tensor_stats", ["rms", "abs_max", "mean", "finite_rms"]),
        "gradients": ("gradients", ["norm"]),
    }
    for kind, (table, columns) in kinds.items():
        stored = pq.read_table(digits / "tables" / f"{table}.parquet").to_pylist()
        if table == "gradients":
            stored.sort(key=lambda r: (r["root"], r["key"]))
        shown = cli("query", digits, "--kind", kind, "--all").json["result"]["rows"]
        for column in columns:
            assert [r[column] for r in shown] == [r[column] for r in stored], (kind, column)
