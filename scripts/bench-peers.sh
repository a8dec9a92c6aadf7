#!/usr/bin/env bash
# Compares the CPU time of the server with Roughly and with other modules, in turn, and writes the tables and charts of
# docs/performance.md. A complete run takes 5 to 15 minutes per module; other load on the machine distorts the times.
#
#   scripts/bench-peers.sh                    all cases
#   scripts/bench-peers.sh --quick BF CF      one short round of the cases whose names contain BF or CF; changes no document
#
# Without a module to compare with, the script only writes the tables and charts from the recorded results.
#
# Environment:
#   REDISBLOOM             module file of RedisBloom, which must load on ROUGHLY_SERVER
#   VALKEY_BLOOM           module file of valkey-bloom, which must load on ROUGHLY_VALKEY_SERVER
#   BASELINE               module file of another commit of Roughly
#   ROUGHLY_SERVER         server program (default: redis-server or valkey-server on the PATH)
#   ROUGHLY_VALKEY_SERVER  Valkey server program (default: valkey-server on the PATH, or the one that test-matrix fetches)
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build
if [ -n "${REDISBLOOM:-}${VALKEY_BLOOM:-}${BASELINE:-}" ]; then
    scripts/install.sh server
    cargo build --release --lib
    cargo bench -p benches --bench peers -- "$@"
    # A run with arguments does not replace the recorded results.
    [ $# -eq 0 ] || exit 0
else
    echo "bench-peers: uses the recorded results; to measure, set REDISBLOOM, VALKEY_BLOOM or BASELINE to a module file" >&2
fi
cargo bench -p benches --bench report
