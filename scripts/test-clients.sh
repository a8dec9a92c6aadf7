#!/usr/bin/env bash
# Walks every command of the module through real clients (tests/clients) and runs the examples, on each
# server of target/servers, which are fetched first where they are missing, or on the one that
# $ROUGHLY_SERVER names. The clients go under target/clients, in the versions that tests/clients names.
set -euo pipefail
cd "$(dirname "$0")/.."
clients=$PWD/target/clients

scripts/install.sh build clients
names=()
if [ -z "${ROUGHLY_SERVER:-}" ]; then
    scripts/fetch-servers.sh || true
    mapfile -t names < <(scripts/fetch-servers.sh --list)
fi
echo "test-clients: building the module (cargo build --release --lib)" >&2
cargo build --release --lib
for manifest in tests/clients/rust examples/rust; do
    cargo build --quiet --locked --manifest-path "$manifest/Cargo.toml" --target-dir "$clients/rust"
done
# With the client that is a Debian package, instead of the module that go.mod names.
GO111MODULE=off GOPATH=/usr/share/gocode go build -o "$clients/recipes-go" examples/go/recipes.go
# Node looks for packages beside the files that want them.
cp tests/clients/node/*.mjs "$clients/node"
cp examples/node/*.mjs "$clients/node"

# example LANGUAGE COMMAND...: its output is shown only where it is not as promised.
example() {
    local what=$1 output
    shift
    output=$("$@") || return 1
    # An exact count, so that every language must say the same.
    if ! grep -qx 'views of /teapots: 120' <<< "$output"; then
        printf 'example in %s: NOT AS PROMISED:\n%s\n' "$what" "$output"
        return 1
    fi
    echo "  example in $what"
}

# recipes LANGUAGE COMMAND...: the output must be examples/recipes.txt.
recipes() {
    local what=$1
    shift
    if ! "$@" | diff examples/recipes.txt -; then
        echo "recipes in $what: NOT AS EXPECTED"
        return 1
    fi
    echo "  recipes in $what"
}

# walk_all: with a server on ROUGHLY_PORT, and ended by the first that fails.
walk_all() {
    "$clients/python/bin/python" tests/clients/python/walk.py \
        && "$clients/python/bin/python" tests/clients/python/glide_walk.py \
        && node "$clients/node/walk.mjs" \
        && "$clients/rust/debug/walk" \
        && example Python "$clients/python/bin/python" examples/python/example.py \
        && example Node node "$clients/node/example.mjs" \
        && example Rust "$clients/rust/debug/example" \
        && recipes Node node "$clients/node/recipes.mjs" \
        && recipes Go "$clients/recipes-go" \
        && recipes Rust "$clients/rust/debug/recipes"
}
export -f walk_all example recipes
export clients

passed=() failed=() missing=()
# test_on NAME SERVER
test_on() {
    echo
    echo "test-clients: $1, $("$2" --version)"
    if ROUGHLY_SERVER=$2 scripts/with-server.sh bash -c walk_all; then
        passed+=("$1")
    else
        failed+=("$1")
    fi
}
for name in "${names[@]}"; do
    server=$PWD/target/servers/$name/server
    if [ -x "$server" ]; then
        test_on "$name" "$server"
    else
        missing+=("$name")
    fi
done
[ -z "${ROUGHLY_SERVER:-}" ] || test_on "$ROUGHLY_SERVER" "$ROUGHLY_SERVER"

echo
echo "test-clients: passed on: ${passed[*]:-none}"
[ ${#missing[@]} -eq 0 ] || echo "test-clients: not to be had here: ${missing[*]}"
[ ${#failed[@]} -eq 0 ] || echo "test-clients: FAILED on: ${failed[*]}"
[ ${#failed[@]} -eq 0 ] && [ ${#passed[@]} -gt 0 ]
