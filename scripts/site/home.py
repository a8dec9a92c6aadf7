"""Hooks of the documentation site (mkdocs.yml) for its first page: the version, a link to the sources, and the terminal session as
text."""

import re
import tomllib
from html import escape, unescape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SESSION = ROOT / "docs/plots/session.svg"
IMAGE = re.compile(r"^!\[[^]]*\]\(plots/session\.svg\)$", re.M)


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
    """Replaces the image of the session, and adds the facts below the first paragraph."""
    if page.file.src_uri != "README.md":
        return markdown
    markdown, images = IMAGE.subn(lambda image: session(), markdown)
    assert images == 1, "docs/README.md has no session"
    title, paragraph, rest = markdown.split("\n\n", 2)
    return f"{title}\n\n{paragraph}\n\n{facts()}\n{{ .facts }}\n\n{rest}"
