"""Ways through a page: search, zoom, order, filters, links to a place, what was cut, the picture as a file."""

import re
import xml.etree.ElementTree as ET
from urllib.parse import unquote

import pytest
import viewer
from viewer_pages import meta_of
from viewer_tables import compared, told

HOST = "canvas[data-plane=host]"


def holding(rows, word):
    """Rows of which some text holds a word."""
    return [row for row in rows if any(isinstance(v, str) and word in v.lower() for v in row.values())]


def counted(text):
    """The first number of a sentence such as "showing 3 of 8 names" or "12 found"."""
    return int(re.search(r"[\d,]+", text)[0].replace(",", ""))


@pytest.mark.parametrize(
    "name, place, query, word",
    [
        ("digits", "#view=timings&by=ops", "ops", "matmul"),
        ("digits", "#view=timings&by=spans", "spans", "fc"),
        ("digits", "#view=measurements&tab=gradients", "gradients", "weight"),
        ("digits", "#view=measurements&tab=values", "tensor_stats", "loss"),
        ("digits", "#view=memory", "lifetimes", "matmul"),
        ("golden", "#view=gpu", "gpu_hotspots", "relu"),
    ],
)
def test_a_search_finds_the_rows_that_hold_it(cli, pages, open_page, name, place, query, word):
    shown = open_page(name, place)
    rows = told(cli, pages, name, query)
    wanted = holding(rows, word)
    assert 0 < len(wanted) < len(rows)
    shown.search(word.upper())
    grid = shown.grid(query)
    assert grid["total"] == len(wanted) and grid["foot"].startswith(f"showing {len(wanted)} of {len(rows)} ")
    assert all(word in " ".join(c["title"] or c["text"] for c in row["cells"]).lower() for row in grid["rows"])
    # The search is part of the address, and goes with it.
    assert shown.route["q"] == word.upper()
    shown.page.keyboard.press("Control+A")
    shown.page.keyboard.insert_text("nothing has this name")
    assert "No row matches." in shown.settle().text()
    shown.page.keyboard.press("Control+A")
    shown.press("Delete")
    assert shown.grid(query)["total"] == len(rows) and "q" not in shown.route


def test_the_timeline_finds_marks_and_walks_through_them(cli, pages, open_page):
    shown = open_page("digits", "#view=timeline")
    spans, ops = (told(cli, pages, "digits", query) for query in ["spans", "timeline_ops"])
    wanted = sum("atmul" in row["name"] for row in [*spans, *ops])
    assert f"{len(spans) + len(ops)} marks" in shown.text(".tl-search")
    shown.search("aTMul")
    assert f"{wanted} found" in shown.text(".tl-search")
    seen = set()
    for _ in range(wanted):
        shown.press("Enter")
        seen.add(unquote(shown.route["sel"]))
    assert len(seen) == wanted and f"{wanted} of {wanted}" in shown.text(".tl-search")
    assert "matmul" in shown.details()["columns"]["name"]["text"]


@pytest.mark.parametrize("mode", ["tree", "flow"])
def test_the_graph_finds_nodes(cli, pages, open_page, mode):
    shown = open_page("digits", "#view=graph" + "&mode=flow" * (mode == "flow"))
    word, query = ("fc1", "spans") if mode == "tree" else ("matmul", "timeline_ops")
    shown.search(word.upper())
    found = shown.text(".toolbar .found")
    assert found.startswith(f"{sum(word in row['name'] for row in told(cli, pages, 'digits', query))} found")
    before = shown.text(".stage [role=status]")
    shown.press("Enter")
    assert word in shown.text(".stage [role=status]") != before
    shown.press("Escape")
    shown.search("nothing has this name")
    assert shown.text(".toolbar .found") == "none found"


def length(shown):
    """Length of the range that the address names."""
    return float(shown.route["to"]) - float(shown.route["from"])


def zoomed(shown, before=None):
    """Waits until the address names a range that is shorter, and gives its length."""
    shown.until(
        """before => {
          const route = new URLSearchParams(location.hash.slice(1))
          const length = Number(route.get('to')) - Number(route.get('from'))
          return route.has('to') && (before === null || length < before)
        }""",
        before,
    )
    return length(shown)


