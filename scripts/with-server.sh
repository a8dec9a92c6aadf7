#!/usr/bin/env bash
# Runs a command while a server with the module runs on a free port. The server has a temporary directory and
# stops when the command ends.
#
#   scripts/with-server.sh COMMAND [ARGUMENT...]
#   scripts/with-server.sh node examples/node/recipes.mjs
#
# Environment:
#   ROUGHLY_SERVER  server program (default: redis-server or valkey-server on the PATH)
#   ROUGHLY_MODULE  module (default: target/PROFILE/libroughly.so, with the profile ROUGHLY_PROFILE, by default checks: scripts/build-module.sh)
#   ROUGHLY_SERVER_ARGUMENTS
#                   further arguments of the server, separated by spaces
#
# The command receives the port in ROUGHLY_PORT, and the module in ROUGHLY_MODULE.
#
# Exit status: that of the command; 1 if the server does not start.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=scripts/testing.sh
. "$here/testing.sh"
export ROUGHLY_MODULE=${ROUGHLY_MODULE:-$(realpath "${CARGO_TARGET_DIR:-$here/../target}/${ROUGHLY_PROFILE:-checks}/libroughly.so")}
program=$("$here/find-server.sh")
client=$("$here/find-server.sh" cli)
read -r -a arguments <<< "${ROUGHLY_SERVER_ARGUMENTS:-}"

dir=$(mktemp -d "${TMPDIR:-/tmp}/roughly-with-server-XXXXXX")
trap 'stop_server; rm -rf "$dir"' EXIT

start_server() {
    local attempt
    for attempt in {1..5}; do
        ROUGHLY_PORT=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
        "$program" --port "$ROUGHLY_PORT" --bind 127.0.0.1 --daemonize no --dir "$dir" --save "" \
            --appendonly no --logfile "$dir/server.log" --loadmodule "$ROUGHLY_MODULE" "${arguments[@]}" &
        server=$!
        for _ in {1..1200}; do
            kill -0 "$server" 2> /dev/null || break
            # The process ID must match, because another server may use the same port.
            if "$client" -p "$ROUGHLY_PORT" INFO server 2> /dev/null | tr -d '\r' \
                | grep -x "process_id:$server" > /dev/null; then
                return
            fi
            sleep 0.05
        done
        grep -qE "Address (already )?in use" "$dir/server.log" || break
    done
    tail -n 20 "$dir/server.log" >&2
    fail "the server does not start (attempt $attempt)"
}

start_server
export ROUGHLY_PORT
"$@"
