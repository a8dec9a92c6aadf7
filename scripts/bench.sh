#!/usr/bin/env bash
# Runs the benchmarks and writes their results to target/bench, from which `make bench-report` writes the
# tables and charts of docs/performance.md. A complete run is long; other load on the machine distorts the times.
#
#   scripts/bench.sh              all parts
#   scripts/bench.sh server BF    one part (server, peers, growth, references, windows, instructions,
#                                 sketches, latency, scaling, restart);
#                                 the part receives the remaining arguments
#
# Environment:
#   ROUGHLY_SERVER  server program to measure (default: redis-server or valkey-server on the PATH)
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build server
cargo build --release --lib

# The windows benchmark measures the sketches with the allocator of the server, because the times of large allocations and
# frees depend on it.
jemalloc=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" { print $NF; exit }')
windows() {
    LD_PRELOAD=$jemalloc cargo bench -p benches --bench windows -- "$@"
}

if [ $# -gt 0 ]; then
    part=$1
    shift
    case $part in
        instructions) exec scripts/instructions.sh "$@" ;;
        windows)
            windows "$@"
            exit
            ;;
        *) exec cargo bench -p benches --bench "$part" -- "$@" ;;
    esac
fi
cargo bench -p benches --bench server --bench growth --bench references --bench sketches \
    --bench scaling --bench latency --bench restart
windows
scripts/instructions.sh
