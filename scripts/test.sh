#!/usr/bin/env bash
# All tests, on the server of the PATH or the one that $ROUGHLY_SERVER names. Arguments go to cargo
# test: scripts/test.sh --test server bloom
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build server examples
echo "test: building the module (cargo build --release --lib)" >&2
cargo build --release --lib
echo "test: on $("$(scripts/find-server.sh)" --version)" >&2
exec cargo test "$@"
