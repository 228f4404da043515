"""Two real programs compared: `cohort` runs the attention example both ways, and the runs are fit to be compared.

The command is the one of the pages, run where the pages' commands run: whoever comes second finds it done.
"""

import json
import os
import re
import shlex
import subprocess

import pyarrow.parquet as pq
import pytest
from harness import REPOSITORY
from jsonschema import Draft202012Validator

RUNS = 6


@pytest.fixture(scope="module")
def cohorts(desk, desk_environment):
    """The directory that the page's command makes."""
    return made(desk, desk_environment, "attention.cohort")


@pytest.fixture(scope="module")
def same(desk, desk_environment):
    """Another: the same program on both sides."""
    return made(desk, desk_environment, "same.cohort")


def made(desk, desk_environment, out):
    page = (REPOSITORY / "docs/comparing.md").read_text(encoding="utf-8")
    commands = [shlex.split(command) for command in re.findall(r"^candle-graph (cohort .*)$", page, re.M)]
    (words,) = [words for words in commands if out in words]
    command = [os.environ["CANDLE_GRAPH_BIN"], *words]
    ran = subprocess.run(command, cwd=desk, env=desk_environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return desk / words[words.index("--out") + 1]


@pytest.fixture(scope="module")
def runs(cohorts):
    """The run records in order of time."""
    plan = json.loads((cohorts / "cohort.json").read_text())
    numbers = {"baseline": 0, "candidate": 0}
    found = []
    for cohort in plan["order"]:
        numbers[cohort] += 1
        bundle = cohorts / cohort / f"{numbers[cohort]:03}"
        found.append((cohort, numbers[cohort], bundle, json.loads((bundle / "run.json").read_text())))
    return found


def test_the_plan_fits_its_schema(cli, cohorts):
    plan = json.loads((cohorts / "cohort.json").read_text())
    schema = Draft202012Validator(cli("schema", "cohort").json)
    schema.validate(plan)
    other = {"runs": 4, "order": ["other"], "seed": None, "more": 1, "schema": "candle-graph/cohort/2"}
    for key, value in other.items():
        assert not schema.is_valid({**plan, key: value}), key
    for key in plan:
        assert not schema.is_valid({k: v for k, v in plan.items() if k != key}), key


def test_the_runs_may_be_compared(cli, runs):
    assert len(runs) == 2 * RUNS
    assert len({run["run_id"] for *_, run in runs}) == 2 * RUNS
    started = [run["timestamp"] for *_, run in runs]
    assert started == sorted(started), "they ran in the order of the plan"
    conditions = []
    for cohort, number, bundle, run in runs:
        assert run["outcome"] == "complete"
        identity = dict(run["comparison_identity"])
        assert identity.pop("implementation_id") == {"baseline": "naive", "candidate": "fused"}[cohort]
        assert identity.pop("pair_id") == f"pair-{number:03}"
        contract = run["capture_contract"]
        assert contract["measurement_scope"] == "production_equivalent"
        same = ["entrypoint", "phase", "device", "timing_mode", "warmup_steps", "capture_step"]
        conditions.append((identity, contract, [run[key] for key in same]))
        spans = pq.read_table(bundle / "tables/spans.parquet", partitioning=None).to_pylist()
        (region,) = [span for span in spans if span["measured"]]
        stats = pq.read_table(bundle / "tables/tensor_stats.parquet", partitioning=None).to_pylist()
        end = region["start_ns"] + region["duration_ns"]
        looked = [span["start_ns"] for span in spans if span["span_id"] in {row["span_id"] for row in stats}]
        assert looked and min(looked) >= end, "values are read after the measured region"
        assert not (bundle / "tables/device_memory.parquet").exists()
    assert all(condition == conditions[0] for condition in conditions)
    for _, _, bundle, _ in (runs[0], runs[-1]):
        overview = cli("overview", bundle, "--format", "json").json
        assert overview["health"]["error_count"] == 0


def test_both_ways_compute_the_same(runs):
    rms = set()
    for _, _, bundle, _ in runs:
        (hidden,) = pq.read_table(bundle / "tables/tensor_stats.parquet", partitioning=None).to_pylist()
        assert hidden["label"] == "hidden" and hidden["non_finite"] == 0
        rms.add(hidden["rms"])
    assert max(rms) - min(rms) < 1e-4 and len(rms) == 2, "the same, but for the rounding of two ways"


def test_a_slow_operation_takes_its_time_within_its_record(desk_environment, tmp_path):
    """What `--slow` adds is in the operation's own time, in the region, and in no other operation."""
    times = {}
    for name, options in {"plain": [], "slow": ["--slow", "relu=2000"]}.items():
        command = ["digits", "--bundle", name, "--updates", "4", "--capture", "4", *options]
        subprocess.run(command, cwd=tmp_path, env=desk_environment, check=True, capture_output=True)
        ops = pq.read_table(tmp_path / name / "tables/ops.parquet", partitioning=None).to_pylist()
        times[name] = [op["duration_ns"] for op in ops if op["name"] == "relu"]
        run = json.loads((tmp_path / name / "run.json").read_text())
        assert run["comparison_identity"]["implementation_id"] == {"plain": "plain", "slow": "relu 2000 % slower"}[name]
    assert len(times["plain"]) == len(times["slow"]) == 2
    assert min(times["slow"]) > 3 * min(times["plain"]), times


def test_noise_and_plans_fit_their_schemas(cli, same, cohorts):
    schema = Draft202012Validator(cli("schema", "noise").json)
    bundles = sorted([*same.glob("baseline/0*"), *same.glob("candidate/0*")])
    noise = cli("compare", "--aa", *bundles).json
    schema.validate(noise)
    assert noise["verdict"] == "noise_floor" and noise["noise"]["splits"] == 252, noise["reasons"]
    assert noise["noise"]["median_percent"] <= noise["noise"]["p95_percent"] <= noise["noise"]["max_percent"]
    mixed = cli("compare", "--aa", *sorted(cohorts.glob("[bc]*/00*"))).json
    schema.validate(mixed)
    assert [reason["code"] for reason in mixed["reasons"]] == ["implementation_id_inconsistent"]
    assert mixed["noise"] is None and not schema.is_valid({**noise, "noise": 1})
    plan = cli("compare", "--schedule", "5").json
    Draft202012Validator(cli("schema", "schedule").json).validate(plan)
    assert sorted(plan["order"]) == ["baseline"] * 5 + ["candidate"] * 5
