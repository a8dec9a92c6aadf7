"""roughly inspect: what a sketch is."""

from __future__ import annotations

import argparse
from typing import Any

from .._progress import quantity, size
from .._roughly import Sketch, TopK
from .places import load
from .streams import standard_output


def register(commands: Any) -> None:
    """Adds the command to those of the parser."""
    text = "print parameters, memory, fill, and how wrong the answers are now"
    parser = commands.add_parser("inspect", help=text, description=f"{text.capitalize()}.")
    parser.add_argument("sketches", nargs="+", metavar="FILE|URL", help="a DUMP payload, or redis://HOST[:PORT]/[DB/]KEY")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Prints a description of each sketch."""
    output = standard_output()
    for index, place in enumerate(arguments.sketches):
        if index:
            print(file=output)
        print(f"{place}:", file=output)
        for name, value in describe(load(place)):
            print(f"  {name}: {value}", file=output)


def describe(sketch: Sketch) -> list[tuple[str, str]]:
    """Names and values that describe a sketch."""
    rows = [("type", type(sketch).__name__), ("payload", size(len(sketch.dump())))]
    rows += [(name, _text(value)) for name, value in fields(sketch)]
    rows += [(name, f"{value:.3g}" if isinstance(value, float) else _text(value)) for name, value in sketch.accuracy().items()]
    if isinstance(sketch, TopK):
        items = sketch.items()
        rows += [(f"item {rank}", f"{item!r} {quantity(count)}") for rank, (item, count) in enumerate(items, 1)]
    return rows


def fields(sketch: Sketch) -> list[tuple[str, object]]:
    """The fields of INFO, and the parameters that it lacks."""
    found: list[tuple[str, object]] = list(sketch.info().items())
    attributes = {
        "error rate": "error_rate",
        "window in milliseconds": "window",
        "panes": "panes",
        "finest pane in milliseconds": "finest",
    }
    for name, attribute in attributes.items():
        value = getattr(sketch, attribute, None)
        if value is not None:
            found.append((name, value))
    return found


def _text(value: object) -> str:
    return quantity(value) if isinstance(value, int) else str(value)
