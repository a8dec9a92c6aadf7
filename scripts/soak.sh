#!/usr/bin/env bash
# Runs mixed traffic of all families from 50 clients on a real server, with disconnects, CONFIG SET, BGSAVE,
# BGREWRITEAOF and a replica that disconnects and reconnects (tests/server/soak.rs). Prints the number of commands and
# their latencies. Takes no arguments.
#
# Environment:
#   MINUTES         duration in minutes (default 5)
#   ROUGHLY_SERVER  server program (default: redis-server or valkey-server on the PATH)
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build server
echo "soak: building the module (cargo build --release --lib)" >&2
cargo build --release --lib
ROUGHLY_SOAK_SECONDS=$((${MINUTES:-5} * 60)) exec cargo test --quiet --test server -- --nocapture \
    soak::mixed_traffic
