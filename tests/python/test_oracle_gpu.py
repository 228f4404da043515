"""Whose the GPU's work is, worked out from captures of made-up worlds.

The answers are found by looking at every pair of a call and a range, and at every nanosecond of a GPU.
"""

from collections import defaultdict

import pytest
from harness import assert_rows, bound, query_files
from nsight_captures import CALLS, CAPTURES, PROJECTED, PUSHED, TIMELINE, Capture, sure

QUERIES = query_files()
# What each capture is asked: all, or what it adds to.
HOW_IT_IS_KNOWN = ["gpu_phases", "gpu_correlation", "gpu_idle_labels"]


@pytest.fixture(scope="module")
def captures(cli, tmp_path_factory):
    """Every capture; all questions are asked of them, many at a time."""
    folder = tmp_path_factory.mktemp("captures")
    made = [Capture(folder, number) for number in range(len(CAPTURES))]
    cli.batch(ask(capture, QUERIES[query]) for query in ANSWERS for capture in asked(made, query))
    cli.batch(ask(capture, text) for capture in made if capture.joins for text in [RANGES, OPERATIONS])
    return made


def asked(captures, query):
    """The captures that it is asked of. Planning takes longer than the few rows, so what no report changes is left out."""
    whole = {TIMELINE, CALLS, PUSHED}
    return [c for c in captures if c.reports >= whole or query in HOW_IT_IS_KNOWN]


def ask(capture, text):
    return ("sql", capture.path, "--nsight-dir", capture.folder, bound(text), "--format", "json")


# The answers, from the capture.


def last(value):
    """For sorting: from the largest to the smallest, and nothing at the end."""
    return (value is None, -(value or 0))


def share(part, whole):
    return part / whole if whole else None


def total(operations):
    return sum(o.duration for o in operations)


def inside(ranges):
    """Operations whose call is in any of the ranges, each once."""
    return list({o.row: o for r in ranges for o in r.operations}.values())


def calls_of(operations):
    return {id(c): c for o in operations if (c := sure(o))}.values()


def running(operations):
    """The nanoseconds of each device in which at least one of the operations ran."""
    return {(o.device, at) for o in operations for at in range(o.start, o.end)}


def by_label(capture):
    found = defaultdict(list)
    for r in capture.ranges:
        if r.program:
            found[r.label].append(r)
    return found


def attribution(capture, ranges):
    """How a label's work is attributed, and what the reason for less must name."""
    if not capture.joins:
        return "projected_only", [report for report in (TIMELINE, CALLS) if report not in capture.reports]
    if PROJECTED not in capture.reports:
        return "correlated", ["nvtx_gpu_proj_trace"]
    for r in ranges:
        operations = inside([r])
        if (r.projection[2] if r.projection else 0) not in (len(calls_of(operations)), len(operations)):
            counted = sum(x.projection[2] for x in ranges if x.projection)
            joined = sum(len(calls_of(inside([x]))) for x in ranges)
            return "projected_only", [f"counts {counted} calls", f"{joined} were joined"]
    return "exact", None


def phases(capture):
    rows = []
    for label, ranges in by_label(capture).items():
        found = inside(ranges)
        projected = [r.projection for r in ranges if r.projection]
        how, _ = attribution(capture, ranges)
        working = [r for r in ranges if r.projection or inside([r])]
        if not working:
            continue
        row = {
            "label": label,
            "role": capture.roles.get(label, "none"),
            "attribution": how,
            "ranges": len(working),
            "projected_start_ns": min((p[0] for p in projected), default=None),
            "projected_duration_ns": sum(p[1] for p in projected) if projected else None,
            "projected_operations": sum(p[2] for p in projected) if projected else None,
        }
        kernels = [o for o in found if o.kind == "kernel"]
        graphs = [o for o in found if o.kind == "graph"]
        copies = [o for o in found if o.kind == "memcpy"]
        busy = len(running(found))
        joined = {
            "gpu_busy_ns": busy,
            "gpu_operations": len(found),
            "gpu_calls": len(calls_of(found)),
            "kernels": len(kernels),
            "kernel_ns": total(kernels),
            "graphs": len(graphs),
            "copies": len(copies),
            "copy_ns": total(copies),
            "exposed_copy_ns": len(running(copies) - running(kernels + graphs)),
            "launch_ns": sum(c.duration for c in calls_of(found)),
            "busy_share": share(busy, row["projected_duration_ns"]),
        }
        # Where nothing was joined, and rightly so, nothing is known of what would be.
        rows.append(row | (joined if how != "projected_only" and found else dict.fromkeys(joined)))
    return sorted(rows, key=lambda r: (last(r["gpu_busy_ns"]), last(r["projected_duration_ns"]), r["label"]))


