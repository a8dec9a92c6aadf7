#!/usr/bin/env bash
# fakeredis 2.41.0 (Python): CMS.MERGE loses the counts of the destination when it is also a source.
#
# An item has the count 100 in the sketch "total" and 1 in "new". CMS.MERGE total 2 total new sets the count to 101 in RedisBloom 2.8.2, and
# to 1 in fakeredis, without an error. Code that adds sketches to a total has one result in its tests and another on a server.
cd "$(dirname "$0")"
. lib/packages.sh
redisbloom
python_with "fakeredis[probabilistic]==2.41.0" redis==8.1.0 <<'END'
import fakeredis
import redis

counts = []
for client in redis.Redis(unix_socket_path="socket"), fakeredis.FakeRedis():
    for key, count in ("total", 100), ("new", 1):
        client.cms().initbydim(key, 1000, 5)
        client.cms().incrby(key, ["item"], [count])
    client.cms().merge("total", 2, ["total", "new"])
    counts += client.cms().query("total", "item")
    print(type(client).__name__, "count of the item:", counts[-1])
assert counts == [101, 1]
END
