#!/usr/bin/env bash
# Valkey 9.1.2 (Debian experimental): valkey-check-rdb --stats counts the keys of modules as strings of a few bytes.
#
# A file of Redis 7.0 and RedisBloom 2.8.2 has a string and a Bloom filter of 137,976 bytes (MEMORY USAGE). The table has a column "module",
# which is 0, and 2 strings with 23 bytes in all.
#
# The script downloads the server into target/servers.
root=$(dirname "$(realpath "$0")")/..
. "$root/findings/lib/packages.sh"

"$root/scripts/fetch.sh" server valkey-newest
valkey=$root/target/servers/valkey-newest
"$valkey/server" --version | grep -F "v=9.1.2 "
redisbloom
redis-cli -s socket bf.reserve filter 0.01 100000
redis-cli -s socket set string value
redis-cli -s socket memory usage filter | tee usage
redis-cli -s socket save
"$valkey/run" --argv0 valkey-check-rdb "$valkey/root/usr/bin/valkey-check-rdb" dump.rdb --stats > stats
grep -E 'db\.0\.(type\.name|keys\.total|keys\.value_size)' stats | cut -f 2,7 | tr -d ' ' | tee columns
[ "$(< usage)" -gt 100000 ]
[ "$(tr '\n\t' '  ' < columns)" = "string module 2 0 23 0 " ]
