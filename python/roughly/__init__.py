"""Bloom and cuckoo filters, count-min sketch, top-k and t-digest, with the stored formats of Redis and Valkey modules."""

from ._roughly import (
    BloomFilter,
    CountMinSketch,
    CuckooFilter,
    TDigest,
    TopK,
    load,
    load_chunks,
    open,
)

__all__ = [
    "BloomFilter",
    "CountMinSketch",
    "CuckooFilter",
    "TDigest",
    "TopK",
    "load",
    "load_chunks",
    "open",
]
