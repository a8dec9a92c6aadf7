#!/usr/bin/env bash
# Measures rate limiters of the recipe docs/recipes/rate-limiting.md on one server: the memory for all clients, and the CPU
# time of the server per request. Takes no arguments. Prints a table; the last columns are ratios to CMS.INCRBYLIMIT.
#
# 200,000 clients send 2,000,000 requests within a limit of 1,000. The sketches are too high by more than 100 with a probability of at
# most 2^-7. Each row is the fastest of two runs.
#
# Environment:
#   ROUGHLY_SERVER  server program (default: redis-server or valkey-server on the PATH)
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${ROUGHLY_PORT:-}" ]; then
    scripts/install.sh build server
    export ROUGHLY_PROFILE=release
    scripts/build-module.sh
    exec scripts/with-server.sh "$0"
fi
readonly requests=2000000 clients=200000 rounds=2
client=$(scripts/find-server.sh cli)
benchmark=$(scripts/find-server.sh benchmark)
call() {
    "$client" -p "$ROUGHLY_PORT" "$@"
}
# field SECTION NAME
field() {
    call info "$1" | tr -d '\r' | sed -n "s/^$2://p"
}
cpu_ns() {
    call info cpu | tr -d '\r' | awk -F : '/^used_cpu_(user|sys):/ { sum += $2 } END { printf "%.0f", sum * 1e9 }'
}

# measure NAME SETUP ARGUMENT...: a request is a call of these arguments, or of several calls that are separated by ";".
# SETUP is a command that creates the key, or is empty.
measure() {
    local name=$1 setup=$2 best=0 round before memory start ns call=()
    shift 2
    for ((round = 0; round < rounds; round++)); do
        call flushall > /dev/null
        before=$(field memory used_memory)
        # shellcheck disable=SC2086
        [ -z "$setup" ] || call $setup > /dev/null
        start=$(cpu_ns)
        for argument in "$@" ';'; do
            if [ "$argument" = ';' ]; then
                "$benchmark" -p "$ROUGHLY_PORT" -q -c 4 -P 32 -n "$requests" -r "$clients" "${call[@]}" > /dev/null
                call=()
            else
                call+=("$argument")
            fi
        done
        ns=$((($(cpu_ns) - start) / requests))
        memory=$(($(field memory used_memory) - before))
        if [ "$best" -eq 0 ] || [ "$ns" -lt "$best" ]; then
            best=$ns
        fi
    done
    : "${first_ns:=$best}" "${first_memory:=$memory}"
    awk -v name="$name" -v ns="$best" -v memory="$memory" -v clients="$clients" \
        -v first_ns="$first_ns" -v first_memory="$first_memory" 'BEGIN {
            printf "| %s | %.1f MB | %.0f bytes | %.2f µs | %.1f | %.1f |\n", name, memory / 1e6, memory / clients, ns / 1e3,
                memory / first_memory, ns / first_ns }'
}

# A fixed window: the client's counter expires a minute after its first request.
readonly counter='local n = tonumber(redis.call("GET", KEYS[1]) or 0)
if n >= 1000 then return 0 end
if redis.call("INCR", KEYS[1]) == 1 then redis.call("EXPIRE", KEYS[1], 60) end
return 1'
# A sliding window: a member of a sorted set per request of the last minute.
readonly log='local time = redis.call("TIME")
local now = time[1] * 1000000 + time[2]
redis.call("ZREMRANGEBYSCORE", KEYS[1], 0, now - 60000000)
if redis.call("ZCARD", KEYS[1]) >= 1000 then return 0 end
redis.call("ZADD", KEYS[1], now, now)
redis.call("EXPIRE", KEYS[1], 60)
return 1'
counter_sha=$(call script load "$counter")
log_sha=$(call script load "$log")
name=client:__rand_int__

echo "$(call info server | tr -d '\r' | sed -n 's/^\(redis\|valkey\)_version:/\1 /p' | tail -1), $clients clients, $requests requests"
echo "| limiter | memory | per client | CPU time per request | memory, ratio | CPU time, ratio |"
echo "|---|---|---|---|---|---|"
measure "CMS.INCRBYLIMIT" "CMS.INITBYDIM limit 40000 7 CELL_SIZE 2" CMS.INCRBYLIMIT limit 1000 "$name" 1
# So short that all panes are in use during the run.
measure "CMS.INCRBYLIMIT, sliding window" "CMS.INITBYDIM limit 40000 7 CELL_SIZE 2 WINDOW 2400" \
    CMS.INCRBYLIMIT limit 1000 "$name" 1
measure "HINCRBY, one hash" "" HINCRBY limit "$name" 1
measure "INCR and EXPIRE" "" INCR "$name" ';' EXPIRE "$name" 60 NX
measure "Lua: GET, INCR, EXPIRE" "" EVALSHA "$counter_sha" 1 "$name"
measure "Lua: a sorted set per client, sliding window" "" EVALSHA "$log_sha" 1 "$name"
