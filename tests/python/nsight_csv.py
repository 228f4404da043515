"""Nsight reports for tests: real files read with pandas and nothing of the importer, made-up ones written.

`COLUMNS` says which column of a table stands under which headers, and what its cells are:
time, mean, size, step, rate, percent, count, id, text, label, dimension 0-2, kind, direction.
"""

import csv
import io
import re
from decimal import Decimal

import pandas as pd

SUMMARY = {
    "time_percent": ("percent", "Time"),
    "total_ns": ("time", "Total Time"),
    "mean_ns": ("mean", "Avg", "Average"),
    "median_ns": ("mean", "Med", "Median"),
    "min_ns": ("time", "Min", "Minimum"),
    "max_ns": ("time", "Max", "Maximum"),
    "stddev_ns": ("mean", "StdDev"),
}
LAUNCH = {f"{word}_{axis}": ("count", f"{short}{axis.upper()}")
          for word, short in [("grid", "Grd"), ("block", "Blk")] for axis in "xyz"}  # fmt: skip
TRIPLES = {f"{word}_{axis}": (f"dimension {nth}", f"{word.title()}XYZ")
           for word in ["grid", "block"] for nth, axis in enumerate("xyz")}  # fmt: skip
RANGE = {
    "process_id": ("id", "PID"),
    "thread_id": ("id", "TID"),
    "level": ("count", "Lvl"),
    "children": ("count", "NumChild"),
    "range_id": ("id", "RangeId"),
    "parent_id": ("id", "ParentId"),
    "range_stack": ("text", "RangeStack"),
}
COLUMNS = {
    "gpu_trace": {
        "start_ns": ("time", "Start"),
        "duration_ns": ("time", "Duration"),
        "correlation_id": ("id", "CorrId"),
        **LAUNCH,
        "registers_per_thread": ("count", "Reg/Trd"),
        "static_shared_bytes": ("size", "StcSMem"),
        "dynamic_shared_bytes": ("size", "DymSMem"),
        "shared_step_bytes": ("step", "StcSMem"),
        "bytes": ("size", "Bytes"),
        "bytes_step": ("step", "Bytes"),
        "throughput_bytes_per_s": ("rate", "Throughput", "Thru"),
        "source_memory": ("text", "SrcMemKd"),
        "target_memory": ("text", "DstMemKd"),
        "device": ("text", "Device"),
        "context_id": ("id", "Ctx"),
        "green_context_id": ("id", "GreenCtx"),
        "stream_id": ("id", "Strm"),
        "name": ("text", "Name"),
        "kind": ("kind", "Name"),
        "direction": ("direction", "Name"),
    },
    "gpu_kernels": {**SUMMARY, "instances": ("count", "Instances"), **TRIPLES, "name": ("text", "Name")},
    "cuda_api": {**SUMMARY, "calls": ("count", "Num Calls"), "name": ("text", "Name")},
    "gpu_mem_time": {
        **SUMMARY,
        "operations": ("count", "Count", "Operations"),
        "operation": ("text", "Operation"),
        "kind": ("kind", "Operation"),
        "direction": ("direction", "Operation"),
    },
    "nvtx_gpu_proj": {
        "name": ("text", "Name"),
        "label": ("label", "Name"),
        "projected_start_ns": ("time", "Projected Start"),
        "projected_duration_ns": ("time", "Projected Duration"),
        "start_ns": ("time", "Orig Start"),
        "duration_ns": ("time", "Orig Duration"),
        "style": ("text", "Style"),
        "gpu_operations": ("count", "NumGPUOps"),
        **RANGE,
    },
    "cuda_api_trace": {
        "start_ns": ("time", "Start"),
        "duration_ns": ("time", "Duration"),
        "name": ("text", "Name"),
        "result": ("text", "Result"),
        "correlation_id": ("id", "CorrID"),
        "process_id": ("id", "Pid"),
        "thread_id": ("id", "Tid"),
        "priority": ("id", "T-Pri"),
        "thread_name": ("text", "Thread Name"),
    },
    "nvtx_pushpop_trace": {
        "start_ns": ("time", "Start"),
        "end_ns": ("time", "End"),
        "duration_ns": ("time", "Duration"),
        "child_ns": ("time", "DurChild"),
        "own_ns": ("time", "DurNonChild"),
        "name": ("text", "Name"),
        "label": ("label", "Name"),
        **RANGE,
        "name_tree": ("text", "NameTree"),
    },
}
# Table: what `nsys stats --report` takes now, and to 2022.
REPORTS = {
    "gpu_trace": ("cuda_gpu_trace", "gputrace"),
    "gpu_kernels": ("cuda_gpu_kern_sum", "gpukernsum"),
    "cuda_api": ("cuda_api_sum", "cudaapisum"),
    "gpu_mem_time": ("cuda_gpu_mem_time_sum", "gpumemtimesum"),
    "nvtx_gpu_proj": ("nvtx_gpu_proj_trace", "nvtxgpuproj"),
    "cuda_api_trace": ("cuda_api_trace", "cudaapitrace"),
    "nvtx_pushpop_trace": ("nvtx_pushpop_trace", "nvtxpptrace"),
}
NANOSECONDS = {"ns": 1, "nsec": 1, "us": 10**3, "usec": 10**3, "ms": 10**6, "msec": 10**6, "s": 10**9, "sec": 10**9}
BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
DIRECTIONS = {
    "HtoD": "host_to_device", "Host-to-Device": "host_to_device",
    "DtoH": "device_to_host", "Device-to-Host": "device_to_host",
    "DtoD": "device_to_device", "Device-to-Device": "device_to_device",
    "HtoH": "host_to_host", "Host-to-Host": "host_to_host",
    "PtoP": "peer_to_peer", "Peer-to-Peer": "peer_to_peer",
}  # fmt: skip


