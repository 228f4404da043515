"""The numbers of an overview, computed by pandas from the Parquet files of a trace, without the shipped SQL."""

from pathlib import Path

import numpy as np
import pandas as pd


def table(trace, name, columns):
    path = Path(trace) / "tables" / f"{name}.parquet"
    # Nullable types: an Int64 column with NULLs must not become floats on the way to a comparison.
    return pd.read_parquet(path, dtype_backend="numpy_nullable") if path.exists() else pd.DataFrame(columns=columns)


def union(starts, ends, low, high):
    """Length of the union within [low, high], by merging intervals in order of their start."""
    covered, reached = 0, low
    for start, end in sorted(zip(starts, ends)):
        start, end = max(start, reached), min(end, high)
        if end > start:
            covered += end - start
            reached = end
    return covered


def python(value):
    """A cell as Python has it."""
    return None if value is pd.NA or value is None or value is pd.NaT else getattr(value, "item", lambda: value)()


def records(frame):
    return [{str(k): python(v) for k, v in row.items()} for row in frame.astype(object).to_dict("records")]


def slowest(spans):
    parents = spans.set_index("span_id")["parent_id"]

    def lineage(span):
        while span is not pd.NA:
            yield span
            span = parents[span]

    region = spans[spans["measured"]].iloc[0]
    low, high = int(region["start_ns"]), int(region["start_ns"] + region["duration_ns"])
    above = set(lineage(region["span_id"]))
    rows = []
    for span in spans.itertuples():
        start, end = int(span.start_ns), int(span.start_ns + span.duration_ns)
        if region["span_id"] in lineage(span.span_id):
            scope = "measured_subtree"
        elif span.span_id not in above and start < high and end > low:
            scope = "concurrent_overlap"
        else:
            continue
        children = spans[spans["parent_id"].eq(span.span_id).fillna(False)]
        starts = children["start_ns"].astype(np.int64)
        ends = starts + children["duration_ns"].astype(np.int64)
        a, b = max(start, low), min(end, high)
        rows.append(
            {
                "id": f"s{span.span_id}",
                "name": span.name,
                "kind": span.kind,
                "scope": scope,
                "cpu_ns": python(span.cpu_ns),
                "start_ns": start,
                "full_duration_ns": end - start,
                "host_self_time_ns": int(end - start - union(starts, ends, start, end)),
                "measured_overlap_duration_ns": max(b - a, 0),
                "measured_overlap_self_time_ns": int(max(b - a, 0) - union(starts, ends, a, b)),
                "span_id": span.span_id,
            }
        )
    rows.sort(key=lambda r: (-r["measured_overlap_self_time_ns"], r["start_ns"], r["span_id"]))
    return [{k: v for k, v in r.items() if k != "span_id"} for r in rows]


def memory_totals(memory):
    rows = []
    for device, events in memory.sort_values(["timestamp_ns", "seq"]).groupby("device"):
        live = events["bytes"].where(events["action"] == "alloc", -events["bytes"]).cumsum()
        actions = events["action"].value_counts()
        rows.append(
            {
                "device": device,
                "storage_allocation_count": int(actions.get("alloc", 0)),
                "matched_storage_free_count": int(actions.get("free", 0)),
                "unobserved_end_count": int(actions.get("end_unobserved", 0)),
                "total_allocated_bytes": int(events.loc[events["action"] == "alloc", "bytes"].sum()),
                "peak_live_bytes": int(live.max()),
                "peak_timestamp_ns": int(events.loc[live.idxmax(), "timestamp_ns"]),
                "retained_bytes": int(live.iloc[-1]),
            }
        )
    return rows


def numbers(trace):
    """Everything countable in the overview of one trace."""
    spans = table(trace, "spans", [])
    ops = table(trace, "ops", ["name", "duration_ns", "cpu_ns"])
    tensors = table(trace, "tensors", ["category"])
    stats = table(trace, "tensor_stats", ["non_finite"])
    gradients = table(trace, "gradients", ["state", "norm"])
    memory = table(trace, "memory", ["timestamp_ns", "seq", "device", "action", "bytes", "category"])
    samples = table(trace, "device_memory", ["device", "used_bytes", "reserved_bytes", "capacity_bytes"])
    edges = table(trace, "edges", ["kind"])
    by_name = ops.groupby("name", as_index=False).agg(
        calls=("duration_ns", "size"), total_ns=("duration_ns", "sum"), cpu_ns=("cpu_ns", lambda c: c.sum(min_count=1))
    )
    by_name["share"] = by_name["total_ns"] / int(ops["duration_ns"].sum())
    by_name = by_name.sort_values(["total_ns", "name"], ascending=[False, True])
    states = gradients.groupby("state", as_index=False).agg(
        gradients=("state", "size"), min_norm=("norm", "min"), max_norm=("norm", "max")
    )
    physical = samples.groupby("device", as_index=False).agg(
        samples=("device", "size"),
        min_used_bytes=("used_bytes", "min"),
        max_used_bytes=("used_bytes", "max"),
        max_reserved_bytes=("reserved_bytes", "max"),
        capacity_bytes=("capacity_bytes", "max"),
    )
    activations = (tensors["category"] == "activation").sum()
    activations += ((memory["category"] == "activation") & (memory["action"] == "alloc")).sum()
    return {
        "counts": {
            "spans": len(spans),
            "closed_spans": int(spans["duration_ns"].notna().sum()),
            "root_spans": int(spans["parent_id"].isna().sum()),
            "measured_spans": int(spans["measured"].sum()),
            "forward_spans": int(spans["step"].eq("forward").sum()),
            "backward_spans": int(spans["step"].eq("backward").sum()),
            "optimizer_spans": int(spans["step"].eq("optimizer").sum()),
            "operations": len(ops),
            "tensors": len(tensors),
            "tensor_stats": len(stats),
            "gradients": len(gradients),
            "memory_events": len(memory),
            "device_memory_samples": len(samples),
            "device_intervals": len(table(trace, "device_intervals", [])),
            "call_edges": int((edges["kind"] == "call").sum()),
            "data_edges": int((edges["kind"] == "data").sum()),
            "tensor_stat_events": len(stats),
            "tensor_stat_non_finite_events": int((stats["non_finite"] > 0).sum()),
        },
        "activations": int(activations),
        "outer_wall_time_ns": int(spans.loc[spans["measured"], "duration_ns"].iloc[0]),
        "slowest_host_spans": slowest(spans),
        "by_name": records(by_name),
        "states": records(states),
        "by_device": memory_totals(memory),
        "physical_by_device": records(physical),
    }
