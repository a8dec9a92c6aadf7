#!/usr/bin/env bash
# Tests active defragmentation of keys of every type during writes (tests/defrag.rs). Takes no arguments.
#
# The test runs on a server that scripts/build-server.sh defrag builds, because Debian's servers do not support active
# defragmentation. Records the result for scripts/abilities.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build
scripts/build-server.sh defrag
echo "test-defrag: building the module (cargo build --release --lib)" >&2
cargo build --release --lib
mkdir -p target/abilities
rm -f target/abilities/redis-defrag.txt
ROUGHLY_ABILITIES=$PWD/target/abilities/redis-defrag.txt \
    ROUGHLY_SERVER=$PWD/target/servers/redis-defrag/server \
    cargo test --quiet --test defrag -- --test-threads 1
scripts/abilities.sh check
