"""Types of arguments and results."""

from __future__ import annotations

from typing import Union

from ._roughly import BloomFilter, CountMinSketch, CuckooFilter, TDigest, TopK

#: An object of any class of the package.
Sketch = Union[BloomFilter, CuckooFilter, CountMinSketch, TopK, TDigest]