def correlation(capture):
    if not capture.joins and PROJECTED not in capture.reports:
        return []
    seen = dict.fromkeys((label for label, role in capture.roles.items() if role != "none"), 0)
    for label, ranges in by_label(capture).items():
        if PROJECTED in capture.reports:
            working = [r for r in ranges if r.projection]
        else:
            working = [r for r in ranges if inside([r])]
        if working:
            seen[label] = len(working)
    states = {
        "gpu_expected": ("missing_expected", "matched"),
        "cpu_only": ("cpu_only", "unexpected_cpu_only"),
        "span": (None, "span"),
        "none": (None, "unexpected_observed"),
    }
    rows = []
    for label, ranges in sorted(seen.items()):
        role = capture.roles.get(label, "none")
        what = "span" if role == "none" and label in capture.spans else role
        row = {"label": label, "role": role, "ranges": ranges, "duplicate": ranges > 1 and what != "span"}
        rows.append(row | {"status": states[what][ranges > 0]})
    return rows


def phase_kernels(capture):
    rows = []
    for label, ranges in by_label(capture).items():
        kernels = [o for o in inside(ranges) if o.kind == "kernel"]
        for name in {o.name for o in kernels}:
            found = [o for o in kernels if o.name == name]
            rows.append(
                {
                    "label": label,
                    "name": name,
                    "kernels": len(found),
                    "total_ns": total(found),
                    "longest_ns": max(o.duration for o in found),
                    "share": share(total(found), total(kernels)),
                }
            )
    return sorted(rows, key=lambda r: (r["label"], -r["total_ns"], r["name"]))


def phase_copies(capture):
    rows = []
    for label, ranges in by_label(capture).items():
        moved = [o for o in inside(ranges) if o.kind in ("memcpy", "memset")]
        for kind, direction in {(o.kind, o.direction) for o in moved}:
            found = [o for o in moved if (o.kind, o.direction) == (kind, direction)]
            rows.append(
                {
                    "label": label,
                    "kind": kind,
                    "direction": direction,
                    "operations": len(found),
                    "bytes": sum(o.bytes for o in found),
                    "bytes_step": 1,
                    "total_ns": total(found),
                }
            )
    return sorted(rows, key=lambda r: (r["label"], -r["total_ns"], r["kind"], r["direction"] or "\U0010ffff"))


def causes(capture):
    """Why each operation is in no label of the program, or that it is in one."""
    attributed = {id(o) for o in inside([r for r in capture.ranges if r.program])}
    named = {0: "without_call", 1: "outside"}
    return [
        (o, "attributed" if id(o) in attributed else named.get(len(o.calls), "ambiguous")) for o in capture.operations
    ]


def totals(capture):
    if not capture.joins:
        return []
    row = {"operations": len(capture.operations), "gpu_time_ns": total(capture.operations)}
    for cause in ["attributed", "outside", "ambiguous", "without_call"]:
        found = [o for o, why in causes(capture) if why == cause]
        row |= {f"{cause}_operations": len(found), f"{cause}_ns": total(found)}
    return [row | {"outside_share": share(row["outside_ns"], row["gpu_time_ns"])}]


def gaps(capture):
    if not capture.joins:
        return []
    groups = defaultdict(list)
    for operation, cause in causes(capture):
        if cause != "attributed":
            groups[cause, operation.kind, operation.name].append(operation)
    rows = [
        {
            "cause": cause,
            "kind": kind,
            "name": name,
            "operations": len(found),
            "total_ns": total(found),
            "share_of_gpu_time": share(total(found), total(capture.operations)),
        }
        for (cause, kind, name), found in groups.items()
    ]
    return sorted(rows, key=lambda r: (-r["total_ns"], -r["operations"], r["cause"], r["kind"], r["name"]))


def idle_labels(capture):
    if PROJECTED not in capture.reports and not capture.joins:
        return []
    rows = []
    labels = by_label(capture)
    for label in sorted(label for label, role in capture.roles.items() if role == "gpu_expected"):
        ranges = labels.get(label, [])
        found = inside(ranges)
        known = capture.joins and (not ranges or attribution(capture, ranges)[0] != "projected_only")
        projected = sum(r.projection is not None for r in ranges) if PROJECTED in capture.reports else None
        idle = known and not any(o.kind in ("kernel", "graph") for o in found)
        if projected == 0 or idle:
            reason = "no_range" if not ranges else "no_kernel" if known and found else "no_operation"
            rows.append(
                {
                    "label": label,
                    "ranges": len(ranges),
                    "projected_ranges": projected,
                    "gpu_operations": len(found) if known else None,
                    "reason": reason,
                }
            )
    return rows


