"""Pages: together they are the whole, filters come before pages, and a page says whether it is the whole match."""

import pytest
from harness import COLLECTIONS, PAGED
from random_traces import meta, span_lines, terminal, write_lines

LIMITS = [1, 7, 50, 1000]


def label(row):
    """What a filter looks at."""
    if "root" in row and "key" in row:
        return f"{row['root']}/{row['key']}"
    return row["label"] if "label" in row else row["name"]


def query(kind, trace, *flags):
    return ("query", trace, "--kind", kind, *flags)


@pytest.fixture(scope="module")
def whole(cli, digits):
    """Every row of every collection."""
    kinds = [*COLLECTIONS, *PAGED]
    answers = cli.batch(query(kind, digits, "--all") for kind in kinds)
    return {kind: answer.json["result"] for kind, answer in zip(kinds, answers)}


def assert_page(page, rows, total, limit, offset):
    """A page of `rows`, the whole match among `total`."""
    assert page["rows"] == rows[offset : offset + limit]
    assert page["total"] == total and page["matched"] == len(rows)
    assert page["displayed"] == len(page["rows"]) and page["offset"] == offset
    more = offset < len(rows) and offset + limit < len(rows)
    assert page["next_offset"] == (offset + limit if more else None)
    assert page["truncated"] is (len(page["rows"]) < len(rows))


def test_all_is_whole(whole):
    for kind, result in whole.items():
        if result["status"] == "unavailable":
            # No device intervals were recorded.
            assert kind in ("device-busy", "device-idle") and result["total"] is None and result["reason"]
            continue
        assert result["rows"] or kind in PAGED, f"digits has no {kind}"
        assert result["total"] == result["matched"] == result["displayed"] == len(result["rows"])
        assert (result["offset"], result["next_offset"], result["truncated"]) == (0, None, False)


@pytest.mark.parametrize("kind", [*COLLECTIONS, *PAGED])
def test_pages_of_every_size(cli, digits, whole, kind):
    rows = whole[kind]["rows"]
    if not rows:
        assert not cli(*query(kind, digits, "--limit", 1)).json["result"]["rows"]
        return
    places = {(limit, 0) for limit in LIMITS} | {(7, offset) for offset in range(0, len(rows), 7)}
    places |= {(1, len(rows) - 1), (1, len(rows)), (50, len(rows) + 3)}
    calls = {(n, at): query(kind, digits, "--limit", n, "--offset", at) for n, at in sorted(places)}
    pages = {place: answer.json["result"] for place, answer in zip(calls, cli.batch(calls.values()))}
    for (limit, offset), page in pages.items():
        assert_page(page, rows, len(rows), limit, offset)
    # Following next_offset visits every row once.
    found, offset = [], 0
    while offset is not None:
        found += pages[7, offset]["rows"]
        offset = pages[7, offset]["next_offset"]
    assert found == rows


def test_limit_is_50_unless_given(cli, digits, whole):
    assert_page(cli(*query("labels", digits)).json["result"], whole["labels"]["rows"], whole["labels"]["total"], 50, 0)


@pytest.mark.parametrize("kind", COLLECTIONS)
def test_filters_come_before_pages(cli, digits, whole, kind):
    rows = whole[kind]["rows"]
    labels = [label(r) for r in rows if label(r) is not None]
    # The prefix that most rows share without all of them doing so, where there is one.
    prefixes = {text[:length] for text in labels for length in range(1, len(text))}
    sizes = {p: sum(text.startswith(p) for text in labels) for p in prefixes}
    prefix = max((p for p in sizes if sizes[p] < len(rows)), key=lambda p: (sizes[p], p))
    one = labels[len(labels) // 2]
    calls = [
        query(kind, digits, "--all", "--label-prefix", prefix),
        query(kind, digits, "--limit", 2, "--offset", 1, "--label-prefix", prefix),
        query(kind, digits, "--limit", 1000, "--label", one),
        query(kind, digits, "--label", "no such label"),
    ]
    every, page, exact, none = (a.json["result"] for a in cli.batch(calls))
    matching = [r for r in rows if (label(r) or "").startswith(prefix)]
    assert_page(every, matching, len(rows), len(rows), 0)
    assert_page(page, matching, len(rows), 2, 1)
    assert_page(exact, [r for r in rows if label(r) == one], len(rows), 1000, 0)
    assert_page(none, [], len(rows), 50, 0)


def test_edges_come_with_all_spans_only(cli, digits, whole):
    spans = whole["spans"]
    assert spans["edges_reason"] is None
    assert [(e["from_span"], e["to_span"]) for e in spans["edges"]] == [
        (r["parent_id"], r["id"]) for r in spans["rows"] if r["parent_id"]
    ]
    page = cli(*query("spans", digits, "--limit", 7, "--offset", 0)).json["result"]
    assert page["edges"] is None and "--all" in page["edges_reason"]


def test_more_than_one_full_page(cli, tmp_path):
    tensor = {"kind": "tensor", "span_id": "s1", "shape": [], "dtype": "f32", "device": "cpu", "category": "other"}
    start, end = span_lines("s1", None, "root", 0, 10, measured=True)
    tensors = [{**tensor, "tensor_id": f"t{i}", "label": f"l{i % 3}"} for i in range(2345)]
    trace = write_lines(tmp_path / "many.jsonl", [meta(), start, *tensors, end, terminal(10)])
    answers = cli.batch(
        [
            query("tensors", trace, "--all"),
            query("tensors", trace, "--limit", 1000),
            query("tensors", trace, "--limit", 1000, "--offset", 1000),
            query("tensors", trace, "--limit", 1000, "--offset", 2000),
            query("tensors", trace, "--limit", 50, "--offset", 950, "--label", "l1"),
        ]
    )
    every, first, second, third, middle = (a.json["result"] for a in answers)
    rows = every["rows"]
    assert [r["tensor_id"] for r in rows] == [t["tensor_id"] for t in tensors]
    for number, page in enumerate([first, second, third]):
        assert_page(page, rows, len(rows), 1000, 1000 * number)
    assert first["rows"] + second["rows"] + third["rows"] == rows
    # A page past the end holds nothing and is not the whole.
    assert_page(middle, [r for r in rows if r["label"] == "l1"], len(rows), 50, 950)
    assert middle["rows"] == [] and middle["truncated"] is True


@pytest.mark.parametrize(
    "flags",
    [
        ("--limit", "0"),
        ("--limit", "1001"),
        ("--limit", "-1"),
        ("--offset", "-1"),
        ("--all", "--limit", "5"),
        ("--all", "--offset", "5"),
        ("--label", "a", "--label-prefix", "b"),
    ],
)
def test_bad_pages_are_bad_usage(cli, digits, flags):
    answer = cli(*query("labels", digits, *flags))
    assert answer.code == 2 and answer.out == b"" and answer.err


@pytest.mark.parametrize("flags", [("--limit", "5"), ("--offset", "1"), ("--all",), ("--label", "a")])
@pytest.mark.parametrize("kind", ["slowest-host", "slowest-device", "activations", "heaviest", "capabilities"])
def test_rankings_refuse_pages_and_filters(cli, digits, kind, flags):
    answer = cli(*query(kind, digits, *flags))
    assert answer.code == 2 and answer.out == b"" and flags[0] in answer.err.decode()
