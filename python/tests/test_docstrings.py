"""The documentation of all public objects: `help()` has an example for each of them, and the examples run."""

import doctest
import inspect
import re

import pytest
import roughly
import roughly.shards
from conftest import ROOT

#: Attributes that return a parameter: the example of the class shows them.
PARAMETERS = {
    *("capacity", "error_rate", "expansion", "nonscaling", "valkey", "bucket_size", "max_iterations", "width", "depth"),
    *("cell_size", "k", "decay", "compression", "window", "panes", "finest", "seed", "count"),
}


def public_objects():
    """Names and objects: classes, functions, and the methods and attributes of classes."""
    names = [(name, getattr(roughly, name)) for name in sorted({*roughly.__all__, "open"})]
    names += [(f"shards.{name}", getattr(roughly.shards, name)) for name in roughly.shards.__all__]
    for name, value in names:
        if not callable(value):
            continue
        yield name, value
        if inspect.isclass(value):
            for member, attribute in vars(value).items():
                if not member.startswith("_"):
                    yield f"{name}.{member}", attribute


OBJECTS = dict(public_objects())


def needs_example(value):
    return callable(value) or isinstance(value, (classmethod, staticmethod)) or value.__name__ not in PARAMETERS


@pytest.mark.parametrize("name", OBJECTS)
def test_help_has_an_example_that_runs(name, client, tmp_path, monkeypatch):
    """Examples with a client use the server of the tests."""
    monkeypatch.chdir(tmp_path)
    documented = inspect.getdoc(OBJECTS[name])
    assert documented, name
    names = dict(vars(roughly)) | {"roughly": roughly, "client": client}
    test = doctest.DocTestParser().get_doctest(documented, names, name, None, None)
    assert test.examples or not needs_example(OBJECTS[name])
    assert doctest.DocTestRunner().run(test).failed == 0


def test_the_rule_covers_all_classes():
    assert len(OBJECTS) > 80
    assert {"BloomFilter.merge", "Sketch.dump", "TopK.merge", "TDigest.centroids", "CuckooFilter.fill", "load"} <= {*OBJECTS}
    assert not needs_example(roughly.BloomFilter.capacity) and needs_example(roughly.BloomFilter.fill)


def literals(path):
    """The string literals of a source file, without escaped ends of lines."""
    text = re.sub(r"^ *(//|#).*$", "", path.read_text(), flags=re.MULTILINE)
    for literal in re.findall(r'"((?:[^"\\\n]|\\.|\n)*?)"', text, re.DOTALL):
        yield re.sub(r"\\\n\s*", "", literal)


SOURCES = [*(ROOT / "python/src").rglob("*.rs"), *(ROOT / "python/roughly").rglob("*.py")]


def test_no_text_has_several_blanks_in_a_row():
    assert len(SOURCES) > 20
    for path in SOURCES:
        for literal in literals(path):
            sentence = re.search(r"[a-z,.:;)]\n? {2,}\w", literal)
            # Indented lines of docstrings and templates of several lines.
            assert not sentence or literal.count("\n") > 1, (path, literal)
    for name, value in OBJECTS.items():
        for line in inspect.getdoc(value).splitlines():
            if not line.startswith((">>>", "...")):
                assert "  " not in line.strip(), (name, line)
