"""Bloom and cuckoo filters, count-min sketch, top-k and t-digest, with the stored formats of Redis and Valkey modules."""

from ._clients import from_redis, to_redis
from ._rdb import load_rdb
from ._roughly import (  # type: ignore[attr-defined, unused-ignore]
    BloomFilter,
    CountMinSketch,
    CuckooFilter,
    Sketch,
    TDigest,
    TopK,
    __version__,
    load,
    load_chunks,
)

# Not in __all__, because `from roughly import *` would replace the built-in function.
from ._roughly import open as open

__all__ = [
    "BloomFilter",
    "CountMinSketch",
    "CuckooFilter",
    "Sketch",
    "TDigest",
    "TopK",
    "__version__",
    "from_redis",
    "load",
    "load_chunks",
    "load_rdb",
    "to_redis",
]
