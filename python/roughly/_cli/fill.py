"""How full the arrays of a filter are, and the error rate that follows from it."""

from __future__ import annotations

from typing import NamedTuple

from .payload import Values

_BLOCK_BYTES = 1 << 20


class Fill(NamedTuple):
    """The fill of a sub-filter: bits of a Bloom filter that are set, or slots of a cuckoo filter in use."""

    used: int
    total: int
    #: The share of items that were not added and are found in this sub-filter.
    error_rate: float


def fills(payload: bytes) -> list[Fill]:
    """The fill of each sub-filter, oldest first. Empty for other types, and for filters with a window."""
    values = Values(payload)
    if values.type == "MBbloom--":
        return _bloom(values)
    if values.type == "bloomfltr":
        return _valkey_bloom(values)
    if values.type == "MBbloomCF":
        return _cuckoo(values)
    return []


def error_rate(fills: list[Fill]) -> float:
    """The error rate of a filter with these sub-filters."""
    correct = 1.0
    for fill in fills:
        correct *= 1 - fill.error_rate
    return 1 - correct


def _of_bits(array: memoryview, bits: int, hashes: int) -> Fill:
    used = 0
    for at in range(0, len(array), _BLOCK_BYTES):
        # int.bit_count needs Python 3.10.
        used += bin(int.from_bytes(array[at : at + _BLOCK_BYTES], "little")).count("1")
    return Fill(used, bits, (used / bits) ** hashes)


def _bloom(values: Values) -> list[Fill]:
    values.skip(1)
    filters = values.next()
    values.skip(2)
    found = []
    for _ in range(filters):
        values.skip(2)
        hashes = values.next()
        values.skip(1)
        bits, power = values.next(), values.next()
        found.append(_of_bits(values.next(), 1 << power if power else bits, hashes))
        values.skip(1)
    return found


def _valkey_bloom(values: Values) -> list[Fill]:
    filters = values.next()
    values.skip(4)
    found = []
    for index in range(filters):
        values.skip(2 if index + 1 == filters else 1)
        filter = values.next()
        array, hashes = filter[45:], int.from_bytes(filter[9:13], "little")
        found.append(_of_bits(array, 8 * len(array), hashes))
    return found


def _cuckoo(values: Values) -> list[Fill]:
    filters = values.next()
    values.skip(3)
    bucket_size = values.next()
    values.skip(2)
    found = []
    for _ in range(filters):
        values.skip(1)
        slots = values.next()
        used = len(slots) - sum(
            bytes(slots[at : at + _BLOCK_BYTES]).count(0) for at in range(0, len(slots), _BLOCK_BYTES)
        )
        # A look-up compares one of 255 fingerprints with the slots in use of two buckets.
        compared = 2 * bucket_size * used / len(slots)
        found.append(Fill(used, len(slots), 1 - (254 / 255) ** compared))
    return found
