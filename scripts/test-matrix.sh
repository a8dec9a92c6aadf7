#!/usr/bin/env bash
# The tests that need a server, on each server of target/servers, which are fetched first where they
# are missing. Servers that cannot be had here are named at the end; they are no failure.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build examples
scripts/fetch-servers.sh || true
echo "test-matrix: building the module (cargo build --release --lib)" >&2
cargo build --release --lib
cargo test --no-run --test server

mkdir -p target/abilities
passed=() failed=() missing=()
for name in $(scripts/fetch-servers.sh --list); do
    server=$PWD/target/servers/$name/server
    if [ ! -x "$server" ]; then
        missing+=("$name")
        continue
    fi
    echo
    echo "test-matrix: $name, $("$server" --version)"
    # Which type has which ability, for docs/abilities.md.
    records=$PWD/target/abilities/$name.txt
    rm -f "$records"
    if ROUGHLY_ABILITIES=$records ROUGHLY_SERVER=$server cargo test --quiet --test server; then
        passed+=("$name")
    else
        failed+=("$name")
    fi
done

echo
echo "test-matrix: passed on: ${passed[*]:-none}"
[ ${#missing[@]} -eq 0 ] || echo "test-matrix: not to be had here: ${missing[*]}"
[ ${#failed[@]} -eq 0 ] || echo "test-matrix: FAILED on: ${failed[*]}"
if [ ${#failed[@]} -gt 0 ] || [ ${#passed[@]} -eq 0 ]; then
    exit 1
fi
scripts/abilities.sh check
