"""Names that try to become more than text stay text: in every view, searched for, selected, and in the address.

In: a page whose every name is one of 50 payloads, a comparison with the same names, fragments that nobody would write.
Out: no canary ran, nothing was fetched or asked, no element came of a name, and every name can be read.
"""

import shlex
from html.parser import HTMLParser
from urllib.parse import quote

import pytest
from hostile_viewer import PAYLOADS
from viewer import VIEWS, printable

# What a name could make, and what could run it.
GOT_OUT = """() => {
  const never = 'img, iframe, frame, object, embed, video, audio, source, math, form, base, link[rel=stylesheet], template, '
    + 'animate, set, foreignObject, image, use, textarea, marquee, input:not([type=search]), body *> style, #app script'
  const odd = [...document.querySelectorAll(never)].map(e => e.outerHTML.slice(0, 200))
  for (const element of document.querySelectorAll('*')) {
    for (const { name, value } of element.attributes) {
      if (name.startsWith('on')) odd.push(`${element.localName} ${name}=${value}`)
      if (/^(href|src|xlink:href|action|formaction)$/.test(name) && element.localName !== 'link' && !value.startsWith('#')) {
        odd.push(`${element.localName} ${name}=${value}`)
      }
    }
  }
  const running = [...document.scripts].filter(s => !s.type).length
  if (window.__pwned !== undefined) odd.push('the canary ran')
  if (window.frames.length > 0 || running !== 1 || document.body.parentElement !== document.documentElement) odd.push('more elements')
  return odd
}"""

LISTS = [
    *(f"#view={view}" for view in VIEWS),
    *(f"#view=timings&by={by}" for by in ["ops", "spans", "calls", "path"]),
    *(f"#view=measurements&tab={tab}" for tab in ["gradients", "dead", "families"]),
    *(f"#view=memory&by={by}" for by in ["span", "op"]),
    "#view=graph&mode=flow",
    "#view=timeline&color=name",
]


def assert_nothing_got_out(shown):
    assert shown.page.evaluate(GOT_OUT) == []
    assert "This view failed" not in shown.text()


class Tags(HTMLParser):
    """What a browser's parser meets in a page, apart from its texts."""

    def __init__(self, text):
        super().__init__()
        self.found, self.comments = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_comment(self, data):
        self.comments.append(data)


