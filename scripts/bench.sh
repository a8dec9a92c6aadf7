#!/usr/bin/env bash
# Measures the module. Other load on the machine distorts the times.
#
#   scripts/bench.sh server [--quick] [CASE...]    CPU time per command (benches/server), beside RedisBloom and the modules of
#                                                  the variables below
#   scripts/bench.sh small-keys [KIND...]          memory per key, and CPU time of creation, random access and deletion of a
#                                                  million small keys, beside the same modules
#   scripts/bench.sh huge-pages [CASE...] [pauses]  CPU time and pauses of large keys with and without huge pages
#   scripts/bench.sh rate-limits                   memory of the rate limiters of docs/recipes/rate-limiting.md, and CPU time
#                                                  per request, as a table; the last column is the ratio to CMS.INCRBYLIMIT
#   scripts/bench.sh set-memory SERVER...          memory of sets on each server, for README.md and docs/choosing.md
#   scripts/bench.sh instructions [CASE...]        instructions per command (scripts/instructions.sh)
#   scripts/bench.sh report                        writes the tables and charts of docs/performance.md and README.md
#                                                  from the results in benches/record
#
# Environment:
#   ROUGHLY_SERVER         server program (default: redis-server or valkey-server on the PATH)
#   ROUGHLY_REDISBLOOM     module file of RedisBloom, which must load on ROUGHLY_SERVER (default: the one that
#                          scripts/fetch.sh fetches, for x86-64 with glibc); none: without RedisBloom, also cases that only
#                          Roughly has
#   ROUGHLY_VALKEY_BLOOM   module file of valkey-bloom, which must load on ROUGHLY_SERVER; only cases of Bloom filters
#   ROUGHLY_BASELINE       module file of another commit of Roughly
set -euo pipefail
cd "$(dirname "$0")/.."
export ROUGHLY_PROFILE=release

part=${1:-server}
[ $# -eq 0 ] || shift
scripts/install.sh build server
case $part in
    report) exec cargo bench -p benches --bench report ;;
    instructions) exec scripts/instructions.sh "$@" ;;
    server | small-keys | huge-pages | rate-limits | set-memory) ;;
    *)
        echo "bench: unknown part: $part" >&2
        exit 2
        ;;
esac
scripts/build-module.sh
case $part in
    server | small-keys)
        ROUGHLY_REDISBLOOM=${ROUGHLY_REDISBLOOM:-$(scripts/fetch.sh redisbloom)}
        export ROUGHLY_REDISBLOOM
        [ "$part" = server ] || set -- "--$part" "$@"
        exec cargo bench -p benches --bench server -- "$@"
        ;;
    huge-pages) exec cargo bench -p benches --bench server -- --huge-pages "$@" ;;
esac

# The following functions use the server at ROUGHLY_PORT.

# on_server FUNCTION: runs a function of this script while a server with the module runs.
on_server() {
    scripts/with-server.sh bash -euo pipefail -c "$1"
}

# call ARGUMENT...: sends a command.
call() {
    "$(scripts/find-server.sh cli)" -p "$ROUGHLY_PORT" "$@"
}

# field SECTION NAME: prints a field of INFO.
field() {
    call info "$1" | tr -d '\r' | sed -n "s/^$2://p"
}

# version: prints the name and the version of the server.
version() {
    call info server | tr -d '\r' | sed -n 's/^\(redis\|valkey\)_version:/\1 /p' | tail -1
}

cpu_ns() {
    call info cpu | tr -d '\r' | awk -F : '/^used_cpu_(user|sys):/ { sum += $2 } END { printf "%.0f", sum * 1e9 }'
}

# limiter NAME SETUP ARGUMENT...: prints the memory of a limiter, and the CPU time of the faster of two runs. A request is a call of these
# arguments. SETUP is a command that creates the key, or is empty.
limiter() {
    local name=$1 setup=$2 best=0 before memory start ns
    shift 2
    for _ in 1 2; do
        call flushall > /dev/null
        before=$(field memory used_memory)
        # shellcheck disable=SC2086
        [ -z "$setup" ] || call $setup > /dev/null
        start=$(cpu_ns)
        "$(scripts/find-server.sh benchmark)" -p "$ROUGHLY_PORT" -c 4 -q -P 32 -n "$requests" -r "$clients" "$@" > /dev/null
        ns=$((($(cpu_ns) - start) / requests))
        memory=$(($(field memory used_memory) - before))
        if [ "$best" -eq 0 ] || [ "$ns" -lt "$best" ]; then
            best=$ns
        fi
    done
    : "${first:=$best}"
    awk -v name="$name" -v ns="$best" -v memory="$memory" -v first="$first" \
        'BEGIN { printf "| %s | %.1f MB | %.2f µs | %.1f |\n", name, memory / 1e6, ns / 1e3, ns / first }'
}

