#!/usr/bin/env bash
# Checks the modules in the release tarballs of target/dist: the libraries and symbols that they require, and whether
# they load with the C library of their target. Modules for another processor than this machine's run in an emulator.
#
#   scripts/test-modules.sh              for all targets of scripts/targets.sh
#   scripts/test-modules.sh TARGET...
#
# Exit status: 1 if a check fails, 2 if a target is unknown.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/targets.sh
version=$(cargo pkgid | sed 's/.*[#@]//')
dir=$(mktemp -d "${TMPDIR:-/tmp}/roughly-modules-XXXXXX")
trap 'rm -rf "$dir"' EXIT

fail() {
    echo "test-modules: FAILED: $*" >&2
    exit 1
}
passed() {
    echo "test-modules: $*"
}

# check_symbols TARGET MODULE: checks the versions of glibc's symbols.
check_symbols() {
    local oldest highest symbols
    symbols=$(readelf -VW "$2" | sed -nE 's/.*(GLIBC_[0-9.]+).*/\1/p' | sort -uV)
    case $1 in
        *-musl) [ -z "$symbols" ] || fail "the module for $1 requires glibc: $symbols" ;;
        *)
            [ -n "$symbols" ] || fail "the module for $1 has no glibc symbols"
            oldest=$(zig_target "$1" | sed 's/.*-gnu\.//')
            highest=$(tail -n 1 <<< "$symbols")
            [ "$(printf '%s\n' "${highest#GLIBC_}" "$oldest" | sort -V | tail -n 1)" = "$oldest" ] \
                || fail "the module for $1 requires $highest"
            passed "$1: the newest glibc symbol that the module requires is $highest"
            ;;
    esac
}

# check_libraries TARGET MODULE: checks that the module requires no library except the C library.
check_libraries() {
    local library
    while read -r library; do
        case $1:$library in
            *-musl:libc.so) ;;
            *-gnu:libc.so.6 | *-gnu:libm.so.6 | *-gnu:libpthread.so.0 | *-gnu:libdl.so.2 | *-gnu:ld-linux-*) ;;
            *) fail "the module for $1 requires the library $library" ;;
        esac
    done < <(readelf -dW "$2" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
    passed "$1: the module requires no library except the C library"
}

targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(all_targets)
for target in "${targets[@]}"; do
    name=roughly-$version-$(platform "$target")
    tar -xzf "target/dist/$name.tar.gz" -C "$dir"
    module=$dir/$name/libroughly.so
    check_symbols "$target" "$module"
    check_libraries "$target" "$module"

    loader=$dir/loader-$target
    ROUGHLY_ZIG_TARGET=$(zig_target "$target") scripts/zig-cc.sh -dynamic -o "$loader" tests/loader.c -ldl
    run=$(scripts/fetch-libc.sh "$target")
    "$run" "$loader" "$module" || fail "the module for $target does not load"
    if "$run" "$loader" "$dir/missing.so" 2> /dev/null; then
        fail "the loader for $target loads a file that does not exist"
    fi
    passed "$target: the module loads with a C library of Debian"

    # Command handlers catch panics, so the unwinder that the linker adds must work. No known command makes the module
    # panic; a minimal library that is linked in the same way panics instead.
    CARGO_PROFILE_RELEASE_STRIP=symbols scripts/cargo-target.sh "$target" build --quiet --release --package panics
    caught=$("$run" "$loader" "$PWD/target/portable/$target/$target/release/libpanics.so" caught 2> /dev/null || true)
    [ "$caught" = 1 ] || fail "a library for $target does not catch a panic"
    passed "$target: a library that is linked in the same way catches a panic"
done
