#!/usr/bin/env bash
# Runs the server tests on each server of the test matrix: all of them on the first server, and those whose result may
# depend on the server (tests/server/main.rs) on the others. Takes no arguments.
#
# Environment:
#   ROUGHLY_TESTED  server program on which scripts/test.sh has run all tests, with ROUGHLY_ABILITIES=target/abilities/tested.txt.
#                   The script does not repeat the tests on a server of the same build, and runs on the others only the
#                   tests whose result may depend on the server.
#
# Fetches missing servers into target/servers. Records what each type supports for scripts/abilities.sh.
#
# Exit status: 1 if a server failed, none was tested or a record is incomplete. A server that is not available is
# not a failure; the last lines list it.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build examples
scripts/fetch-servers.sh || true
echo "test-matrix: building the module (cargo build --release --lib)" >&2
cargo build --release --lib
cargo test --no-run --test server

mkdir -p target/abilities
passed=() failed=() missing=() skip=() tested=""
only_dependent=(--skip once:: --skip each_platform::)
if [ -n "${ROUGHLY_TESTED:-}" ]; then
    tested=$("$ROUGHLY_TESTED" --version)
    skip=("${only_dependent[@]}")
fi
for name in $(scripts/fetch-servers.sh --list); do
    server=$PWD/target/servers/$name/server
    if [ ! -x "$server" ]; then
        missing+=("$name")
        continue
    fi
    echo
    echo "test-matrix: $name, $("$server" --version)"
    records=$PWD/target/abilities/$name.txt
    rm -f "$records"
    # The version contains a hash of the build.
    if [ "$("$server" --version)" = "$tested" ]; then
        echo "test-matrix: all tests have passed on this build before"
        cp target/abilities/tested.txt "$records"
        passed+=("$name")
        continue
    fi
    start=$SECONDS
    if ROUGHLY_ABILITIES=$records ROUGHLY_SERVER=$server cargo test --quiet --test server -- "${skip[@]}"; then
        passed+=("$name")
    else
        failed+=("$name")
    fi
    echo "test-matrix: $name took $((SECONDS - start)) s"
    skip=("${only_dependent[@]}")
done

echo
echo "test-matrix: passed on: ${passed[*]:-none}"
[ ${#missing[@]} -eq 0 ] || echo "test-matrix: not available: ${missing[*]}"
[ ${#failed[@]} -eq 0 ] || echo "test-matrix: FAILED on: ${failed[*]}"
if [ ${#failed[@]} -gt 0 ] || [ ${#passed[@]} -eq 0 ]; then
    exit 1
fi
scripts/abilities.sh check
