"""A page of the viewer in a real browser: opened from the disk, read as its readers see it, with what it does wrong noted."""

import json
import re
import shutil
from contextlib import contextmanager
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
VIEWS = ["overview", "timeline", "graph", "timings", "measurements", "memory", "gpu"]
# What hides or turns text round: shown by its number.
HIDDEN = re.compile(
    "[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)

# Nothing is read any more, and some frames have passed since: what was read is drawn, and asks for nothing else.
SETTLED = """() => new Promise(done => {
  let quiet = 0
  const look = () => {
    const busy = !document.querySelector('#main > *') || document.querySelector('#main[aria-busy=true], #main [aria-busy=true]')
    quiet = busy ? 0 : quiet + 1
    if (quiet > 3) done(true)
    else requestAnimationFrame(() => setTimeout(look))
  }
  look()
})"""

# Tables as they are drawn: of each cell the text, and the title that has the whole of it.
GRIDS = """() => [...document.querySelectorAll('#main table[role=grid]')].map(table => ({
  label: table.getAttribute('aria-label'),
  query: [...table.closest('section').querySelectorAll('button.sql')]
    .filter(button => button.compareDocumentPosition(table) & Node.DOCUMENT_POSITION_FOLLOWING)
    .at(-1)?.title.replace('SQL of ', ''),
  total: Number(table.getAttribute('aria-rowcount')) - 1,
  foot: table.closest('.data').querySelector('.foot').innerText,
  columns: [...table.querySelectorAll('thead th')].map(th => ({
    text: th.querySelector('button, span').firstChild.textContent,
    meaning: th.querySelector('button, span').title,
    sort: th.getAttribute('aria-sort'),
  })),
  rows: [...table.querySelectorAll('tbody tr[data-place]')].map(tr => ({
    place: Number(tr.dataset.place),
    cells: [...tr.cells].map(td => ({ text: td.innerText.trim(), title: td.querySelector('[title]')?.title ?? '' })),
  })),
}))"""

# Numbers outside of tables, and the row that each leads to.
NUMBERS = """() => [...document.querySelectorAll('#main .num')]
  .filter(e => !e.closest('table'))
  .map(e => ({ text: e.innerText, title: e.title, href: e.getAttribute('href') }))"""

DETAILS = """() => {
  const aside = document.querySelector('aside.details')
  if (!aside) return null
  const code = label => aside.querySelector(`pre[aria-label="${label}"]`)?.innerText ?? null
  return {
    title: aside.querySelector('h2').innerText,
    statement: code('statement'),
    command: code('command'),
    columns: Object.fromEntries([...aside.querySelectorAll('dl.columns > div')].map(div => [
      div.querySelector('dt').innerText,
      { text: div.querySelector('dd').firstElementChild.innerText, small: div.querySelector('small').innerText,
        absent: div.querySelector('dd .absent') !== null },
    ])),
  }
}"""


def executable():
    """The machine's own browser: none is downloaded."""
    for name in BROWSERS:
        if found := shutil.which(name):
            return found
    raise RuntimeError(f"none of {', '.join(BROWSERS)} is installed; scripts/setup --tests installs Chromium")


@contextmanager
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable())
        yield opened
        opened.close()


class Shown:
    """A page that is open, and what it did."""

    def __init__(self, page):
        self.page = page
        self.errors = []
        self.requests = []
        self.dialogs = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", self._asked)

    def _said(self, message):
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def _asked(self, dialog):
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def open(self, path, fragment=""):
        self.page.goto(Path(path).resolve().as_uri() + fragment)
        return self.settle()

    def settle(self):
        self.page.evaluate(SETTLED)
        return self

    def go(self, fragment):
        """Goes to a place within the page, as a link there does."""
        self.page.evaluate("fragment => { location.hash = fragment }", fragment)
        return self.settle()

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
        return self.settle()

    def search(self, text):
        """Types into the search of the view, found as its key finds it."""
        self.press("/")
        assert self.page.evaluate("() => document.activeElement.matches('#main [data-search]')")
        self.page.keyboard.insert_text(text)
        return self.settle()

    @property
    def route(self):
        """What the address says."""
        fragment = self.page.evaluate("() => location.hash.slice(1)")
        return dict(part.split("=", 1) for part in fragment.split("&") if part)

    def until(self, condition, argument=None):
        """Waits for a condition of the page."""
        self.page.wait_for_function(condition, arg=argument)
        return self.settle()

    @property
    def view(self):
        return self.page.get_attribute("#main", "data-view")

    def text(self, within="#main"):
        return self.page.inner_text(within)

    def grids(self):
        return self.page.evaluate(GRIDS)

    def grid(self, query):
        """The one table of a query."""
        (found,) = [grid for grid in self.grids() if grid["query"] == query]
        return found

    def numbers(self):
        return self.page.evaluate(NUMBERS)

    def details(self):
        self.page.wait_for_selector("aside.details dl.columns")
        return self.page.evaluate(DETAILS)

    def is_quiet(self):
        """The console is empty, and nothing was fetched but the page and what it made itself."""
        assert self.errors == [], self.errors
        assert self.dialogs == [], self.dialogs
        strange = [url for url in self.requests if not url.startswith(("file:", "blob:null/", "blob:file:", "data:,"))]
        files = {re.sub("#.*", "", url, flags=re.S) for url in self.requests if url.startswith("file:")}
        assert strange == [] and len(files) == 1, self.requests


