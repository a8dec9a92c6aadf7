"""Lines of files. A line is its bytes without the line feed; empty lines are skipped."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import BinaryIO

from .._progress import Line
from .errors import Failure

_BLOCK_BYTES = 1 << 20


def _open(name: str, stack: ExitStack) -> BinaryIO:
    return sys.stdin.buffer if name == "-" else stack.enter_context(open(name, "rb"))


def _size(files: Sequence[BinaryIO]) -> int | None:
    """The total size; None if a file has none."""
    states = [os.fstat(file.fileno()) for file in files]
    if not all(stat.S_ISREG(state.st_mode) for state in states):
        return None
    return sum(state.st_size for state in states)


def batches(names: Sequence[str], title: str = "reading") -> Iterator[tuple[str, int, list[bytes]]]:
    """The lines in batches, also the empty ones, each batch with the name of the file and the number of its first line."""
    with ExitStack() as stack:
        files = [_open(name, stack) for name in names]
        total, done = _size(files), 0
        progress = Line(title)
        stack.callback(progress.close)
        for name, file in zip(names, files):
            number, rest = 1, b""
            while block := file.read(_BLOCK_BYTES):
                done += len(block)
                progress(done, total)
                lines = (rest + block).split(b"\n")
                rest = lines.pop()
                yield name, number, lines
                number += len(lines)
            if rest:
                yield name, number, [rest]


def count(names: Sequence[str]) -> int:
    """The number of lines."""
    if "-" in names:
        raise Failure("standard input is read only once: specify --capacity")
    return sum(len(list(filter(None, lines))) for _, _, lines in batches(names, "counting lines"))
