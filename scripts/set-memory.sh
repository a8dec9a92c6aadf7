#!/usr/bin/env bash
# Measures the memory of sets for README.md and docs/choosing.md: bytes per item of 20 bytes (item: and 15 digits), by the growth of used_memory.
#
#   scripts/set-memory.sh SERVER...    server programs, for example target/servers/redis-7.0/server
#
# Prints for each server the least and the most bytes per item of sets of 256,000 to 3,000,000 items, and the memory of 50 million items: 32 times that
# of 1,562,500, because the hash table of a set has a power of two buckets.
set -euo pipefail
cd "$(dirname "$0")/.."
export sizes="256000 512000 900000 1000000 1048576 1048577 1500000 1562500 1700000 2048000 2097153 3000000"

# measure: for the server at ROUGHLY_PORT.
measure() {
    local cli size added=0 bytes
    cli=$(scripts/find-server.sh cli)
    used() {
        "$cli" -p "$ROUGHLY_PORT" info memory | tr -d '\r' | sed -n 's/^used_memory://p'
    }
    # used_memory, when the server has moved all buckets of a table that grew.
    settled() {
        local last=-1 now
        now=$(used)
        until [ "$now" = "$last" ]; do
            sleep 1
            last=$now now=$(used)
        done
        echo "$now"
    }
    "$cli" -p "$ROUGHLY_PORT" info server | tr -d '\r' | sed -n 's/^\(redis\|valkey\)_version:/\1 /p' | tail -1
    # A table is moved in steps of a millisecond, hz times per second.
    "$cli" -p "$ROUGHLY_PORT" config set hz 500 > /dev/null
    bytes=$(settled)
    for size in $sizes; do
        seq -f 'item:%015.0f' "$added" $((size - 1)) | xargs -n 1000 echo SADD set | "$cli" -p "$ROUGHLY_PORT" --pipe > /dev/null
        added=$size
        echo "$size $(($(settled) - bytes))"
    done | awk '
        { each = $2 / $1 }
        NR == 1 || each < least { least = each }
        each > most { most = each }
        $1 == 1562500 { million50 = $2 * 32 / 2 ^ 30 }
        END { printf "  least %.0f, most %.0f bytes per item; 50 million items %.1f GiB\n", least, most, million50 }'
}
export -f measure
for server in "$@"; do
    ROUGHLY_SERVER=$server scripts/with-server.sh bash -euo pipefail -c measure 2>&1 | grep -v ':[MC] '
done
