#!/usr/bin/env bash
# Tests the module for TARGET (scripts/targets.sh): the unit tests and the models as programs of TARGET, and the
# server tests on a server of TARGET.
#
#   scripts/test-platform.sh TARGET                        all of these
#   scripts/test-platform.sh TARGET server [ARGUMENT...]   only the server tests; the arguments are those of the test
#                                                          program, for example a part of a name, or --skip NAME
#
# The server is Redis 8.0 of Debian, or for musl, Redis 7.0 that scripts/fetch.sh builds. If this machine has
# another processor, servers and tests run in an emulator (scripts/fetch.sh emulator). The test program of the server
# tests always runs on this machine.
#
# Exit status: 2 if the target or the part is unknown, the target is that of this machine, or there is no server for it.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/targets.sh
target=${1:?the first argument is a target}
part=${2:-all}
shift $(($# < 2 ? $# : 2))
skip=(--skip once:: --skip each_server::)
case $part in
    all | server) ;;
    *)
        echo "test-platform: unknown part: $part" >&2
        exit 2
        ;;
esac

say() {
    echo "test-platform: $*" >&2
}

scripts/install.sh build examples
host=$(machine_target)
name=${target//-/_}
runner=CARGO_TARGET_${name^^}_RUNNER
case $target in
    "$host")
        say "$target is the target of this machine: run make test"
        exit 2
        ;;
    "${host%%-*}"-*-musl)
        scripts/fetch.sh server redis-musl
        server=$PWD/target/servers/redis-musl
        ;;
    *-musl)
        say "there is no server for $target on this machine"
        exit 2
        ;;
    *)
        scripts/fetch.sh server-for "$target" redis-8.0
        server=$PWD/target/servers/$(debian_architecture "$target")-redis-8.0
        export "$runner=$server/run"
        # The emulator refuses all requests for huge pages.
        skip+=(--skip huge_pages::)
        # Programs are several times slower in the emulator. Fewer random cases run; make test runs all of them.
        export ROUGHLY_TIME_FACTOR=10 PROPTEST_CASES=50
        ;;
esac

# Without debug information, which these tests do not use and which takes time to compile.
export CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_TEST_DEBUG=false
ROUGHLY_MODULE=$(scripts/cross.sh "$target" module)
export ROUGHLY_MODULE
start=$SECONDS
if [ "$part" = all ]; then
    say "unit tests and models for $target"
    scripts/cross.sh "$target" cargo test-all --quiet --lib --test models
    say "these tests took $((SECONDS - start)) s, with their compilation"
fi
# The module with debug assertions, which some server tests need.
CARGO_PROFILE_DEV_OPT_LEVEL=1 scripts/cross.sh "$target" cargo build --quiet --lib

ROUGHLY_CC=$(scripts/cross.sh "$target" cc)
export ROUGHLY_CC ROUGHLY_SERVER=$server/server
export ROUGHLY_DEBUG_MODULE=$PWD/target/portable/$target/$target/debug/deps/libroughly.so
unset CARGO_PROFILE_DEV_DEBUG CARGO_PROFILE_TEST_DEBUG
cargo test --no-run --test server
say "server tests for $target on $("$ROUGHLY_SERVER" --version)"
start=$SECONDS
cargo test --quiet --test server -- "${skip[@]}" "$@"
say "the server tests took $((SECONDS - start)) s"
