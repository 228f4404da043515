"""Who cannot see, point, or bear the light reads a page too: axe-core, the keyboard alone, both themes, paper.

In: pages in a real browser, axe-core from the packages of the viewer's own build. Out: no serious fault, every control
reached with a visible focus, nothing that moves once it is read, pictures of the pages for docs/viewer.md.
"""

import os
import struct
import zlib

import pytest
from harness import REPOSITORY

KEPT = REPOSITORY / "docs/images"
FAULTS = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ['violations'] })
  return violations
    .filter(v => v.impact === 'serious' || v.impact === 'critical')
    .map(v => ({ rule: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + ' | ' + n.failureSummary) }))
}"""


@pytest.fixture(scope="session")
def axe(installed):
    return (installed / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


def assert_accessible(shown, axe, what):
    if shown.page.evaluate("() => typeof axe === 'undefined'"):
        shown.page.evaluate(axe)
    assert shown.page.evaluate(FAULTS) == [], what


PLACES = {
    "digits": [
        "#view=overview",
        "#view=timeline&sel=op:4:0",
        "#view=graph&sel=span:3",
        "#view=graph&mode=flow",
        "#view=timings&by=ops&sel=row:ops:0",
        "#view=measurements",
        "#view=measurements&tab=families",
        "#view=memory",
    ],
    "golden": ["#view=timeline", "#view=gpu&sel=gpu:2"],
    "failed": ["#view=overview"],
    "numerics": ["#view=measurements&tab=gradients"],
    "attention": [""],
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PLACES)
def test_no_serious_fault(open_page, axe, name, scheme):
    shown = open_page(name)
    shown.page.emulate_media(color_scheme=scheme)
    for place in PLACES[name]:
        shown.go(place)
        assert_accessible(shown, axe, f"{place}, {scheme}")
    if name == "digits":
        shown.go("#view=timings").page.click("main button.sql")
        shown.page.wait_for_selector("dialog[open] pre")
        assert_accessible(shown, axe, f"SQL, {scheme}")
        shown.press("Escape", "?")
        shown.page.wait_for_selector("dialog[open] kbd")
        assert_accessible(shown, axe, f"keys, {scheme}")
    shown.page.emulate_media(color_scheme="light")


FOCUS = """() => {
  const e = document.activeElement
  const style = getComputedStyle(e)
  const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== 'none'
  const box = e.getBoundingClientRect()
  const place = e.closest('nav') ? 'nav' : e.closest('table') ? `table ${e.localName}` : e.closest('main') ? 'main' : 'page'
  return { place, name: e.localName, label: e.getAttribute('aria-label') ?? e.innerText.slice(0, 40), outlined, seen: box.width * box.height > 0 }
}"""


def walk(shown, most=120):
    """What Tab reaches, in order, until it leaves the page."""
    reached = []
    for _ in range(most):
        shown.page.keyboard.press("Tab")
        at = shown.page.evaluate(FOCUS)
        if at["name"] == "body":
            break
        assert at["outlined"] and at["seen"], f"the focus is not to be seen on {at}"
        reached.append(at)
    return reached


@pytest.mark.parametrize("place, reaches", [
    ("#view=timeline", ["nav a", "main input", "main canvas", "table button", "table tr"]),
    ("#view=timings", ["nav a", "main button", "main input", "table button", "table tr"]),
    ("#view=memory", ["nav a", "main div", "main select", "table tr"]),
    ("#view=graph", ["nav a", "main input", "main div", "main button"]),
])  # fmt: skip
def test_the_keyboard_alone_reaches_everything(open_page, place, reaches):
    shown = open_page("digits", place, fresh=True)
    shown.page.keyboard.press("Tab")
    assert "Skip" in shown.page.evaluate(FOCUS)["label"]
    reached = walk(shown)
    kinds = {at["place"] if at["place"].startswith("table") else f"{at['place']} {at['name']}" for at in reached}
    assert set(reaches) <= kinds, kinds
    assert len([at for at in reached if at["place"] == "nav"]) == 7
    # One row of a table is reached; the arrows do the rest.
    assert len([at for at in reached if at["place"] == "table tr"]) <= shown.page.locator("main table[role=grid]").count()


def test_the_keyboard_alone_chooses_a_row_and_asks_for_its_sql(open_page):
    shown = open_page("digits", "#view=timings&by=ops")
    shown.page.focus("main tr[tabindex='0']")
    shown.press("ArrowDown", "ArrowDown", "Enter")
    assert shown.route["sel"] == "row:ops:2" and shown.details()["columns"]["name"]
    assert shown.page.evaluate("() => document.activeElement.dataset.place") == "2"
    shown.press("Escape")
    assert "sel" not in shown.route
    shown.page.focus("main button.sql")
    shown.press("Enter")
    assert "SELECT" in shown.text("dialog[open]") and "candle-graph sql TRACE --query ops" in shown.text("dialog[open]")
    shown.press("Escape")
    assert shown.page.evaluate("() => document.activeElement.matches('button.sql')")


SHIFTS = """
  window.shifted = 0
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value
  }).observe({ type: 'layout-shift', buffered: true })
