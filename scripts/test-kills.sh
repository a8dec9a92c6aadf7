#!/usr/bin/env bash
# Tests crash recovery: kills a server with SIGKILL many times while clients write, and searches for lost writes and
# for data that no client wrote. Takes no arguments.
#
# Some of the kills occur during AOF rewrites or RDB saves. Half as many further kills occur during saves without an
# append-only file.
#
# Environment:
#   KILLS           number of kills with an append-only file (default 200)
#   SEED            seed of the random choices (default 8)
#   ROUGHLY_SERVER  server program (default: redis-server or valkey-server on the PATH)
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build server
echo "test-kills: building the module (cargo build --release --lib)" >&2
cargo build --release --lib
echo "test-kills: testing on $("$(scripts/find-server.sh)" --version)" >&2
ROUGHLY_KILLS=${KILLS:-200} ROUGHLY_SEED=${SEED:-8} \
    exec cargo test --quiet --test server crash_recovery:: -- --nocapture --test-threads 1
