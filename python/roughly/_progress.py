"""Progress, and amounts as text."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional

    #: Called with the amount that is done and the total, which is None if it is unknown.
    _Report = Callable[[int, Optional[int]], object]

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


class Bar:
    """A bar of tqdm on the standard error stream. `terminal`: only if that is a terminal and tqdm is installed."""

    def __init__(self, title: str | None = None, *, terminal: bool = False) -> None:
        self._bar = None
        if terminal and not (sys.stderr and sys.stderr.isatty()):
            return
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped, import-not-found, unused-ignore]
        except ModuleNotFoundError:
            if not terminal:
                raise
            return
        self._bar = tqdm(desc=title, unit="B", unit_scale=True, leave=not terminal)

    def __call__(self, done: int, total: int | None) -> None:
        if self._bar is not None:
            self._bar.total = total
            self._bar.update(done - self._bar.n)
            if done == total:
                self.close()

    def clear(self) -> None:
        """Hides the bar until the next call."""
        if self._bar is not None:
            self._bar.clear()

    def close(self) -> None:
        """Ends the bar."""
        if self._bar is not None:
            self._bar.close()
