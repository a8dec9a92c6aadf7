#!/usr/bin/env bash
# fakeredis 2.41.0 (Python): CMS.INITBYPROB creates one row, where RedisBloom creates seven.
#
# With an error of 0.001 and a probability of 0.01, RedisBloom 2.8.2 has a depth of 7. The count-min sketch of fakeredis has a depth of 1,
# so that tests with it have other collisions. It also accepts an increment of -1.
cd "$(dirname "$0")"
. lib/packages.sh
redisbloom
python_with "fakeredis[probabilistic]==2.41.0" redis==8.1.0 <<'END'
import fakeredis
import redis

depths = []
for client in (fakeredis.FakeRedis(), redis.Redis(unix_socket_path="socket")):
    client.cms().initbyprob("k", 0.001, 0.01)
    depths.append(client.cms().info("k").depth)
print(depths)
assert depths == [1, 7]
END
