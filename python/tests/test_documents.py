"""Runs the examples of docs/ that use the package. As in tests/server/each_server/documents.rs, each prints the comments that follow two
spaces. `python dask` and `python spark` blocks need these engines, which scripts/check-release.sh installs, and the blocks before them."""

import contextlib
import io
import re
import sys

import pytest
from conftest import ROOT

FENCE = re.compile(r"^```python (roughly|dask|spark)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENGINES = {"dask": "dask", "spark": "pyspark"}


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
    # The workers of Spark.
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))

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


@pytest.mark.parametrize("engine", ENGINES)
def test_examples_of_engines_print_their_comments(run, engine):
    pytest.importorskip(ENGINES[engine], reason="scripts/check-release.sh python installs it")
    pages = [path for path in PAGES if engine in dict(blocks(path))]
    assert pages
    for path in pages:
        run(path, {"roughly", engine})


def test_the_pages_have_examples():
    assert len(PAGES) >= 3
