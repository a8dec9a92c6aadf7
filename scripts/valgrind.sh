#!/usr/bin/env bash
# Runs the server tests with every server under valgrind, which finds reads and writes outside of blocks, uses of
# freed memory, jumps that depend on uninitialized values, and leaks.
#
#   scripts/valgrind.sh                   the tests that $filters lists
#   scripts/valgrind.sh hostile bloom     the tests whose names contain one of the arguments
#
# Environment:
#   ROUGHLY_SERVER  server program (default: redis-server or valkey-server on the PATH)
#
# Exit status: 1 if an error or a definite leak has a frame of the module in its stack; otherwise that of the
# tests. Errors of the server itself are ignored.
#
# Valgrind replaces the server's allocator and is slow. So the script skips tests of time, of memory limits, and of
# active defragmentation, which needs jemalloc.
set -euo pipefail
cd "$(dirname "$0")/.."
filters=("$@")
[ ${#filters[@]} -gt 0 ] || filters=(hostile integration bloom:: cuckoo:: count_min:: top_k t_digest)

scripts/install.sh build server valgrind
echo "valgrind: building the module with symbols" >&2
CARGO_PROFILE_RELEASE_DEBUG=1 CARGO_TARGET_DIR=target/valgrind cargo build --release --lib
export ROUGHLY_MODULE=$PWD/target/valgrind/release/libroughly.so

logs=$(mktemp -d "${TMPDIR:-/tmp}/roughly-valgrind-XXXXXX")
# The server's LZF compression reads a table that it does not initialize, by design (INIT_HTAB).
suppressions=$PWD/target/valgrind/suppressions
for kind in Cond Value8; do
    printf '{\n   lzf\n   Memcheck:%s\n   fun:lzf_compress\n}\n' "$kind"
done > "$suppressions"
server=$PWD/target/valgrind/server
cat > "$server" << STARTER
#!/bin/sh
exec valgrind --quiet --leak-check=full --show-leak-kinds=definite --num-callers=40 \\
    --suppressions='$suppressions' --soname-synonyms='somalloc=*jemalloc*' --log-file='$logs/%p.log' \\
    $(command -v "$(scripts/find-server.sh)") "\$@"
STARTER
chmod +x "$server"

# ROUGHLY_SHUTDOWN makes the tests stop servers with SHUTDOWN instead of a signal, so that valgrind can search for
# leaks.
status=0
ROUGHLY_SERVER=$server ROUGHLY_SHUTDOWN=1 ROUGHLY_TIME_FACTOR=10 cargo test --test server -- --test-threads=2 \
    --skip defrag --skip million --skip huge --skip crash_recovery --skip memory --skip limit --skip soak --skip at_once --skip seconds --skip extreme_numbers --skip refused_growth --skip worst_cases \
    "${filters[@]}" || status=$?

# A record of valgrind is a paragraph of lines "==PID== ...", which an empty line ends. A frame of the module
# names the library or, if it has symbols, a function of the crate and a line of a Rust file.
errors=$(cat "$logs"/*.log | sed -E 's/^==[0-9]+== ?//' \
    | awk 'BEGIN { RS = ""; ORS = "\n\n" } /libroughly|roughly::|[.]rs:[0-9]/' | tee "$logs/errors" \
    | grep -cE '^(Invalid|Conditional|Use of|Mismatched|Syscall|[0-9,() a-z]+bytes in .* definitely lost|Process terminating)' || true)
echo "valgrind: $(find "$logs" -name '*.log' | wc -l) servers, $errors errors or leaks of the module" >&2
if [ "$errors" -gt 0 ]; then
    cat "$logs/errors" >&2
    exit 1
fi
rm -rf "$logs"
exit "$status"
