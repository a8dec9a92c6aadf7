"""Runs the examples of docs/ that use the package. As in tests/server/each_server/documents.rs, each prints the comments that follow two
spaces."""

import contextlib
import io
import re

import pytest
from conftest import ROOT

FENCE = re.compile(r"^```python roughly\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    path
    for path in [ROOT / "python/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if FENCE.search(path.read_text()) or path.parent.name == "python"
]


def blocks(path):
    text = path.read_text()
    if path.parent.name == "python":
        text = text.replace("```python\n", "```python roughly\n")
    return FENCE.findall(text)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_examples_print_their_comments(client, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    port = client.get_connection_kwargs()["port"]
    names = {}
    for block in blocks(path):
        expected = re.findall(r"\S  # (.*)$", block, re.MULTILINE)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block.replace("6379", str(port)), names)
        assert printed.getvalue().splitlines() == expected, path


def test_the_pages_have_examples():
    assert len(PAGES) >= 3
