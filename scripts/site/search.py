"""Hooks of the documentation site (mkdocs.yml) for its search: each error text and log line of troubleshooting is a result of its
own, which leads to its row, and some pages have keywords."""

import html
import json
import re
from pathlib import Path

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

SCRIPT = Path(__file__).with_name("search.js")
TROUBLESHOOTING = "troubleshooting.md"
# What readers type, if the page has other words for it.
KEYWORDS = {
    "migration.md": ["rollback", "roll back", "Redis Stack"],
    "migration-replication.md": ["200 GB"],
    "sizing.md": ["memory before", "how much memory", "how large"],
    "containers.md": ["Docker", "Kubernetes"],
    # Pages that must rank above the error texts that contain these words.
    "families/bloom.md": ["Bloom filter", "false positive"],
    "sliding-windows.md": ["window", "panes", "ttl", "time to live", "expire", "expiry"],
    "recipes/unique-items.md": ["distinct", "cardinality"],
    "recipes/now-and-then.md": ["trend", "chart"],
    "operations.md": ["memory usage", "huge pages"],
}
# An exact text ranks above the titles of pages that have some of its words.
BOOST = 2
# A page that would displace others, because it has many short headings about filters, two that would displace the pages that they
# summarize, and one that the texts of errors about expired items would displace.
RANKS = {"performance.md": 0.2, "faq.md": 0.3, "glossary.md": 0.3, "sliding-windows.md": 1.42}
# The rows of troubleshooting: texts and location.
rows = []


def on_files(files, config):
    """Adds the script that changes queries."""
    rows.clear()
    files.append(File.generated(config, SCRIPT.name, abs_src_path=str(SCRIPT)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Adds the keywords of the page."""
    if page.file.src_uri in KEYWORDS:
        page.meta["tags"] = KEYWORDS[page.file.src_uri]
    return markdown


def on_page_content(content, page, config, files):
    """Gives each row of troubleshooting an anchor, and marks its tables for docs/site.css. Ranks some pages, and excludes the
    tables of the page on performance, whose numbers would displace other pages."""
    if page.file.src_uri in RANKS:
        page.meta["search"] = {"boost": RANKS[page.file.src_uri]}
    if page.file.src_uri == "performance.md":
        content = content.replace("<table>", "<table data-search-exclude>")
    if page.file.src_uri != TROUBLESHOOTING:
        return content

    def anchored(row):
        texts = re.findall(r"<code>(.*?)</code>", row[1])
        if not texts:
            return row[0]
        anchor = f"text-{len(rows) + 1}"
        rows.append((texts, f"{page.url}#{anchor}", re.sub(r"<[^>]+>", "", row[2])))
        return f'<tr id="{anchor}">\n<td>{row[1]}</td>{row[2]}</tr>'

    content = content.replace("<table>", "<table data-stacked>")
    return re.sub(r"<tr>\n<td>(.*?)</td>(.*?)</tr>", anchored, content, flags=re.DOTALL)


@event_priority(-100)
def on_post_build(config):
    """Adds the rows to the index that the search plugin wrote."""
    path = Path(config["site_dir"]) / "search/search_index.json"
    index = json.loads(path.read_text())
    for texts, location, meaning in rows:
        title = " · ".join(texts)
        index["docs"].append({"location": location, "title": title, "text": meaning.strip(), "boost": BOOST})
    path.write_text(json.dumps(index, separators=(",", ":")))
