"""Tables of a page beside the rows that the command line answers: the same, in the order that the page says they have."""

import re

from harness import same
from viewer import flat, formatted, number, printable
from viewer_pages import meta_of

# Columns whose values are shown as words for people; and those that say so where a value is not finite.
SPOKEN = {"attribution", "cause", "direction", "duplicate", "ending", "expectation", "expected", "present", "role"}
SPOKEN |= {"state", "status"}
NOT_FINITE = {"mean", "rms", "abs_max", "norm"}


def told(cli, pages, name, query):
    """What the command line says, as a page holds it."""
    rows = cli.rows(*pages.inputs(name), "--query", query)
    return [{column: flat(value) for column, value in row.items()} for row in rows]


def block_of(page, query):
    (found,) = [block for block in meta_of(page)["blocks"] if block["name"] == query]
    return found


def in_order(rows, grid, columns):
    """Rows in the order that a table says it has; absent values last, equal ones as they were."""
    for heading, column in zip(grid["columns"], columns):
        if column and heading["sort"] in ("ascending", "descending"):
            present = [row for row in rows if row[column] is not None]
            absent = [row for row in rows if row[column] is None]
            return sorted(present, key=lambda row: row[column], reverse=heading["sort"] == "descending") + absent
    return rows


def columns_of(grid, infos):
    """Column of the query behind each column of a table: by its meaning, else by its name; None for a picture."""
    found = []
    for heading in grid["columns"]:
        by_meaning = [i["name"] for i in infos if printable(i["meaning"]) == heading["meaning"]]
        by_name = [i["name"] for i in infos if re.sub("_(ns|bytes)$", "", i["name"]).replace("_", " ") == heading["text"]]
        drawn = heading["text"].startswith("life, ")
        found.append(None if drawn else (by_meaning if len(by_meaning) == 1 else by_name or [None])[0])
    return found


def assert_cell(cell, value, unit, column, where):
    text, title = cell["text"], cell["title"]
    if column in SPOKEN:
        assert text, f"{where}: {cell}, expected words for {value!r}"
    elif value is None and column in NOT_FINITE and "finite" in text and not text.startswith("–"):
        assert text == "not finite" or title.endswith("over the finite elements alone"), f"{where}: {cell}"
    elif value is None:
        assert text.startswith("–") and "absent" in text or text.startswith("in no contract"), f"{where}: {cell}, expected an absence"
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        assert same(number(title), value), f"{where}: {cell}, expected {value}"
        if said := formatted(value, unit, column):
            assert text == said, f"{where}: {cell}, expected {said}"
    elif isinstance(value, str):
        value = "scalar" if column == "shape" and value == "" else printable(value)
        # A storage has its type and its shape in one column.
        assert value in (title, text) or f" [{value}]" in title, f"{where}: {cell}, expected {value!r}"
    else:
        assert text == ("yes" if value else "no"), f"{where}: {cell}, expected {value}"


def compared(cli, pages, name, shown):
    """The columns of a place that were compared, by query. Its tables show every row that the page has."""
    found = {}
    for grid in shown.grids():
        block = block_of(pages(name), grid["query"])
        rows, columns = told(cli, pages, name, grid["query"]), columns_of(grid, block["columns"])
        units = {i["name"]: i["unit"] for i in block["columns"]}
        assert grid["total"] == block["rows"] and len(rows) == block["total"], grid["label"]
        rows = in_order(rows, grid, columns)
        assert grid["rows"] or not rows, grid["label"]
        for row in grid["rows"]:
            for cell, column in zip(row["cells"], columns):
                if column:
                    where = f"{name}, {grid['label']}, row {row['place']}, {column}"
                    assert_cell(cell, rows[row["place"]][column], units[column], column, where)
        if grid["rows"]:
            found.setdefault(grid["query"], set()).update(filter(None, columns))
    return found
