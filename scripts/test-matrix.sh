#!/usr/bin/env bash
# Runs tests on each server of the test matrix. Fetches missing servers into target/servers.
#
#   scripts/test-matrix.sh          all server tests on the first server, and those whose result may depend on the server
#                                   (tests/server/main.rs) on the others. Records what each type supports, and checks that
#                                   nothing is missing (tests/documents/abilities.rs)
#   scripts/test-matrix.sh quick    for .ci/run, after scripts/test.sh: leaves out the installed server and the slow tests. Runs the
#                                   others on Redis 7.0 and Valkey 9, and those that depend on the server on all. Records nothing
#   scripts/test-matrix.sh clients  scripts/test-clients.sh
#   scripts/test-matrix.sh python   make test-python
#
# Environment:
#   RUST_TEST_THREADS  as in scripts/test.sh
#
# Exit status: 1 if a server failed, none was tested or a record is incomplete; 2 if the argument is unknown. A server that is not
# available is not a failure; the last lines list it.
set -euo pipefail
cd "$(dirname "$0")/.."
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}
mode=${1:-full}
case $mode in
    full | quick | clients | python) ;;
    *)
        echo "test-matrix: unknown argument: $mode" >&2
        exit 2
        ;;
esac

scripts/install.sh build examples
scripts/fetch.sh server || true
if [ "$mode" = full ] || [ "$mode" = quick ]; then
    cargo build --release --lib
    cargo test --no-run --test server
fi

# Name and version of a server, such as "Redis server v=7.0.15": the rest of the line depends on the build.
release() {
    "$1" --version | cut -d ' ' -f 1-3
}

mkdir -p target/abilities
passed=() failed=() missing=()
independent=(--skip once:: --skip each_platform::)
# These take a third of the test time.
slow=(--skip lazy_free:: --skip large_keys_survive --skip slot_migration_during --skip failover_after_a_kill)
full_servers="" installed=""
if [ "$mode" = quick ]; then
    scripts/install.sh server
    full_servers="redis-7.0 valkey-9"
    installed=$(release "$(scripts/find-server.sh)")
fi
for name in $(scripts/fetch.sh list); do
    export ROUGHLY_SERVER=$PWD/target/servers/$name/server
    if [ ! -x "$ROUGHLY_SERVER" ]; then
        missing+=("$name")
        continue
    fi
    if [ "$(release "$ROUGHLY_SERVER")" = "$installed" ]; then
        echo "test-matrix: $name is the installed server, which make test tests"
        continue
    fi
    skip=()
    case $mode in
        quick) skip+=("${slow[@]}") ;;
        full)
            export ROUGHLY_ABILITIES=$PWD/target/abilities/$name.txt
            rm -f "$ROUGHLY_ABILITIES"
            # The first server that is available.
            [ -n "$full_servers" ] || full_servers=$name
            ;;
    esac
    [[ " $full_servers " == *" $name "* ]] || skip+=("${independent[@]}")
    tests=(cargo test --quiet --test server -- "${skip[@]}")
    [ "$mode" != clients ] || tests=(scripts/test-clients.sh)
    [ "$mode" != python ] || tests=(make test-python)
    echo
    echo "test-matrix: $name, $("$ROUGHLY_SERVER" --version)"
    start=$SECONDS
    if "${tests[@]}"; then
        passed+=("$name")
    else
        failed+=("$name")
    fi
    echo "test-matrix: $name took $((SECONDS - start)) s"
done

echo
echo "test-matrix: passed on: ${passed[*]:-none}"
[ ${#missing[@]} -eq 0 ] || echo "test-matrix: not available: ${missing[*]}"
[ ${#failed[@]} -eq 0 ] || echo "test-matrix: FAILED on: ${failed[*]}"
if [ ${#failed[@]} -gt 0 ] || [ ${#passed[@]} -eq 0 ]; then
    exit 1
fi
[ "$mode" != full ] || ROUGHLY_ABILITIES=$PWD/target/abilities cargo test --quiet --test documents -- abilities::
