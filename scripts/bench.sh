#!/usr/bin/env bash
# Runs the benchmarks and writes their results to target/bench, from which `make bench-report` writes the
# tables and charts of docs/performance.md. A complete run is long; other load on the machine distorts the times.
#
#   scripts/bench.sh              all parts
#   scripts/bench.sh server BF    one part (server, growth, references, instructions, sketches);
#                                 the part receives the remaining arguments
#
# Environment:
#   ROUGHLY_SERVER  server program to measure (default: redis-server or valkey-server on the PATH)
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build server
cargo build --release --lib

if [ $# -gt 0 ]; then
    part=$1
    shift
    case $part in
        instructions) exec scripts/instructions.sh "$@" ;;
        *) exec cargo bench --bench "$part" -- "$@" ;;
    esac
fi
cargo bench --bench server --bench growth --bench references --bench sketches
scripts/instructions.sh
