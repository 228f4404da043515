"""Pages of real traces in a real browser: every view of each shows what there is, or says why there is nothing.

In: pages as the program makes them, opened from the disk. Out: what a reader sees. Left to neighbours: whether the numbers
are right (test_viewer_numbers.py), ways through a page (test_viewer_ways.py), hostile names, access.
"""

import pytest
from viewer import VIEWS
from viewer_pages import LARGE, meta_of

# Panels without what is in their heading: the words, the pictures, the rows, and what stands for an absence.
PANELS = """() => [...document.querySelectorAll('#main section.panel')].map(panel => {
  const copy = panel.cloneNode(true)
  copy.querySelectorAll('header, button, dialog, h2').forEach(e => e.remove())
  return {
    title: panel.querySelector('h2, h3')?.innerText ?? panel.getAttribute('aria-label') ?? '',
    words: copy.textContent.trim(),
    pictures: panel.querySelectorAll('canvas, svg').length,
    empty: [...panel.querySelectorAll('.empty')].map(e => [...e.children].map(c => c.textContent)),
  }
})"""

# Colours on each canvas that holds data: one alone is a blank one.
COLOURS = """() => [...document.querySelectorAll('#main canvas[data-plane], #main .timeplot canvas:first-child')].map(canvas => {
  const { width, height } = canvas
  const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, width, height).data.buffer)
  return new Set(pixels).size
})"""

# What each page must say, by view.
SAYS = {
    "digits": {
        "overview": ["Where the time goes", "What holds the memory", "What can be claimed", "Findings", "Gaps"],
        "timeline": ["session clock", "What is in view, the longest first"],
        "timings": ["digits/backward", "fc1"],
        "measurements": ["Scalars and tensor statistics", "loss"],
        "memory": ["Peak of logical memory", "Storages live at the peak", "Lifetimes"],
        "gpu": ["No GPU evidence in this page", "candle-graph view TRACE --nsight-dir"],
    },
    "transformer": {"timings": ["attention"], "overview": ["Operations"]},
    "gpu": {
        "timeline": ["not aligned with the host"],
        "gpu": ["GPU evidence of Nsight Systems", "Reports", "How busy each GPU was", "nvtx_pushpop_trace"],
    },
    "golden": {
        "timeline": ["not aligned with the host"],
        "gpu": ["bound", "gemm(float *, int)", "Phases", "Functions that caused GPU work", "Copies and memsets"],
    },
    "time": {
        "timeline": ["not aligned with the host", "session clock"],
        "gpu": ["Device intervals that the program recorded", "How busy each device clock was", "event"],
    },
    "numerics": {"overview": ["are not finite", "First seen in"], "measurements": ["NaN", "finite:"]},
    "failed": {
        "overview": ["The capture failed", "the loss is <b>NaN</b>", "No time of a measured region"],
        "timeline": ["This capture is not sound"],
        "timings": ["Every span"],
    },
    "interrupted": {
        "overview": ["The capture was interrupted", "No time of a measured region", "Spans still open at the end"],
        "timeline": ["This capture is not sound"],
    },
    "empty": {
        "overview": ["None was recorded", "whether values are finite is not known", "No logical memory was recorded"],
        "memory": ["No logical memory to show"],
        "gpu": ["No GPU evidence in this page"],
    },
    "large": {
        "overview": ["scale/forward", "layer."],
        "graph": ["of 6,003 spans"],
        "memory": ["events in steps of", "showing 20,000 of 60,000"],
    },
}


# Views that say why a block of theirs is not there.
ABSENT = {
    "timeline": ["timeline_ops", "timeline_device", "timeline_gpu", "timeline_ranges"],
    "measurements": ["tensor_stats"],
}


@pytest.mark.parametrize("name", SAYS)
def test_every_view_shows_something_or_says_why_not(open_page, pages, name):
    shown = open_page(name)
    known = meta_of(pages(name))
    absent = {b["name"]: b["unavailable"] for b in known["blocks"] if b["unavailable"]}
    for place, view in enumerate(VIEWS):
        if place % 2:
            shown.press(str(place + 1))
        else:
            shown.page.click(f"nav a:nth-child({place + 1})")
            shown.settle()
        assert shown.view == view
        assert shown.page.get_attribute("nav [aria-current=page]", "href").startswith(f"#view={view}")
        text = shown.text()
        for words in SAYS[name].get(view, []):
            assert words.lower() in text.lower(), f"{view} does not say {words!r}: {text}"
        for block in ABSENT.get(view, []):
            assert absent.get(block, "") in text, f"{view} does not say {absent[block]!r}: {text}"
        panels = shown.page.evaluate(PANELS)
        assert panels, view
        for panel in panels:
            assert panel["words"] or panel["pictures"], f"{view}: {panel['title']} is blank"
            for empty in panel["empty"]:
                assert len(empty) == 2 and all(empty), f"{view}: {panel['title']} does not say why: {empty}"
        assert all(colours > 1 for colours in shown.page.evaluate(COLOURS)), f"{view} has a blank picture"
        assert "undefined" not in text and "[object" not in text and "NaN %" not in text, text


def test_a_comparison_has_a_view_of_its_own(open_page):
    shown = open_page("attention")
    assert shown.view == "compare" and shown.page.locator("nav a").all_inner_texts() == ["Compare"]
    for words in ["pairs of runs", "Own time by label", "Operations", "attention.1", "baseline naive", "candidate fused"]:
        assert words in shown.text(), words
    for panel in shown.page.evaluate(PANELS):
        assert panel["words"] or panel["pictures"], f"{panel['title']} is blank"


def test_a_large_trace_is_a_small_page(open_page, pages):
    """The scale example's trace at a quarter of the size that the benches look at: see viewer_pages.LARGE."""
    path = pages("large")
    assert path.stat().st_size <= 40_000_000
    levels = {b["name"]: b for b in meta_of(path)["blocks"]}
    assert levels["timeline_ops"]["total"] == LARGE and levels["memory_levels"]["total"] == 2 * LARGE
