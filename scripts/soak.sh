#!/usr/bin/env bash
# Mixed traffic of all families from 50 clients on a real server, for $MINUTES (5) minutes: disconnects,
# CONFIG SET, BGSAVE, BGREWRITEAOF, lost and found replicas (tests/server/soak.rs). Prints the number of
# commands and their latencies; everything stays on this machine.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build server
echo "soak: building the module (cargo build --release --lib)" >&2
cargo build --release --lib
ROUGHLY_SOAK_SECONDS=$((${MINUTES:-5} * 60)) exec cargo test --quiet --test server -- --nocapture \
    soak::mixed_traffic
