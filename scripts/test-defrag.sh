#!/usr/bin/env bash
# Active defragmentation of keys of every type, while writes go on: tests/defrag.rs on a server that is built
# with the allocator it takes (scripts/build-defrag-server.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build
scripts/build-defrag-server.sh
echo "test-defrag: building the module (cargo build --release --lib)" >&2
cargo build --release --lib
mkdir -p target/abilities
rm -f target/abilities/redis-defrag.txt
ROUGHLY_ABILITIES=$PWD/target/abilities/redis-defrag.txt \
    ROUGHLY_SERVER=$PWD/target/servers/redis-defrag/server \
    cargo test --quiet --test defrag -- --test-threads 1
scripts/abilities.sh check
