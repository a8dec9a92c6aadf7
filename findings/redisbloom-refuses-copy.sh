#!/usr/bin/env bash
# RedisBloom 2.8.2: COPY refuses a top-k and a Bloom filter, which DUMP and RESTORE copy.
cd "$(dirname "$0")"
. lib/packages.sh
redisbloom
redis-cli -s socket topk.reserve k 3
redis-cli -s socket bf.add b a
for key in k b; do
    redis-cli -s socket copy "$key" copy | tee refused
    grep -q "not supported for this module key" refused
done
