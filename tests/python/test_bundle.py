"""Bundles beside other programs: read by other engines, published on other machines, crashed at every step."""

import json
import os
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from bundles import contents, identity
from harness import EVENT_TABLES, VIEWS
from jsonschema import Draft202012Validator

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def bundle(cli, digits, tmp_path_factory):
    """The bundle of a real training update."""
    target = tmp_path_factory.mktemp("bundle") / "b"
    receipt = cli.fresh("report", digits, "--bundle", target).json
    assert receipt["verification"]["manifest_sha256"] == identity(target)
    return target


def test_every_table_opens_with_no_help(cli, bundle):
    """pandas, polars and DuckDB read each table of a bundle, and see the rows that the program sees."""
    tables = sorted((bundle / "tables").glob("*.parquet"))
    assert {"ops", "spans", "run", "coverage", "schema", "span_times", "op_totals"} <= {t.stem for t in tables}
    run_id = json.loads((bundle / "run.json").read_bytes())["run_id"]
    for path in tables:
        rows = pq.ParquetFile(path).metadata.num_rows
        assert rows > 0, f"{path.stem}: a table without rows has no file"
        assert len(pd.read_parquet(path)) == pl.read_parquet(path).height == rows
        assert duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall() == [(rows,)]
        assert pq.read_schema(path).metadata[b"candle_graph.run_id"].decode() == run_id
        if path.stem not in ("schema",):
            columns = set(pl.read_parquet(path).columns)
            described = pl.read_parquet(bundle / "tables/schema.parquet").filter(pl.col("table") == path.stem)
            if path.stem != "run":
                assert set(described["column"]) == columns, path.stem
    queries = [path.stem for path in tables if path.stem not in EVENT_TABLES]
    views = [name for name in queries if name in VIEWS]
    assert len(views) == 3 and len(queries) > 10
    for name in queries:
        told = pl.read_parquet(bundle / f"tables/{name}.parquet").to_dicts()
        if name in ("run", "coverage", "schema"):
            continue
        if name in views:
            rows = cli.rows(bundle, f"SELECT * FROM {name}")
            assert sorted(json.dumps(r, sort_keys=True) for r in told) == sorted(json.dumps(r, sort_keys=True) for r in rows), name
        else:
            rows = cli.fresh("sql", bundle, "--query", {"op_totals": "ops"}.get(name, name), "--format", "json").json["rows"]
            exact = {k: v for row in told for k, v in row.items() if isinstance(v, Decimal)}
            assert [{k: v for k, v in row.items() if k != "run_id" and k not in exact} for row in told] == [
                {k: v for k, v in row.items() if k != "run_id" and k not in exact} for row in rows
            ], name


def test_every_document_keeps_its_schema(cli, bundle, digits, outside, tmp_path):
    """Receipts, verifications and the JSON files of bundles: of a sound trace, a failed one, a redacted one."""
    captures = {"digits": (digits, []), "redacted": (digits, ["--redact"])}
    captures |= {name: (path, []) for name, path in outside.items()}
    found = {}
    for name, (trace, more) in captures.items():
        target = tmp_path / name
        found.setdefault("publication", []).append(cli.fresh("report", trace, "--bundle", target, *more).json)
        told = cli.fresh("verify", target, "--semantic").json
        found.setdefault("verify", []).append(told)
        found.setdefault("bundle-verification", []).append(told["receipt"])
        files = {"bundle": "bundle", "run": "run", "bundle-evidence": "evidence", "redaction": "redaction"}
        for schema, file in files.items():
            if (target / f"{file}.json").exists():
                found.setdefault(schema, []).append(json.loads((target / f"{file}.json").read_bytes()))
    assert len(found["redaction"]) == 1
    for name, documents in found.items():
        schema = cli("schema", name).json
        # Nothing that the schema does not name, at the top at least.
        schema["additionalProperties"] = False
        for document in documents:
            errors = [e.message[:200] for e in Draft202012Validator(schema).iter_errors(document)]
            assert errors == [], name


def test_runs_side_by_side_read_as_one_table(cli, digits_runs, tmp_path):
    for trace in digits_runs:
        cli.fresh("report", trace, "--bundle", tmp_path / trace.name)
    ops = duckdb.sql(f"SELECT run_id, count(*) AS n FROM '{tmp_path}/*/tables/ops.parquet' GROUP BY run_id").df()
    assert len(ops) == len(digits_runs) and (ops["n"] > 0).all()


