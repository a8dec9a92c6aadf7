#!/usr/bin/env bash
# Finds invalid accesses to memory, and leaks.
#
#   scripts/memory.sh asan                   runs the unit tests of all crates and the models (200,000 damaged payloads) under
#                                            AddressSanitizer and LeakSanitizer
#   scripts/memory.sh valgrind [NAME...]     runs the server tests whose names contain one of the arguments (default: those in
#                                            $filters), with every server under valgrind, which also finds jumps that depend on
#                                            uninitialized values
#
# Exit status: 1 if there is an error or a definite leak, for valgrind only one with a frame of the module in its stack; otherwise
# that of the tests.
set -euo pipefail
cd "$(dirname "$0")/.."
tool=${1:-}
[ $# -eq 0 ] || shift

# Valgrind replaces the server's allocator and is slow, so the tests of time, of memory limits, and of active
# defragmentation, which needs jemalloc, are skipped.
skip=()
for name in huge crash_recovery memory key_limit soak at_once seconds extreme_numbers worst_cases faults; do
    skip+=(--skip "$name")
done
filters=(hostile integration bloom:: cuckoo:: count_min:: top_k t_digest)

run_valgrind() {
    [ $# -eq 0 ] || filters=("$@")
    scripts/install.sh build server valgrind
    CARGO_PROFILE_RELEASE_DEBUG=1 CARGO_TARGET_DIR=target/valgrind cargo build --release --lib
    local directory=$PWD/target/valgrind kind logs status=0 errors
    logs=$(mktemp -d "${TMPDIR:-/tmp}/roughly-valgrind-XXXXXX")
    # The server's LZF compression reads a table that it does not initialize, by design (INIT_HTAB).
    for kind in Cond Value8; do
        printf '{\n   lzf\n   Memcheck:%s\n   fun:lzf_compress\n}\n' "$kind"
    done > "$directory/suppressions"
    cat > "$directory/server" << STARTER
#!/bin/sh
exec valgrind --quiet --leak-check=full --show-leak-kinds=definite --num-callers=40 \\
    --suppressions='$directory/suppressions' --soname-synonyms='somalloc=*jemalloc*' --log-file='$logs/%p.log' \\
    '$(command -v "$(scripts/find-server.sh)")' "\$@"
STARTER
    chmod +x "$directory/server"

    # ROUGHLY_SHUTDOWN makes the tests stop servers with SHUTDOWN instead of a signal, so that valgrind can search for
    # leaks.
    ROUGHLY_MODULE=$directory/release/libroughly.so ROUGHLY_SERVER=$directory/server ROUGHLY_SHUTDOWN=1 ROUGHLY_TIME_FACTOR=10 \
        cargo test --test server -- --test-threads=2 "${skip[@]}" "${filters[@]}" || status=$?

    compgen -G "$logs/*.log" > /dev/null || { echo "memory: no server ran" >&2 && exit 1; }
    # A record of valgrind is a paragraph of lines "==PID== ...", which an empty line ends. A frame of the module
    # names the library or, if it has symbols, a function of the crate and a line of a Rust file.
    errors=$(cat "$logs"/*.log | sed -E 's/^==[0-9]+== ?//' \
        | awk 'BEGIN { RS = ""; ORS = "\n\n" } /libroughly|roughly::|[.]rs:[0-9]/' | tee "$logs/errors" \
        | grep -cE '^(Invalid|Conditional|Use of|Mismatched|Syscall|[0-9,() a-z]+bytes in .* definitely lost|Process terminating)' || true)
    echo "memory: $(find "$logs" -name '*.log' | wc -l) servers, $errors errors or leaks of the module" >&2
    if [ "$errors" -gt 0 ]; then
        cat "$logs/errors" >&2
        exit 1
    fi
    rm -rf "$logs"
    exit "$status"
}

case $tool in
    asan)
        scripts/install.sh build
        # The sanitizers are part of the Rust toolchain, but need an unstable compiler flag: RUSTC_BOOTSTRAP=1 makes a stable
        # compiler accept it.
        export RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=target/asan
        export RUSTFLAGS="-Zsanitizer=address -Cforce-frame-pointers=yes"
        export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1
        # With --target, cargo builds build scripts and procedural macros without the sanitizer.
        cargo test-all --target "$(rustc -vV | sed -n 's/^host: //p')" --lib --test models
        ;;
    valgrind) run_valgrind "$@" ;;
    *)
        echo "memory: unknown tool: $tool" >&2
        exit 2
        ;;
esac
