#!/usr/bin/env bash
# Tests the module for TARGET (scripts/targets.sh): the unit tests of hashes, numbers and stored bytes as programs of TARGET, and server
# tests on a server of TARGET. If this machine has another processor, both run in an emulator, and only the
# server tests of each_platform run, whose result depends on the processor.
#
#   scripts/test-platform.sh TARGET
#
# The server is Redis 8.0 of Debian, or for musl, Redis 7.0 that scripts/fetch.sh builds. The test program of the server
# tests always runs on this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/steps.sh
. scripts/targets.sh
. scripts/testing.sh
target=${1:?the first argument is a target}
unit_tests=(test --quiet --lib -p roughly-sketch -- golden:: stored:: format:: hash:: math:: prefetch::)
server_tests=(--skip once:: --skip each_server::)

scripts/install.sh build examples
host=$(machine_target)
case $target in
    "$host") fail "$target is the target of this machine: run make test" ;;
    "${host%%-*}"-*-musl)
        scripts/fetch.sh server redis-musl
        server=$PWD/target/servers/redis-musl
        ;;
    *-musl) fail "there is no server for $target on this machine" ;;
    *)
        scripts/fetch.sh server-for "$target" redis-8.0
        server=$PWD/target/servers/$(debian_architecture "$target")-redis-8.0
        # Without the directory, because Cargo splits this at spaces.
        export "CARGO_TARGET_$(tr a-z- A-Z_ <<< "$target")_RUNNER=run" PATH="$server:$PATH"
        server_tests=(each_platform::)
        # Programs are several times slower in the emulator. Fewer random cases run; make test runs all of them.
        export ROUGHLY_TIME_FACTOR=10 PROPTEST_CASES=50
        ;;
esac

build_once
ROUGHLY_MODULE=$(scripts/cross.sh "$target" module)
export ROUGHLY_MODULE
passed "unit tests for $target"
scripts/cross.sh "$target" cargo "${unit_tests[@]}"
# The module with debug assertions, which some server tests need. With the profile of the unit tests, to compile the standard library once.
scripts/cross.sh "$target" cargo build --quiet --profile test --lib

ROUGHLY_CC=$(scripts/cross.sh "$target" cc)
export ROUGHLY_CC ROUGHLY_SERVER=$server/server
export ROUGHLY_DEBUG_MODULE=$PWD/target/portable/$target/$target/debug/deps/libroughly.so
cargo test --no-run --test server
passed "server tests for $target on $("$ROUGHLY_SERVER" --version)"
cargo test --quiet --test server -- "${server_tests[@]}"
