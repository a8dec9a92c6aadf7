"""Sketches of a server, by redis-py, valkey-py and clients with the same methods."""

from __future__ import annotations

import os
import sys

from ._roughly import load

# The import of these modules would take longer than the rest of the package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any, Union

    #: An operation on a server yields the reply to a command, something to await for it, or a function that takes long. It is resumed
    #: with the reply or the result.
    _Operation = Generator[Any, Any, Any]

#: The largest argument that every server accepts (proto-max-bulk-len).
_MIN_LIMIT = 1 << 20
#: The same by default.
_DEFAULT_LIMIT = 512 << 20
#: How long a temporary key remains after the last chunk if the program ends early.
_TEMPORARY_MS = 60_000

_FAMILIES = {
    "BloomFilter": "BF",
    "CuckooFilter": "CF",
    "CountMinSketch": "CMS",
    "TopK": "TOPK",
    "TDigest": "TDIGEST",
}


def from_redis(client: Any, key: str | bytes) -> Any:
    """Loads the sketch of a key: one DUMP, which is atomic.

    client: a client of redis-py or valkey-py, also of a cluster; no pipeline. With an asyncio client, await the result: the sketch is
    decoded in another thread.

    Raises KeyError if the key does not exist, ValueError if it is not a sketch, TypeError for a pipeline, and the errors of the client.

    >>> client.execute_command("BF.ADD", "seen", "alice")
    1
    >>> "alice" in roughly.from_redis(client, "seen")
    True
    """
    return _run(client, _fetch(client, key))


def to_redis(
    client: Any, key: str | bytes, sketch: Any, *, replace: bool = False, ttl_ms: int = 0
) -> Any:
    """Stores a sketch in a key. Other clients see the key with the whole sketch or not at all.

    client: a client of redis-py or valkey-py, also of a cluster; no pipeline. With an asyncio client, await the result: the sketch is
    encoded in another thread.
    replace: whether an existing key is replaced, together with its expiry. Otherwise it is the client's ResponseError (BUSYKEY).
    ttl_ms: the time to live of the key in milliseconds; 0 for none.

    Sends one RESTORE. If the sketch exceeds the server's limit of an argument (proto-max-bulk-len, by default 512 MB), sends chunks
    with the command LOADCHUNK to a temporary key in the same slot, which expires if the program ends early, and renames it.
    RedisBloom has this command for Bloom and cuckoo filters without a window only.

    Raises TypeError for a pipeline and for other objects than sketches, and the errors of the client.

    >>> seen = roughly.BloomFilter(1000)
    >>> roughly.to_redis(client, "seen", seen, replace=True, ttl_ms=60_000)
    >>> roughly.from_redis(client, "seen") == seen
    True
    """
    if ttl_ms < 0:
        raise ValueError("ttl_ms must not be negative")
    if type(sketch).__name__ not in _FAMILIES:
        raise TypeError("not a sketch of this package")
    return _run(client, _store(client, key, sketch, replace, ttl_ms))


def _run(client: Any, operation: _Operation) -> Any:
    """Runs an operation to its end. Returns something to await if the client's methods do."""
    if hasattr(client, "execute"):
        raise TypeError("a pipeline has no replies before it is executed: pass a client")
    is_async = hasattr(client, "__aenter__")
    try:
        reply = operation.send(None)
        while True:
            if is_async or hasattr(reply, "__await__"):
                return _run_async(operation, reply)
            reply = operation.send(reply() if callable(reply) else reply)
    except StopIteration as end:
        return end.value


async def _run_async(operation: _Operation, reply: Any) -> Any:
    import asyncio

    try:
        while True:
            try:
                result = await (asyncio.to_thread(reply) if callable(reply) else reply)
            except BaseException as error:
                reply = operation.throw(error)
            else:
                reply = operation.send(result)
    except StopIteration as end:
        return end.value


def _fetch(client: Any, key: str | bytes) -> _Operation:
    payload = yield client.dump(key)
    if payload is None:
        raise KeyError(key)
    return (yield lambda: load(payload))


def _store(
    client: Any, key: str | bytes, sketch: Any, replace: bool, ttl_ms: int
) -> _Operation:
    # Bloom and cuckoo filters have this field. The payload of a filter that is clearly too large would take as much memory again.
    is_large = sketch.info().get("Size", 0) > 2 * _DEFAULT_LIMIT
    payload = b"" if is_large else (yield sketch.dump)
    if not payload or len(payload) > _MIN_LIMIT:
        limit = yield from _limit(client)
        if not payload or len(payload) > limit:
            del payload
            yield from _store_chunks(client, key, sketch, replace, ttl_ms, limit)
            return
    yield client.restore(key, ttl_ms, payload, replace=replace)


