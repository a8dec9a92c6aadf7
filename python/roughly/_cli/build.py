"""roughly build: a sketch of the lines of files."""

from __future__ import annotations

import argparse
from typing import Any, Callable

from .._progress import quantity, size
from .._roughly import BloomFilter, CountMinSketch, CuckooFilter, Sketch, TDigest, TopK
from .errors import Failure
from .lines import batches, count
from .streams import log


def register(commands: Any) -> None:
    """Adds the command to those of the parser."""
    parser = commands.add_parser("build", help="build a sketch from the lines of files")
    kinds = parser.add_subparsers(metavar="TYPE", required=True)

    def add(name: str, create: Callable[[argparse.Namespace], Sketch], description: str) -> Any:
        kind = kinds.add_parser(name, help=description, description=f"Builds a {description} from lines.")
        kind.add_argument("files", nargs="*", metavar="FILE", help="default: standard input, also -")
        kind.add_argument("-o", "--output", required=True, metavar="FILE", help="where to write the DUMP payload")
        kind.set_defaults(run=run, create=create)
        return kind

    bloom = add("bloom", _bloom, "Bloom filter")
    bloom.add_argument("--error", type=float, default=0.01, help="error rate (default: 0.01)")
    bloom.add_argument("--capacity", type=int, help="number of items (default: the number of lines)")
    bloom.add_argument("--nonscaling", action="store_true", help="fail above the capacity instead of growing")
    cuckoo = add("cuckoo", _cuckoo, "cuckoo filter")
    cuckoo.add_argument("--capacity", type=int, help="number of slots (default: two per line, at least two buckets)")
    cuckoo.add_argument("--bucket-size", type=int, default=2, help="slots per bucket (default: 2)")
    cms = add("cms", _cms, "count-min sketch")
    cms.add_argument("--error", type=float, default=0.001, help="of an estimate, relative to all counts (default: 0.001)")
    cms.add_argument("--probability", type=float, default=0.01, help="of a larger error (default: 0.01)")
    top_k = add("topk", _top_k, "top-k of the most frequent lines")
    top_k.add_argument("-k", type=int, default=10, help="number of items (default: 10)")
    top_k.add_argument("--width", type=int, help="default: 10 times k, at least 8")
    top_k.add_argument("--depth", type=int, default=5, help="default: 5")
    digest = add("tdigest", _t_digest, "t-digest of numbers")
    digest.add_argument("--compression", type=int, default=100, help="default: 100")


def run(arguments: argparse.Namespace) -> None:
    """Builds a sketch, and writes its payload into a file."""
    arguments.files = arguments.files or ["-"]
    sketch = arguments.create(arguments)
    lines_added = 0
    for name, number, lines in batches(arguments.files):
        try:
            if isinstance(sketch, TDigest):
                sketch.update(list(map(float, filter(None, lines))))
            else:
                sketch.update(list(filter(None, lines)))
        except ValueError as error:
            raise Failure(f"{_place(sketch, name, number, lines)}: {error}") from None
        lines_added += len(lines) - lines.count(b"")
    sketch.save(arguments.output)
    log(f"{quantity(lines_added)} lines, {arguments.output}: {size(len(sketch.dump()))}")


def _place(sketch: Sketch, name: str, number: int, lines: list[bytes]) -> str:
    """File and line of an error, if it is that of a single line."""
    name = "standard input" if name == "-" else name
    if isinstance(sketch, TDigest):
        for offset, line in enumerate(lines):
            try:
                TDigest().update([float(line)] if line else [])
            except ValueError:
                return f"{name}, line {number + offset}"
    return name


def _capacity(arguments: argparse.Namespace, per_line: int, smallest: int) -> int:
    if arguments.capacity is not None:
        return int(arguments.capacity)
    return max(per_line * count(arguments.files), smallest)


def _bloom(arguments: argparse.Namespace) -> Sketch:
    sketch = BloomFilter(_capacity(arguments, 1, 1), arguments.error, nonscaling=arguments.nonscaling)
    info = sketch.info()
    log(f"Bloom filter: capacity {quantity(info['Capacity'] or 0)}, error rate {arguments.error:g}, {size(info['Size'] or 0)}")
    return sketch


def _cuckoo(arguments: argparse.Namespace) -> Sketch:
    # A filter grows when it cannot place an item, which can occur above 55 % of the slots.
    bucket_size = arguments.bucket_size
    sketch = CuckooFilter(_capacity(arguments, 2, 2 * bucket_size), bucket_size=bucket_size)
    info = sketch.info()
    slots = info["Number of buckets"] * info["Bucket size"]
    error = 2 * info["Bucket size"] / 255
    log(f"cuckoo filter: {quantity(slots)} slots, error rate at most {error:.2g}, {size(info['Size'])}")
    return sketch


def _cms(arguments: argparse.Namespace) -> Sketch:
    sketch = CountMinSketch(error=arguments.error, probability=arguments.probability)
    info = sketch.info()
    log(
        f"count-min sketch: width {quantity(info['width'])}, depth {info['depth']}, estimates too high by at most "
        f"{2 / info['width']:.2g} of all counts with a probability of {1 - 0.5 ** info['depth']:.4g}, {size(len(sketch.dump()))}"
    )
    return sketch


def _top_k(arguments: argparse.Namespace) -> Sketch:
    width = max(10 * arguments.k, 8) if arguments.width is None else arguments.width
    sketch = TopK(arguments.k, width, arguments.depth)
    log(f"top-k: k {arguments.k}, width {width}, depth {arguments.depth}, {size(len(sketch.dump()))}")
    return sketch


def _t_digest(arguments: argparse.Namespace) -> Sketch:
    sketch = TDigest(arguments.compression)
    capacity = sketch.info()["Capacity"]
    log(f"t-digest: compression {arguments.compression}, at most {size(16 * capacity)}")
    return sketch
