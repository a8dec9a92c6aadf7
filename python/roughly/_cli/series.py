"""roughly series: the answers of a command, step by step, as a table and as a chart."""

from __future__ import annotations

import argparse
import csv
import importlib
import math
import re
from datetime import datetime, timedelta, timezone
from typing import Any

from .errors import Failure
from .places import connect, is_url
from .streams import standard_output

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
#: The lines of a chart.
_MAX_LINES = 10


def register(commands: Any) -> None:
    """Adds the command to those of the parser."""
    text = "print or draw the answers of a command for each step of a key's window"
    description = f"{text.capitalize()} (SKETCH.SERIES). PERIOD is a number with ms, s, m, h or d."
    parser = commands.add_parser("series", help=text, description=description)
    parser.add_argument("server", metavar="URL", help="redis://[USER:PASSWORD@]HOST[:PORT][/DB]")
    parser.add_argument("key", metavar="KEY")
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="with its arguments after the key: TDIGEST.QUANTILE 0.5 0.99")
    parser.add_argument("--step", required=True, type=_period, metavar="PERIOD", help="for example 1h")
    parser.add_argument("--last", type=_period, metavar="PERIOD", help="the part of the window that ends now (default: all)")
    parser.add_argument("--csv", metavar="FILE", help="where to write the table (default without --plot: standard output)")
    plot = f"where to draw a chart, such as FILE.svg or FILE.png, of at most {_MAX_LINES} columns; requires matplotlib"
    parser.add_argument("--plot", metavar="FILE", help=plot)
    parser.set_defaults(run=run)


def _period(text: str) -> int:
    """Milliseconds."""
    match = re.fullmatch("([0-9]+)(ms|s|m|h|d)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text} is no number with ms, s, m, h or d")
    return int(match[1]) * _UNITS[match[2]]


def run(arguments: argparse.Namespace) -> None:
    """Writes the table and the chart."""
    if not is_url(arguments.server):
        raise Failure(f"{arguments.server} is not the URL of a server: redis://HOST[:PORT][/DB]")
    if arguments.plot:
        figure = _figure()
    name, *rest = arguments.command
    if name.upper() == "TOPK.LIST":
        rest = ["WITHCOUNT"]
    start = f"-{arguments.last}" if arguments.last is not None else "-"
    client, library = connect(arguments.server)
    try:
        rows = client.execute_command("SKETCH.SERIES", start, "+", arguments.step, name, arguments.key, *rest)
    except library.RedisError as error:
        raise Failure(f"{arguments.key}: {error}") from None
    if not rows:
        raise Failure(f"{arguments.key}: no rows: the key does not exist, or its window is empty")
    table = [(int(start), int(covered), _values(name, rest, reply)) for start, covered, reply in rows]
    if arguments.csv or not arguments.plot:
        _write(table, arguments.csv)
    if arguments.plot:
        _draw(figure, table, f"{arguments.key}: {name.upper()}", arguments.plot)


def _values(name: str, arguments: list[str], reply: Any) -> dict[str, float]:
    """The columns of a row. Replies are of RESP2 or RESP3."""
    if not isinstance(reply, (list, dict)):
        return {name.lower(): _number(reply)}
    if isinstance(reply, list) and name.upper() not in ("TOPK.LIST", "SKETCH.ACCURACY"):
        return {argument: _number(each) for argument, each in zip(arguments, reply)}
    pairs = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2])
    return {each.decode(errors="backslashreplace"): _number(value) for each, value in pairs}


def _number(value: Any) -> float:
    """As text, the same with RESP2 and RESP3."""
    if isinstance(value, int):
        return int(value)
    number = float(value)
    return int(number) if number.is_integer() else number


def _columns(table: list[tuple[int, int, dict[str, float]]]) -> list[str]:
    """The names of all rows, in the order of their first ones."""
    return list(dict.fromkeys(name for _, _, values in table for name in values))


def _write(table: list[tuple[int, int, dict[str, float]]], file: str | None) -> None:
    """Writes the table as CSV. A value that a row does not have is empty."""
    columns = _columns(table)
    output = open(file, "w", newline="", encoding="utf-8") if file else standard_output()
    try:
        writer = csv.writer(output, lineterminator="\n")
        writer.writerow(["start", "covered", *columns])
        for start, covered, values in table:
            writer.writerow([_time(start).isoformat(timespec="milliseconds"), covered, *(values.get(name, "") for name in columns)])
    finally:
        if file:
            output.close()


def _time(ms: int) -> datetime:
    return datetime.fromtimestamp(0, timezone.utc) + timedelta(milliseconds=ms)


def _figure() -> Any:
    """An empty figure of matplotlib."""
    try:
        matplotlib = importlib.import_module("matplotlib.figure")
    except ModuleNotFoundError:
        raise Failure("the Python package matplotlib is required for a chart: pip install matplotlib") from None
    return matplotlib.Figure(figsize=(8, 3.2), layout="constrained")


def _draw(figure: Any, table: list[tuple[int, int, dict[str, float]]], title: str, file: str) -> None:
    """Draws a line per column. The rows follow each other without gaps, so each value lasts until the next one."""
    matplotlib = importlib.import_module("matplotlib")
    dates = importlib.import_module("matplotlib.dates")
    axes = figure.subplots()
    last_start, last_covered, _ = table[-1]
    times = [_time(start) for start, _, _ in table] + [_time(last_start + last_covered)]
    lines = []
    for name in _columns(table):
        values = [values.get(name, math.nan) for _, _, values in table]
        lines.append((sum(value for value in values if value == value), name, values))
    # Of many items, those with the largest sums.
    largest = sorted(lines, key=lambda line: -line[0])[:_MAX_LINES]
    for line in lines:
        if line in largest:
            axes.plot(times, line[2] + line[2][-1:], drawstyle="steps-post", label=line[1])
    locator = dates.AutoDateLocator(tz=timezone.utc)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, tz=timezone.utc))
    axes.set_title(f"{title} (UTC)", loc="left")
    axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
    axes.margins(x=0)
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    # The same rows give the same file.
    metadata = {"Creator": None, "Date": None} if file.endswith(".svg") else None
    with matplotlib.rc_context({"svg.hashsalt": "roughly", "svg.fonttype": "none"}):
        figure.savefig(file, metadata=metadata)
