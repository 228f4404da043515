"""Nsight captures of made-up worlds: what happened, and the reports that tell of it as `nsys stats` would.

A seed makes a world: processes with threads, each with a stack of NVTX ranges and some that float beside it, and calls that
cause GPU operations. A capture holds several worlds, which share neither process nor correlation id nor label.
"""

import csv
import random
from collections import defaultdict
from dataclasses import dataclass, field

import random_traces

TIMELINE, CALLS, PUSHED, PROJECTED = (
    "cuda_gpu_trace",
    "cuda_api_trace",
    "nvtx_pushpop_trace",
    "nvtx_gpu_proj_trace",
)
ALL = {TIMELINE, CALLS, PUSHED, PROJECTED}
# Seeds, the reports of the capture, the mark of the default domain, whether the contract says where work is expected.
CAPTURES = [
    (range(32), ALL, ":", True),
    (range(32, 44), ALL - {PROJECTED}, "", False),
    (range(44, 56), ALL - {PUSHED}, ":", True),
    (range(56, 62), ALL - {CALLS}, "", True),
    (range(62, 68), ALL - {TIMELINE}, ":", False),
]
KERNELS = ["gemm", "relu", 'void f<int, "x">(T1)']
COPIES = {
    "[CUDA memcpy Host-to-Device]": ("memcpy", "host_to_device"),
    "[CUDA memcpy DtoH]": ("memcpy", "device_to_host"),
    "[CUDA memset]": ("memset", None),
}


def sure(operation):
    """The call that an operation is of, if the reports leave no doubt."""
    return operation.calls[0] if len(operation.calls) == 1 else None


@dataclass(eq=False)
class Range:
    process: int
    thread: int
    level: int
    start: int
    end: int
    name: str
    style: str = "PushPop"
    projection: tuple | None = None  # start, duration, operations, where the projection has it
    pushed: bool = False  # whether nvtx_pushpop_trace has it
    program: bool = False  # whether it carries a label of the program
    operations: list = field(default_factory=list)  # that its calls caused, as far as the reports tell

    @property
    def label(self):
        return self.name.removeprefix(":")

    @property
    def key(self):
        return (self.process, self.thread, self.start, self.end, self.name, self.style)

    def holds(self, call):
        return (self.process, self.thread) == (call.process, call.thread) and self.start <= call.start < self.end


@dataclass(eq=False)
class Call:
    process: int
    thread: int
    start: int
    duration: int
    function: str
    correlation: int


@dataclass(eq=False)
class Operation:
    start: int
    duration: int
    correlation: int | None
    name: str
    kind: str
    direction: str | None
    device: str
    bytes: int | None
    cause: Call | None = None
    calls: list = field(default_factory=list)  # those that its correlation id names
    row: int | None = None

    @property
    def end(self):
        return self.start + self.duration


