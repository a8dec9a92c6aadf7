"""The standard streams. One that was closed when Python started is None."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from .errors import Failure


def standard_input() -> Any:
    """Bytes. Fails if it is closed."""
    if sys.stdin is None:
        raise Failure("standard input is closed")
    return sys.stdin.buffer


def standard_output() -> TextIO:
    """Text. Fails if it is closed."""
    if sys.stdout is None:
        raise Failure("standard output is closed")
    return sys.stdout


def log(text: str) -> None:
    """Writes a line to standard error if it is open."""
    # print writes to standard output if the file is None.
    if sys.stderr is not None:
        print(text, file=sys.stderr)
