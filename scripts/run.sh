#!/usr/bin/env bash
# Builds the module and starts a server with it in the foreground. Takes no arguments.
#
# The server listens on 127.0.0.1 only and starts without data. It saves nothing, except when a client runs SAVE
# or BGSAVE. Its working directory is a new one under $TMPDIR or /tmp, which is removed when the server ends.
#
# Environment:
#   PORT            port of the server (default 6379)
#   ROUGHLY_SERVER  server program (default: redis-server or valkey-server on the PATH)
#
# Exit status: 1 if the port is in use.
set -euo pipefail
cd "$(dirname "$0")/.."
port=${PORT:-6379}

# Before the build, which takes minutes.
if (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; then
    echo "run: port $port is in use; choose another one: make run PORT=6380" >&2
    exit 1
fi

scripts/install.sh build server
echo "run: building the module (cargo build --release --lib)" >&2
cargo build --release --lib
module=$(realpath "${CARGO_TARGET_DIR:-target}/release/libroughly.so")
server=$(scripts/find-server.sh)
client=$(basename "$(scripts/find-server.sh cli 2> /dev/null || echo redis-cli)")

dir=$(mktemp -d "${TMPDIR:-/tmp}/roughly-run-XXXXXX")
pid=""
stop() {
    trap '' HUP INT TERM
    if [ -n "$pid" ]; then
        kill "$pid" 2> /dev/null || true
        wait "$pid" || true
    fi
    rm -rf "$dir"
}
trap stop EXIT
# make repeats the signal, which would end the function.
trap 'trap "" HUP INT TERM; exit 129' HUP
trap 'trap "" HUP INT TERM; exit 130' INT
trap 'trap "" HUP INT TERM; exit 143' TERM
echo "run: Ctrl-C stops the server. In another terminal, try: $client -p $port BF.MADD words apple banana cherry" >&2
echo "run: starting $server with $module in $dir" >&2
# In the background, because bash runs no trap while it waits for a command in the foreground.
"$server" --port "$port" --bind 127.0.0.1 --save "" --appendonly no --daemonize no \
    --dir "$dir" --loadmodule "$module" &
pid=$!
wait "$pid"
