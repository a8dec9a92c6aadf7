"""roughly merge: one sketch from several."""

from __future__ import annotations

import argparse
from typing import Any

from .._roughly import BloomFilter
from .errors import Failure
from .places import load


def register(commands: Any) -> None:
    """Adds the command to those of the parser."""
    text = "merge Bloom filters, count-min sketches, top-k sketches or t-digests"
    parser = commands.add_parser("merge", help=text, description=f"{text.capitalize()}.")
    parser.add_argument("sketches", nargs="+", metavar="FILE|URL", help="a DUMP payload, or redis://HOST[:PORT]/[DB/]KEY")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where to write the DUMP payload")
    parser.add_argument(
        "--allow-rate",
        type=float,
        metavar="RATE",
        help="largest false positive rate of a merged Bloom filter (default: about its error rate)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Merges the sketches into the first one, and writes its payload into a file."""
    first, *others = [load(place) for place in arguments.sketches]
    for place, other in zip(arguments.sketches[1:], others):
        if type(other) is not type(first):
            raise Failure(f"{place}: {type(other).__name__}, but {arguments.sketches[0]}: {type(first).__name__}")
    merge: Any = getattr(first, "merge", None)
    if merge is None:
        raise Failure(f"objects of the class {type(first).__name__} cannot be merged")
    options = {} if arguments.allow_rate is None else {"allow_rate": arguments.allow_rate}
    if options and not isinstance(first, BloomFilter):
        raise Failure("--allow-rate is for Bloom filters")
    if others:
        try:
            merge(*others, **options)
        except ValueError as error:
            raise Failure(str(error).replace("merge(..., allow_rate=", "--allow-rate ").rstrip(")")) from None
    first.save(arguments.output)
