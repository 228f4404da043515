"""Every command and snippet of README.md and docs/ runs.

In: the pages. Out: each `candle-graph` line of a bash block run beside a recorded trace, with the example programs on
the path; each Python block run there.
Rust blocks are doc tests of the crate; `scripts/` lines are the two commands that install and run everything else, so
here only their files are checked.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
PAGES = [REPO / "README.md", *sorted((REPO / "docs").glob("*.md"))]


def blocks(language: str) -> list:
    """(page, text) of every fenced block of a language."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(rf"^```{language}\n(.*?)^```", text, re.S | re.M):
            found.append((page.name, match.group(1)))
    return found


def commands() -> list:
    lines = [(page, line.strip()) for page, block in blocks("bash") for line in block.splitlines()]
    return [(page, line) for page, line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("page,line", commands(), ids=lambda v: v if isinstance(v, str) else None)
def test_command(page, line, desk, desk_environment):
    words = shlex.split(line)
    if words[0].startswith("scripts/"):
        script = REPO / words[0]
        assert script.is_file() and os.access(script, os.X_OK), f"{page}: {line}"
        return
    if words[:2] == ["cargo", "candle-graph"]:
        words = words[1:]
    assert words[0] == "candle-graph", f"{page}: nothing runs {line!r}"
    command = [os.environ["CANDLE_GRAPH_BIN"], *words[1:]]
    run = subprocess.run(command, cwd=desk, env=desk_environment, capture_output=True, text=True)
    assert run.returncode == 0, f"{page}: {line}\n{run.stderr}"
    assert run.stdout or "-o" in words or "--output" in words, f"{page}: {line} printed nothing"


@pytest.mark.parametrize("page,code", blocks("python"), ids=lambda v: v[:30] if isinstance(v, str) else None)
def test_python(page, code, desk):
    run = subprocess.run([sys.executable, "-c", code], cwd=desk, capture_output=True, text=True)
    assert run.returncode == 0, f"{page}\n{code}\n{run.stderr}"


@pytest.mark.parametrize("page,script", blocks("sh"), ids=lambda v: v[:30] if isinstance(v, str) else None)
def test_script(page, script, desk, tmp_path):
    """Blocks that need other programs too run as they are."""
    if "openssl" in script and not shutil.which("openssl"):
        pytest.skip("no openssl")
    (tmp_path / "candle-graph").symlink_to(Path(os.environ["CANDLE_GRAPH_BIN"]).resolve())
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-euc", script], cwd=desk, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert run.returncode == 0, f"{page}\n{script}\n{run.stderr}"


SHOWN = re.compile(r"^```bash\n(candle-graph [^\n]*)\n```\n\n```text\n(.*?)^```", re.S | re.M)


def test_what_sql_md_shows_is_what_is_printed(desk):
    """With CANDLE_GRAPH_UPDATE=1 the page is written anew instead."""
    page = REPO / "docs/sql.md"
    text = page.read_text(encoding="utf-8")

    def printed(match):
        words = shlex.split(match.group(1))
        run = subprocess.run([os.environ["CANDLE_GRAPH_BIN"], *words[1:]], cwd=desk, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        return f"```bash\n{match.group(1)}\n```\n\n```text\n{run.stdout.rstrip()}\n```"

    shown, questions = SHOWN.subn(printed, text)
    assert questions == text.count("\n## ") - 1 == 10
    if os.environ.get("CANDLE_GRAPH_UPDATE"):
        page.write_text(shown, encoding="utf-8")
    else:
        assert shown == text, "docs/sql.md shows something else; CANDLE_GRAPH_UPDATE=1 writes it anew"


def test_the_pages_hold_commands_and_python():
    assert len(commands()) > 15
    assert blocks("python")


def test_every_link_leads_to_a_file():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