class World:
    """What one seed makes."""

    def __init__(self, seed, colon):
        rng = self.rng = random.Random(seed)
        self.width = rng.choice([12, 60, 400])
        self.ranges, self.calls, self.operations = [], [], []
        self.devices = [f"NVIDIA H200 ({n})" for n in range(rng.randint(1, 2))]
        self.labels = [f"{label}/{seed}" for label in ("forward", "backward", "näh/Ω", "CCCL:scan", "step")]
        self.libraries = [f"{library}/{seed}" for library in ("cuBLAS:gemm", "NCCL:all_reduce")]
        names = [colon + label for label in rng.sample(self.labels, rng.randint(1, 4))]
        names += rng.sample(self.libraries, rng.randint(0, 2))
        if colon and rng.random() < 0.2:
            names.append(":")
        self.name = lambda: rng.choice(names)
        base = 100_000 * (seed + 1)
        for process in range(rng.randint(1, 2)):
            # Two processes count their calls alike, or apart.
            correlation = base + rng.choice([0, 1000 * process])
            for thread in rng.sample([100, 101, 200, 7], rng.randint(1, 3)):
                correlation = self.live(base + process, thread, correlation)
        # Their calls are in no report.
        for _ in range(rng.choice([0, 0, 1, 3])):
            self.operate(rng.choice([None, base + 99_000]))
        if rng.random() < 0.5:
            # Inside projected times, and launched where no range is.
            decoy = Call(base, 999, 5, 2, "cudaLaunchKernel", base + 99_001)
            self.calls.append(decoy)
            operation = self.operate(decoy.correlation, decoy)
            operation.start, operation.duration = self.width, 3
            operation.name, operation.kind, operation.direction, operation.bytes = "decoy", "kernel", None, None
        self.project()

    def live(self, process, thread, correlation):
        """What one thread does; the next correlation id."""
        rng = self.rng
        self.stack(process, thread, 0, self.width, 0)
        for _ in range(rng.choice([0, 0, 1, 3])):
            low, high = sorted(rng.randint(0, self.width) for _ in range(2))
            self.ranges.append(Range(process, thread, rng.choice([0, 1]), low, high, self.name(), "StartEnd"))
        at = 0
        for _ in range(rng.choice([0, 3, 12])):
            at += rng.randint(0, max(1, self.width // 6))
            function = rng.choice(["cudaLaunchKernel", "cudaMemcpyAsync", "cudaGraphLaunch_v10000", "cudaMalloc"])
            call = Call(process, thread, at, rng.randint(0, 9), function, correlation)
            self.calls.append(call)
            correlation += 1
            for _ in range(rng.choice([0, 1, 1, 1, 2, 5]) if function != "cudaMalloc" else 0):
                self.operate(call.correlation, call)
            if "Graph" in function and rng.random() < 0.3:
                graph = self.operate(call.correlation, call)
                graph.name, graph.kind, graph.direction, graph.bytes = "CUDA Graph 7", "graph", None, None
        return correlation

    def stack(self, process, thread, start, end, level):
        """Ranges in each other and after each other, that touch, begin and end together, or have no length."""
        rng = self.rng
        points = sorted(rng.randint(start, end) for _ in range(2 * rng.choice([0, 1, 1, 2, 3])))
        for low, high in zip(points[::2], points[1::2]):
            high = low if rng.random() < 0.2 else high
            self.ranges.append(Range(process, thread, level, low, high, self.name()))
            if level < 4 and high > low:
                self.stack(process, thread, low, high, level + 1)

    def operate(self, correlation, call=None):
        rng = self.rng
        name = rng.choice([*KERNELS, *COPIES])
        kind, direction = COPIES.get(name, ("kernel", None))
        size = None if kind == "kernel" else rng.randint(0, 5000)
        start, duration = rng.randint(0, 3 * self.width), rng.randint(0, self.width)
        operation = Operation(start, duration, correlation, name, kind, direction, rng.choice(self.devices), size, call)
        self.operations.append(operation)
        return operation

    def project(self):
        """Ranges with work get a projection; in some worlds one lacks it, or counts what is not there."""
        tampers = self.rng.random() < 0.4
        keys = [r.key for r in self.ranges]
        for r in self.ranges:
            # Of equal ranges nobody knows which is which, so they stay equal.
            tamper = tampers and keys.count(r.key) == 1 and self.rng.random() < 0.3
            found = [o for o in self.operations if o.cause and r.holds(o.cause)]
            if not found or (tamper and self.rng.random() < 0.5):
                continue
            start, counted = min(o.start for o in found), len({o.correlation for o in found})
            counted += self.rng.choice([-1, 1, 7]) if tamper else 0
            if counted > 0:
                r.projection = (start, max(o.end for o in found) - start, counted)


class Capture:
    """Worlds that one profile saw, and the files that tell of them."""

    def __init__(self, folder, number):
        seeds, self.reports, colon, tells = CAPTURES[number]
        rng = random.Random(number)
        worlds = [World(seed, colon) for seed in seeds]
        self.ranges = [r for world in worlds for r in world.ranges]
        self.calls = [c for world in worlds for c in world.calls]
        self.operations = [o for world in worlds for o in world.operations]
        rng.shuffle(self.operations)
        self.folder = folder / f"{number}"
        self.folder.mkdir()
        (self.folder / "capture.nsys-rep").write_bytes(b"raw")
        self.write_reports(rng)
        self.see()
        labels = [label for world in worlds for label in [*world.labels, *world.libraries[:1], f"never/{seeds[0]}"]]
        labels = rng.sample(sorted(set(labels)), len(set(labels)) // 2)
        roles = {label: rng.choice(["gpu_expected", "gpu_expected", "cpu_only", "none"]) for label in labels}
        lists = {
            f"{role}_semantic_labels": [x for x in labels if roles[x] == role and tells] for role in set(roles.values())
        }
        lists.pop("none_semantic_labels", None)
        self.roles = roles if tells else dict.fromkeys(labels, "gpu_expected")
        # Spans of the trace, whether the contract names them or not.
        self.spans = rng.sample(sorted({r.label for r in self.ranges} - {""}), len(self.ranges) // 9)
        self.mark()
        planes = [
            "operations",
            "activations",
            "tensors",
            "gradients",
            "logical_memory",
            "physical_memory",
            "device_timing",
        ]
        contract = dict.fromkeys(planes, "none") | {"measurement_scope": "profiled_work"}
        contract |= {"required_semantic_labels": labels} | lists
        lines = [
            random_traces.meta(capture_contract=contract),
            *random_traces.span_lines("s0", None, "step", 0, 10, measured=True),
            *(
                line
                for n, name in enumerate(self.spans)
                for line in random_traces.span_lines(f"s{n + 1}", "s0", name, 0, 10)
            ),
            random_traces.terminal(10),
        ]
        self.path = random_traces.write_lines(folder / f"{number}.jsonl", lines)

    @property
    def joins(self):
        """Whether operations can be given to ranges by correlation id."""
        return self.reports >= {TIMELINE, CALLS} and bool(self.reports & {PUSHED, PROJECTED})

    def write_reports(self, rng):
        none = rng.choice(["", "None"])
        launch = "GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd"
        self.write(
            TIMELINE,
            f"Start (ns),Duration (ns),CorrId,{launch},Bytes (B),Device,Ctx,Strm,Name",
            [
                [o.start, o.duration, o.correlation, *[None] * 7, o.bytes, o.device, 1, 7, o.name]
                for o in self.operations
            ],
        )
        calls = [[c.start, c.duration, c.function, 0, c.correlation, c.process, c.thread, 20, ""] for c in self.calls]
        rng.shuffle(calls)
        self.write(CALLS, "Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name", calls)
        tail = "Lvl,NumChild,RangeId,ParentId,RangeStack"
        pushed = [
            [r.start, r.end, r.end - r.start, 0, 0, r.name, r.process, r.thread, r.level, 0, n, none, None, r.name]
            for n, r in enumerate(self.ranges)
            if r.style == "PushPop"
        ]
        rng.shuffle(pushed)
        head = "Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild (ns),Name,PID,TID"
        self.write(PUSHED, f"{head},{tail},NameTree", pushed)
        projected = [
            [
                r.name,
                *r.projection[:2],
                r.start,
                r.end - r.start,
                r.style,
                r.process,
                r.thread,
                r.projection[2],
                r.level,
            ]
            + [0, 1000 - n, none, None]
            for n, r in enumerate(self.ranges)
            if r.projection
        ]
        # A root that nobody named.
        projected.append([none, 0, 500, 0, 500, "PushPop", 100, 100, 3, 0, 0, 1001, none, None])
        rng.shuffle(projected)
        head = "Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),Style,PID,TID,NumGPUOps"
        self.write(PROJECTED, f"{head},{tail}", projected)

    def write(self, report, head, rows):
        if report in self.reports:
            with open(self.folder / f"x_{report}.csv", "w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([head.split(","), *rows])

    def see(self):
        """Leaves of the world what the reports tell of it."""
        for r in self.ranges:
            r.pushed = PUSHED in self.reports and r.style == "PushPop"
            r.projection = r.projection if PROJECTED in self.reports else None
        self.ranges = [r for r in self.ranges if r.pushed or r.projection]
        named = defaultdict(list)
        for call in self.calls:
            named[call.correlation].append(call)
        for row, operation in enumerate(self.operations):
            operation.row, operation.calls = row, named[operation.correlation]
            call = sure(operation)
            if self.joins and call:
                for r in self.ranges:
                    if r.holds(call):
                        r.operations.append(operation)

    def mark(self):
        """Ranges of the default domain, and those that the contract names, carry labels of the program."""
        pushed = any(r.pushed and r.name[0] == ":" for r in self.ranges)
        projected = any(r.projection and r.name[0] == ":" for r in self.ranges)
        for r in self.ranges:
            told = (r.pushed and pushed) or (r.projection and projected)
            r.program = not told or r.name[0] == ":" or r.label in self.roles