def test_the_timeline_zooms_by_wheel_and_keys(open_page):
    shown = open_page("digits", "#view=timeline")
    shown.page.hover(HOST)
    shown.page.mouse.wheel(0, -400)
    by_wheel = zoomed(shown)
    shown.page.focus(HOST)
    shown.press("w")
    by_key = zoomed(shown, by_wheel)
    shown.press("s", "s", "s")
    shown.until("was => Number(new URLSearchParams(location.hash.slice(1)).get('to')) > was", float(shown.route["to"]))
    assert length(shown) > by_key
    shown.press("0")
    shown.until("() => !location.hash.includes('from=')")
    # A plane of another clock has a range of its own.
    shown = open_page("golden", "#view=timeline")
    shown.page.focus("canvas[data-plane=gpu]")
    shown.press("w")
    shown.until("() => location.hash.includes('range_gpu=')")
    assert "from" not in shown.route


def test_memory_and_graph_zoom(open_page):
    shown = open_page("digits", "#view=memory")
    shown.page.focus(".timeplot")
    shown.press("+")
    before = zoomed(shown)
    shown.page.hover(".timeplot")
    shown.page.keyboard.down("Control")
    shown.page.mouse.wheel(0, -200)
    shown.page.keyboard.up("Control")
    zoomed(shown, before)
    shown.press("0")
    shown.until("() => !location.hash.includes('from=')")
    shown.go("#view=graph")
    shown.page.hover(".stage")
    shown.page.mouse.wheel(0, -200)
    shown.until("() => location.hash.includes('at=')")


def test_the_timeline_shows_the_range_of_the_address(cli, pages, open_page):
    marks = [(row["start_ns"], row["start_ns"] + row["host_total_time_ns"]) for row in told(cli, pages, "digits", "spans")]
    marks += [(row["start_ns"], row["start_ns"] + row["duration_ns"]) for row in told(cli, pages, "digits", "timeline_ops")]
    a, b = sorted(marks)[len(marks) // 2]
    seen = [mark for mark in marks if mark[0] < b and mark[1] > a]
    assert len(seen) < len(marks)
    shown = open_page("digits", f"#view=timeline&from={a}&to={b}")
    shown.until("count => document.querySelector('.tl-list .cut').innerText.startsWith(`${count} mark`)", len(seen))
    shown.go("#view=memory")
    whole = shown.page.get_attribute(".timeplot", "aria-label")
    shown.go(f"#view=memory&from={a}&to={b}")
    shown.until("whole => document.querySelector('.timeplot').getAttribute('aria-label') !== whole", whole)


PLACES = [
    "#view=timeline&sel=op:4:0&from={a}&to={b}&q=fc",
    "#view=memory&sel=storage:{storage}&from={a}&to={b}",
    "#view=timings&by=ops&sort=-calls&sel=row:ops:0",
    "#view=graph&mode=flow&sel=op:4:0",
    "#view=measurements&tab=gradients&q=fc1&sel=row:gradients:0",
]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place[1:].split("&")[0])
def test_an_address_leads_back_to_its_place(cli, pages, open_page, place):
    (region,) = [row for row in told(cli, pages, "digits", "spans") if row["measured"]]
    a = region["start_ns"] + region["host_total_time_ns"] // 4
    storage = told(cli, pages, "digits", "lifetimes")[0]["storage_id"]
    place = place.format(a=a, b=a + 100_000, storage=storage)
    shown = open_page("digits", place, fresh=True)

    def state():
        return {key: unquote(value) for key, value in shown.route.items()}, shown.view, shown.details()["title"], shown.text()

    # The address and the lists follow a picture once that is at rest.
    states = [state()]
    while len(states) < 5 or any(s != states[-1] for s in states[-4:]):
        states.append(shown.settle() and state())
    before = states[-1]
    asked = dict(part.split("=", 1) for part in place[1:].split("&"))
    assert {**before[0], **asked} == before[0] and before[1] == asked["view"]
    def comes_back():
        for _ in range(20):
            if state() == before:
                return True
            shown.settle()
        return state() == before

    shown.page.reload()
    assert shown.settle() and comes_back()
    # Another view, and back; the other view has the selection still.
    shown.press("4" if asked["view"] != "timings" else "1")
    assert shown.view != asked["view"] and unquote(shown.route["sel"]) == asked["sel"]
    shown.page.go_back()
    assert shown.settle() and comes_back()
    shown.page.go_forward()
    assert shown.settle().view != asked["view"]
    shown.press("Escape")
    assert shown.page.query_selector("aside.details") is None and "sel" not in shown.route


def test_a_heading_orders_the_rows(cli, pages, open_page):
    shown = open_page("digits", "#view=timings&by=ops")
    for heading in ["calls", "p50", "max", "total"]:
        for order in ["descending", "ascending"]:
            shown.page.click(f"main th button:has-text('{heading}')")
            grid = shown.settle().grid("ops")
            assert [c["sort"] for c in grid["columns"] if c["text"] == heading] == [order]
            compared(cli, pages, "digits", shown)
    assert shown.route["sort"] == "total_ns"
    shown.page.click("main th button:has-text('total')")
    assert "sort" not in shown.settle().route


