"""Walks every command through the typed APIs of redis-py and valkey-py: at once and with asyncio, in
RESP2 and RESP3 and what they take by themselves, replies as bytes and decoded. The server is on port ROUGHLY_PORT of this machine.

    python tests/clients/python/walk.py
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
from session import Session, reply

PORT = int(os.environ["ROUGHLY_PORT"])
# Each with the protocol that it takes where none is asked for.
CLIENTS = [
    ("redis", redis.Redis, 3),
    ("redis", redis.asyncio.Redis, 3),
    ("valkey", valkey.Valkey, 2),
    ("valkey", valkey.asyncio.Valkey, 2),
]


async def walk(client, protocol, decoded):
    """All families on one connection; returns how many commands the module has."""
    session = Session(client, protocol, decoded)
    await coverage.forget(session.raw)
    for family in (bloom, cuckoo, count_min, top_k, t_digest):
        await family.walk(session)
    for name in ("bf", "cf", "cms", "topk", "tdigest"):
        missed = getattr(session, name).missed()
        assert not missed, f"{name}() has more methods: {missed}"
    commands = await coverage.all_called(session.raw)
    await reply(client.aclose() if hasattr(client, "aclose") else client.close())
    return commands


def main():
    for package, make, default in CLIENTS:
        kind = "asyncio" if "asyncio" in make.__module__ else "at once"
        for options in ({}, {"protocol": 2}, {"protocol": 3}):
            for decoded in (False, True):
                client = make(port=PORT, decode_responses=decoded, **options)
                commands = asyncio.run(walk(client, options.get("protocol", default), decoded))
        version = importlib.metadata.version(package)
        print(f"  {package}-py {version}, {kind}: {commands} commands, RESP2 and RESP3")


if __name__ == "__main__":
    main()
