#!/usr/bin/env bash
# RedisBloom 2.8.2: a save replaces the samples of a t-digest by centroids.
#
# A digest of compression 100 holds 300 samples, all of them ("Unmerged nodes"). After a save it has 38 nodes and one more
# compression: a save is a write.
cd "$(dirname "$0")"
. lib/packages.sh
redisbloom
redis-cli -s socket tdigest.create k
seq 300 | xargs redis-cli -s socket tdigest.add k
redis-cli -s socket tdigest.info k | tee before
redis-cli -s socket debug reload
redis-cli -s socket tdigest.info k | tee after
grep -A1 "Unmerged nodes" before | grep -x 300
grep -A1 "Merged nodes" after | grep -x 38
