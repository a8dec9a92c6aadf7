"""roughly rdb: the sketches in an RDB file."""

from __future__ import annotations

import argparse
from datetime import datetime, timezone
from typing import Any

from .._progress import Bar, quantity
from .._rdb import load_rdb
from .describe import fields
from .errors import Failure
from .streams import standard_output


def register(commands: Any) -> None:
    """Adds the command to those of the parser."""
    text = "list the sketches in an RDB file"
    parser = commands.add_parser(
        "rdb",
        help=text,
        description=f"{text.capitalize()}: database, key, class, expiry, and parameters with the fields of INFO, separated by tabs.",
    )
    parser.add_argument("file", metavar="FILE")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Prints a line per sketch."""
    output = standard_output()
    progress = Bar("reading", terminal=True)
    try:
        for database, key, expires, sketch in load_rdb(arguments.file, progress=progress):
            described = ", ".join(
                f"{name}: {quantity(value) if isinstance(value, int) else value}" for name, value in fields(sketch)
            )
            # Without quotes: escapes keep a key on its line.
            name = repr(key)[2:-1]
            progress.clear()
            print(database, name, type(sketch).__name__, _time(expires), described, sep="\t", file=output)
    except ValueError as error:
        raise Failure(f"{arguments.file}: {error}") from None
    finally:
        progress.close()


def _time(expires: int | None) -> str:
    if expires is None:
        return "-"
    try:
        return datetime.fromtimestamp(expires / 1000, timezone.utc).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return str(expires)
