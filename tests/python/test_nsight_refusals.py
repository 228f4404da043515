"""Nsight reports that are not what they should be: each is refused for what it is, by file, line, column, and alone."""

import csv
import io
import os

import pytest
from nsight_csv import REPORTS
from nsight_world import HEADS, LONG, WORLD, Dialect
from test_nsight_import import GOLDEN, NOTICE, PROCESSING, columns_of, folder_of, sql, states

PLAIN = Dialect()
SOUND = {"x_cuda_api_sum.csv": PLAIN.text("cuda_api").encode()}
TRACE = PLAIN.text("gpu_trace")
KERNELS = PLAIN.text("gpu_kernels")
HEAD = "Start (ns),Duration (ns),CorrId,Bytes (MB),Strm,Name"


def trace(*rows, head=HEAD):
    return "\n".join([head, *rows, ""])


def changed(column, cell, row=1, table="gpu_trace", dialect=PLAIN):
    """A report in which one cell is another."""
    rows = list(csv.reader(io.StringIO(dialect.text(table), newline="")))
    rows[row + 1][rows[0].index(column)] = cell
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


# What is in the file of cuda_gpu_trace, and what is said of it.
REFUSED = {
    "decimal comma": (changed("Duration (ns)", "12,5"), "line 3: column Duration (ns): \"12,5\" has a comma"),
    "thousands by comma": (changed("Start (ns)", "1,234,567"), "line 3: column Start (ns): \"1,234,567\" has a comma"),
    "thousands by points": (changed("Duration (ns)", "12.373.190"), "more than one point: numbers of another locale"),
    "one point for thousands": (
        changed("Duration (ns)", "464.805"),
        "line 3: column Duration (ns): \"464.805\" has a frac",
    ),
    "count with a comma": (changed("GrdX", "1,024"), "line 3: column GrdX: \"1,024\" has a comma"),
    "throughput with a comma": (changed("Throughput (MB/s)", "25289,908", dialect=PLAIN), "column Throughput (MB/s)"),
    "negative duration": (changed("Duration (ns)", "-5"), "line 3: column Duration (ns): \"-5\" is negative"),
    "negative size": (changed("Bytes (B)", "-1"), "line 3: column Bytes (B): \"-1\" is negative"),
    "negative throughput": (changed("Throughput (MB/s)", "-0.5"), "column Throughput (MB/s): \"-0.5\" is negative"),
    "ten to the thirty": (changed("Start (ns)", str(10**30)), "line 3: column Start (ns)", "is larger than"),
    "ten to the thirty, as a power": (
        changed("Duration (ns)", "1e30"),
        "line 3: column Duration (ns): \"1e30\" is larger",
    ),
    "smallest integer": (changed("Start (ns)", str(-(2**63))), "line 3: column Start (ns)", "is larger than"),
    "power that is no integer's": (
        changed("Start (ns)", "1e-2147483648"),
        "line 3: column Start (ns)",
        "is larger than",
    ),
    "infinite": (changed("Throughput (MB/s)", "1e999"), "line 3: column Throughput (MB/s): \"1e999\" is larger"),
    "not a number": (changed("Throughput (MB/s)", "nan"), "line 3: column Throughput (MB/s): \"nan\" is no number"),
    "hexadecimal": (changed("CorrId", "0x10"), "line 3: column CorrId: \"0x10\" is no number"),
    "words": (changed("Strm", "default"), "line 3: column Strm: \"default\" is no number"),
    "digits of another script": (changed("Start (ns)", "\u0661\u0662"), "line 3: column Start (ns)", "is no number"),
    "no start": (changed("Start (ns)", ""), "line 3: column Start (ns) is empty"),
    "None as a duration": (changed("Duration (ns)", "None"), "line 3: column Duration (ns) is empty"),
    "NUL in a name": (changed("Name", "a\0b"), "line 3: column Name", "holds a NUL byte"),
    "NUL in a number": (changed("Start (ns)", "1\0"), "line 3: column Start (ns)", "is no number"),
    "NUL in the header": (TRACE.replace("Start", "Sta\0rt", 1), "line 1: is UTF-16 or binary"),
    "UTF-16": (TRACE.encode("utf-16"), "is UTF-16 or binary", "--output"),
    "UTF-16 without a mark": (TRACE.encode("utf-16-le"), "is UTF-16 or binary"),
    "UTF-16 from the other end": (b"\xfe\xff" + TRACE.encode("utf-16-be"), "is UTF-16 or binary"),
    "Latin-1": (trace("1,2,3,0.5,7,k", "1,2,3,0.5,7,caf\xe9").encode("latin-1"), "line 3: column Name", "no UTF-8"),
    "UTF-8 cut in a character": (
        trace("1,2,3,0.5,7,caf\xe9").encode().rstrip(b"\n")[:-1],
        "line 2: column Name",
        "no UTF-8",
    ),
    "last line cut": (trace("1,2,3,0.5,7,k", "4,5,6,0.")[:-1], "line 3: has 4 fields, and its header 6", "cut off"),
    "last line cut in a name": (
        trace("1,2,3,0.5,7,k", '4,5,6,0.5,7,"void f<int')[:-1],
        "line 3: has a quote",
        "cut off",
    ),
    "two quotes missing": (
        trace('1,2,3,0.5,7,"k', '4,5,6,0.5,7,"k', "7,8,9,0.5,7,k"),
        "line 2: has text behind a closing quote, so a quote is missing before it",
    ),
    "quote never closed": (trace('1,2,3,0.5,7,"k', *["4,5,6,0.5,7,k"] * 9), "line 2: has a quote that is never closed"),
    "quote that takes in a row": (
        trace('1,2,3,0.5,7,"k', '4,5,6,0.5,7,"f<a, b>"'),
        "line 2: has a quote that is never",
    ),
    "field less": (trace("1,2,3,0.5,7,k", "1,2,3,7,k"), "line 3: has 5 fields, and its header 6"),
    "field more": (trace("1,2,3,0.5,7,k", "1,2,3,0.5,7,f<a, b>"), "line 3: has 7 fields, and its header 6"),
    "many fields more": (trace("1,2,3,0.5,7,k", "," * 90), "line 3: has more fields than the 6 of the header"),
    "two reports of other widths": (TRACE + "\n" + KERNELS, "and its header 21"),
    "two reports with what nsys says between": (TRACE + "\n" + PROCESSING + KERNELS, "has 1 field", "one report"),
    "one report twice": (TRACE + TRACE, "column Start (ns): \"Start (ns)\" is no number"),
    "another report first": (KERNELS + "\n" + TRACE, "line 1: its header is that of cuda_gpu_kern_sum"),
    "rows before the header": (trace("4,5,6,0.5,7,k").join(["1,2,3,0.5,7,first\n", ""]), "before the header"),
    "sorted, header and all": (
        "".join(sorted(trace("4,5,6,0.5,7,k", "1,2,3,0.5,7,first").splitlines(True))),
        "before the header",
    ),
    "semicolons": (TRACE.replace(",", ";"), "separated by semicolons"),
    "tabs": (trace("1,2,3,0.5,7,k").replace(",", "\t"), "has no header of cuda_gpu_trace"),
    "carriage returns alone": (trace("1,2,3,0.5,7,k", "4,5,6,0.5,7,k").replace("\n", "\r"), "carriage return"),
    "a carriage return behind the header": (
        trace("1,2,3,0.5,7,k", "4,5,6,0.5,7,k").replace("\n", "\r", 1),
        "carriage return",
    ),
    "home-made header": (
        "kernel,start_us,dur_us\nk,1.5,2.5\n",
        "has no header of cuda_gpu_trace",
        "--report cuda_gpu_trace",
    ),
    "no header": ("1,2,3,0.5,7,k\n" * 100, "has no header of cuda_gpu_trace", "begins with \"1,2,3,0.5,7,k\""),
    "header of another report": (
        KERNELS,
        "line 1: its header is that of cuda_gpu_kern_sum, and its name says cuda_gpu_trace",
    ),
    "preamble and another report": (PROCESSING + KERNELS, "line 3: its header is that of cuda_gpu_kern_sum"),
    "unit that is unknown": (
        trace("1,2,3,0.5,7,k", head=HEAD.replace("(ns)", "(fortnights)", 1)),
        "line 1: column Start (fort",
    ),
    "no unit": (trace("1,2,3,0.5,7,k", head=HEAD.replace(" (ns)", "", 1)), "line 1: column Start: has no unit"),
    "unit of size that is unknown": (
        trace("1,2,3,0.5,7,k", head=HEAD.replace("MB", "Mb*")),
        "line 1: column Bytes (Mb*)",
    ),
    "time in a unit of size": (
        trace("1,2,3,0.5,7,k", head=HEAD.replace("(ns)", "(MB)", 1)),
        "line 1: column Start (MB)",
    ),
    "column twice": (
        trace("1,2,3,0.5,7,7,k", head=HEAD.replace("Strm", "Strm,Strm")),
        "line 1: its header has column Strm twice",
    ),
    "time in two units": (trace("1,1,2,3,0.5,7,k", head="Start (us)," + HEAD), "line 1: its header has both"),
    "a word on a line": (trace("1,2,3,0.5,7,k", "a"), "line 3: has 1 field, and its header 6"),
    "name of 2 MiB": (trace("1,2,3,0.5,7,k", f"1,2,3,0.5,7,{'k' * 2**21}"), "line 3: is longer than 1048576 bytes"),
    "name of 2 MiB in quotes": (trace(f'1,2,3,0.5,7,"{"k" * 2**21}"'), "line 2: "),
    "line of 2 MiB before the header": (
        "x" * 2**21 + "\n" + trace("1,2,3,0.5,7,k"),
        "line 1: is longer than 65536 bytes",
    ),
    "aligned in columns": (
        PROCESSING.replace("Generating", "\nGenerating") + "\n ** CUDA GPU Trace (cuda_gpu_trace):\n\n"
        " Start (ns)  Duration (ns)  CorrId  Strm  Name\n ----------  -------------  ------  ----  ----\n"
        "          1              2       3     7  k\n",
        "aligned in columns, and no CSV", "--report cuda_gpu_trace --format csv",
    ),
    "aligned in columns, and some reports skipped": (
        PROCESSING + "SKIPPED: /tmp/x.sqlite does not contain OpenGL data.\n\n" + PROCESSING
        + "\n ** CUDA GPU Trace (cuda_gpu_trace):\n\n Start (ns)  Name\n ----------  ----\n          1  k\n",
        "aligned in columns, and no CSV",
    ),
    "what nsys says and nothing else": (PROCESSING, "--report cuda_gpu_trace --format csv"),
    "JSON": ('[{"Start (ns)":1,"Duration (ns)":2}]\n', "has no header of cuda_gpu_trace"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(cli, tmp_path, name):
    text, *said = REFUSED[name]
    content = text if isinstance(text, bytes) else text.encode()
    folder = folder_of(tmp_path, {"x_cuda_gpu_trace.csv": content, **SOUND})
    found = states(cli, folder)
    broken = found["gpu_trace"]
    assert (broken["state"], broken["file"], broken["rows"]) == ("failed", "x_cuda_gpu_trace.csv", None), broken
    assert broken["reason"].startswith("x_cuda_gpu_trace.csv: ")
    assert all(part in broken["reason"] for part in said), broken["reason"]
    assert "\n" not in broken["reason"] and len(broken["reason"]) < 1000
    assert (found["cuda_api"]["state"], found["cuda_api"]["rows"]) == ("available", len(WORLD["cuda_api"]))
    assert {found[t]["state"] for t in REPORTS if t not in ("gpu_trace", "cuda_api")} == {"unavailable"}
    # No rows, and nowhere a zero that stands for them.
    assert sql(cli, folder, "SELECT COUNT(*) AS n FROM gpu_trace", "--format", "json").json["rows"] == [{"n": 0}]


@pytest.mark.parametrize("cell", ["512 1", "512", "a b c", "1 2 3 4", "512,1,1", "-1 1 1"])
def test_a_grid_is_three_numbers(cli, tmp_path, cell):
    text = PLAIN.but(more=(("GridXYZ", cell),)).text("gpu_kernels")
    found = states(cli, folder_of(tmp_path, {"gpukernsum.csv": text.encode(), **SOUND}))
    assert found["gpu_kernels"]["state"] == "failed"
    assert f'line 2: column GridXYZ: "{cell}" ' in found["gpu_kernels"]["reason"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ["", PROCESSING, NOTICE + PROCESSING])
def test_the_line_is_the_one_an_editor_shows(cli, tmp_path, end, before):
    """Names of several lines, blank lines, a preamble and CRLF all count."""
    text = before + trace('1,2,3,0.5,7,"a\nb\n\nc"', "", "", "4,5,6,0.5,7,k", "oops,5,6,0.5,7,k")
    line = text[: text.index("oops")].count("\n") + 1
    found = states(cli, folder_of(tmp_path, {"cuda_gpu_trace.csv": text.replace("\n", end).encode()}))
    assert found["gpu_trace"]["reason"].startswith(f"cuda_gpu_trace.csv: line {line}: column Start (ns)")


EMPTY = {
    "no bytes": ("", "the file is empty"),
    "blank lines": ("\n\r\n  \n", "the file is empty"),
    "byte order mark alone": ("\ufeff", "the file is empty"),
    "header alone": ("{head}\n", None),
    "header without end": ("{head}", None),
    "header and blank lines": ("\ufeff{head}\r\n\r\n", None),
    "preamble and header": (PROCESSING + "{head}\n", None),
    "skipped": (
        PROCESSING + "SKIPPED: /tmp/x.sqlite does not contain CUDA trace data.\n",
        "SKIPPED: /tmp/x.sqlite does not",
    ),
    "skipped alone": (
        "SKIPPED: x.sqlite does not contain GPU trace data.\r\n\r\n",
        "SKIPPED: x.sqlite does not contain",
    ),
    "skipped after an export": (
        NOTICE + PROCESSING + "SKIPPED: x.sqlite does not contain NV Tools data.\n\n",
        "SKIPPED: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_report_is_a_report(cli, tmp_path, name):
    """A run without copies has no copies: zero rows, which is not "not supplied"."""
    text, note = EMPTY[name]
    files = {f"{REPORTS[t][0]}.csv": text.format(head=PLAIN.text(t).split("\n")[0]).encode() for t in HEADS}
    folder = folder_of(tmp_path, files)
    found = states(cli, folder)
    for table in HEADS:
        about = found[table]
        assert (about["state"], about["rows"], about["reason"]) == ("available", 0, None), about
        assert (note in "".join(about["notes"])) if note else about["notes"] == []
    assert sql(cli, folder, "SELECT COUNT(*) AS n FROM gpu_trace", "--format", "json").json["rows"] == [{"n": 0}]


def refused(cli, folder, *said):
    answer = sql(cli, folder, "SELECT * FROM nsight_reports")
    text = answer.err.decode()
    assert answer.code == 1 and answer.out == b"", answer
    assert text.count("\n") == 1 and all(part in text for part in said), text


@pytest.mark.parametrize(
    "first, second",
    [("a_cuda_api_sum.csv", "b_cuda_api_sum.csv"), ("a_cuda_api_sum.csv", "a_cudaapisum.csv"),
     ("cuda_api_sum.csv", "cuda_api_sum.txt"), ("a_cuda_api_sum.csv", "x.csv_cuda_api_sum.csv"),
     ("a_cuda_api_sum.csv", "cudaapisum.2.csv")],
)  # fmt: skip
@pytest.mark.parametrize("broken", [False, True])
def test_two_files_of_one_report(cli, tmp_path, first, second, broken):
    text = PLAIN.text("cuda_api").encode()
    other = b"" if broken else text
    files = {first: text, second: other, "cuda_gpu_trace.csv": TRACE.encode()}
    refused(cli, folder_of(tmp_path, files), first, second, "cuda_api_sum", "keep one")


def test_what_is_no_flat_directory_of_files(cli, tmp_path):
    def hidden(folder):
        (folder / ".cuda_api_sum.csv").write_bytes(b"")

    def nested(folder):
        (folder / "more").mkdir()

    def link(folder):
        (folder / "x_cuda_gpu_trace.csv").symlink_to(folder / "x_cuda_api_sum.csv")

    def dangling(folder):
        (folder / "x_cuda_gpu_trace.csv").symlink_to(folder / "nothing")

    def fifo(folder):
        os.mkfifo(folder / "x_cuda_gpu_trace.csv")

    def control(folder):
        (folder / "a\n_cuda_gpu_trace.csv").write_bytes(b"")

    def bytes_of_no_text(folder):
        (folder / os.fsdecode(b"\xff_cuda_gpu_trace.csv")).write_bytes(b"")

    for number, (make, said) in enumerate(
        [(hidden, "hidden"), (nested, "is a directory"), (link, "is a symbolic link"), (dangling, "is a symbolic link"),
         (fifo, "no regular file"), (control, "control characters"), (bytes_of_no_text, "not UTF-8")]
    ):  # fmt: skip
        (tmp_path / str(number)).mkdir()
        folder = folder_of(tmp_path / str(number), SOUND)
        make(folder)
        refused(cli, folder, said)
    refused(cli, folder_of(tmp_path, {}), "holds no Nsight report")
    refused(cli, tmp_path / "nowhere", "is no directory")
    refused(cli, GOLDEN, "is no directory")


def test_a_file_that_cannot_be_read_is_an_error_of_its_own(cli, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    folder = folder_of(tmp_path, SOUND)
    (folder / "x_cuda_api_sum.csv").chmod(0)
    refused(cli, folder, "x_cuda_api_sum.csv")


@pytest.mark.parametrize(
    "name",
    ["x_nvtx_sum.csv", "x_cuda_kern_exec_sum.csv", "x.nsys-rep", "x.sqlite", "notes.txt", "x_cuda_gpu_trace.json",
     "mycuda_api_sum2.csv", "x_cuda_api_sum.csv.gz", "\u202ecuda_gpu_trace.bak", "<script>.html"],
)  # fmt: skip
def test_other_files_are_kept_and_not_read(cli, tmp_path, name):
    content = os.urandom(5000)
    found = states(cli, folder_of(tmp_path, {name: content, **SOUND}))
    assert (found[name]["state"], found[name]["file"], found[name]["rows"]) == ("retained", name, None)
    assert found["cuda_api"]["rows"] == len(WORLD["cuda_api"])


@pytest.mark.parametrize("size", [4_000, 65_536, 1_000_000])
def test_long_names_are_whole(cli, tmp_path, size):
    name = (LONG * (size // len(LONG) + 1)).encode()[:size].decode(errors="ignore")
    columns = columns_of(cli, folder_of(tmp_path, {"cuda_gpu_trace.csv": changed("Name", name).encode()}), "gpu_trace")
    assert columns["name"][1] == name


def test_a_byte_order_mark_in_a_name_is_part_of_it(cli, tmp_path):
    heads = "Name,Projected Start (ns),Projected Duration (ns),NumGPUOps\n"
    text = heads + "\ufeffforward,1,2,3\n\ufeff,4,5,6\n"
    columns = columns_of(cli, folder_of(tmp_path, {"nvtx_gpu_proj_trace.csv": text.encode()}), "nvtx_gpu_proj")
    assert columns["name"] == columns["label"] == ["\ufeffforward", "\ufeff"]


def test_every_character_of_a_name_survives(cli, tmp_path):
    """All of the first two planes in chunks, as Python's csv writes and reads them."""
    signs = [chr(c) for c in range(1, 0x20000) if not 0xD800 <= c < 0xE000]
    names = ["".join(signs[at : at + 1000]) for at in range(0, len(signs), 1000)]
    names += ['"', '""', ",", "\n", "\r", "\r\n", '",\n"', " x ", "'", "\\", "\\n", "None ", "NULL", "\ufeff", "x" * 3]
    out = io.StringIO()
    # Lines that end in both: only then does Python put quotes around a carriage return.
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerows([HEAD.split(","), *([at, 1, 1, 0.5, 7, name] for at, name in enumerate(names))])
    again = [row[-1] for row in csv.reader(io.StringIO(out.getvalue(), newline=""))][1:]
    assert again == names
    folder = folder_of(tmp_path, {"cuda_gpu_trace.csv": out.getvalue().encode()})
    assert columns_of(cli, folder, "gpu_trace")["name"] == names
