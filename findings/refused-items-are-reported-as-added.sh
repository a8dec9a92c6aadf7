#!/usr/bin/env bash
# coredis 6.9.0 (Python): cf.insertnx returns True for items that a full cuckoo filter refused.
#
# A filter without expansion receives 3,000 items. RedisBloom 2.8.2 replies with 1 for an added item, 0 for one that exists and -1 if the
# filter is full. coredis converts -1 to True: fewer than half of the items that it reports as added are in the filter. cf.insert returns
# False for them.
cd "$(dirname "$0")"
. lib/packages.sh
redisbloom
PORT=$port python_with coredis==6.9.0 anyio==4.16.0 redis==8.1.0 <<'END'
import os

import anyio
import coredis
import redis

items = [f"item {i}" for i in range(3_000)]


async def insert():
    async with coredis.Redis(port=int(os.environ["PORT"])) as client:
        for key in "insertnx", "insert", "raw":
            await client.cf.reserve(key, 1_000, expansion=0)
        added = await client.cf.insertnx("insertnx", items), await client.cf.insert("insert", items)
        return *map(sum, added), sum(await client.cf.mexists("insertnx", items))


insertnx, of_insert, contained = anyio.run(insert)
replies = redis.Redis(unix_socket_path="socket").execute_command("CF.INSERTNX", "raw", "ITEMS", *items)
print("reported by insertnx:", insertnx, "by insert:", of_insert, "contained:", contained)
print("replies of the server: 1:", replies.count(1), "0:", replies.count(0), "-1:", replies.count(-1))
assert replies.count(-1) > 1_500 and insertnx > 2_900
assert contained < insertnx / 2 and of_insert < 1_500
END
