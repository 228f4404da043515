"""The answers worked out the slow and obvious way, in exact integers, from the facts a trace was made of.

Time is cut at every endpoint; a piece counts as covered when some child contains it. Memory is replayed event by event.
"""

from fractions import Fraction


def length(intervals, start, end):
    """How much of [start, end] the intervals cover together."""
    cuts = sorted({start, end, *(min(max(p, start), end) for interval in intervals for p in interval)})
    pieces = zip(cuts, cuts[1:])
    return sum(b - a for a, b in pieces if any(s <= a and b <= e for s, e in intervals))


def span_times(spans):
    """Every span with its times and its scope, in order of time."""
    by_id = {s["span_id"]: s for s in spans}
    region = [s for s in spans if s["measured"]]
    region = region[0] if len(region) == 1 and region[0]["duration_ns"] is not None else None

    def line(span):
        while span is not None:
            yield span["span_id"]
            span = by_id.get(span["parent_id"])

    above = set(line(region)) if region else set()
    rows = []
    for span in spans:
        start, end = span["start_ns"], span["start_ns"] + span["duration_ns"]
        children = [c for c in spans if c["parent_id"] == span["span_id"]]
        children = [(c["start_ns"], c["start_ns"] + c["duration_ns"]) for c in children]
        row = {"total_ns": end - start, "self_ns": end - start - length(children, start, end), "scope": "outside"}
        row |= {"measured_ns": None, "measured_self_ns": None}
        if region:
            low, high = region["start_ns"], region["start_ns"] + region["duration_ns"]
            if region["span_id"] in line(span):
                row["scope"] = "measured_subtree"
            elif span["span_id"] not in above and start < high and end > low:
                row["scope"] = "concurrent_overlap"
            low, high = max(low, start), min(high, end)
            row["measured_ns"] = max(high - low, 0)
            row["measured_self_ns"] = row["measured_ns"] - length(children, low, high) if high > low else 0
        rows.append({**span, **row})
    return sorted(rows, key=lambda r: (r["start_ns"], r["span_id"]))


def spans(spans):
    """Rows of query spans."""
    return [
        {
            "id": f"s{r['span_id']}",
            "parent_id": None if r["parent_id"] is None else f"s{r['parent_id']}",
            "name": r["name"],
            "kind": "root" if r["parent_id"] is None else r["kind"],
            "step": r["step"],
            "measured": r["measured"],
            "scope": r["scope"],
            "thread_id": r["thread_id"],
            "start_ns": r["start_ns"],
            "host_total_time_ns": r["total_ns"],
            "host_self_time_ns": r["self_ns"],
            "cpu_ns": r["cpu_ns"],
        }
        for r in span_times(spans)
    ]


def slowest_host(spans):
    """Rows of query slowest_host."""
    rows = [
        {
            "id": f"s{r['span_id']}",
            "name": r["name"],
            "kind": r["kind"],
            "scope": r["scope"],
            "full_duration_ns": r["total_ns"],
            "host_self_time_ns": r["self_ns"],
            "measured_overlap_duration_ns": r["measured_ns"],
            "measured_overlap_self_time_ns": r["measured_self_ns"],
            "cpu_ns": r["cpu_ns"],
            "start_ns": r["start_ns"],
        }
        for r in span_times(spans)
        if r["scope"] != "outside"
    ]
    # Rows are in order of time already, and sorting keeps that order among equals.
    return sorted(rows, key=lambda r: -r["measured_overlap_self_time_ns"])


def percentile(values, share):
    """Exact, interpolated between ranks."""
    values = sorted(values)
    rank = Fraction(share) * (len(values) - 1)
    low = int(rank)
    high = min(low + 1, len(values) - 1)
    return float(values[low] + (values[high] - values[low]) * (rank - low))


def total(values):
    """The sum, or None where no value is known."""
    known = [v for v in values if v is not None]
    return sum(known) if known else None


def grouped(rows, *columns):
    """Rows by the values of some columns."""
    groups = {}
    for row in rows:
        key = tuple(tuple(row[c]) if isinstance(row[c], list) else row[c] for c in columns)
        groups.setdefault(key, []).append(row)
    return groups


def ops(ops):
    """Rows of query ops."""
    rows = []
    for (name, shape, dtype, device), calls in grouped(ops, "op_name", "shape", "dtype", "device").items():
        times = [c["duration_ns"] for c in calls]
        rows.append(
            {
                "name": name,
                "shape": list(shape),
                "dtype": dtype,
                "device": device,
                "calls": len(calls),
                "total_ns": sum(times),
                "p50_ns": percentile(times, "0.5"),
                "p99_ns": percentile(times, "0.99"),
                "max_ns": max(times),
                "cpu_ns": total(c.get("cpu_ns") for c in calls),
                "output_dense_bytes": total(c.get("output_dense_bytes") for c in calls),
                "input_dense_bytes": sum(c["input_dense_bytes"] for c in calls),
            }
        )
    return sorted(rows, key=lambda r: (-r["total_ns"], r["name"], r["shape"], r["dtype"], r["device"]))


def memory_totals(events):
    """Rows of query memory_totals; `events` in order of recording."""
    rows = []
    for (device,), moves in sorted(grouped(events, "device").items()):
        live = peak = peak_at = None
        for event in sorted(moves, key=lambda e: e["timestamp_ns"]):
            change = event["bytes"] if event["action"] == "alloc" else -event["bytes"]
            live = (live or 0) + change
            if peak is None or live > peak:
                peak, peak_at = live, event["timestamp_ns"]
        allocated = [e["bytes"] for e in moves if e["action"] == "alloc"]
        unobserved = sum(1 for e in moves if e.get("end_unobserved"))
        rows.append(
            {
                "device": device,
                "storage_allocation_count": len(allocated),
                "matched_storage_free_count": len(moves) - len(allocated) - unobserved,
                "unobserved_end_count": unobserved,
                "total_allocated_bytes": sum(allocated),
                "peak_live_bytes": peak,
                "peak_timestamp_ns": peak_at,
                "retained_bytes": live,
            }
        )
    return rows


def labels(facts):
    """Rows of query labels."""
    kinds = [
        ("spans", [s["name"] for s in facts.spans]),
        ("tensors", [t["label"] for t in facts.tensors if "label" in t]),
        ("tensor-stats", [t["label"] for t in facts.tensor_stats]),
        ("gradients", [f"{g['root']}/{g['key']}" for g in facts.gradients]),
    ]
    return [{"kind": k, "label": n, "events": found.count(n)} for k, found in kinds for n in sorted(set(found))]


def device_memory(samples):
    """Rows of query device_memory."""
    rows = []
    for (device,), of_device in sorted(grouped(samples, "device").items()):
        known = {
            column: [s[column] for s in of_device if column in s]
            for column in ("used_bytes", "reserved_bytes", "capacity_bytes")
        }
        rows.append(
            {
                "device": device,
                "samples": len(of_device),
                "min_used_bytes": min(known["used_bytes"], default=None),
                "max_used_bytes": max(known["used_bytes"], default=None),
                "max_reserved_bytes": max(known["reserved_bytes"], default=None),
                "capacity_bytes": max(known["capacity_bytes"], default=None),
            }
        )
    return rows
