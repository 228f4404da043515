"""One made-up capture as the seven reports, in any dialect that `nsys stats` has had, and the tables it must become."""

from dataclasses import dataclass, replace
from decimal import Decimal

from nsight_csv import BYTES, COLUMNS, NANOSECONDS, REPORTS, kind_of, printed, write

LONG = "void cutlass::Kernel2<" + ", ".join(f"Layout<{n}, C<\u00b5{n}>>" for n in range(250)) + ">(T1::Params)"
NAMES = [
    LONG[:4000],
    'void f<int, "x">(T1 *, T2)',
    "(anonymous namespace)::k<unnamed>(float const*)",
    "two\nlines, and a tail ",
    "  spaces around  ",
    "=1+1",
    "\u202egnp.exe \U0001f525 e\u0301",
    "\x1b[31mred\x1b[0m",
    "'; DROP TABLE gpu_trace; --",
    "</script>\ttab\\n\\",
]
COPIES = ["[CUDA memcpy Host-to-Device]", "[CUDA memcpy DtoH]", "[CUDA memset]", "[CUDA memcpy Peer-to-Peer]"]
DOMAINS = [":forward", "forward", "Loader:next batch", "::odd", ": spaced ", "a,b", 'say "x"', "None of it", " "]


def gpu_row(at, name, kernel):
    launch = [(at % 7) * 100 + n for n in range(7)] if kernel else [None] * 7
    moved = [None, None] if kernel else [at * 4096 * 10**3, at * 12_345_000]
    shared = [at * 1024 * 10**3, at * 10**3] if kernel else [None, None]
    memory = ["Pinned", "Device"] if not kernel else ["", ""]
    where = [f"NVIDIA H100 ({at % 2})", 1, at if kernel and at % 3 == 0 else None, 7 + at]
    return [10**12 + at * 1_000_000, (at % 9) * 1000, at // 2, *launch, *shared, *moved, *memory, *where, name]


def summary_row(at, name):
    total = 10**9 + at * 1000
    spread = [Decimal(total) / 8, Decimal(at * 1000 + 500), total // 16000 * 1000, total, Decimal(at) * 100]
    return [Decimal(at) / 10, total, at, *spread, name]


def range_row(at, name):
    parent = at - 1 if at % 4 else None
    tree = ["PushPop" if at % 2 else "StartEnd", 4242, 4243 + at % 2, at * 3, at % 4, 4 - at % 4, at + 1, parent]
    return [name, 10**10 + at * 1000, at * 7000, 10**9 + at * 2000, at * 9000, *tree, f":1:{at + 1}"]


def host_range_row(at, name):
    start, inside, own = 10**9 + at * 5000, at * 1000, at * 2000
    tree = [name, 1, 2 + at % 2, at % 4, at % 3, at, None if at % 4 == 0 else at - 1, f":{at}"]
    return [start, start + inside + own, inside + own, inside, own, *tree, "--" * (at % 4) + name]


LAUNCH = ["GrdX", "GrdY", "GrdZ", "BlkX", "BlkY", "BlkZ", "Reg/Trd"]
SUMMARY = ["Time (%)", "Total Time (t)", "{}", "Avg (t)", "Med (t)", "Min (t)", "Max (t)", "StdDev (t)"]
RANGE = ["Lvl", "NumChild", "RangeId", "ParentId", "RangeStack"]
# In each header `t` stands for the unit of time and `b` for that of size.
HEADS = {
    "gpu_trace": ["Start (t)", "Duration (t)", "CorrId", *LAUNCH, "StcSMem (b)", "DymSMem (b)", "Bytes (b)",
                  "Throughput (b/s)", "SrcMemKd", "DstMemKd", "Device", "Ctx", "GreenCtx", "Strm", "Name"],
    "gpu_kernels": [*(h.format("Instances") for h in SUMMARY), "Name"],
    "cuda_api": [*(h.format("Num Calls") for h in SUMMARY), "Name"],
    "gpu_mem_time": [*(h.format("Count") for h in SUMMARY), "Operation"],
    "nvtx_gpu_proj": ["Name", "Projected Start (t)", "Projected Duration (t)", "Orig Start (t)", "Orig Duration (t)",
                      "Style", "PID", "TID", "NumGPUOps", *RANGE],
    "cuda_api_trace": ["Start (t)", "Duration (t)", "Name", "Result", "CorrID", "Pid", "Tid", "T-Pri", "Thread Name"],
    "nvtx_pushpop_trace": ["Start (t)", "End (t)", "Duration (t)", "DurChild (t)", "DurNonChild (t)", "Name", "PID",
                           "TID", *RANGE, "NameTree"],
}  # fmt: skip
WORLD = {
    "gpu_trace": [gpu_row(at, name, name in NAMES) for at, name in enumerate([*NAMES, *COPIES])],
    "gpu_kernels": [summary_row(at, name) for at, name in enumerate(NAMES)],
    "cuda_api": [summary_row(at, f"cudaCall{at}_v{at}") for at in range(5)],
    "gpu_mem_time": [summary_row(at, name) for at, name in enumerate(COPIES)],
    "nvtx_gpu_proj": [range_row(at, name) for at, name in enumerate(["", *DOMAINS])],
    "cuda_api_trace": [
        [10**9 + at * 1000, at * 2000, "cudaLaunchKernel_v7", 700 * (at % 2), at, 1, 2, 20, ["", "py, thön"][at % 2]]
        for at in range(6)
    ],
    "nvtx_pushpop_trace": [host_range_row(at, name) for at, name in enumerate(DOMAINS)],
}


@dataclass(frozen=True)
class Dialect:
    """How a version writes."""

    time: str = "ns"
    # Headers that differ from the unit of the others.
    times: tuple = ()
    size: str = "B"
    # Digits behind the point of a size; as many as it takes where there is none said.
    size_decimals: int | None = None
    rate: str = "MB"
    space: str = " "
    null: str = ""
    leave_out: tuple = ()
    rename: tuple = ()
    more: tuple = ()
    reverse: bool = False
    quoting: int = 0
    line: str = "\n"
    old_names: bool = False
    file: str = "x_{}.csv"
    before: str = ""
    after: str = ""
    encoding: str = "utf-8"

    def but(self, **changes):
        return replace(self, **changes)

    def unit(self, head):
        return dict(self.times).get(head, self.time)

    def file_name(self, table):
        return self.file.format(REPORTS[table][self.old_names])

    def head(self, head):
        name, _, unit = head.partition(" (")
        text = dict(self.rename).get(name, name)
        if not unit or not text or "*" in text:
            return text.strip("*")
        unit = unit.rstrip(")")
        unit = {"t": self.unit(name), "b": self.size, "b/s": f"{self.rate}/s"}.get(unit, unit)
        return f"{text}{self.space}({unit})"

    def cell(self, head, number):
        name, _, unit = head.partition(" (")
        match unit.rstrip(")"):
            case "t" if number is not None:
                return printed(number, NANOSECONDS[self.unit(name)])
            case "b" if number is not None:
                return printed(number, BYTES[self.size], self.size_decimals)
            case "b/s" if number is not None:
                return printed(number, BYTES[self.rate])
        return self.null if number is None or number == "" else str(number)

    def text(self, table):
        """The report as `nsys stats` would write it."""
        keep = [at for at, head in enumerate(HEADS[table]) if head.partition(" (")[0] not in self.leave_out]
        if self.reverse:
            keep.reverse()
        more = [f"{name}" for name, _ in self.more]
        cells = [value for _, value in self.more]
        rows = [[*(self.cell(HEADS[table][at], row[at]) for at in keep), *cells] for row in WORLD[table]]
        heads = [*(self.head(HEADS[table][at]) for at in keep), *more]
        return self.before + write(rows, heads, quoting=self.quoting, lineterminator=self.line) + self.after

    def files(self):
        return {self.file_name(table): self.text(table).encode(self.encoding) for table in HEADS}

    def step(self, text):
        """What the last digit of a size stands for."""
        decimals = len(text.partition(".")[2])
        return max(1, BYTES[self.size] // 10**decimals)

    def expected(self, table):
        """The columns of the table."""
        heads = {head.partition(" (")[0]: at for at, head in enumerate(HEADS[table])}
        columns = {}
        for column, (what, *names) in COLUMNS[table].items():
            found = [name for name in names if name in heads and name not in self.leave_out]
            if not found:
                columns[column] = [None] * len(WORLD[table])
                continue
            head = HEADS[table][heads[found[0]]]
            cells = [row[heads[found[0]]] for row in WORLD[table]]
            columns[column] = [self.expected_cell(what, head, cell) for cell in cells]
        return columns

    def expected_cell(self, what, head, cell):
        if what in ("kind", "direction"):
            return kind_of(cell)[what == "direction"]
        if cell is None or cell == "":
            return None
        match what:
            case "label":
                return cell.removeprefix(":")
            case "text":
                return str(cell)
            case "mean" | "rate" | "percent":
                return float(cell)
            case "step":
                return self.step(self.cell(head, cell))
            case "size" if self.size_decimals is not None:
                return int((Decimal(self.cell(head, cell)) * BYTES[self.size]).to_integral_value())
        return int(cell)
