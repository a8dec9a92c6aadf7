#!/usr/bin/env bash
# Measures the module in the server of the PATH, or the one that $ROUGHLY_SERVER names, and the sketches
# without a server. Leaves the results in target/bench, of which `make bench-report` makes
# docs/performance.md. Takes long, best on a machine that does nothing else.
#
#   scripts/bench.sh              everything
#   scripts/bench.sh server BF    one part (server, growth, references, instructions, sketches),
#                                 with what is left for it as arguments
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
