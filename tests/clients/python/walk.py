"""Calls every command with the typed APIs of redis-py and valkey-py: synchronous and asyncio, in RESP2, RESP3 and
the client's default protocol, with replies as bytes and decoded.

    python tests/clients/python/walk.py

Environment: ROUGHLY_PORT is the port of the server on this machine (required). The program deletes all keys.
"""

import asyncio
import importlib.metadata
import os

import redis
import redis.asyncio
import valkey
import valkey.asyncio

import bloom
import count_min
import coverage
import cuckoo
import t_digest
import top_k
import windows
from session import Session, reply

PORT = int(os.environ["ROUGHLY_PORT"])
# Package, class and the default protocol of the class.
CLIENTS = [
    ("redis", redis.Redis, 3),
    ("redis", redis.asyncio.Redis, 3),
    ("valkey", valkey.Valkey, 2),
    ("valkey", valkey.asyncio.Valkey, 2),
]


async def walk(client, protocol, decoded):
    """Calls the commands of all families on one connection; returns the number of commands of the module."""
    session = Session(client, protocol, decoded)
    await coverage.forget(session.raw)
    for family in (bloom, cuckoo, count_min, top_k, t_digest, windows):
        await family.walk(session)
    for name in ("bf", "cf", "cms", "topk", "tdigest"):
        missed = getattr(session, name).missed()
        assert not missed, f"methods of {name}() that were not called: {missed}"
    commands = await coverage.all_called(session.raw)
    await reply(client.aclose() if hasattr(client, "aclose") else client.close())
    return commands


def main():
    for package, make, default in CLIENTS:
        kind = "asyncio" if "asyncio" in make.__module__ else "synchronous"
        for options in ({}, {"protocol": 2}, {"protocol": 3}):
            for decoded in (False, True):
                client = make(port=PORT, decode_responses=decoded, **options)
                commands = asyncio.run(walk(client, options.get("protocol", default), decoded))
        version = importlib.metadata.version(package)
        print(f"  {package}-py {version}, {kind}: {commands} commands, RESP2 and RESP3")


if __name__ == "__main__":
    main()
