#!/usr/bin/env bash
# Calls every command of the module through client libraries (tests/clients) and runs the programs of examples/,
# on each server of the test matrix. Takes no arguments.
#
# Fetches missing servers into target/servers, and installs the clients in their pinned versions under
# target/clients.
#
# Environment:
#   ROUGHLY_SERVER  test on this server program only (default: all servers of the matrix)
#
# Exit status: 1 if a server failed or none was tested. A server that is not available is not a failure.
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
# Builds with the client from the Debian package instead of the module that go.mod names.
GO111MODULE=off GOPATH=/usr/share/gocode go build -o "$clients/recipes-go" examples/go/recipes.go
# Node looks up packages in the directory of the importing file.
cp tests/clients/node/*.mjs "$clients/node"
cp examples/node/*.mjs "$clients/node"

# example LANGUAGE COMMAND...: runs an example; prints its output only if it is wrong.
example() {
    local what=$1 output
    shift
    output=$("$@") || return 1
    # The count-min sketch counts these few items exactly, so all languages must print the same line.
    if ! grep -qx 'views of /teapots: 120' <<< "$output"; then
        printf 'example in %s: FAILED, wrong output:\n%s\n' "$what" "$output"
        return 1
    fi
    echo "  example in $what"
}

# recipes LANGUAGE COMMAND...: runs the recipes; the output must equal examples/recipes.txt.
recipes() {
    local what=$1
    shift
    if ! "$@" | diff examples/recipes.txt -; then
        echo "recipes in $what: FAILED"
        return 1
    fi
    echo "  recipes in $what"
}

# walk_all: runs all clients on the server at port ROUGHLY_PORT; stops at the first failure.
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
[ ${#missing[@]} -eq 0 ] || echo "test-clients: not available: ${missing[*]}"
[ ${#failed[@]} -eq 0 ] || echo "test-clients: FAILED on: ${failed[*]}"
[ ${#failed[@]} -eq 0 ] && [ ${#passed[@]} -gt 0 ]