def test_any_machine_makes_the_same_bundle(binary, bundle, digits, tmp_path):
    """One core or all, another user's names, another time zone and locale, another clock, another place."""
    moved = shutil.copytree(digits, tmp_path / "elsewhere")
    environment = {
        "PATH": os.environ["PATH"], "HOME": "/nonexistent", "USER": "x", "TZ": "Pacific/Kiritimati", "LC_ALL": "tr_TR.UTF-8"
    }  # fmt: skip
    call = [binary, "report", "elsewhere", "--bundle", "one"]
    subprocess.run(["taskset", "-c", "0", *call], cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert contents(tmp_path / "one") == contents(bundle)
    for path in moved.rglob("*"):
        os.utime(path, (0, 0))
    subprocess.run([*call[:-1], "old"], cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert contents(tmp_path / "old") == contents(bundle)


def test_openssl_agrees_on_the_signature(cli, digits, tmp_path):
    """A key made by OpenSSL signs; OpenSSL verifies what DSSE says is signed."""
    import base64

    openssl = shutil.which("openssl")
    if not openssl:
        pytest.skip("no openssl")
    key, public = tmp_path / "key.pem", tmp_path / "public.pem"
    subprocess.run([openssl, "genpkey", "-algorithm", "ed25519", "-out", key], check=True, capture_output=True)
    subprocess.run([openssl, "pkey", "-in", key, "-pubout", "-out", public], check=True, capture_output=True)
    cli.fresh("report", digits, "--bundle", tmp_path / "b", "--sign", key)
    envelope = json.loads((tmp_path / "b/signature.json").read_bytes())
    payload, kind = base64.b64decode(envelope["payload"]), envelope["payloadType"].encode()
    (tmp_path / "signed").write_bytes(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload))
    (tmp_path / "sig").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
    check = ["pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in", "signed", "-sigfile", "sig"]
    subprocess.run([openssl, *check], cwd=tmp_path, check=True, capture_output=True)
    statement = json.loads(payload)
    assert statement["subject"] == [{"name": "bundle.json", "digest": {"sha256": identity(tmp_path / "b")}}]
    told = cli.fresh("verify", tmp_path / "b", "--require-signature", public).json
    assert told["signature"]["status"] == "verified"


# Crashes: the process is killed at one of its calls that touch files, each in turn.


@pytest.fixture(scope="module")
def crash(tmp_path_factory):
    """Runs a command that is killed at its n-th such call; gives its exit code."""
    library = tmp_path_factory.mktemp("crash") / "crash.so"
    build = ["cc", "-O1", "-shared", "-fPIC", "-o", library, HERE / "crash.c", "-ldl"]
    subprocess.run(build, check=True, capture_output=True)

    def run(command, at, cwd, count=None):
        environment = {**os.environ, "LD_PRELOAD": str(library), "CRASH_AT": str(at)}
        if count:
            environment["CRASH_COUNT"] = str(count)
        return subprocess.run(command, env=environment, cwd=cwd, capture_output=True, timeout=120)

    return run


def places(total):
    """Which calls to crash at: all of them when CANDLE_GRAPH_CRASHES says so, else a few from begin to end."""
    wanted = int(os.environ.get("CANDLE_GRAPH_CRASHES", "10"))
    step = max(1, total // wanted)
    return list(range(1, total + 1, step))


def stages(folder):
    return sorted(p for p in folder.iterdir() if p.name.startswith(".candle-graph-"))


@pytest.mark.parametrize("more", [[], ["--redact", "--nsight-dir", "n"]], ids=["plain", "redacted"])
def test_a_publication_that_crashes_leaves_nothing_or_a_bundle(crash, binary, digits, tmp_path, more):
    (tmp_path / "n").mkdir()
    (tmp_path / "n/r_cuda_gpu_trace.csv").write_text("Start (ns),Name\n1,k\n")
    shutil.copytree(digits, tmp_path / "trace")
    before = contents(tmp_path / "trace")
    command = [binary, "report", "trace", "--bundle", "b", *more]
    whole = crash(command, 0, tmp_path, tmp_path / "count")
    assert whole.returncode == 0, whole.stderr
    expected = contents(tmp_path / "b")
    crashed = 0
    for at in places(int((tmp_path / "count").read_text())):
        shutil.rmtree(tmp_path / "b", ignore_errors=True)
        ran = crash(command, at, tmp_path)
        crashed += ran.returncode == -9
        if (tmp_path / "b").exists():
            assert contents(tmp_path / "b") == expected, f"call {at}"
        retried = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120)
        assert retried.returncode == 0, (at, retried.stderr)
        assert json.loads(retried.stdout)["status"] in ("published", "already_published")
        assert contents(tmp_path / "b") == expected, f"call {at}"
        assert stages(tmp_path) == [], f"call {at}"
        assert contents(tmp_path / "trace") == before, f"call {at}"
    assert crashed >= len(places(int((tmp_path / "count").read_text()))) - 2


def test_a_capture_that_crashes_loses_no_trace(crash, binary, tmp_path):
    """`CaptureRun`, killed anywhere and begun again: a bundle in the end, and every trace that was recorded still there."""
    program = Path(os.environ["CANDLE_GRAPH_DIGITS"]).resolve().with_name("capture")
    command = [program, "runs/b"]
    assert crash(command, 0, tmp_path, tmp_path / "count").returncode == 0
    total = int((tmp_path / "count").read_text())

    def overview(path):
        ran = subprocess.run([binary, "overview", path], cwd=tmp_path, capture_output=True, timeout=60)
        return json.loads(ran.stdout)["provenance"] if ran.returncode == 0 else None

    recovered = 0
    for at in places(total):
        shutil.rmtree(tmp_path / "runs")
        assert crash(command, at, tmp_path).returncode == -9, f"call {at} of {total}"
        runs = tmp_path / "runs"
        kept = [overview(stage / "trace") for stage in (stages(runs) if runs.exists() else [])]
        kept = [provenance for provenance in kept if provenance]
        if (runs / "b").exists():
            assert subprocess.run([binary, "verify", "runs/b"], cwd=tmp_path, capture_output=True).returncode == 0
        retried = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert retried.returncode == 0, (at, retried.stderr)
        *_, (status, run_id) = (line.split()[:2] for line in retried.stdout.splitlines())
        assert status in ("published", "already_published")
        assert subprocess.run([binary, "verify", "runs/b"], cwd=tmp_path, capture_output=True).returncode == 0
        for provenance in kept:
            there = [overview(stage / "trace") for stage in stages(runs)]
            still = [p["run_id"] for p in there if p] + [run_id]
            assert provenance["run_id"] in still, f"call {at}: a trace is gone"
            if provenance["outcome"] == "complete":
                assert (status, run_id) == ("already_published", provenance["run_id"]), f"call {at}"
                recovered += 1
    assert recovered > 0, "some crash came between the end of the trace and its publication"
