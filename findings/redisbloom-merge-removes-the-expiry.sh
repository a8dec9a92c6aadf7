#!/usr/bin/env bash
# RedisBloom 2.8.2: TDIGEST.MERGE into a key that exists removes its time to live.
#
# The key has 1,000 seconds before the merge, and no time to live after it. CMS.MERGE keeps that of its destination.
cd "$(dirname "$0")"
. lib/packages.sh
redisbloom
redis-cli -s socket tdigest.create from
redis-cli -s socket tdigest.add from 1 2 3
redis-cli -s socket tdigest.create to
redis-cli -s socket expire to 1000
redis-cli -s socket tdigest.merge to 1 from
redis-cli -s socket ttl to | tee ttl
grep -qx -- -1 ttl
redis-cli -s socket cms.initbydim a 10 2
redis-cli -s socket cms.initbydim b 10 2
redis-cli -s socket expire b 1000
redis-cli -s socket cms.merge b 1 a
[ "$(redis-cli -s socket ttl b)" -gt 0 ]
