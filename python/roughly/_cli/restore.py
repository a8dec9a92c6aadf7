"""roughly restore: a sketch from a file to a server."""

from __future__ import annotations

import argparse
from typing import Any

from .._clients import to_redis
from .errors import Failure
from .places import connect, is_url, load


def register(commands: Any) -> None:
    """Adds the command to those of the parser."""
    text = "store the sketch in a file in a key of a server"
    parser = commands.add_parser("restore", help=text, description=f"{text.capitalize()}.")
    parser.add_argument("file", metavar="FILE", help="a DUMP payload")
    parser.add_argument("server", metavar="URL", help="redis://[USER:PASSWORD@]HOST[:PORT][/DB]")
    parser.add_argument("key", metavar="KEY")
    parser.add_argument("--replace", action="store_true", help="replace an existing key")
    parser.add_argument("--ttl", type=_milliseconds, default=0, metavar="SECONDS", help="time to live (default: none)")
    parser.set_defaults(run=run)


def _milliseconds(text: str) -> int:
    """Of a time to live in seconds."""
    try:
        milliseconds = round(1000 * float(text))
    except (OverflowError, ValueError):
        milliseconds = 0
    if milliseconds < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of at least 0.001")
    return milliseconds


def run(arguments: argparse.Namespace) -> None:
    """Stores the sketch."""
    if not is_url(arguments.server):
        raise Failure(f"{arguments.server} is not the URL of a server: redis://HOST[:PORT][/DB]")
    sketch = load(arguments.file)
    client, library = connect(arguments.server)
    try:
        to_redis(client, arguments.key, sketch, replace=arguments.replace, ttl_ms=arguments.ttl)
    except library.RedisError as error:
        raise Failure(f"{arguments.key}: {error}") from None