def test_choices_filter_the_rows(cli, pages, open_page):
    rows = told(cli, pages, "numerics", "gradients")
    shown = open_page("numerics", "#view=measurements&tab=gradients")
    for state in sorted({row["state"] for row in rows}):
        shown.page.select_option("main select[aria-label=state]", state)
        wanted = [row for row in rows if row["state"] == state]
        grid = shown.settle().grid("gradients")
        assert grid["total"] == len(wanted) == len(grid["rows"]) and shown.route["state"] == state
        keys = [c["text"] for c in grid["columns"]].index("key")
        assert [row["cells"][keys]["title"] for row in grid["rows"]] == [row["key"] for row in wanted]


# Where a block is shown, and what is said of it.
CUT = {
    "host_hotspots": "#view=timings&by=name",
    "spans": "#view=timings&by=spans",
    "timeline_ops": "#view=timings&by=calls",
    "critical_path": "#view=timings&by=path",
    "lifetimes": "#view=memory",
    "flow": "#view=graph&mode=flow",
}


def test_what_was_cut_is_said(open_page, pages):
    shown = open_page("cut")
    blocks = {b["name"]: b for b in meta_of(pages("cut"))["blocks"]}
    cut = [name for name in CUT if 0 < blocks[name]["rows"] < blocks[name]["total"]]
    assert len(cut) >= 4 and "timeline_ops" in cut, f"only {cut} are cut"
    for name in cut:
        block, text = blocks[name], shown.go(CUT[name]).text()
        if name == "flow":
            assert f"the page has the first {block['rows']:,} of {block['total']:,} rows" in text
        else:
            assert f"showing {block['rows']:,} of {block['total']:,}" in text, name
            assert block["note"] in text, name
            headings = "\n".join(shown.page.locator("main .panel > header").all_inner_texts())
            assert f"showing {block['rows']:,} of {block['total']:,}" in headings, name
    text = shown.go("#view=timeline").text()
    assert f"timeline_ops: {blocks['timeline_ops']['rows']:,} marks for 3,000 rows" in text
    for block in [block for block in blocks.values() if block["unavailable"] and block["total"]]:
        assert block["unavailable"].startswith("left out")
        if block["name"] == "memory_timeline" and blocks.get("memory_levels", block)["unavailable"]:
            assert block["unavailable"] in shown.go("#view=memory").text()


ELEMENTS = {"svg", "g", "rect", "path", "text", "title", "desc", "line", "circle", "polygon", "polyline", "ellipse", "tspan"}


@pytest.mark.parametrize("name, mode", [("digits", "tree"), ("digits", "flow"), ("hostile", "tree")])
def test_the_picture_is_a_file_that_opens_alone(cli, pages, open_page, browser, tmp_path, name, mode):
    shown = open_page(name, "#view=graph" + "&mode=flow" * (mode == "flow"))
    if name == "hostile":
        # The region is closed at first.
        shown.page.focus(".stage")
        shown.press("Home", "ArrowDown", " ")
    with shown.page.expect_download() as download:
        shown.page.click("text=Export SVG")
    path = tmp_path / download.value.suggested_filename
    assert path.suffix == ".svg"
    download.value.save_as(path)
    root = ET.parse(path).getroot()
    for element in root.iter():
        space, _, tag = element.tag.rpartition("}")
        assert space == "{http://www.w3.org/2000/svg" and tag in ELEMENTS, element.tag
        assert not [key for key in element.attrib if "href" in key or key.startswith("on") or key == "style"], element.attrib
    said = "\n".join(root.itertext())
    if mode == "tree":
        names = [row["name"] for row in told(cli, pages, name, "spans")]
        drawn = [n for n in names if viewer.printable(n) in said]
        assert len(drawn) >= min(len(names), 40), drawn
        # What has room is to be read without a pointer.
        texts = {e.text for e in root.iter() if e.tag.endswith("}text")}
        assert {"fc1", "fc2"} <= texts if name == "digits" else "</script" in texts
    else:
        assert "matmul" in said and "fc1" in said
    context = browser.new_context()
    alone = viewer.Shown(context.new_page())
    alone.page.goto(path.as_uri())
    assert alone.page.evaluate("() => document.documentElement.getBoundingClientRect().width") > 100
    assert alone.page.evaluate("() => document.querySelectorAll('text').length") == sum(e.tag.endswith("}text") for e in root.iter())
    alone.is_quiet()
    context.close()
