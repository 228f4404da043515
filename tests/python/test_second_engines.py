"""The files of queries/ run unchanged in DuckDB and in datafusion-python and give the rows of the command line."""

import datafusion
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import OUTSIDE
from harness import (
    EVENT_TABLES,
    NSIGHT_TABLES,
    REPOSITORY,
    assert_rows,
    bound,
    columns_of,
    export_tables,
    inputs,
    level_p99,
    of_run,
    query_files,
    takes,
    view_files,
)

QUERIES = query_files()
TEXTS = QUERIES | view_files()
FIXTURES = REPOSITORY / "tests/fixtures"
# Made-up captures with Nsight reports: a trace, and a folder of the same name.
CAPTURES = {trace.stem: trace for trace in sorted(FIXTURES.glob("nsight/*.jsonl"))}
ARROW = {
    "Int64": pa.int64(),
    "Float64": pa.float64(),
    "Boolean": pa.bool_(),
    "Decimal128(38, 0)": pa.decimal128(38, 0),
}
# What a packet holds of each query, to compare one trace without a call for each.
IN_PACKET = {
    "labels": ("summary", "labels"),
    "ops": ("summary", "operations"),
    "gradients": ("summary", "gradients"),
    "tensor_stats": ("summary", "tensor_stats"),
    "slowest_host": ("summary", "slowest_host_spans"),
    "memory_totals": ("summary", "memory", "logical", "by_device"),
    "memory_by_category": ("summary", "memory", "logical", "by_category"),
    "lifetimes": ("summary", "memory", "logical", "lifetimes"),
    "memory_timeline": ("summary", "memory", "logical", "timeline"),
    "peak_composition": ("summary", "memory", "logical", "peak", "composition"),
    "device_memory": ("summary", "memory", "physical", "by_device"),
    "host_hotspots": ("summary", "host_hotspots"),
    "critical_path": ("summary", "critical_path"),
    "step_split": ("summary", "step_split"),
    "device_busy": ("summary", "device_clocks"),
    "slowest_device": ("summary", "slowest_device_spans"),
    "op_work_by_name": ("summary", "work"),
    "gradient_families": ("summary", "gradient_families"),
    "reached_non_finite": ("summary", "first_non_finite", "reached", "rows"),
    "tensors": ("tensors",),
    "spans": ("graph", "spans"),
    "call_edges": ("graph", "edges"),
}


def tables_of(name):
    """The tables that a query or view reads, through other views too."""
    line = next(line for line in TEXTS[name].splitlines() if line.startswith("-- Reads: "))
    named = line.removeprefix("-- Reads: ").split(", ")
    return {table for n in named for table in (tables_of(n) if n in view_files() else [n])}


OVER_REPORTS = [name for name in TEXTS if tables_of(name) & {*NSIGHT_TABLES}]
WITHOUT_REPORTS = [name for name in TEXTS if name not in OVER_REPORTS]


def parameters(text, label=None, label_prefix=None):
    """Values for the parameters a query has, and no others."""
    return {n: v for n, v in {"label": label, "label_prefix": label_prefix}.items() if takes(text, n)}


class Duck:
    """DuckDB over Parquet files."""

    def __init__(self, files):
        self.connection = duckdb.connect()
        for name, file in files.items():
            self.connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{file}')")
        for name, text in view_files().items():
            self.connection.execute(f"CREATE VIEW {name} AS {text}")

    def __call__(self, text, **values):
        return self.connection.sql(text, params=values or None).to_arrow_table()


class DataFusion:
    """datafusion-python over the same files."""

    def __init__(self, files):
        self.context = datafusion.SessionContext()
        for name, file in files.items():
            self.context.register_parquet(name, str(file))
        for name, text in view_files().items():
            self.context.register_view(name, self.context.sql(text))

    def __call__(self, text, **values):
        values = {name: pa.scalar(value, pa.string()) for name, value in values.items()}
        return self.context.sql(text, param_values=values or None).to_arrow_table()


ENGINES = {"duckdb": Duck, "datafusion": DataFusion}


