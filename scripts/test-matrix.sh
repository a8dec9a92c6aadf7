#!/usr/bin/env bash
# Runs the server tests on each server of the test matrix: all of them on the first server, and those whose result may
# depend on the server (tests/server/main.rs) on the others. Fetches missing servers into target/servers.
#
#   scripts/test-matrix.sh          records what each type supports for scripts/abilities.sh, and checks that nothing is missing
#   scripts/test-matrix.sh quick    for .ci/run, after scripts/test.sh: leaves out the installed server and the slow tests. Runs the
#                                   others on Redis 7.0 and Valkey 9, and those that depend on the server on all. Records nothing.
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
    full | quick) ;;
    *)
        echo "test-matrix: unknown argument: $mode" >&2
        exit 2
        ;;
esac

scripts/install.sh build examples
scripts/fetch-servers.sh || true
echo "test-matrix: building the module (cargo build --release --lib)" >&2
cargo build --release --lib
cargo test --no-run --test server

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
for name in $(scripts/fetch-servers.sh --list); do
    server=$PWD/target/servers/$name/server
    if [ ! -x "$server" ]; then
        missing+=("$name")
        continue
    fi
    if [ "$(release "$server")" = "$installed" ]; then
        echo "test-matrix: $name is the installed server, which make test tests"
        continue
    fi
    skip=()
    if [ "$mode" = quick ]; then
        unset ROUGHLY_ABILITIES
        skip+=("${slow[@]}")
    else
        export ROUGHLY_ABILITIES=$PWD/target/abilities/$name.txt
        rm -f "$ROUGHLY_ABILITIES"
        # The first server that is available.
        [ -n "$full_servers" ] || full_servers=$name
    fi
    [[ " $full_servers " == *" $name "* ]] || skip+=("${independent[@]}")
    echo
    echo "test-matrix: $name, $("$server" --version)"
    start=$SECONDS
    if ROUGHLY_SERVER=$server cargo test --quiet --test server -- "${skip[@]}"; then
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
[ "$mode" = quick ] || scripts/abilities.sh check