def launches(capture):
    if not capture.reports >= {TIMELINE, CALLS}:
        return []
    groups = defaultdict(lambda: defaultdict(list))
    for operation in capture.operations:
        if call := sure(operation):
            groups[call.function][id(call)].append(operation)
    rows = []
    for function, calls in groups.items():
        operations = [o for found in calls.values() for o in found]
        rows.append(
            {
                "function": function,
                "calls": len(calls),
                "operations": len(operations),
                "most_operations": max(map(len, calls.values())),
                "graph_rows": sum(o.kind == "graph" for o in operations),
                "graph_calls": len(calls) if "GraphLaunch" in function else 0,
                "gpu_time_ns": total(operations),
                "host_ns": sum(c.duration for c in calls_of(operations)),
            }
        )
    return sorted(rows, key=lambda r: (-r["host_ns"], -r["calls"], r["function"]))


ANSWERS = {
    "gpu_phases": phases,
    "gpu_correlation": correlation,
    "gpu_phase_kernels": phase_kernels,
    "gpu_phase_copies": phase_copies,
    "gpu_attribution_totals": totals,
    "gpu_attribution_gaps": gaps,
    "gpu_idle_labels": idle_labels,
    "gpu_launches": launches,
}


@pytest.mark.parametrize("query", ANSWERS)
def test_every_answer_is_that_of_the_world(cli, captures, query):
    answers = 0
    for capture in asked(captures, query):
        found = cli(*ask(capture, QUERIES[query])).json["rows"]
        if query == "gpu_phases":
            check_reasons(capture, found)
        assert_rows(found, ANSWERS[query](capture), f"{query} of {capture.path}")
        answers += len(found) > 0
    assert answers > 1, "captures in which there is something to tell"


def check_reasons(capture, rows):
    """Takes the reasons out of the rows: each says what is missing, or both counts."""
    labels = by_label(capture)
    for row in rows:
        reason, wanted = row.pop("attribution_reason"), attribution(capture, labels[row["label"]])[1]
        assert (reason is None) == (wanted is None), row
        assert all(part in reason for part in wanted or []), (reason, wanted)


RANGES = """SELECT label, name, is_program, style, process_id, thread_id, level, start_ns, end_ns, projected_start_ns,
  projected_duration_ns, gpu_operations FROM nvtx_ranges"""
OPERATIONS = """SELECT r.name AS "range", r.process_id, r.thread_id, r.level, r.start_ns AS range_start_ns,
  r.end_ns AS range_end_ns, o.label, o.operation_row, o.correlation_id, o.start_ns, o.end_ns, o.kind, o.direction, o.name,
  o.device, o.bytes FROM range_operations AS o JOIN nvtx_ranges AS r ON o.range_number = r.range_number"""


def in_order(rows):
    return sorted(rows, key=lambda row: [(row[name] is not None, row[name]) for name in sorted(row)])


def test_ranges_of_both_reports_are_one(cli, captures):
    for capture in (c for c in captures if c.joins):
        expected = []
        for r in capture.ranges:
            start, duration, counted = r.projection or (None, None, None)
            row = {"label": r.label, "name": r.name, "is_program": r.program, "style": r.style}
            row |= {"process_id": r.process, "thread_id": r.thread, "level": r.level, "start_ns": r.start}
            row |= {"end_ns": r.end, "projected_start_ns": start, "projected_duration_ns": duration}
            expected.append(row | {"gpu_operations": counted})
        assert_rows(in_order(cli(*ask(capture, RANGES)).json["rows"]), in_order(expected), f"{capture.path}")


def test_operations_are_in_the_ranges_of_their_calls(cli, captures):
    for capture in (c for c in captures if c.joins):
        expected = []
        for r in capture.ranges:
            where = {"range": r.name, "process_id": r.process, "thread_id": r.thread, "level": r.level}
            where |= {"range_start_ns": r.start, "range_end_ns": r.end, "label": r.label}
            for o in r.operations:
                row = where | {"operation_row": o.row, "correlation_id": o.correlation, "start_ns": o.start}
                row |= {"end_ns": o.end, "kind": o.kind, "direction": o.direction, "name": o.name}
                expected.append(row | {"device": o.device, "bytes": o.bytes})
        assert_rows(in_order(cli(*ask(capture, OPERATIONS)).json["rows"]), in_order(expected), f"{capture.path}")


def test_work_at_the_same_time_is_not_work_of_the_range(cli, captures):
    """The decoys run within projected times, and no range holds their calls."""
    capture = captures[0]
    decoys = [o for o in capture.operations if o.name == "decoy"]
    during = [r for r in capture.ranges if r.projection and r.projection[0] <= decoys[0].start]
    assert any(o.end <= sum(r.projection[:2]) for o in decoys for r in during)
    kernels = cli(*ask(capture, QUERIES["gpu_phase_kernels"])).json["rows"]
    assert "decoy" not in {row["name"] for row in kernels}
    outside = cli(*ask(capture, QUERIES["gpu_attribution_gaps"])).json["rows"]
    assert [(row["cause"], row["operations"]) for row in outside if row["name"] == "decoy"] == [
        ("outside", len(decoys))
    ]
