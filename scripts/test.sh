#!/usr/bin/env bash
# Runs all tests on one server.
#
#   scripts/test.sh                         all tests
#   scripts/test.sh --test server bloom     passes the arguments to cargo test
#
# Environment:
#   ROUGHLY_SERVER  server program (default: redis-server or valkey-server on the PATH)
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build server examples
echo "test: building the module (cargo build --release --lib)" >&2
cargo build --release --lib
echo "test: testing on $("$(scripts/find-server.sh)" --version)" >&2
exec cargo test "$@"
