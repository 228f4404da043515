"""The numbers of an overview, computed by polars from the Parquet files of a trace, without the shipped SQL."""

from pathlib import Path

import polars as pl

EMPTY = {
    "spans": {"span_id": pl.Int64, "parent_id": pl.Int64, "name": pl.String, "step": pl.String, "measured": pl.Boolean,
              "start_ns": pl.Int64, "duration_ns": pl.Int64},
    "ops": {"name": pl.String, "duration_ns": pl.Int64, "cpu_ns": pl.Int64},
    "tensors": {"category": pl.String},
    "tensor_stats": {"non_finite": pl.Int64},
    "gradients": {"state": pl.String, "norm": pl.Float64},
    "memory": {"timestamp_ns": pl.Int64, "seq": pl.Int64, "action": pl.String, "device": pl.String, "bytes": pl.Int64},
    "device_memory": {"device": pl.String, "used_bytes": pl.Int64, "reserved_bytes": pl.Int64,
                      "capacity_bytes": pl.Int64},
    "device_intervals": {},
    "edges": {"kind": pl.String},
}  # fmt: skip


def table(trace, name):
    path = Path(trace) / "tables" / f"{name}.parquet"
    return pl.read_parquet(path) if path.exists() else pl.DataFrame(schema=EMPTY[name])


def covered(intervals):
    """Length of the union per parent: a sweep that counts how many intervals are open."""
    open_, close = pl.col("start"), pl.col("end")
    points = pl.concat(
        [
            intervals.select("parent", at=open_, change=pl.lit(1)),
            intervals.select("parent", at=close, change=pl.lit(-1)),
        ]
    ).sort("parent", "at")
    swept = points.with_columns(
        open=pl.col("change").cum_sum().over("parent"), until=pl.col("at").shift(-1).over("parent")
    )
    return swept.filter(pl.col("open") > 0).group_by("parent").agg(covered=(pl.col("until") - pl.col("at")).sum())


def slowest(spans):
    """Spans of the measured scope by self time in the region."""
    region = spans.filter("measured").row(0, named=True)
    low, high = region["start_ns"], region["start_ns"] + region["duration_ns"]
    spans = spans.with_columns(end_ns=pl.col("start_ns") + pl.col("duration_ns"))

    subtree, size = pl.Series("span_id", [region["span_id"]]), 0
    while len(subtree) != size:
        size = len(subtree)
        grown = spans.filter(pl.col("parent_id").is_in(subtree.implode()) | pl.col("span_id").is_in(subtree.implode()))
        subtree = grown["span_id"]
    parents = dict(spans.select("span_id", "parent_id").iter_rows())
    ancestors, above = [], parents[region["span_id"]]
    while above is not None:
        ancestors.append(above)
        above = parents[above]

    child = spans.filter(pl.col("parent_id").is_not_null()).select("start_ns", "end_ns", parent="parent_id")
    whole = covered(child.select("parent", start="start_ns", end="end_ns"))
    clipped = covered(
        child.select("parent", start=pl.col("start_ns").clip(low, high), end=pl.col("end_ns").clip(low, high))
    )
    overlap = (pl.col("start_ns") < high) & (pl.col("end_ns") > low)
    scope = (
        pl.when(pl.col("span_id").is_in(subtree.implode()))
        .then(pl.lit("measured_subtree"))
        .when(~pl.col("span_id").is_in(ancestors) & overlap)
        .then(pl.lit("concurrent_overlap"))
    )
    within = pl.col("end_ns").clip(low, high) - pl.col("start_ns").clip(low, high)
    return (
        spans.join(whole, left_on="span_id", right_on="parent", how="left")
        .join(clipped.rename({"covered": "clipped"}), left_on="span_id", right_on="parent", how="left")
        .with_columns(scope=scope)
        .filter(pl.col("scope").is_not_null())
        .select(
            "span_id",
            "name",
            "kind",
            "scope",
            "cpu_ns",
            "start_ns",
            full_duration_ns="duration_ns",
            host_self_time_ns=pl.col("duration_ns") - pl.col("covered").fill_null(0),
            measured_overlap_duration_ns=within,
            measured_overlap_self_time_ns=within - pl.col("clipped").fill_null(0),
        )
        .sort("measured_overlap_self_time_ns", "start_ns", "span_id", descending=[True, False, False])
        .with_columns(id=pl.format("s{}", "span_id"))
        .drop("span_id")
    )


