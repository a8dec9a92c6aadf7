"""Lines of text files, also of compressed ones. A line ends with LF or CRLF, and is its bytes before that; empty lines are skipped."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from .._progress import Bar
from .errors import Failure
from .streams import standard_input

_BLOCK_BYTES = 1 << 20

#: How compressed files begin, and what reads them.
_COMPRESSED: list[tuple[bytes, Any]] = [
    (rb"\x1f\x8b\x08", gzip.open),
    (rb"BZh[1-9]1AY&SY", bz2.open),
    (rb"\xfd7zXZ\x00", lzma.open),
]
#: How files begin that are not read as lines, and why.
_REFUSED = [
    (rb"\x28\xb5\x2f\xfd", "compressed with zstd: decompress it with zstd -dc"),
    (rb"PK\x03\x04", "a zip archive: extract it with unzip -p"),
    (rb"\xff\xfe|\xfe\xff", "UTF-16: convert it with iconv -f UTF-16 -t UTF-8"),
]
_START_BYTES = 10
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class _File:
    """A file that is read in blocks."""

    def __init__(self, name: str, stack: ExitStack) -> None:
        self._name = "standard input" if name == "-" else name
        raw: Any = standard_input() if name == "-" else stack.enter_context(open(name, "rb"))
        #: The file as it is stored: its position is the progress.
        self.raw = raw
        start = raw.peek(_START_BYTES)
        for pattern, reason in _REFUSED:
            if re.match(pattern, start):
                raise Failure(f"{self._name} is {reason}")
        self._file: Any = self.raw
        for pattern, open_compressed in _COMPRESSED:
            if re.match(pattern, start):
                self._file = stack.enter_context(open_compressed(self.raw))

    def blocks(self) -> Iterator[bytes]:
        """The content, decompressed, without a byte order mark."""
        try:
            block = self._file.read(_BLOCK_BYTES).removeprefix(_BYTE_ORDER_MARK)
            while block:
                yield block
                block = self._file.read(_BLOCK_BYTES)
        except (EOFError, zlib.error, lzma.LZMAError) as error:
            raise Failure(f"{self._name}: {error}") from None
        except OSError as error:
            # bz2 and gzip raise it for invalid data, without a number.
            if error.errno is None:
                raise Failure(f"{self._name}: {error}") from None
            raise


def _size(files: Sequence[_File]) -> int | None:
    """The total size; None if a file has none."""
    states = [os.fstat(file.raw.fileno()) for file in files]
    if not all(stat.S_ISREG(state.st_mode) for state in states):
        return None
    return sum(state.st_size for state in states)


def batches(names: Sequence[str], title: str = "reading") -> Iterator[tuple[str, int, list[bytes]]]:
    """The lines in batches, also the empty ones, each batch with the name of the file and the number of its first line."""
    with ExitStack() as stack:
        files = [_File(name, stack) for name in names]
        total, done = _size(files), 0
        progress = Bar(title, terminal=True)
        stack.callback(progress.close)
        for name, file in zip(names, files):
            number, read = 1, 0
            # Of the line that has not ended. Joined once, because a line can consist of many blocks.
            parts: list[bytes] = []
            for block in file.blocks():
                if total is not None:
                    progress(done + file.raw.tell(), total)
                else:
                    progress(read := read + len(block), None)
                parts.append(block)
                if b"\n" not in block:
                    continue
                lines = b"".join(parts).replace(b"\r\n", b"\n").split(b"\n")
                parts = [lines.pop()]
                yield name, number, lines
                number += len(lines)
            if rest := b"".join(parts):
                yield name, number, [rest]
            done += file.raw.tell() if total is not None else read


def count(names: Sequence[str]) -> int:
    """The number of lines. Fails for files that can be read only once."""
    for name in names:
        if name == "-" or stat.S_IFMT(os.stat(name).st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
            raise Failure(f"{'standard input' if name == '-' else name} is read only once: specify --capacity")
    return sum(len(list(filter(None, lines))) for _, _, lines in batches(names, "counting lines"))
