"""Hooks of the documentation site (mkdocs.yml) for tables: a table that is too wide for a phone gets the attribute data-rows, and its
cells the text of their column's header, so that docs/site.css can display each row below the other."""

import itertools
import re
from html import escape, unescape

# The number of characters that a row of a phone displays.
WIDTH = 38
# The characters between two columns.
GAP = 3


def plain(html):
    """The text of a cell."""
    return unescape(re.sub(r"<[^>]+>", "", html)).strip()


def width(cell):
    """The characters that a cell needs: its text wraps between words, but code does not wrap."""
    codes = re.findall(r"<code>(.*?)</code>", cell)
    words = plain(re.sub(r"<code>.*?</code>", "", cell)).split()
    return max(map(len, [*words, *map(plain, codes)]), default=0)


def labeled(match):
    """The table with the attributes, if it is too wide."""
    table = match[0]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.S)
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in rows]
    columns = [max(map(width, cells)) for cells in zip(*rows)]
    if sum(columns) + GAP * len(columns) <= WIDTH:
        return table
    labels = [escape(plain(header), quote=True) for header in rows[0]]
    following = itertools.cycle(labels)

    def with_label(cell):
        label = next(following)
        return f'<td{cell[1]} data-label="{label}">' if label else cell[0]

    return re.sub(r"<td([^>]*)>", with_label, table.replace("<table", "<table data-rows", 1))


def on_page_content(html, page, config, files):
    """Marks the tables that have no other attribute."""
    return re.sub(r"<table(?: data-search-exclude)?>.*?</table>", labeled, html, flags=re.S)
