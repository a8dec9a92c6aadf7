"""Progress on a terminal."""

from __future__ import annotations

import sys
import time
from typing import Callable, Optional

#: Called with the amount that is done and the total, which is None if it is unknown.
Report = Callable[[int, Optional[int]], object]

_UNITS = ("B", "kB", "MB", "GB", "TB")


def size(count: float) -> str:
    """A number of bytes as text, for example 31.2 MB."""
    unit = 0
    while count >= 999.5 and unit + 1 < len(_UNITS):
        count /= 1000
        unit += 1
    return f"{count:.0f} B" if unit == 0 else f"{count:.3g} {_UNITS[unit]}"


def quantity(count: float) -> str:
    """A number as text, for example 1,000."""
    return f"{count:,.0f}"


class Line:
    """A line on the standard error stream that shows progress, if that is a terminal."""

    def __init__(self, title: str, text: Callable[[float], str] = size) -> None:
        self._title = title
        self._text = text
        self._start = time.monotonic()
        self._next = 0.0
        self._shown = False
        self._terminal = sys.stderr is not None and sys.stderr.isatty()

    def __call__(self, done: int, total: int | None) -> None:
        now = time.monotonic()
        if not self._terminal or now < self._next:
            return
        self._next = now + 0.1
        elapsed = now - self._start
        rate = done / elapsed if elapsed > 0 else 0.0
        line = f"{self._title}: {self._text(done)}"
        if total:
            line += f" of {self._text(total)} ({100 * done / total:.0f} %)"
        if elapsed >= 1:
            line += f", {self._text(rate)} per second"
            if total and rate > 0:
                line += f", {(total - done) / rate:.0f} s left"
        # The sequence deletes the rest of the line.
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)
        self._shown = True

    def close(self) -> None:
        """Deletes the line."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._shown = False
