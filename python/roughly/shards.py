"""One Bloom filter in several keys, the shards, which the nodes of a cluster divide between them.

The shard of an item is the CRC-32 of its bytes, modulo the number of shards, in every version of the package: SQL and other languages
compute it, too. The number of shards of a filter cannot change: create another filter, and add all items again.
"""

from __future__ import annotations

import array
import functools
import itertools
import math
from binascii import crc_hqx
from operator import index
from zlib import crc32

from ._clients import _run
from ._roughly import BloomFilter

__all__ = ["ShardedBloomFilter", "capacity_of", "keys", "shard_of", "shards_of"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import ParamSpec

    from ._clients import _Operation
    from ._roughly import _Item, _Items

    _P = ParamSpec("_P")

#: The slots of a cluster, and therefore the largest number of shards.
_SLOTS = 16384
#: The items of a pipeline. A server takes a few milliseconds for them, also if all belong to one shard.
_BATCH = 16384
#: The hash tags for each number of shards. To find them takes 0.1 seconds.
_TAGS: dict[int, list[int]] = {}
#: Refuses what is no item, as all methods of the package do.
_EMPTY = BloomFilter(1, 0.5)


def keys(name: str, count: int) -> list[str]:
    """The keys of a filter with so many shards, 1 to 16,384.

    The distances between the slots of the keys are equal. If the nodes of a cluster have equal ranges of slots, their numbers of shards
    differ by at most 1. Filters with equal numbers of shards have equal slots, so BF.MERGE can merge them shard by shard.

    The hash tag of shard i is the smallest number whose slot is floor((2 i + 1) * 8192 / count).

    >>> roughly.shards.keys("visits", 3)
    ['visits:{21418}:0/3', 'visits:{8209}:1/3', 'visits:{16418}:2/3']
    """
    if "{" in name:
        raise ValueError("the name must not contain '{': the keys have hash tags")
    return [f"{name}:{{{tag}}}:{number}/{count}" for number, tag in enumerate(_tags(count))]


def shard_of(item: _Item, count: int) -> int:
    """The number of the shard of an item: crc32(item) % count. `"42"`, `b"42"` and 42 are the same item.

    >>> roughly.shards.shard_of("alice", 12)
    11
    """
    return crc32(_bytes(item)) % _checked(count)


def shards_of(items: _Items, count: int) -> npt.NDArray[np.uint16]:
    """The shard of each item, as a NumPy array of uint16, or without NumPy a list. Takes the columns that `update` takes.

    >>> roughly.shards.shards_of(["alice", 42], 12).tolist()
    [11, 8]
    """
    _checked(count)
    numbers = array.array("H")
    for batch in _batches(items):
        numbers.extend([crc32(item) % count for item in batch])
    return _result(numbers, "uint16")


def capacity_of(capacity: int, count: int) -> int:
    """The capacity of each shard of a filter for so many items: the mean m and 5 * sqrt(m), since shards do not fill evenly.

    >>> roughly.shards.capacity_of(1_000_000, 12)
    84778
    """
    mean = -(-capacity // _checked(count))
    return mean if count == 1 else mean + math.ceil(5 * math.sqrt(mean))


def _operation(method: Callable[_P, _Operation]) -> Callable[_P, Any]:
    """Runs a method with the client, which may be asynchronous."""

    @functools.wraps(method)
    def run(*arguments: _P.args, **options: _P.kwargs) -> Any:
        owner: Any = arguments[0]
        return _run(owner._client, method(*arguments, **options))

    return run


class ShardedBloomFilter:
    """A Bloom filter on a server whose items are in `count` keys, 1 to 16,384. The attribute `keys` has their names.

    client: a client of redis-py or valkey-py, of a cluster or not; no pipeline. With an asyncio client, await the results of the methods.

    A method sends 16,384 items at a time, in one pipeline per node. It raises KeyError if a key is missing, and the errors of the client,
    for example if a node is down. Items that were sent before the error can be in the filter; the call can be repeated.

    >>> visits = roughly.shards.ShardedBloomFilter(client, "visits", 12)
    >>> visits.create(1_000_000, 0.001)
    >>> visits.update(["alice", "bob", 42])
    >>> visits.contains(["alice", "carol", "42"]).tolist()
    [True, False, True]
    """

    def __init__(self, client: Any, name: str, count: int) -> None:
        self._client = client
        self.keys = keys(name, count)

    @_operation
    def create(self, capacity: int, error_rate: float = 0.01, *options: str | float, exist_ok: bool = False) -> _Operation:
        """Creates the keys with BF.RESERVE, each with a part of the capacity, and these options, such as "WINDOW", 60_000.

        exist_ok: whether keys that exist stay as they are. Otherwise they are the client's ResponseError, after the others are created.

        >>> visits = roughly.shards.ShardedBloomFilter(client, "visits", 3)
        >>> visits.create(1_000_000, 0.001, "NONSCALING")
        >>> visits.info()["Capacity"]
        1008663
        """
        each = capacity_of(capacity, len(self.keys))
        replies = yield from self._send([("BF.RESERVE", key, error_rate, each, *options) for key in self.keys])
        for exists, reply in replies:
            if isinstance(reply, Exception) and not (exists == 1 and exist_ok):
                raise reply

    @_operation
    def add(self, item: _Item) -> _Operation:
        """Adds an item. Returns whether it is new; if a connection fails, the client may repeat the command, and the result may be False.

        >>> visits = roughly.shards.ShardedBloomFilter(client, "visits", 3)
        >>> visits.create(1_000_000)
        >>> visits.add("alice"), visits.add("alice")
        (True, False)
        """
        return (yield from self._each([_bytes(item)], "BF.INSERT", "NOCREATE", "ITEMS"))[0]

    @_operation
    def update(self, items: _Items) -> _Operation:
        """Adds the items of an iterable, an array or a column, as BloomFilter.update.

        >>> visits = roughly.shards.ShardedBloomFilter(client, "visits", 3)
        >>> visits.create(1_000_000)
        >>> visits.update(range(5000))
        >>> visits.info()["Number of items inserted"]
        5000
        """
        batches = _batches(items)
        while batch := (yield lambda: next(batches, None)):
            yield from self._each(batch, "BF.INSERT", "NOCREATE", "ITEMS")

    @_operation
    def contains(self, items: _Items) -> _Operation:
        """Whether each item is in the filter, as BloomFilter.contains: a NumPy array, or without NumPy a list.

        >>> visits = roughly.shards.ShardedBloomFilter(client, "visits", 3)
        >>> visits.create(1_000_000)
        >>> visits.contains(["alice"]).tolist()
        [False]
        """
        found, batches = array.array("b"), _batches(items)
        while batch := (yield lambda: next(batches, None)):
            found.extend((yield from self._each(batch, "BF.MEXISTS")))
        return _result(found, "bool")

    @_operation
    def info(self) -> _Operation:
        """The fields of BF.INFO. Capacity, size, and the numbers of filters and of items are the sums of all shards.

        >>> visits = roughly.shards.ShardedBloomFilter(client, "visits", 3)
        >>> visits.create(30_000)
        >>> visits.info()["Number of filters"]
        3
        """
        shards = yield from self._fields("BF.INFO")
        same = "Expansion rate"
        return {name: first if name == same else sum(shard[name] for shard in shards) for name, first in shards[0].items()}

    @_operation
    def accuracy(self) -> _Operation:
        """The fields of SKETCH.ACCURACY: the means of all shards, because an absent item belongs to each of them with equal probability.

        >>> visits = roughly.shards.ShardedBloomFilter(client, "visits", 3)
        >>> visits.create(30_000)
        >>> visits.accuracy()["false positive rate"]
        0.0
        """
        shards = yield from self._fields("SKETCH.ACCURACY")
        return {name: math.fsum(float(shard[name]) for shard in shards) / len(shards) for name in shards[0]}

    def _each(self, items: list[bytes], command: str, *options: str) -> _Operation:
        """Sends a command with items to their shards. Returns the replies for the items."""
        owners = [self.keys[crc32(item) % len(self.keys)] for item in items]
        shards: dict[str, list[bytes]] = {}
        for key, item in zip(owners, items):
            shards.setdefault(key, []).append(item)
        replies = yield from self._ask([(command, key, *options, *shard) for key, shard in shards.items()])
        of_key = dict(zip(shards, map(iter, replies)))
        return [bool(next(of_key[key])) for key in owners]

    def _fields(self, command: str) -> _Operation:
        """The replies of all shards as dictionaries. Those of RESP2 are lists."""
        replies = yield from self._ask([(command, key) for key in self.keys])
        pairs = [reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2]) for reply in replies]
        return [{name.decode() if isinstance(name, bytes) else name: value for name, value in each} for each in pairs]

    def _ask(self, commands: list[tuple[Any, ...]]) -> _Operation:
        """The replies to commands whose keys must exist: BF.MEXISTS finds no item in a missing key."""
        replies = yield from self._send(commands)
        for (_, key, *_), (exists, reply) in zip(commands, replies):
            if exists == 0:
                raise KeyError(key)
            for each in (exists, reply, *(reply if isinstance(reply, list) else ())):
                if isinstance(each, Exception):
                    raise each
        return [reply for _, reply in replies]

    def _send(self, commands: list[tuple[Any, ...]]) -> _Operation:
        """Whether the key of each command exists, and the reply to the command, which can be an error."""
        # That of a cluster sends one pipeline to each node.
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command("EXISTS", command[1])
            pipeline.execute_command(*command)
        replies = yield pipeline.execute(raise_on_error=False)
        return list(zip(replies[::2], replies[1::2]))


