#!/usr/bin/env bash
# Calls every command of the module through client libraries (tests/clients) and runs the programs of examples/, on one
# server. Installs the clients in their pinned versions under target/clients. Takes no arguments.
#
# Environment:
#   ROUGHLY_SERVER  server program (default: redis-server or valkey-server on the PATH)
set -euo pipefail
cd "$(dirname "$0")/.."
clients=$PWD/target/clients

scripts/install.sh build server clients
scripts/build-module.sh
for manifest in tests/clients/rust examples/rust; do
    cargo build --quiet --locked --manifest-path "$manifest/Cargo.toml" --target-dir "$clients/rust"
done
# Builds with the client from the Debian package instead of the module that go.mod names.
GO111MODULE=off GOPATH=/usr/share/gocode go build -o "$clients/recipes-go" examples/go/recipes.go
GO111MODULE=off GOPATH=/usr/share/gocode go build -o "$clients/commands-go" examples/go/commands/main.go
# Node looks up packages in the directory of the importing file.
cp tests/clients/node/*.mjs examples/node/*.mjs "$clients/node"

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

# commands PROGRAM COMMAND...: runs a program with each command; the comments after its calls must be its output. It must refuse a
# server with a key, also in another database, and must leave no keys.
commands() {
    local program=examples/$1 client keyspace
    client=$(scripts/find-server.sh cli)
    shift
    "$client" -p "$ROUGHLY_PORT" FLUSHALL > /dev/null
    "$client" -p "$ROUGHLY_PORT" -n 3 SET seen other > /dev/null
    if "$@" > /dev/null 2> "$clients/refusal" || ! grep -q "port $ROUGHLY_PORT has keys" "$clients/refusal" \
        || [ "$("$client" -p "$ROUGHLY_PORT" -n 3 GET seen)" != other ]; then
        echo "$program: FAILED: it uses a server with keys: $(< "$clients/refusal")"
        return 1
    fi
    "$client" -p "$ROUGHLY_PORT" FLUSHALL > /dev/null
    if ! "$@" | diff <(sed -nE 's,^.*[);] +(#|//) (.*)$,\2,p' "$program") -; then
        echo "$program: FAILED"
        return 1
    fi
    keyspace=$("$client" -p "$ROUGHLY_PORT" INFO keyspace | grep keys= || true)
    if [ -n "$keyspace" ]; then
        echo "$program: FAILED: it leaves keys: $keyspace"
        return 1
    fi
    echo "  $program"
}

# run_all: runs all clients on the server at port ROUGHLY_PORT; stops at the first failure.
run_all() {
    "$clients/python/bin/python" tests/clients/python/walk.py \
        && "$clients/python/bin/python" tests/clients/python/glide_walk.py \
        && ROUGHLY_SERVER=$(scripts/find-server.sh) "$clients/python/bin/python" tests/clients/python/rate_limit.py \
        && node "$clients/node/walk.mjs" \
        && "$clients/rust/debug/walk" \
        && recipes Node node "$clients/node/recipes.mjs" \
        && recipes Go "$clients/recipes-go" \
        && recipes Rust "$clients/rust/debug/recipes" \
        && commands python/commands.py "$clients/python/bin/python" examples/python/commands.py \
        && commands node/commands.mjs node "$clients/node/commands.mjs" \
        && commands go/commands/main.go "$clients/commands-go" \
        && commands rust/commands.rs "$clients/rust/debug/commands"
}
export -f run_all recipes commands
export clients
scripts/with-server.sh bash -c run_all
