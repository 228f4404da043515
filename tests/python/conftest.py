"""Fixtures: the command line, one recorded digits trace, generated traces, traces from outside."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import random_traces
import viewer
from harness import REPOSITORY, Cli, export_tables
from viewer_pages import Pages

REQUIRED = {
    "CANDLE_GRAPH_BIN": "the candle-graph executable (cargo build)",
    "CANDLE_GRAPH_DIGITS": "the digits example (cargo build --example digits --features candle)",
}
OUTSIDE = ["trace-mlp", "trace-gpu", "synth-1e3", "trace-failed"]
RANDOM_SEEDS = range(20)


def pytest_configure(config):
    for name, what in REQUIRED.items():
        if not os.access(os.environ.get(name, ""), os.X_OK):
            raise pytest.UsageError(f"set {name} to {what}; it is {os.environ.get(name)!r}")
    if not os.access(examples() / "attention", os.X_OK):
        raise pytest.UsageError(f"{examples()} lacks the attention example (cargo build --examples --features candle)")


def examples():
    """Where the example programs are."""
    return Path(os.environ["CANDLE_GRAPH_DIGITS"]).resolve().parent


@pytest.fixture(scope="session")
def binary():
    return Path(os.environ["CANDLE_GRAPH_BIN"]).resolve()


@pytest.fixture(scope="session")
def cli(binary, tmp_path_factory):
    return Cli(binary, tmp_path_factory.mktemp("cwd"))


@pytest.fixture(scope="session")
def digits_runs(tmp_path_factory):
    """Three digits traces side by side, as `runs/<name>`."""
    runs = tmp_path_factory.mktemp("runs")
    example = Path(os.environ["CANDLE_GRAPH_DIGITS"]).resolve()
    for number, update in enumerate([3, 4, 5]):
        subprocess.run(
            [example, runs / f"update-{number}", "--updates", "6", "--capture", str(update)],
            cwd=runs,
            check=True,
            capture_output=True,
        )
    return sorted(runs.iterdir())


@pytest.fixture(scope="session")
def digits(digits_runs):
    """One finished trace directory, recorded from a real training update."""
    return digits_runs[0]


@pytest.fixture(scope="session")
def desk(tmp_path_factory, digits):
    """A directory with `digits.trace` and the repository's queries, as a reader of the pages has them."""
    desk = tmp_path_factory.mktemp("desk")
    (desk / "digits.trace").symlink_to(digits)
    (desk / "queries").symlink_to(REPOSITORY / "queries")
    (desk / "docs").symlink_to(REPOSITORY / "docs")
    (desk / "tests" / "fixtures").mkdir(parents=True)
    (desk / "tests" / "fixtures" / "nsight").symlink_to(REPOSITORY / "tests" / "fixtures" / "nsight")
    return desk


@pytest.fixture(scope="session")
def desk_environment():
    """What a reader of the pages has on the path: the example programs."""
    return {**os.environ, "PATH": f"{examples()}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="session")
def digits_tables(cli, digits, tmp_path_factory):
    """The tables of the digits trace as files, the empty ones too."""
    return export_tables(cli, [digits], tmp_path_factory.mktemp("digits-tables"))


def outside_trace(name):
    """A trace from outside the repository, or a skip."""
    data = Path(os.environ.get("CANDLE_GRAPH_DATA", REPOSITORY.parent / "shared/data"))
    path = data / "traces" / f"{name}.jsonl"
    if not path.is_file():
        pytest.skip(f"no {path}; set CANDLE_GRAPH_DATA to the folder that holds traces/")
    return path


@pytest.fixture(scope="session")
def outside():
    """All traces from outside, by name."""
    return {name: outside_trace(name) for name in OUTSIDE}


@pytest.fixture(scope="session")
def random_inputs(tmp_path_factory):
    """Generated traces: each with its path and the facts it was made of."""
    folder = tmp_path_factory.mktemp("random")
    return [random_traces.write(folder / f"random-{seed}.jsonl", seed) for seed in RANDOM_SEEDS]


@pytest.fixture(scope="session")
def pages(binary, desk, desk_environment):
    """Pages of the viewer by name."""
    pages = Pages(binary, desk, desk_environment)
    yield pages
    pages.close()


@pytest.fixture(scope="session")
def browser():
    """One browser for all tests."""
    with viewer.browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def tabs(browser, pages):
    return viewer.Tabs(browser, pages)


@pytest.fixture
def open_page(tabs):
    """Opens a page by its name, at a place in it; at the end of the test it must have been quiet."""
    yield tabs.open
    tabs.done()


@pytest.fixture(scope="session")
def node_environment():
    """Node.js on the path, as the Python environment has it."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="session")
def installed(tmp_path_factory, node_environment):
    """A copy of the viewer's sources with their packages, as a fresh checkout has them after `npm ci`."""
    folder = tmp_path_factory.mktemp("viewer") / "viewer"
    shutil.copytree(REPOSITORY / "src/viewer", folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    command = ["npm", "ci", "--no-audit", "--no-fund"]
    ran = subprocess.run(command, cwd=folder, env=node_environment, capture_output=True, text=True)
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}"
    return folder
