#!/usr/bin/env bash
# RedisBloom 2.8.2: the count of CMS.INFO includes increments that were refused.
#
# A counter has 32 bits. CMS.INCRBY beyond 2^32 - 1 replies with an error, CMS.QUERY stays at 4294967295, and the count of CMS.INFO is
# 4294967300.
cd "$(dirname "$0")"
. lib/packages.sh
redisbloom
redis-cli -s socket cms.initbydim k 100 3
redis-cli -s socket cms.incrby k a 4294967295
redis-cli -s socket cms.incrby k a 5 | tee refused
redis-cli -s socket cms.query k a | tee query
redis-cli -s socket cms.info k | tee info
grep -q overflow refused
grep -qx 4294967295 query
grep -qx 4294967300 info
