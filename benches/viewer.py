#!/usr/bin/env python3
"""Times the viewer in a browser, at a size: how large its page is, when it is first painted, when the timeline can be used,
and how long a zoom and a search take.

    cargo build --release --features all --bins --example scale
    export BIN=target/release/candle-graph SCALE=target/release/examples/scale
    benches/viewer.py [OPERATIONS]

240,000 operations (the default) are 984,000 events. Needs the packages of the tests (scripts/setup --tests) and Chromium.
RIVAL names the program of candle-graph 0.10.1: it then makes its page of 10,000 operations, and the same of ours is
measured beside it. Of its page only what every page has is measured: first paint, and when it is loaded and idle.

First paint is the browser's own entry `first-contentful-paint`, from the start of navigation. A zoom is a wheel event, a
search one letter more in the field; each is timed until its frame is drawn, and until the frame after, when it is on the
screen. Medians of 60 zooms and 16 searches; paints are the best of three.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))
from viewer import executable  # noqa: E402

BIN, SCALE = Path(os.environ["BIN"]).resolve(), Path(os.environ["SCALE"]).resolve()
SEARCHES = ["m", "ma", "mat", "matm", "matmul", "l", "la", "lay", "layer", "s1", "s12", "s123", "z", "zz", "o", "op"]
NOTED = """
document.addEventListener('drawn', e => { if (+e.target.dataset.marks > 0) window.__first ??= performance.now(); }, true);
"""
ACT = """
async ([what, value]) => {
  const canvas = document.querySelector('.tl-space canvas');
  await new Promise(r => setTimeout(r, 60));
  const began = performance.now();
  const drawn = new Promise(r => canvas.addEventListener('drawn', () => r(performance.now()), {once: true}));
  if (what === 'zoom') {
    const box = canvas.getBoundingClientRect();
    const at = {clientX: box.left + value[1], clientY: box.top + 60, bubbles: true, cancelable: true};
    canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: value[0], ...at}));
  } else {
    const field = document.querySelector('.tl-search input');
    field.value = value;
    field.dispatchEvent(new Event('input', {bubbles: true}));
  }
  const first = await drawn;
  const shown = await new Promise(r => requestAnimationFrame(() => r(performance.now())));
  return [first - began, shown - began];
}
"""


def made(work, operations):
    """A trace of so many operations, and the page of it: path, seconds, MiB of the process that wrote it."""
    trace, page = work / f"{operations}.trace", work / f"{operations}.html"
    subprocess.run([SCALE, trace, str(operations)], check=True, capture_output=True)
    began = time.perf_counter()
    process = subprocess.Popen([BIN, "view", trace, "-o", page])
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, status
    return trace, page, time.perf_counter() - began, usage.ru_maxrss / 1024


def opened(browser, page, fragment=""):
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    shown = context.new_page()
    shown.set_default_timeout(600_000)
    shown.add_init_script(NOTED)
    shown.goto(page.as_uri() + fragment, wait_until="load", timeout=600_000)
    return shown


def first_paint(browser, page, fragment=""):
    """Milliseconds of the best of three: first contentful paint, and loaded."""
    found = []
    for _ in range(3):
        shown = opened(browser, page, fragment)
        entry = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
        while (paint := shown.evaluate(entry)) is None:
            shown.wait_for_timeout(20)
        loaded = shown.evaluate("() => performance.getEntriesByType('navigation')[0].loadEventEnd")
        found.append((paint, loaded))
        shown.context.close()
    return min(found)


def timeline(browser, page):
    """The first frame with marks, zooms and searches, in milliseconds."""
    firsts = []
    for number in range(3):
        shown = opened(browser, page, "#view=timeline")
        while not (first := shown.evaluate("() => window.__first ?? null")):
            shown.wait_for_timeout(20)
        firsts.append(first)
        if number < 2:
            shown.context.close()
    shown.wait_for_timeout(800)
    zooms = [[-120 if n < 30 else 120, 200 + n * 37 % 700] for n in range(61)]
    zoomed = [shown.evaluate(ACT, ["zoom", zoom]) for zoom in zooms][1:]
    shown.keyboard.press("9")
    shown.wait_for_timeout(300)
    searched = [shown.evaluate(ACT, ["search", text]) for text in SEARCHES]
    shown.context.close()
    return min(firsts), zoomed, searched


def say(what, value, bar=""):
    print(f"  {what:<46} {value:>12}  {bar}", flush=True)


def middle(pairs):
    drawn, shown = (statistics.median(values) for values in zip(*pairs))
    return f"{drawn:.0f} / {shown:.0f} ms"


def main():
    operations = int(sys.argv[1]) if len(sys.argv) > 1 else 240_000
    from playwright.sync_api import sync_playwright

    work = Path(tempfile.mkdtemp(dir=os.environ.get("WORK")))
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=executable())
            rival = os.environ.get("RIVAL")
            for size in [operations, *([10_000] if rival else [])]:
                trace, page, seconds, memory = made(work, size)
                paint, _ = first_paint(browser, page)
                first, zooms, searches = timeline(browser, page)
                print(f"candle-graph, {size:,} operations, written in {seconds:.1f} s with {memory:.0f} MiB")
                say("size of the page", f"{page.stat().st_size / 1e6:.1f} MB", "bar 40 MB")
                say("first contentful paint", f"{paint:.0f} ms", "bar 2,000 ms")
                say("timeline drawn with all its marks", f"{first:.0f} ms", "bar 3,000 ms")
                say("zoom, until drawn / on the screen", middle(zooms), "bar 100 ms")
                say("search, until drawn / on the screen", middle(searches), "bar 100 ms")
            if rival:
                lines, page = work / "rival.jsonl", work / "rival.html"
                subprocess.run([BIN, "export", trace, "--format", "jsonl", "-o", lines], check=True)
                began = time.perf_counter()
                subprocess.run([rival, "view", lines, "--output", page], check=True, stdout=subprocess.DEVNULL)
                print(f"candle-graph 0.10.1, 10,000 operations, written in {time.perf_counter() - began:.1f} s")
                paint, loaded = first_paint(browser, page)
                say("size of the page", f"{page.stat().st_size / 1e6:.1f} MB")
                say("first contentful paint", f"{paint:.0f} ms")
                say("loaded", f"{loaded:.0f} ms")
            browser.close()
    finally:
        if not os.environ.get("KEEP"):
            shutil.rmtree(work)


main()
