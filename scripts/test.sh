#!/usr/bin/env bash
# Runs the tests on one server.
#
#   scripts/test.sh                         all tests, of the large ones a sample of the cases: what guards a merge
#   scripts/test.sh all [PART...]           all tests with all cases, but no server tests whose names contain a PART
#   scripts/test.sh --test server bloom     passes the arguments to cargo test; all cases
#
# The tests with many cases are those of worst cases, obeyed commands, hostile headers, refused memory, random damage and sequences, tables
# of accuracy, and programs of recipes. The date selects the sample (tests/support/sample.rs). Of the longest files of server tests, a third
# of the tests runs (scripts/server-tests.sh).
#
# A test that needs what this server or machine lacks is ignored: the reason is beside its name.
#
# Environment:
#   ROUGHLY_SAMPLE_SEED   number that selects the sample (default: the date, as in 20261231)
#   ROUGHLY_SERVER        server program (default: redis-server or valkey-server on the PATH)
#   ROUGHLY_MODULE        module (default: the one that scripts/build-module.sh builds)
#   ROUGHLY_REDISBLOOM    another RedisBloom than the one that scripts/fetch.sh fetches
#   ROUGHLY_VALKEY_BLOOM  valkey-bloom's module: also runs the tests beside it, on Valkey 8.0 or later
#   RUST_TEST_THREADS     number of tests that run at the same time (default: twice the number of processors, because tests mostly
#                         wait for servers)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/steps.sh
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(processors)))}
run=sample without=()
if [ "${1:-}" = all ]; then
    run=all without=("${@:2}")
    set --
elif [ $# -gt 0 ]; then
    run=some
else
    seed=${ROUGHLY_SAMPLE_SEED:-$(date +%Y%m%d)}
    # The other parts are those of the other servers (scripts/test-matrix.sh).
    ROUGHLY_SAMPLE="$seed 0 $(scripts/fetch.sh list | wc -l)"
    # A quarter of the default.
    export ROUGHLY_SAMPLE PROPTEST_CASES=64
    echo "test: sample $seed of the cases; make test-all runs all"
fi
[ $run = some ] || build_once

# Installs what the tests need, but not what the builds need.
prepare() {
    scripts/install.sh server examples git || return
    # On other machines, the tests beside RedisBloom are ignored.
    [ "$(uname -m)" != x86_64 ] || scripts/fetch.sh redisbloom 2.6.12 2.8.2 > /dev/null
}

# Builds the module and the test programs at the same time: neither alone uses two cores all the time. They have different directories.
build() {
    local status=0 job jobs=()
    prepare &
    jobs+=($!)
    scripts/build-module.sh &
    jobs+=($!)
    cargo test-all --no-run "$@" || status=$?
    for job in "${jobs[@]}"; do
        wait "$job" || status=$?
    done
    return $status
}

case $run in
    sample) steps 3 "$(minutes "make test")" ;;
    all) steps 3 12 ;;
    some) steps 3 ;;
esac
needs=(build)
# If sudo needs a password, it cannot ask for it beside the builds.
[ "$(id -u)" -eq 0 ] || sudo -n true 2> /dev/null || needs+=(server examples git)
step "missing programs for the build" scripts/install.sh "${needs[@]}"
step "module, test programs, and missing programs beside them" build "$@"
server=$("$(scripts/find-server.sh)" --version)
tests=(scripts/server-tests.sh test-all)
case $run in
    sample) tests+=(--third "$seed") ;;
    all)
        # shellcheck disable=SC2207
        [ ${#without[@]} -eq 0 ] || tests+=(--skip $(cargo test --quiet --test server -- --list | sed -n 's/: test$//p' | grep -F "${without[@]/#/-e}"))
        ;;
    some) tests=(cargo test-all "$@") ;;
esac
step "tests on $server" "${tests[@]}"