def kind_of(name):
    """What an operation of this name is, and which way it copies."""
    inside = re.fullmatch(r"\[CUDA (.*)\]", name)
    if not inside:
        return "kernel", None
    kind, _, way = inside[1].partition(" ")
    return kind, DIRECTIONS.get(way)


def value(cell, what, unit, total_unit):
    """The value of one cell, with nothing but decimal arithmetic."""
    kind, _, nth = what.partition(" ")
    if kind == "kind":
        return kind_of(cell)[0]
    if kind == "direction":
        return kind_of(cell)[1]
    if cell in ("", "None"):
        return None
    if kind == "text":
        return cell
    if kind == "label":
        return cell.removeprefix(":")
    if kind == "dimension":
        return int(cell.split()[int(nth)])
    number = Decimal(cell)
    if kind in ("count", "id"):
        assert number == int(number), cell
        return int(number)
    if kind == "percent":
        return float(number)
    if kind == "rate":
        return float(number * BYTES[unit.removesuffix("/s")])
    if kind == "mean":
        return float(number * NANOSECONDS[unit or total_unit])
    if kind == "time":
        return int((number * NANOSECONDS[unit or total_unit]).to_integral_value())
    if kind == "size":
        return int((number * BYTES[unit]).to_integral_value())
    assert kind == "step", what
    return max(1, int(Decimal(BYTES[unit]).scaleb(min(0, number.as_tuple().exponent))))


def read(path, table):
    """The columns of a table as pandas sees them in a file: every row, each cell in the unit of its header."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    heads = {}
    for at, head in enumerate(frame.columns):
        name, unit = re.fullmatch(r"(.+?) ?(?:\(([^()]+)\))?", head).groups()
        heads[name] = (at, unit)
    total = heads.get("Total Time", (None, None))[1]
    columns = {}
    for column, (what, *names) in COLUMNS[table].items():
        found = [heads[name] for name in names if name in heads]
        if found:
            at, unit = found[0]
            columns[column] = [value(cell, what, unit, total) for cell in frame.iloc[:, at]]
        else:
            columns[column] = [None] * len(frame)
    return columns


def printed(number, unit, decimals=None):
    """A number of nanoseconds or bytes in a unit: exact, or with so many digits behind the point."""
    if number is None:
        return ""
    if decimals is not None:
        return f"{Decimal(number) / unit:.{decimals}f}"
    text = f"{Decimal(number) / unit:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def write(rows, heads, **dialect):
    """CSV as Python's own writer makes it, as `nsys stats` is."""
    out = io.StringIO()
    writer = csv.writer(out, **{"lineterminator": "\n", **dialect})
    writer.writerow(heads)
    writer.writerows(rows)
    return out.getvalue()