def own_files(trace, exported):
    """The files a trace holds, and for a table without rows an empty one."""
    own = {name: trace / "tables" / f"{name}.parquet" for name in [*EVENT_TABLES, *NSIGHT_TABLES]}
    own["run"] = trace / "run.parquet"
    assert [n for n, f in own.items() if not f.exists()], "digits leaves some table empty"
    return {name: file if file.exists() else exported[name] for name, file in own.items()}


@pytest.fixture(scope="module", params=ENGINES)
def on_digits(request, digits, digits_tables):
    return ENGINES[request.param](own_files(digits, digits_tables))


@pytest.fixture(scope="module")
def outside_tables(cli, outside, tmp_path_factory):
    """Four traces as one file a table."""
    return export_tables(cli, outside.values(), tmp_path_factory.mktemp("outside-tables"))


@pytest.fixture(scope="module", params=ENGINES)
def on_outside(request, outside_tables):
    return ENGINES[request.param](outside_tables)


@pytest.fixture(scope="module")
def by_run(outside_tables, tmp_path_factory):
    """The same tables split again: files of one run, by run id."""
    tables = {name: pq.read_table(file, partitioning=None) for name, file in outside_tables.items()}
    files = {}
    for index, run_id in enumerate(tables["run"]["run_id"].to_pylist()):
        folder = tmp_path_factory.mktemp(f"run-{index}")
        files[run_id] = {name: folder / f"{name}.parquet" for name in tables}
        for name, rows in of_run(tables, run_id).items():
            pq.write_table(rows, files[run_id][name])
    return files


def ordered(view):
    """Every row of a view, in the order of all its columns but the lists."""
    columns = [name for name, kind in columns_of(view_files()[view]).items() if not kind.startswith("List")]
    return f"SELECT * FROM {view} ORDER BY {', '.join(f'{name} NULLS FIRST' for name in columns)}"


def statement(name):
    """A query as it is, or every row of a view."""
    return QUERIES.get(name) or ordered(name)


def reference(cli, *given, names=tuple(TEXTS)):
    """What the command line gives for queries and views over these inputs, with every parameter NULL."""
    answers = cli.batch(("sql", *given, bound(statement(name)), "--format", "json") for name in names)
    return {name: answer.json["rows"] for name, answer in zip(names, answers)}


@pytest.fixture(scope="module")
def digits_reference(cli, digits):
    return reference(cli, digits)


@pytest.fixture(scope="module")
def outside_reference(cli, outside):
    return reference(cli, *outside.values(), names=WITHOUT_REPORTS)


@pytest.fixture(scope="module")
def bundles(cli, tmp_path_factory):
    """Every capture published with its reports."""
    folder = tmp_path_factory.mktemp("bundles")
    for name, trace in CAPTURES.items():
        done = cli("report", trace, "--nsight-dir", trace.with_suffix(""), "--bundle", folder / name)
        assert done.code == 0, done.err
    return [folder / name for name in CAPTURES]


# Each by itself, and all of them beside traces without reports; and which files are tried over it.
WORLDS = {name: OVER_REPORTS for name in CAPTURES} | {"together": list(TEXTS)}


@pytest.fixture(scope="module")
def worlds(cli, bundles, tmp_path_factory):
    """Of each world its Parquet files and the rows of the command line."""
    given = {name: ([trace], trace.with_suffix("")) for name, trace in CAPTURES.items()}
    given["together"] = ([*bundles, FIXTURES / "golden.jsonl", FIXTURES / "numerics.jsonl"], None)
    found = {}
    for name, (traces, nsight) in given.items():
        files = export_tables(cli, traces, tmp_path_factory.mktemp(f"world-{name}"), nsight)
        found[name] = (files, reference(cli, *inputs(traces, nsight), names=WORLDS[name]))
    return found


@pytest.fixture(scope="module")
def opened(worlds):
    """An engine over each world."""
    return {(world, name): engine(files) for world, (files, _) in worlds.items() for name, engine in ENGINES.items()}


def assert_types(table, text):
    """Names, order and types are those of the header: no engine widens a sum on the way."""
    promised = columns_of(text)
    assert table.column_names == list(promised)
    for field in table.schema:
        wanted = promised[field.name]
        if wanted == "Utf8":
            assert pa.types.is_string(field.type) or pa.types.is_string_view(field.type), field
        elif wanted == "List<Int64>":
            assert field.type.value_type == pa.int64(), field
        elif wanted == "List<Utf8>":
            assert pa.types.is_string(field.type.value_type) or pa.types.is_string_view(field.type.value_type), field
        else:
            assert field.type == ARROW[wanted], field


