#!/usr/bin/env bash
# fakeredis 2.41.0 (Python): TDIGEST.TRIMMED_MEAN without a cut omits a sample, and TDIGEST.RANK of a repeated sample is too high.
#
# The mean of 1 to 10 between the cuts 0 and 1 is 5.5 in RedisBloom 2.8.2 and 6 in fakeredis, which omits the 1. Of ten samples 5 and ten
# samples 7, the ranks of 5 and 7 are 5 and 15 in RedisBloom, and 9 and 19 in fakeredis. The command reference defines the rank as the
# number of smaller samples plus half of the number of equal samples.
cd "$(dirname "$0")"
. lib/packages.sh
redisbloom
python_with "fakeredis[probabilistic]==2.41.0" redis==8.1.0 <<'END'
import fakeredis
import redis

results = []
for client in redis.Redis(unix_socket_path="socket"), fakeredis.FakeRedis():
    for key, samples in ("distinct", list(range(1, 11))), ("repeated", [5] * 10 + [7] * 10):
        client.tdigest().create(key)
        client.tdigest().add(key, samples)
    mean = client.tdigest().trimmed_mean("distinct", 0, 1)
    results.append((float(mean), client.tdigest().rank("repeated", 5, 7)))
    print(type(client).__module__, "mean:", mean, "ranks:", results[-1][1])
assert results == [(5.5, [5, 15]), (6, [9, 19])]
END
