#!/usr/bin/env bash
# redis-py 8.1.0 and coredis 6.9.0 (Python): an option that is set to False is sent to the server, which turns it on.
#
# tdigest.merge(…, override=False) of coredis deletes the three samples of the destination. bf().create(…, noScale=False) of redis-py creates
# a filter that refuses the eleventh item, and bf().insert(…, noCreate=False) does not create the key. Only None omits them.
cd "$(dirname "$0")"
. lib/packages.sh
redisbloom
PORT=$port python_with redis==8.1.0 coredis==6.9.0 anyio==4.16.0 <<'END'
import os

import anyio
import coredis
import redis

client = redis.Redis(unix_socket_path="socket")
client.bf().create("filter", .01, 10, noScale=False)
replies = client.bf().madd("filter", *range(20))
print("redis-py: items accepted:", replies.count(1), "last reply:", replies[-1])
try:
    refused = ""
    client.bf().insert("missing", ["item"], noCreate=False)
except redis.ResponseError as error:
    refused = str(error)
print("redis-py: insert with noCreate=False:", refused)


async def merges():
    observations = []
    async with coredis.Redis(port=int(os.environ["PORT"]), decode_responses=True) as client:
        for options in {}, {"override": False}:
            await client.flushall()
            for key, samples in ("to", [1, 2, 3]), ("from", [10]):
                await client.tdigest.create(key)
                await client.tdigest.add(key, samples)
            await client.tdigest.merge("to", ["from"], **options)
            info = await client.tdigest.info("to")
            observations.append(info["Observations"])
            print("coredis: options:", options, "samples:", info["Observations"])
    return observations


assert anyio.run(merges) == [4, 1]
assert replies.count(1) == 10 and "full" in str(replies[-1]) and refused == "not found"
END