def assert_query(found, expected, name, what=None):
    if name == "ops":
        found = level_p99(found, expected)
    assert_rows(found, expected, what or name)


@pytest.mark.parametrize("name", QUERIES)
def test_query_on_digits(on_digits, digits_reference, name):
    table = on_digits(QUERIES[name], **parameters(QUERIES[name]))
    assert_types(table, QUERIES[name])
    assert_query(table.to_pylist(), digits_reference[name], name)


@pytest.mark.parametrize("name", view_files())
def test_view_on_digits(on_digits, digits_reference, name):
    table = on_digits(ordered(name))
    assert_types(table, view_files()[name])
    assert_rows(table.to_pylist(), digits_reference[name], name)


@pytest.mark.parametrize("name", [name for name in QUERIES if name in WITHOUT_REPORTS])
def test_query_over_many_runs(on_outside, outside_reference, name):
    table = on_outside(QUERIES[name], **parameters(QUERIES[name]))
    assert_types(table, QUERIES[name])
    found, expected = table.to_pylist(), outside_reference[name]
    assert_query(found, expected, name)


@pytest.mark.parametrize("name", [name for name in view_files() if name in WITHOUT_REPORTS])
def test_view_over_many_runs(on_outside, outside_reference, name):
    table = on_outside(ordered(name))
    assert_types(table, view_files()[name])
    assert_rows(table.to_pylist(), outside_reference[name], name)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("world", "name"), [(world, name) for world, names in WORLDS.items() for name in names])
def test_with_nsight_reports(opened, worlds, name, world, engine):
    table = opened[world, engine](statement(name), **parameters(statement(name)))
    assert_types(table, TEXTS[name])
    assert_query(table.to_pylist(), worlds[world][1][name], name)


def test_every_file_has_rows_somewhere(digits_reference, outside_reference, worlds):
    """Engines that agree on no rows agree on nothing."""
    references = [digits_reference, outside_reference, *(rows for _, rows in worlds.values())]
    assert [name for name in TEXTS if not any(rows.get(name) for rows in references)] == []


def test_without_reports_there_are_tables_without_rows(on_digits, digits_reference):
    """And what is asked of nothing but reports is answered with nothing."""
    for name in NSIGHT_TABLES:
        assert on_digits(f"SELECT * FROM {name}").num_rows == 0
    alone = [name for name in OVER_REPORTS if tables_of(name) <= {*NSIGHT_TABLES}]
    assert [name for name in alone if digits_reference[name]] == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("trace", OUTSIDE)
def test_one_outside_trace(cli, outside, by_run, trace, engine):
    packet = cli("import", outside[trace]).json
    files = by_run[packet["summary"]["provenance"]["run_id"]]
    run = ENGINES[engine](files)
    for name, place in IN_PACKET.items():
        expected = packet
        for step in place:
            expected = expected and expected[step]
        if expected is None:
            # A failed capture has no rankings; a plane that was not recorded has no list.
            failed = packet["summary"]["provenance"]["outcome"] == "failed"
            assert failed or run(QUERIES[name], **parameters(QUERIES[name])).num_rows == 0, name
            continue
        text = QUERIES[name]
        assert_query(run(text, **parameters(text)).to_pylist(), expected, name, f"{trace}: {name}")