@pytest.mark.parametrize("name", ["hostile", "hostile-comparison"])
def test_the_file_has_one_script_whatever_it_is_about(pages, name):
    tags = Tags(pages(name).read_text(encoding="utf-8"))
    known = {"html", "head", "meta", "title", "link", "style", "body", "div", "noscript", "p", "script"}
    assert {tag for tag, _ in tags.found} <= known and tags.comments == []
    assert len([1 for tag, attributes in tags.found if tag == "script" and "type" not in attributes]) == 1
    (policy,) = [a["content"] for tag, a in tags.found if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy and "http" not in policy


def test_every_view_takes_names_for_text(open_page):
    shown, chosen = open_page("hostile"), set()
    for place in LISTS:
        shown.go(place)
        assert_nothing_got_out(shown)
        assert shown.page.title().startswith(printable(PAYLOADS[0]))
        # The first row of each table is chosen, and the SQL of one looked at.
        for label in {grid["label"] for grid in shown.grids() if grid["rows"]} - chosen:
            chosen.add(label)
            table = shown.page.get_by_role("grid", name=label, exact=True)
            table.locator("tr[data-place='0']").click(position={"x": 3, "y": 3})
            shown.settle()
            assert_nothing_got_out(shown)
        sql = shown.page.locator("aside button.sql")
        if sql.count():
            sql.first.click()
            assert_nothing_got_out(shown)
            shown.press("Escape")
    shown.go("#view=timeline").page.hover("canvas[data-plane=host]")
    shown.press("?")
    assert_nothing_got_out(shown)


def test_every_name_can_be_found_selected_and_read(open_page):
    shown = open_page("hostile", "#view=timings&by=spans")
    for at, payload in enumerate(PAYLOADS):
        shown.go(f"#view=timings&by=spans&q={quote(payload)}&sel=span:{at + 2}")
        titles = [row["cells"][1]["title"] for row in shown.grid("spans")["rows"]]
        assert printable(payload) in titles, (payload, titles)
        assert shown.details()["columns"]["name"]["text"] == printable(payload)
        assert_nothing_got_out(shown)


def test_every_identity_can_be_selected_and_its_sql_fetches_it(cli, pages, open_page):
    shown = open_page("hostile", "#view=memory")
    for payload in PAYLOADS[::3]:
        shown.go(f"#view=memory&sel=storage:{quote(payload)}")
        details = shown.details()
        assert details["title"] == printable(payload)
        assert printable(payload) in details["columns"]["storage_id"]["text"]
        assert_nothing_got_out(shown)
    # What a reader copies is a word of the shell and a text of SQL, whatever the name; on the screen it is shown tame.
    tame = [p for p in PAYLOADS if printable(p) == p and len(p) < 1_000]
    assert len(tame) > 40
    for payload in tame[::8]:
        words = shlex.split(shown.go(f"#view=memory&sel=storage:{quote(payload)}").details()["command"])
        rows = cli.rows(*pages.inputs("hostile"), words[3])
        assert rows and {row["storage_id"] for row in rows} == {payload}


def test_searches_take_names_for_text(open_page):
    shown = open_page("hostile")
    for place in ["timeline", "graph", "graph&mode=flow", "measurements", "memory", "gpu"]:
        shown.go(f"#view={place}")
        for payload in PAYLOADS[::19]:
            shown.search(payload.replace("\n", " "))
            assert_nothing_got_out(shown)


FRAGMENTS = [
    "#",
    "#&&&===",
    "#view=__proto__&sel=__proto__:1",
    "#view=constructor&tab=constructor&by=toString&mode=valueOf",
    "#__proto__=1&constructor=2&hasOwnProperty=3",
    "#view=<img src=x onerror=window.__pwned=1>",
    "#view=%3Cscript%3Ewindow.__pwned=1%3C/script%3E",
    "#view=%E0%A4%A&q=%",
    "#view=javascript:window.__pwned=1",
    "#sel=<svg onload=window.__pwned=1>",
    "#sel=row:__proto__:0",
    "#sel=row:constructor:9007199254740993",
    "#sel=row:spans:99999999999999999999",
    "#sel=op:NaN:Infinity",
    "#sel=span:-1",
    "#sel=tensor:",
    "#sel=storage:__proto__",
    "#view=timeline&from=NaN&to=1e999",
    "#view=timeline&from=-1e308&to=1e308",
    "#view=timeline&from=100&to=100",
    "#view=timeline&from=9&to=1&range_gpu=__proto__&range_ranges=1_",
    "#view=timings&by=spans&sort=__proto__&step=constructor",
    "#view=timings&by=ops&sort=-<b>&dtype=<b>&device=\u2013",
    "#view=measurements&tab=gradients&state=__proto__&root=toString",
    "#view=memory&by=constructor&at=NaN&end=__proto__&cat=constructor&live=held&device=__proto__",
    "#view=memory&from=1e300&to=1e301&at=1e400",
    "#view=graph&at=NaN,Infinity,-1",
    "#view=graph&mode=flow&in=__proto__&near=op:1:1&steps=1e9&turn=,,-1,__proto__,1e99&page=-1e9",
    "#view=graph&mode=flow&near=%00&page=1e309&inputs=<b>",
    "#view=gpu&open=__proto__&q=(((((((((((((",
    f"#view=timings&q={'%F0%9F%92%A9' * 5_000}",
]


def test_an_address_cannot_break_out_or_in(open_page):
    shown = open_page("hostile")
    for fragment in FRAGMENTS:
        shown.go(fragment)
        assert shown.view in VIEWS, fragment
        assert shown.text().strip(), fragment
        assert_nothing_got_out(shown)
        assert shown.errors == [], fragment
    # And a page that is opened at such a place.
    for fragment in FRAGMENTS[5::8]:
        assert_nothing_got_out(open_page("digits", fragment, fresh=True))


def test_a_comparison_takes_names_for_text(open_page):
    shown = open_page("hostile-comparison")
    assert_nothing_got_out(shown)
    content = shown.page.evaluate("() => document.body.textContent + [...document.querySelectorAll('[title]')].map(e => e.title)")
    assert sum(printable(payload) in content for payload in PAYLOADS) >= 10
    for row in shown.page.locator("main tr[data-place='0']").all():
        row.click(position={"x": 3, "y": 3})
        shown.settle()
        assert_nothing_got_out(shown)
