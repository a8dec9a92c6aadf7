#!/usr/bin/env bash
# Kills a server with kill -9 $KILLS times (200) while clients write to it, rewrites and saves going on,
# and looks for writes that are lost or invented; then half as often during saves without an append-only
# file. $SEED (8) makes it another run.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build server
echo "test-kills: building the module (cargo build --release --lib)" >&2
cargo build --release --lib
echo "test-kills: on $("$(scripts/find-server.sh)" --version)" >&2
ROUGHLY_KILLS=${KILLS:-200} ROUGHLY_SEED=${SEED:-8} \
    exec cargo test --quiet --test server crash_recovery:: -- --nocapture --test-threads 1
