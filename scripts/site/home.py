"""Hooks of the documentation site (mkdocs.yml) for its first page: the version, a link to the sources, the terminal session as text
with the figures and the questions beside it, and without the row for contributors, whose pages are not on the site."""

import re
import tomllib
from html import escape, unescape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SESSION = ROOT / "docs/plots/session.svg"
# The image of the session, and what is beside it: all up to the chart.
FIRST_SCREEN = re.compile(r"^!\[[^]]*\]\(plots/session\.svg\)\n(.*?)(?=^!\[)", re.M | re.S)


def session():
    """The lines of the recorded session, with the classes of the file."""
    lines = re.findall(r'<text class="(\w+)"[^>]*>(.*?)</text>', SESSION.read_text())
    lines = [f'<span class="{kind}">{escape(unescape(text), quote=False)}</span>' for kind, text in lines]
    return '<pre class="session">' + "\n".join(lines) + "</pre>"


def facts():
    """The version and the links that a reader looks for first. README.md has the address of the sources after the release."""
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    address = re.search(r"git clone (https://\S*[a-z]\S*)", (ROOT / "README.md").read_text())
    links = [f"[Sources]({address[1]})"] if address else []
    return " · ".join([f"Version {version}", *links, "[Changes](CHANGELOG.md)", "MIT or Apache-2.0"])


def on_page_markdown(markdown, page, config, files):
    """Makes the first screen, and adds the facts below the first paragraph."""
    if page.file.src_uri != "README.md":
        return markdown

    def columns(match):
        return f'<div class="first-screen" markdown="1">\n\n{session()}\n\n<div markdown="1">\n{match[1]}</div>\n\n</div>\n\n'

    markdown, screens = FIRST_SCREEN.subn(columns, markdown)
    markdown, rows = re.subn(r"^\| Change the code \|.*\n", "", markdown, flags=re.M)
    assert (screens, rows) == (1, 1), "docs/README.md has no session or no row for contributors"
    title, paragraph, rest = markdown.split("\n\n", 2)
    return f"{title}\n\n{paragraph}\n\n{facts()}\n{{ .facts }}\n\n{rest}"