"""


@pytest.mark.parametrize("name, views", [
    ("digits", ["overview", "timeline", "graph", "timings", "measurements", "memory"]),
    ("golden", ["gpu"]),
    ("large", ["overview", "memory"]),
])  # fmt: skip
def test_nothing_moves_once_it_is_drawn(open_page, pages, name, views):
    shown = open_page(name, f"#view={views[0]}", first=SHIFTS)
    for view in [*views[1:], views[0]]:
        assert shown.page.evaluate("() => window.shifted") < 0.1, f"before {view}"
        shown.page.goto("about:blank")
        shown.open(pages(name), f"#view={view}")


def test_the_theme_is_chosen_and_kept(open_page):
    shown = open_page("digits", fresh=True, color_scheme="light")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    light = shown.page.evaluate(ground)
    shown.page.click("text=Dark")
    dark = shown.settle().page.evaluate(ground)
    assert sum(map(int, dark[4:-1].split(", "))) < sum(map(int, light[4:-1].split(", "))) / 2
    assert shown.page.get_attribute("header button:has-text('Dark')", "aria-pressed") == "true"
    shown.page.click("text=Auto")
    assert shown.settle().page.evaluate(ground) == light


def test_overview_is_fit_for_paper(open_page):
    shown = open_page("digits", fresh=True)
    shown.page.emulate_media(media="print")
    assert not shown.page.is_visible("nav") and not shown.page.is_visible("button.sql >> nth=0")
    assert "Where the time goes" in shown.text()
    paper = shown.page.pdf(format="A4")
    assert paper.startswith(b"%PDF-") and 1 <= paper.count(b"/Type /Page\n") + paper.count(b"/Type /Page ") <= 6
    assert len(paper) > 20_000


PICTURES = {
    "overview": "#view=overview",
    "timeline": "#view=timeline",
    "graph": "#view=graph",
    "memory": "#view=memory",
}


def pixels(png):
    """Width, height, and how many bytes the rows have once they are unpacked of which value."""
    width, height = struct.unpack(">II", png[16:24])
    data, at = b"", 8
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += size + 12
    return width, height, len(set(zlib.decompress(data)))


@pytest.mark.parametrize("picture", PICTURES)
def test_pictures_of_the_pages(open_page, tmp_path, picture):
    """With CANDLE_GRAPH_UPDATE=1 the pictures of docs/viewer.md are made anew; from a trace that is kept, so that only a
    change of the viewer changes them."""
    shown = open_page("update", PICTURES[picture])
    folder = KEPT if os.environ.get("CANDLE_GRAPH_UPDATE") else tmp_path
    folder.mkdir(exist_ok=True)
    shown.page.screenshot(path=folder / f"viewer-{picture}.png")
    for path in {folder / f"viewer-{picture}.png", KEPT / f"viewer-{picture}.png"}:
        png = path.read_bytes()
        width, height, values = pixels(png)
        assert (width, height) == (1280, 800) and values > 100 and 20_000 < len(png) <= 200_000, path
