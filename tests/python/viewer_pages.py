"""Pages of the viewer, each made by the program once a session, when a test first asks for it.

A debug build takes seconds for a page: while one is looked at the next one is made. CANDLE_GRAPH_VIEWER_BUILD, the folder
of a build (`npm run build -- --outdir DIR`), puts that script and style into the pages instead of the program's own.
"""

import base64
import hashlib
import json
import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import hostile_viewer
from harness import REPOSITORY
from random_traces import meta, span_lines, terminal, write_lines

FIXTURES = REPOSITORY / "tests/fixtures"
# In the order in which the tests ask for them.
NAMES = [
    "digits",
    "transformer",
    "gpu",
    "golden",
    "time",
    "numerics",
    "failed",
    "interrupted",
    "empty",
    "large",
    "attention",
    "cut",
    "update",
    "hostile",
    "hostile-comparison",
]
# A cohort of runs is recorded for these: only where it is asked for.
LAST_MINUTE = {"attention", "hostile-comparison"}
# The scale example records 4.1 events an operation. The full 240,000 operations take a debug build over a minute: the
# benches have them, the tests a quarter of that.
LARGE, SMALL = 60_000, 3_000


def empty(path):
    """A sound trace of a measured region in which nothing was recorded."""
    root, root_end = span_lines("s0", None, "empty", 0, 1_000)
    region, region_end = span_lines("s1", "s0", "update", 100, 800, measured=True)
    return write_lines(path, [meta("empty", "empty"), root, region, region_end, root_end, terminal(1_000)])


def golden():
    return [json.loads(line) for line in (FIXTURES / "golden.jsonl").read_text(encoding="utf-8").splitlines()]


def failed(path):
    """A trace of everything, whose program says that it failed; a device's clock counts since 1970."""
    interval = {"kind": "device_interval", "span_id": "s2", "device": "cuda:0", "stream_id": "7", "clock_id": "event"}
    interval |= {"backend": "cuda", "start_ns": 1_764_000_000_000_000_123, "duration_ns": 5}
    return write_lines(path, [*golden()[:-1], interval, terminal(1_000, "failed", reason="the loss is <b>NaN</b>")])


def interrupted(path):
    """A trace of everything that was cut off while spans were open."""
    return write_lines(path, golden()[:36])


class Pages:
    """Paths of the pages by name, and what they are made of."""

    def __init__(self, program, desk, environment):
        self.program = program
        self.desk = desk
        self.environment = environment
        self.examples = Path(environment["CANDLE_GRAPH_DIGITS"]).resolve().parent
        self.build = environment.get("CANDLE_GRAPH_VIEWER_BUILD")
        # One more than pages that wait for another page.
        self.pool = ThreadPoolExecutor(max(3, os.cpu_count() or 1))
        self.made = {}

    def __call__(self, name):
        self._start(name)
        after = NAMES[NAMES.index(name) + 1 :][:1]
        if after and after[0] not in LAST_MINUTE:
            self._start(after[0])
        return self.made[name].result()

    def _start(self, name):
        if name not in self.made:
            self.made[name] = self.pool.submit(self._make, name)

    def close(self):
        self.pool.shutdown(cancel_futures=True)

    def inputs(self, name):
        """What a page is made of, as arguments of `sql` and `overview` too."""
        at = self.desk / name
        nsight = FIXTURES / "nsight"
        match name:
            case "digits":
                return [self.desk / "digits.trace"]
            case "transformer":
                return [self.desk / "transformer.bundle"]
            case "gpu":
                return [nsight / "joined.jsonl", "--nsight-dir", nsight / "joined"]
            case "golden":
                return [nsight / "golden.jsonl", "--nsight-dir", nsight / "golden"]
            case "time" | "numerics":
                return [FIXTURES / f"{name}.jsonl"]
            case "failed" | "empty":
                return [at.with_suffix(".jsonl")]
            case "interrupted":
                return [at.with_suffix(".jsonl"), "--salvage"]
            case "large" | "cut":
                return [at.with_suffix(".trace")]
            case "attention":
                return [self.desk / "attention.json"]
            case "hostile-comparison":
                return [at.with_suffix(".json")]
            case "update":
                return [REPOSITORY / "docs/examples/update.jsonl.gz"]
            case "hostile":
                return [at.with_suffix(".jsonl"), "--nsight-dir", at]
        raise KeyError(name)

    def _run(self, *command):
        ran = subprocess.run(
            [str(word) for word in command], cwd=self.desk, env=self.environment, capture_output=True, text=True
        )
        assert ran.returncode == 0, f"{command}: {ran.stderr}"

    def _record(self, name, path):
        """Makes the input of a page, where no file of the repository is it."""
        match name:
            case "transformer":
                self._run(self.examples / "attention", "--implementation", "fused", "--bundle", path)
            case "failed":
                failed(path)
            case "interrupted":
                interrupted(path)
            case "empty":
                empty(path)
            case "large":
                self._run(self.examples / "scale", path, LARGE)
            case "cut":
                self._run(self.examples / "scale", path, SMALL)
            case "attention":
                # The command of the page that explains it: whoever comes second finds most of it done.
                text = (REPOSITORY / "docs/viewer.md").read_text(encoding="utf-8")
                self._run(self.program, *shlex.split(re.search(r"^candle-graph (cohort .*)$", text, re.M).group(1)))
            case "hostile":
                hostile_viewer.write(path)
            case "hostile-comparison":
                self("attention")
                hostile_viewer.rename(self.desk / "attention.json", path)

    def _make(self, name):
        inputs = self.inputs(name)
        if not inputs[0].exists():
            self._record(name, inputs[0])
        if name == "transformer":
            # The bundle has its own page.
            return self._built(inputs[0] / "viewer.html", self.desk / "transformer.html")
        # The commands of docs/viewer.md write some of these pages here too, under the same names.
        page = self.desk / f"{name}.html"
        if name == "cut":
            # Room for a few rows beside what every page has.
            self("digits")
            bounds = ["--max-size", len(frame(self.desk / "digits.html")) + 30_000]
            self._run(self.program, "view", *inputs, *bounds, "--output", page)
        elif not page.exists():
            self._run(self.program, "view", *inputs, "--output", page)
        return self._built(page, self.desk / f"built-{name}.html")

    def _built(self, page, to):
        if not self.build:
            return page
        build = Path(self.build)
        text = with_build(page.read_text(encoding="utf-8"), *((build / f"viewer.{x}").read_text() for x in ("js", "css")))
        to.write_text(text, encoding="utf-8")
        return to


def with_build(page, script, style):
    """A page with another script and style, which its policy names."""

    def digest(text):
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    for tag, text in [("style", style), ("script", script)]:
        head, rest = page.split(f"<{tag}>", 1)
        head = re.sub(f"{tag}-src 'sha256-[^']*'", f"{tag}-src 'sha256-{digest(text)}'", head, count=1)
        page = f"{head}<{tag}>{text}</{tag}>{rest.split(f'</{tag}>', 1)[1]}"
    return page


def meta_of(page):
    """What a page knows before its rows."""
    text = Path(page).read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="cg-meta">(.*?)</script>', text, re.S).group(1))


def frame(page):
    """A page without its rows."""
    text = Path(page).read_text(encoding="utf-8")
    return re.sub(r"(<script type=[^>]* class=\"cg-block\"[^>]*>)[^<]*", r"\1", text)