KIND_OF = {"tensor_stats": "tensor-stats", "host_hotspots": "hotspots", "op_work_by_name": "work"}
# Rankings take no filter on the command line.
RANKED = ["slowest_host", "slowest_device"]
VALUES = {
    "labels": ("digits/update", "digits/"),
    "spans": ("digits/forward", "digits/look"),
    "slowest_host": ("digits/forward", "digits/"),
    "host_hotspots": ("digits/forward", "digits/"),
    "slowest_device": ("digits/forward", "digits/"),
    "ops": ("matmul", "re"),
    "op_work_by_name": ("matmul", "re"),
    "activations_by_host_time": ("matmul", "re"),
    "activations_by_device_busy": ("matmul", "re"),
    "activations_by_dense_output": ("matmul", "re"),
    "activations_by_logical_bytes": ("matmul", "re"),
    "activations_by_byte_time": ("matmul", "re"),
    "tensors": ("images", "gradient/"),
    "tensor_stats": ("loss", "gradient"),
    "gradients": ("model/layer0.weight", "model/"),
    "series_tensor_stats": ("loss", "gradient"),
    "series_gradients": ("model/layer0.weight", "model/"),
}
# Over the first capture, whose labels these are.
CAPTURE = "golden"
OF_CAPTURE = {n: t for n, t in QUERIES.items() if n.startswith("gpu_") and takes(t, "label")}
VALUES |= {name: ("trainer/forward", "trainer/") for name in OF_CAPTURE}
VALUES["gpu_idle_labels"] = ("trainer/never", "trainer/")


def test_every_parameter_is_tried():
    assert sorted(VALUES) == sorted(n for n, t in QUERIES.items() if takes(t, "label") or takes(t, "label_prefix"))


@pytest.fixture(scope="module")
def filtered(cli, digits, digits_reference):
    """The rows under each filter, from `query` where a kind takes it, else from free SQL."""
    first = digits_reference["gradients"][0]
    VALUES["gradients"] = (f"{first['root']}/{first['key']}", f"{first['root']}/{first['key'][:2]}")
    VALUES["series_gradients"] = VALUES["gradients"]
    calls = {}
    for name, (label, prefix) in VALUES.items():
        for filter_ in ({"label": label}, {"label_prefix": prefix}):
            flag, value = next(iter(filter_.items()))
            if name in OF_CAPTURE:
                trace = CAPTURES[CAPTURE]
                given = inputs([trace], trace.with_suffix(""))
                call = ("sql", *given, bound(QUERIES[name], **filter_), "--format", "json")
            elif name in RANKED or name.startswith(("activations_by", "series_")):
                call = ("sql", digits, bound(QUERIES[name], **filter_), "--format", "json")
            else:
                kind = KIND_OF.get(name, name)
                call = ("query", digits, "--kind", kind, "--all", f"--{flag.replace('_', '-')}", value)
            calls[name, flag] = (filter_, call)
    answers = cli.batch(call for _, call in calls.values())
    rows = [a.json["rows"] if "rows" in a.json else a.json["result"]["rows"] for a in answers]
    return {key: (filter_, found) for (key, (filter_, _)), found in zip(calls.items(), rows)}


@pytest.fixture(scope="module")
def asked(on_digits, digits_reference, opened, worlds):
    """The engine and the unfiltered rows of the inputs over which a query's parameters are tried."""
    kind = next(name for name, engine in ENGINES.items() if type(on_digits) is engine)
    of_capture = (opened[CAPTURE, kind], worlds[CAPTURE][1])
    return lambda name: of_capture if name in OF_CAPTURE else (on_digits, digits_reference)


@pytest.mark.parametrize("flag", ["label", "label_prefix"])
@pytest.mark.parametrize("name", VALUES)
def test_parameters_filter_alike(asked, filtered, name, flag):
    run, reference = asked(name)
    filter_, expected = filtered[name, flag]
    some = len(reference[name])
    assert 0 < len(expected) <= some or some == 0
    assert_query(run(QUERIES[name], **parameters(QUERIES[name], **filter_)).to_pylist(), expected, name)


@pytest.mark.parametrize("name", VALUES)
def test_parameters_that_match_nothing(asked, name):
    run, _ = asked(name)
    for value in ("", "no such label", "'; DROP TABLE ops; --", "%", "_", "$label", "*"):
        assert run(QUERIES[name], **parameters(QUERIES[name], label=value)).num_rows == 0
    everything = run(QUERIES[name], **parameters(QUERIES[name]))
    if name != "tensors":
        # Every text begins with the empty one; a tensor without a label has none.
        assert run(QUERIES[name], **parameters(QUERIES[name], label_prefix="")).num_rows == everything.num_rows


def test_a_file_of_queries_is_a_statement(cli, digits, digits_reference):
    """Its first line is a comment, which is no option of the command line."""
    answer = cli("sql", digits, QUERIES["op_names"], "--format", "json")
    assert_rows(answer.json["rows"], digits_reference["op_names"], "op_names")