def _tags(count: int) -> list[int]:
    if count not in _TAGS:
        missing = {(2 * number + 1) * 8192 // count: number for number in range(_checked(count))}
        tags = [0] * count
        for tag in itertools.count():
            number = missing.pop(crc_hqx(b"%d" % tag, 0) % _SLOTS, None)
            if number is not None:
                tags[number] = tag
            if not missing:
                break
        _TAGS[count] = tags
    return _TAGS[count]


def _checked(count: int) -> int:
    if not 1 <= count <= _SLOTS:
        raise ValueError("the number of shards must be between 1 and 16384")
    return count


def _result(values: array.array[int], dtype: str) -> npt.NDArray[Any]:
    try:
        import numpy as np
    except ImportError:
        return [bool(value) for value in values] if dtype == "bool" else values.tolist()  # type: ignore[return-value]
    return np.array(values, dtype)


def _batches(items: Any) -> Iterator[list[bytes]]:
    """The bytes of the items, in lists."""
    start = 0
    for part in _parts(items):
        try:
            _EMPTY.contains(part)
        except ValueError as error:
            raise ValueError(f"{error} (positions begin at item {start})") if start else error from None
        values = part if isinstance(part, list) else part.tolist() if hasattr(part, "tolist") else part.to_list()
        start += len(values)
        yield _encoded(values)


def _parts(items: Any) -> Iterator[Any]:
    """The items in lists and slices of columns that are not empty."""
    if isinstance(items, (str, bytes, bytearray, memoryview)):
        # Raises TypeError.
        _EMPTY.contains(items)
    elif hasattr(items, "tolist") or hasattr(items, "to_list"):
        # Before version 3, slices of a Series of pandas can select labels.
        rows = getattr(items, "iloc", items)
        yield from (rows[start : start + _BATCH] for start in range(0, len(items), _BATCH))
    elif hasattr(items, "chunks"):
        yield from itertools.chain.from_iterable(map(_parts, items.chunks))
    elif hasattr(items, "__arrow_c_stream__"):
        import pyarrow  # type: ignore[import-untyped, unused-ignore]

        for table in pyarrow.RecordBatchReader.from_stream(items):
            # Raises TypeError for several columns.
            _EMPTY.contains(table[:0])
            yield from _parts(table[0])
    else:
        iterator = iter(items)
        while part := list(itertools.islice(iterator, _BATCH)):
            yield part


def _bytes(item: Any) -> bytes:
    # Raises for what is no item.
    _EMPTY.__contains__(item)
    return _encoded([item])[0]


def _encoded(values: list[Any]) -> list[bytes]:
    """The bytes of items, as the other methods of the package add them."""
    kinds = set(map(type, values))
    if kinds == {str}:
        return list(map(str.encode, values))
    return list(map(b"%d".__mod__, values)) if kinds == {int} else list(map(_encoded_one, values))


def _encoded_one(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, float) and type(value).__module__ == "numpy":
        return float.__repr__(value).encode()
    return repr(value).encode() if isinstance(value, (int, float)) else b"%d" % index(value)