def memory_totals(memory):
    signed = pl.when(pl.col("action") == "alloc").then("bytes").otherwise(-pl.col("bytes"))
    moved = memory.sort("timestamp_ns", "seq").with_columns(live=signed.cum_sum().over("device"))
    allocated = pl.col("action") == "alloc"
    return (
        moved.group_by("device")
        .agg(
            storage_allocation_count=allocated.sum().cast(pl.Int64),
            matched_storage_free_count=(pl.col("action") == "free").sum().cast(pl.Int64),
            unobserved_end_count=(pl.col("action") == "end_unobserved").sum().cast(pl.Int64),
            total_allocated_bytes=pl.col("bytes").filter(allocated).sum(),
            peak_live_bytes=pl.col("live").max(),
            peak_timestamp_ns=pl.col("timestamp_ns").sort_by("live", descending=True, maintain_order=True).first(),
            retained_bytes=pl.col("live").last(),
        )
        .sort("device")
    )


def numbers(trace):
    """Everything countable in the overview of one trace."""
    spans, ops, memory = table(trace, "spans"), table(trace, "ops"), table(trace, "memory")
    stats, gradients, tensors = table(trace, "tensor_stats"), table(trace, "gradients"), table(trace, "tensors")
    samples, edges = table(trace, "device_memory"), table(trace, "edges")
    steps = {step: spans.filter(pl.col("step") == step).height for step in ("forward", "backward", "optimizer")}
    ranked = slowest(spans)
    by_name = (
        ops.group_by("name")
        .agg(
            calls=pl.len().cast(pl.Int64),
            total_ns=pl.col("duration_ns").sum(),
            cpu_ns=pl.when(pl.col("cpu_ns").count() > 0).then(pl.col("cpu_ns").sum()),
        )
        .with_columns(share=pl.col("total_ns") / pl.col("total_ns").sum())
        .sort("total_ns", "name", descending=[True, False])
    )
    states = (
        gradients.group_by("state")
        .agg(
            gradients=pl.len().cast(pl.Int64),
            min_norm=pl.col("norm").min(),
            max_norm=pl.col("norm").max(),
        )
        .sort("state")
    )
    physical = (
        samples.group_by("device")
        .agg(
            samples=pl.len().cast(pl.Int64),
            min_used_bytes=pl.col("used_bytes").min(),
            max_used_bytes=pl.col("used_bytes").max(),
            max_reserved_bytes=pl.col("reserved_bytes").max(),
            capacity_bytes=pl.col("capacity_bytes").max(),
        )
        .sort("device")
    )
    return {
        "counts": {
            "spans": spans.height,
            "closed_spans": spans["duration_ns"].drop_nulls().len(),
            "root_spans": spans["parent_id"].null_count(),
            "measured_spans": spans["measured"].sum(),
            "forward_spans": steps["forward"],
            "backward_spans": steps["backward"],
            "optimizer_spans": steps["optimizer"],
            "operations": ops.height,
            "tensors": tensors.height,
            "tensor_stats": stats.height,
            "gradients": gradients.height,
            "memory_events": memory.height,
            "device_memory_samples": samples.height,
            "device_intervals": table(trace, "device_intervals").height,
            "call_edges": edges.filter(pl.col("kind") == "call").height,
            "data_edges": edges.filter(pl.col("kind") == "data").height,
            "tensor_stat_events": stats.height,
            "tensor_stat_non_finite_events": stats.filter(pl.col("non_finite") > 0).height,
        },
        "activations": tensors.filter(pl.col("category") == "activation").height
        + memory.filter((pl.col("category") == "activation") & (pl.col("action") == "alloc")).height,
        "outer_wall_time_ns": spans.filter("measured")["duration_ns"].item(),
        "slowest_host_spans": ranked.to_dicts(),
        "by_name": by_name.to_dicts(),
        "states": states.to_dicts(),
        "by_device": memory_totals(memory).to_dicts(),
        "physical_by_device": physical.to_dicts(),
    }
