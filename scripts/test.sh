#!/usr/bin/env bash
# Runs all tests on one server.
#
#   scripts/test.sh                         all tests
#   scripts/test.sh --test server bloom     passes the arguments to cargo test
#
# Environment:
#   ROUGHLY_SERVER     server program (default: redis-server or valkey-server on the PATH)
#   RUST_TEST_THREADS  number of tests that run at the same time (default: twice the number of processors, because tests mostly wait
#                      for servers)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/steps.sh
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}

steps 4
step "missing Debian packages" "1 minute" scripts/install.sh build server examples
step "release module" "3 minutes" cargo build --release --lib
step "test programs" "4 minutes" cargo test --no-run "$@"
step "tests on $("$(scripts/find-server.sh)" --version)" "5 minutes" cargo test "$@"
