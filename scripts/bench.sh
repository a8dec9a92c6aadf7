#!/usr/bin/env bash
# Measures the module. Other load on the machine distorts the times.
#
#   scripts/bench.sh server [--quick] [CASE...]    CPU time per command (benches/server), beside RedisBloom and the modules of
#                                                  the variables below
#   scripts/bench.sh small-keys [KIND...]          memory per key, and CPU time of creation, random access and deletion of a
#                                                  million small keys, beside the same modules
#   scripts/bench.sh batches [COMMAND...]          the worst ratios of commands with 1 to 1,000 items of 4 to 4,096 bytes
#   scripts/bench.sh huge-pages [CASE...] [pauses]  CPU time and pauses of large keys with and without huge pages
#   scripts/bench.sh sketches [NAME]               the sketches without a server (benches/sketches.rs)
#   scripts/bench.sh pauses                        latency of BF.ADD without and during BGSAVE, and the time to load, of
#                                                  filters of 1 GiB, with the server's own tools
#   scripts/bench.sh instructions [CASE...]        instructions per command (scripts/instructions.sh)
#   scripts/bench.sh report                        writes the tables and charts of docs/performance.md and README.md
#                                                  from the results in benches/record
#
# Environment:
#   ROUGHLY_SERVER         server program (default: redis-server or valkey-server on the PATH)
#   ROUGHLY_REDISBLOOM     module file of RedisBloom, which must load on ROUGHLY_SERVER (default: the one that
#                          scripts/fetch.sh fetches, for x86-64 with glibc); none: without RedisBloom, also cases that only
#                          Roughly has
#   ROUGHLY_VALKEY_BLOOM   module file of valkey-bloom, which must load on ROUGHLY_VALKEY_SERVER
#   ROUGHLY_BASELINE       module file of another commit of Roughly
#   ROUGHLY_VALKEY_SERVER  Valkey server program (default: valkey-server on the PATH, or the one that test-matrix fetches)
set -euo pipefail
cd "$(dirname "$0")/.."
export ROUGHLY_PROFILE=release

part=${1:-server}
[ $# -eq 0 ] || shift
scripts/install.sh build server
case $part in
    server | small-keys | batches)
        ROUGHLY_REDISBLOOM=${ROUGHLY_REDISBLOOM:-$(scripts/fetch.sh redisbloom)}
        export ROUGHLY_REDISBLOOM
        cargo build --release --lib -p roughly
        [ "$part" = server ] || set -- "--$part" "$@"
        exec cargo bench -p benches --bench server -- "$@"
        ;;
    sketches) exec cargo bench -p benches --bench sketches -- "$@" ;;
    huge-pages)
        cargo build --release --lib -p roughly
        exec cargo bench -p benches --bench server -- --huge-pages "$@"
        ;;
    report) exec cargo bench -p benches --bench report ;;
    instructions) exec scripts/instructions.sh "$@" ;;
    pauses) cargo build --release --lib -p roughly ;;
    *)
        echo "bench: unknown part: $part" >&2
        exit 2
        ;;
esac

server=$(scripts/find-server.sh) cli=$(scripts/find-server.sh cli) benchmark=$(scripts/find-server.sh benchmark)
work=$(mktemp -d) port=$((20000 + RANDOM % 12000))
trap 'kill %1 2> /dev/null || true; rm -rf "$work"' EXIT
start() {
    "$server" --port "$port" --bind 127.0.0.1 --save "" --dir "$work" --rdbcompression no --logfile "$work/log" \
        --loadmodule "$PWD/target/release/libroughly.so" > /dev/null &
    until [ "$("$cli" -p "$port" ping 2> /dev/null)" = PONG ]; do
        sleep 0.05
    done
}
field() {
    "$cli" -p "$port" info everything | tr -d '\r' | sed -n "s/^$1://p"
}
# latency NAME: percentiles of single additions from four clients.
latency() {
    echo "BF.ADD, $1:"
    "$benchmark" -p "$port" -c 4 -n "${2:-200000}" -r 1000000000 BF.ADD k item:__rand_int__ \
        | tr '\r' '\n' | sed -n '/latency summary/,$p'
}
start
"$cli" -p "$port" bf.reserve k 0.001 597000000 > /dev/null
# 100 items per command write to every page.
# shellcheck disable=SC2046
"$benchmark" -p "$port" -q -c 4 -P 16 -n 30000 -r 1000000000 BF.MADD k $(yes item:__rand_int__ | head -100) > /dev/null
latency "no save"
"$cli" -p "$port" bgsave > /dev/null
latency "during BGSAVE"
while [ "$(field rdb_bgsave_in_progress)" = 1 ]; do
    sleep 0.05
done
echo "fork: $(field latest_fork_usec) µs; copied on write: $(field rdb_last_cow_size) bytes"
"$cli" -p "$port" shutdown nosave || true
wait %1 || true
start
grep -o 'DB loaded from disk.*' "$work/log"
"$cli" -p "$port" shutdown nosave || true
