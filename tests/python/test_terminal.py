"""A person at a terminal gets text with colours, a program gets JSON and silence."""

import os
import pty
import re
import subprocess

import pytest

COLOURS = re.compile(rb"\x1b\[[0-9;]*m")


def on_terminal(binary, *args, **env):
    """Runs the program with a terminal as standard output; returns what it showed, and its standard error."""
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm-256color"} | env
    process = subprocess.Popen(
        [binary, *map(str, args)], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=environment
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            # The other side is closed.
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 0, errors
    return shown.replace(b"\r\n", b"\n"), errors


@pytest.fixture(scope="module")
def text(cli, digits):
    """The text form, as it goes into a pipe."""
    return cli("overview", digits, "--format", "text").out


def test_a_terminal_gets_text_with_colours(binary, digits, text):
    shown, errors = on_terminal(binary, "overview", digits)
    assert errors == b""
    assert COLOURS.search(shown)
    # The colours are all that is added.
    assert COLOURS.sub(b"", shown) == text
    # Every colour is switched off again.
    for line in shown.splitlines():
        codes = COLOURS.findall(line)
        assert codes[1::2] == [b"\x1b[0m"] * (len(codes) // 2) and len(codes) % 2 == 0, line


def test_no_color(binary, digits, text):
    shown, errors = on_terminal(binary, "overview", digits, NO_COLOR="1")
    assert (shown, errors) == (text, b"")


def test_no_color_without_a_value_counts_as_absent(binary, digits):
    shown, _ = on_terminal(binary, "overview", digits, NO_COLOR="")
    assert COLOURS.search(shown)


def test_json_on_a_terminal_when_asked_for(binary, cli, digits):
    shown, errors = on_terminal(binary, "overview", digits, "--format", "json")
    assert (shown, errors) == (cli("overview", digits, "--format", "json").out, b"")


def test_a_pipe_gets_json_and_silence(cli, digits):
    for env in ({}, {"TERM": "xterm-256color", "CLICOLOR_FORCE": "1"}):
        answer = cli.fresh("overview", digits, env=env)
        assert answer.json["schema"].startswith("candle-graph/overview/")
        assert answer.out == cli("overview", digits, "--format", "json").out
        assert b"\x1b" not in answer.out


def test_text_in_a_pipe_has_no_colours(text):
    assert b"\x1b" not in text and text.endswith(b"\n")


def test_a_file_gets_json_even_at_a_terminal(binary, cli, digits, tmp_path):
    shown, errors = on_terminal(binary, "overview", digits, "-o", tmp_path / "overview.json")
    assert (shown, errors) == (b"", b"")
    assert (tmp_path / "overview.json").read_bytes() == cli("overview", digits, "--format", "json").out
    assert [p.name for p in tmp_path.iterdir()] == ["overview.json"]


def test_sql_is_a_table_at_a_terminal_and_json_in_a_pipe(binary, cli, digits):
    statement = "SELECT count(*) AS spans FROM spans"
    shown, errors = on_terminal(binary, "sql", digits, statement)
    count = cli("sql", digits, statement).json["rows"][0]["spans"]
    lines = shown.decode().splitlines()
    assert errors == b"" and b"\x1b" not in shown
    assert any(line.replace(" ", "") == f"|{count}|" for line in lines) and lines[-1] == "1 row"


def test_errors_are_one_line_on_standard_error(cli, tmp_path):
    for args in (["overview", tmp_path / "absent"], ["query", tmp_path, "--kind", "labels"]):
        answer = cli(*args)
        assert answer.code == 1 and answer.out == b""
        assert answer.err.startswith(b"error: ") and answer.err.count(b"\n") == 1
