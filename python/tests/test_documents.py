"""Runs the examples of docs/ that use the package. As in tests/server/each_server/documents.rs, each prints the comments that follow two
spaces."""

import contextlib
import io
import re

import pytest
from conftest import ROOT

FENCE = re.compile(r"^```python (roughly)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path):
    """The kinds and texts of the blocks of a page."""
    text = path.read_text()
    if path.parent.name == "python":
        text = text.replace("```python\n", "```python roughly\n")
    return FENCE.findall(text)


PAGES = [path for path in [ROOT / "python/README.md", *sorted((ROOT / "docs").rglob("*.md"))] if blocks(path)]


@pytest.fixture
def run(client, request, tmp_path, monkeypatch):
    """Runs the blocks of a page that are of these kinds."""
    monkeypatch.chdir(tmp_path)

    def run(path, kinds):
        texts = [text for kind, text in blocks(path) if kind in kinds]
        ports = {"6379": client}
        if "7000" in "".join(texts):
            ports["7000"] = request.getfixturevalue("nodes")[0]
        names = {"__name__": "__main__"}
        for text in texts:
            expected = re.findall(r"\S  # (.*)$", text, re.MULTILINE)
            for port, server in ports.items():
                text = text.replace(port, str(server.get_connection_kwargs()["port"]))
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(text, names)
            assert printed.getvalue().splitlines() == expected, path

    return run


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_examples_print_their_comments(run, path):
    run(path, {"roughly"})


def test_the_pages_have_examples():
    assert len(PAGES) >= 3
