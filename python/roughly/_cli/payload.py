"""The values in a DUMP payload of this package, in which strings are not compressed (docs/contributing/formats.md)."""

from __future__ import annotations

import struct
from typing import Any

_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


class Values:
    """The values of a payload, one after the other."""

    def __init__(self, payload: bytes) -> None:
        self._payload = memoryview(payload)
        self._at = 1
        identifier = self._length()
        #: The name of the type.
        self.type = "".join(_CHARACTERS[identifier >> 10 + 6 * (8 - index) & 63] for index in range(9))

    def next(self) -> Any:
        """The next value: int, float or memoryview."""
        opcode = self._length()
        if opcode in (1, 2):
            return self._length()
        if opcode == 4:
            return struct.unpack("<d", self._take(8))[0]
        if opcode == 5:
            first = self._payload[self._at]
            if first >= 0xC0:
                # The digits of an integer.
                self._at += 1
                number = int.from_bytes(self._take(1 << (first & 3)), "little", signed=True)
                return memoryview(str(number).encode())
            return self._take(self._length())
        raise ValueError(f"unknown type of value {opcode}")

    def skip(self, count: int) -> None:
        """Leaves out values."""
        for _ in range(count):
            self.next()

    def _take(self, count: int) -> memoryview:
        self._at += count
        return self._payload[self._at - count : self._at]

    def _length(self) -> int:
        first = self._take(1)[0]
        if first < 0x40:
            return first
        if first < 0x80:
            return (first & 0x3F) << 8 | self._take(1)[0]
        return int.from_bytes(self._take(4 if first == 0x80 else 8), "big")
