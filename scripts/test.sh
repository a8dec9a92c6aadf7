#!/usr/bin/env bash
# Runs all tests on one server.
#
#   scripts/test.sh                         all tests
#   scripts/test.sh --test server bloom     passes the arguments to cargo test
#
# A test that needs what this server or machine lacks is ignored: the reason is beside its name.
#
# Environment:
#   ROUGHLY_SERVER        server program (default: redis-server or valkey-server on the PATH)
#   ROUGHLY_MODULE        module (default: the one that scripts/build-module.sh builds)
#   ROUGHLY_REDISBLOOM    another RedisBloom than the one that scripts/fetch.sh fetches
#   ROUGHLY_VALKEY_BLOOM  valkey-bloom's module: also runs the tests beside it, on Valkey 8.0 or later
#   ROUGHLY_SAMPLE        a part of the cases of large tests (tests/support/sample.rs)
#   RUST_TEST_THREADS     number of tests that run at the same time (default: twice the number of processors, because tests mostly
#                         wait for servers)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/steps.sh
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}

prepare() {
    scripts/install.sh build server examples git
    # On other machines, the tests beside RedisBloom are ignored.
    [ "$(uname -m)" != x86_64 ] || scripts/fetch.sh redisbloom 2.6.12 2.8.2 > /dev/null
}

steps 4
step "missing programs" "1 minute" prepare
step "module" "1 minute" scripts/build-module.sh
step "test programs" "2 minutes" cargo test-all --no-run "$@"
server=$("$(scripts/find-server.sh)" --version)
tests=(scripts/server-tests.sh test-all)
[ $# -eq 0 ] || tests=(cargo test-all "$@")
step "tests on $server" "3 minutes" "${tests[@]}"
