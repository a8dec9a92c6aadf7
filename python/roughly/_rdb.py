"""The sketches in an RDB file."""

from __future__ import annotations

from ._progress import Bar
from ._roughly import _RdbFile  # type: ignore[attr-defined, unused-ignore]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from typing import Any, Protocol

    from ._progress import _Report
    from ._roughly import Sketch

    class _File(Protocol):
        """A binary file."""

        def read(self, size: int, /) -> bytes: ...


def load_rdb(
    file: str | bytes | os.PathLike[Any] | _File, *, progress: _Report | bool | None = None
) -> Iterator[tuple[int, bytes, int | None, Sketch]]:
    """Iterates over the sketches in an RDB file of a Redis or Valkey server.

    Yields tuples of the database, the key, its expiry in Unix milliseconds (None without one) and the object. Keys of other types are
    skipped. Reads the file once, from start to end, and holds one value at a time.

    file: a path, or a binary file object, such as that of gzip.open.
    progress: a function that is called with the bytes that were read and the size of the file (None for a pipe or a file object)
    every 4 MB; True shows a progress bar, for which tqdm must be installed.

    Raises ValueError with the offset in the file if the file is damaged, has a type of value that this version does not support,
    or if its checksum is wrong, which is known at its end. What precedes the damage has been yielded. OSError if the file cannot be
    read, MemoryError if a value does not fit in memory.

    >>> for database, key, expires, sketch in roughly.load_rdb("dump.rdb"):  # doctest: +SKIP
    ...     print(key, sketch.info())
    """
    if progress is True:
        progress = Bar()
    return _RdbFile(file, progress or None)  # type: ignore[no-any-return, unused-ignore]
