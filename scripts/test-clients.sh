#!/usr/bin/env bash
# Calls every command of the module through client libraries (tests/clients) and runs the programs of examples/, on one
# server. Installs the clients in their pinned versions under target/clients. Takes no arguments; scripts/with-server.sh runs it
# again with the argument on-server.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/testing.sh
clients=$PWD/target/clients

if [ "${1:-}" != on-server ]; then
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
    exec scripts/with-server.sh scripts/test-clients.sh on-server
fi

ROUGHLY_SERVER=$(scripts/find-server.sh)
export ROUGHLY_SERVER
client=$(scripts/find-server.sh cli)

# call ARGUMENT...: sends a command to the server.
call() {
    "$client" -p "$ROUGHLY_PORT" "$@"
}

# recipes LANGUAGE COMMAND...: runs the recipes; the output must equal examples/recipes.txt.
recipes() {
    "${@:2}" | diff examples/recipes.txt - || fail "recipes in $1"
    passed "recipes in $1"
}

# commands PROGRAM COMMAND...: runs a program with each command; the comments after its calls must be its output. It must refuse a
# server with a key, also in another database, and must leave no keys.
commands() {
    local program=examples/$1 keyspace
    shift
    call FLUSHALL > /dev/null
    call -n 3 SET seen other > /dev/null
    if "$@" > /dev/null 2> "$clients/refusal" || ! grep -q "port $ROUGHLY_PORT has keys" "$clients/refusal" \
        || [ "$(call -n 3 GET seen)" != other ]; then
        fail "$program uses a server with keys: $(< "$clients/refusal")"
    fi
    call FLUSHALL > /dev/null
    "$@" | diff <(sed -nE 's,^.*[);] +(#|//) (.*)$,\2,p' "$program") - || fail "$program"
    keyspace=$(call INFO keyspace | grep keys= || true)
    [ -z "$keyspace" ] || fail "$program leaves keys: $keyspace"
    passed "$program"
}

python=$clients/python/bin/python
"$python" tests/clients/python/walk.py
"$python" tests/clients/python/glide_walk.py
"$python" tests/clients/python/rate_limit.py
node "$clients/node/walk.mjs"
"$clients/rust/debug/walk"
recipes Node node "$clients/node/recipes.mjs"
recipes Go "$clients/recipes-go"
recipes Rust "$clients/rust/debug/recipes"
commands python/commands.py "$python" examples/python/commands.py
commands node/commands.mjs node "$clients/node/commands.mjs"
commands go/commands/main.go "$clients/commands-go"
commands rust/commands.rs "$clients/rust/debug/commands"