# rate_limits: clients within a limit of 1,000 requests. The sketches are too high by more than 100 with a probability of at most 2^-7.
rate_limits() {
    local requests=2000000 clients=200000 first counter log name=client:__rand_int__
    # A fixed window: the client's counter expires a minute after its first request.
    counter=$(call script load 'local n = tonumber(redis.call("GET", KEYS[1]) or 0)
if n >= 1000 then return 0 end
if redis.call("INCR", KEYS[1]) == 1 then redis.call("EXPIRE", KEYS[1], 60) end
return 1')
    # A sliding window: a member of a sorted set per request of the last minute.
    log=$(call script load 'local time = redis.call("TIME")
local now = time[1] * 1000000 + time[2]
redis.call("ZREMRANGEBYSCORE", KEYS[1], 0, now - 60000000)
if redis.call("ZCARD", KEYS[1]) >= 1000 then return 0 end
redis.call("ZADD", KEYS[1], now, now)
redis.call("EXPIRE", KEYS[1], 60)
return 1')
    echo "$(version), $clients clients, $requests requests"
    echo "| limiter | memory | CPU time per request | CPU time, ratio |"
    echo "|---|---|---|---|"
    limiter "CMS.INCRBYLIMIT" "CMS.INITBYDIM limit 40000 7 CELL_SIZE 2" CMS.INCRBYLIMIT limit 1000 "$name" 1
    # So short that all panes are in use during the run.
    limiter "CMS.INCRBYLIMIT, sliding window" "CMS.INITBYDIM limit 40000 7 CELL_SIZE 2 WINDOW 2400" \
        CMS.INCRBYLIMIT limit 1000 "$name" 1
    limiter "HINCRBY, one hash" "" HINCRBY limit "$name" 1
    limiter "Lua: GET, INCR, EXPIRE" "" EVALSHA "$counter" 1 "$name"
    limiter "Lua: a sorted set per client, sliding window" "" EVALSHA "$log" 1 "$name"
}

# settled_memory: prints used_memory, when the server has moved all buckets of a table that grew.
settled_memory() {
    local last=-1 now
    now=$(field memory used_memory)
    until [ "$now" = "$last" ]; do
        sleep 1
        last=$now now=$(field memory used_memory)
    done
    echo "$now"
}

# set_memory: prints the least and the most bytes per item of sets of 256,000 to 3,000,000 items of 20 bytes (item: and 15 digits), by the
# growth of used_memory, and the memory of 50 million items: 32 times that of 1,562,500, because the hash table of a set has a power of two
# buckets.
set_memory() {
    local size added=0 bytes
    version
    # A table is moved in steps of a millisecond, hz times per second.
    call config set hz 500 > /dev/null
    bytes=$(settled_memory)
    for size in 256000 512000 900000 1000000 1048576 1048577 1500000 1562500 1700000 2048000 2097153 3000000; do
        seq -f 'item:%015.0f' "$added" $((size - 1)) | xargs -n 1000 echo SADD set | call --pipe > /dev/null
        added=$size
        echo "$size $(($(settled_memory) - bytes))"
    done | awk '
        { each = $2 / $1 }
        NR == 1 || each < least { least = each }
        each > most { most = each }
        $1 == 1562500 { million50 = $2 * 32 / 2 ^ 30 }
        END { printf "  least %.0f, most %.0f bytes per item; 50 million items %.1f GiB\n", least, most, million50 }'
}

export -f call field version cpu_ns limiter rate_limits settled_memory set_memory
case $part in
    rate-limits) on_server rate_limits ;;
    set-memory)
        for server in "$@"; do
            ROUGHLY_SERVER=$server on_server set_memory 2>&1 | grep -v ':[MC] '
        done
        ;;
esac
