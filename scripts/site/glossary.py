"""Hooks of the documentation site (mkdocs.yml) for the glossary.

The pages of commands share their terms with the page of their family. So only the site links the first use of each term on these
pages to the glossary; the other pages have the links in their text.
"""

import re

# Terms of all commands and, by the prefix of the command, of a family: anchor in the glossary and regular expression.
ALL = {
    "chunk": "chunks?",
    "false-negative": "false negatives?",
    "false-positive": "false positives?",
    "pane": "panes?",
    "sub-filter": "sub-filters?",
}
OF_FAMILY = {
    "bf": {
        "error-rate": "error rate",
        "growth": "growth factor",
        "hash-function": "hash functions?",
        "seed": "seed",
        "tightening-ratio": "tightening ratio",
    },
    "cf": {
        "bucket": "buckets?",
        "compaction": "compaction",
        "eviction": "evictions?",
        "fingerprint": "fingerprints?",
        "growth": "growth factor",
        "slot": "slots?",
    },
    "cms": {"counter": "counters?", "row": "rows?"},
    "topk": {"bucket": "buckets?", "decay": r"decay(?!\^)", "row": "rows?"},
    "tdigest": {"centroid": "centroids?", "node": "nodes?", "quantile": "quantiles?"},
}
# Blocks of code, headings, rows above the line of a table, code, links, HTML and quotations.
HIDDEN = re.compile(
    r"^ *```.*?^ *```|^#[^\n]*|^\|[^\n]*\n(?=\| ?-)|`[^`]*`|!?\[[^\]]*\]\([^)]*\)|<[^>]*>|\"[^\"\n]*\"", re.M | re.S
)


def on_page_markdown(markdown, page, config, files):
    """Adds the links to the page of a command."""
    folder, _, name = page.file.src_uri.rpartition("/")
    prefix = name.split(".")[0]
    if folder != "commands" or prefix == "README":
        return markdown
    prose = HIDDEN.sub(lambda hidden: re.sub(r"[^\n]", "`", hidden[0]), markdown)
    uses = []
    for anchor, words in (ALL | OF_FAMILY.get(prefix, {})).items():
        if use := re.search(rf"(?<![\w`-]){words}(?![\w`-])", prose, re.I):
            uses.append((use.start(), use.end(), anchor))
    for start, end, anchor in sorted(uses, reverse=True):
        markdown = f"{markdown[:start]}[{markdown[start:end]}](../glossary.md#{anchor}){markdown[end:]}"
    return markdown
