"""Periods of a window: what the methods `between` and `series` of the classes return."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Sequence


class Period:
    """The methods of a sketch that read, for a period."""

    __slots__ = ("_part", "_sketch")

    def __init__(self, sketch: object, part: object) -> None:
        self._sketch = sketch
        self._part = part

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = None if name.startswith("_") else getattr(self._sketch, name, None)
        if method is None or "within" not in (getattr(method, "__text_signature__", None) or ""):
            raise AttributeError(f"a period has no method '{name}'")

        def read(*arguments: Any, **options: Any) -> Any:
            for option in ("at", "within"):
                if option in options:
                    raise TypeError(f"{name}() of a period got an unexpected keyword argument '{option}'")
            return method(*arguments, **options, within=self._part)

        return read


def series(sketch: object, rows: Sequence[tuple[int, int, object]], name: str, arguments: list[Any]) -> list[list[Any]]:
    """A list per row: its start, the milliseconds that it covers, and what the method of this name returns for its panes.

    `rows` has the start, the milliseconds and the argument `within` of each. If there are arguments, the method returns several answers,
    which follow in the row.
    """
    read = getattr(sketch, name)
    # An iterator can be read once.
    arguments = [list(argument) if hasattr(argument, "__next__") else argument for argument in arguments]
    if not rows:
        # Checks the arguments.
        read(*arguments)
    series = []
    for start, covered, part in rows:
        reply = read(*arguments, within=part)
        if not arguments or not hasattr(reply, "__len__"):
            reply = [reply]
        # Of NumPy arrays, the numbers of Python.
        series.append([start, covered, *(reply.tolist() if hasattr(reply, "tolist") else reply)])
    return series
