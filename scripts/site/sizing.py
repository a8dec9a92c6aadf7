"""Hooks of the documentation site (mkdocs.yml) that put docs/sizing.html, which also works by itself, into a page of the site
with its header, menu and colors (docs/site.css)."""

import re
from pathlib import Path

from mkdocs.structure.files import File

SOURCE = Path(__file__).resolve().parents[2] / "docs/sizing.html"
PAGE = "sizing.md"
# The title is a heading of the page, so that the search finds it.
MARKDOWN = """---
title: Sizing calculator
hide: [toc]
---
# Sizing calculator
"""
# A root font size of the theme, in those of the file.
ROOT_SIZE = 20 / 16


def part(text, tag):
    """The content of the only element with this tag."""
    return re.search(rf"<{tag}\b[^>]*>(.*)</{tag}>", text, re.DOTALL)[1]


def on_files(files, config):
    """Replaces the file with a page."""
    files.remove(files.get_file_from_path(SOURCE.name))
    files.append(File.generated(config, PAGE, content=MARKDOWN))
    return files


def on_page_content(html, page, config, files):
    """Adds the content of the file to the page. Its styles apply only to this content."""
    if page.file.src_uri != PAGE:
        return html
    text = SOURCE.read_text()
    style = re.sub(r"(?<!width: )(?<![\d.])(\d*\.?\d+)rem", lambda size: f"{float(size[1]) / ROOT_SIZE:.4g}rem", part(text, "style"))
    main = re.sub(r"<h1>.*</h1>", "", part(text, "main"))
    return f'{html}<style>.sizing {{{style}}}</style><div class="sizing">{main}</div><script>{part(text, "script")}</script>'