class Tabs:
    """Pages that are open. Opening one takes ten times as long as looking at it: the last few stay open between tests."""

    MOST = 3

    def __init__(self, browser, pages):
        self.browser = browser
        self.pages = pages
        self.kept = {}
        self.used = []

    def open(self, name, fragment="", fresh=False, first=None, **how):
        """A page at a place in it. `fresh`: not one that another test looked at; `first`: a script before its own."""
        fresh = fresh or bool(first or how)
        shown = None if fresh else self.kept.pop(name, None)
        if shown is None:
            how = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", **how}
            context = self.browser.new_context(**how)
            if first:
                context.add_init_script(first)
            shown = Shown(context.new_page()).open(self.pages(name), fragment)
        else:
            # By another view, so that nothing of the last place is left.
            shown.page.evaluate("() => document.querySelectorAll('dialog[open]').forEach(dialog => dialog.close())")
            shown.go("#view=gpu" if "view=gpu" not in fragment else "#view=overview").go(fragment or "#view=overview")
        if not fresh:
            self.kept[name] = shown
        self.used.append((shown, fresh))
        return shown

    def done(self):
        """Ends a test: its pages must have been quiet."""
        used, self.used = self.used, []
        for shown, fresh in used:
            if fresh:
                shown.page.context.close()
        for name in [*self.kept][: -self.MOST]:
            self.kept.pop(name).page.context.close()
        for shown, _ in used:
            try:
                shown.is_quiet()
            finally:
                shown.errors, shown.dialogs = [], []


def printable(text):
    """Text as a reader can see it."""
    return HIDDEN.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)


def flat(value):
    """A value of JSON as a block of the page holds it: lists are texts there."""
    if isinstance(value, list):
        return ("×" if all(isinstance(v, int) for v in value) else ", ").join(map(str, value))
    return value


def number(text):
    """The number that a title or a detail begins with; None where it begins with something else."""
    found = re.match(r"(-?[\d,]+(?:\.\d+)?(?:e[+-]?\d+)?|NaN|-?Infinity)(?![\w.])", text)
    digits = found[1].replace(",", "") if found else ""
    return None if found is None else int(digits) if re.fullmatch(r"-?\d+", digits) else float(digits)


def rounded(value, places):
    """As JavaScript rounds: a half goes up."""
    return str(Decimal(value).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def formatted(value, unit, name=""):
    """A number as people read it; None for what has no rule here."""
    if unit.startswith("ns"):
        for size, places, said in [(10**9, 3, "s"), (10**6, 3, "ms"), (10**3, 2, "µs")]:
            if abs(value) >= size:
                return f"{rounded(value / size, places)} {said}"
        return f"{rounded(value, 0)} ns"
    if unit == "bytes":
        for power, said in [(3, "GiB"), (2, "MiB"), (1, "KiB")]:
            if abs(value) >= 1024**power:
                return f"{rounded(value / 1024**power, 1)} {said}"
        return f"{value} B"
    if unit == "count":
        return f"{value:,}"
    if unit == "none" and re.search(r"(^|_)share$|utilisation$", name):
        percent = value * 100
        return "<0.1 %" if 0 < percent < 0.1 else f"{rounded(percent, 1)} %"
    return None