def _limit(client: Any) -> _Operation:
    """The largest argument that the server accepts."""
    try:
        reply = yield client.config_get("proto-max-bulk-len")
    except Exception as error:
        # Managed services refuse CONFIG.
        if not _is_response_error(error):
            raise
        return _DEFAULT_LIMIT
    # A client of a cluster may return a reply per node.
    limits = [
        int(value)
        for each in (reply, *(value for value in reply.values() if isinstance(value, dict)))
        for name, value in each.items()
        if name in ("proto-max-bulk-len", b"proto-max-bulk-len")
    ]
    return min(limits, default=_DEFAULT_LIMIT)


def _store_chunks(
    client: Any, key: str | bytes, sketch: Any, replace: bool, ttl_ms: int, limit: int
) -> _Operation:
    family = _FAMILIES[type(sketch).__name__]
    if not replace and (yield client.exists(key)):
        raise _busy(client)
    temporary = temporary_key(client, key)
    chunks, is_header = sketch.to_chunks(), True
    try:
        while pair := (yield lambda: next(chunks, None)):
            iterator, chunk = pair
            if is_header and len(chunk) > limit:
                # That of a t-digest and of others without arrays is the whole value.
                raise ValueError(
                    f"the sketch needs an argument of {len(chunk)} bytes, which cannot be sent in chunks:"
                    f" the server's setting proto-max-bulk-len is {limit}"
                )
            # The header, and a chunk within the limit, are sent as they are.
            for end, part in [(iterator, chunk)] if len(chunk) <= limit else _parts(iterator, chunk, limit):
                yield client.execute_command(f"{family}.LOADCHUNK", temporary, end, part)
                yield client.pexpire(temporary, _TEMPORARY_MS)
            is_header = False
        if ttl_ms:
            yield client.pexpire(temporary, ttl_ms)
        else:
            yield client.persist(temporary)
        if replace:
            yield client.rename(temporary, key)
        elif not (yield client.renamenx(temporary, key)):
            raise _busy(client)
    except BaseException as error:
        # A generator that is closed cannot wait for a reply. The temporary key then expires.
        if not isinstance(error, GeneratorExit):
            try:
                yield client.delete(temporary)
            except Exception:
                # The first error is the reason of this one.
                pass
        raise


def _parts(iterator: int, chunk: bytes, limit: int) -> list[tuple[int, bytes]]:
    """A chunk in parts. An iterator is the position after the bytes of a chunk."""
    start = iterator - len(chunk)
    return [
        (start + min(at + limit, len(chunk)), chunk[at : at + limit])
        for at in range(0, len(chunk), limit)
    ]


def temporary_key(client: Any, key: str | bytes) -> bytes:
    """A new name in the slot of a key."""
    name = key.encode() if isinstance(key, str) else bytes(key)
    suffix = b":" + os.urandom(8).hex().encode()
    if b"{" not in name and b"}" not in name and name:
        return b"{" + name + b"}" + suffix
    module = _module(type(client), "crc")
    if module is None:
        raise TypeError(f"for the key {key!r}, the client must be one of redis-py or valkey-py")
    slot = module.key_slot
    if slot(name + suffix) == slot(name):
        return name + suffix
    # The name has braces that are no hash tag, or is empty. One number in 16,384 has its slot.
    number = 0
    while slot(b"{%d}" % number) != slot(name):
        number += 1
    return b"{%d}" % number + suffix


def _module(kind: type, name: str) -> Any:
    """A module of the client library that a class is from; None for other classes."""
    for base in kind.__mro__:
        module = sys.modules.get(f"{base.__module__.split('.')[0]}.{name}")
        if module is not None:
            return module
    return None


def _is_response_error(error: Exception) -> bool:
    module = _module(type(error), "exceptions")
    return module is not None and isinstance(error, module.ResponseError)


def _busy(client: Any) -> Exception:
    """The error of RESTORE for a key that exists."""
    text = "BUSYKEY Target key name already exists."
    module = _module(type(client), "exceptions")
    error: Exception = ValueError(text) if module is None else module.ResponseError(text)
    return error
