#!/usr/bin/env bash
# Builds the module and starts a server with it in the foreground, on $PORT (6379). Nothing is loaded
# and nothing is saved, unless SAVE is called: the working directory is a new one under /tmp.
set -euo pipefail
cd "$(dirname "$0")/.."
port=${PORT:-6379}

scripts/install.sh build server
echo "run: building the module (cargo build --release --lib)" >&2
cargo build --release --lib
module=$(realpath "${CARGO_TARGET_DIR:-target}/release/libroughly.so")
server=$(scripts/find-server.sh)
client=$(basename "$(scripts/find-server.sh cli 2> /dev/null || echo redis-cli)")

answers() {
    (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null
}
if answers; then
    echo "run: port $port is taken; choose another: make run PORT=6380" >&2
    exit 1
fi

# Prints what to try as soon as the server listens; the server itself stays in the foreground.
greet() {
    until answers; do
        kill -0 $$ 2> /dev/null || return 0
        sleep 0.1
    done
    cat << LINES

The server is up on port $port; Ctrl-C ends it. In another terminal, try:

    $client -p $port BF.RESERVE words 0.01 1000
    $client -p $port BF.MADD words apple banana cherry
    $client -p $port BF.MEXISTS words apple durian

LINES
}
greet &

dir=$(mktemp -d "${TMPDIR:-/tmp}/roughly-run-XXXXXX")
echo "run: $server with $module in $dir" >&2
exec "$server" --port "$port" --bind 127.0.0.1 --save "" --appendonly no --daemonize no \
    --dir "$dir" --loadmodule "$module"
