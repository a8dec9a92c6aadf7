# shellcheck shell=bash
# Messages, Debian systems and servers of the scripts that test and release packages, images and pages, and of with-server.sh. They source
# this file.

script=$(basename "$0" .sh)

# What a release contains, and its dependencies.
# shellcheck disable=SC2034
released=(src crates python packaging scripts/copy-sketches Cargo.toml Cargo.lock build.rs)

fail() {
    echo "$script: FAILED: $*" >&2
    exit 1
}

passed() {
    echo "$script: $*"
}

# needs_root: fails if another user runs the script.
needs_root() {
    [ "$(id -u)" -eq 0 ] || fail "chroot needs root"
}

# new_system DIRECTORY SUITE PACKAGE...: copies a Debian system with these packages into DIRECTORY.
new_system() {
    local system
    system=$(scripts/fetch.sh chroot "${@:2}") || return
    mkdir -p "$1"
    cp -a "$system/." "$1"
}

# The process ID of the server that a script has started, or empty.
server=""

# stop_server [SIGNAL]: ends the server, with SIGKILL by default.
stop_server() {
    [ -z "$server" ] || kill "-${1:-KILL}" "$server" 2> /dev/null || true
    [ -z "$server" ] || wait "$server" 2> /dev/null || true
    server=""
}

# wait_for_server CLIENT...: waits until the server replies. Fails if it has ended.
wait_for_server() {
    for _ in {1..1200}; do
        "$@" PING > /dev/null 2>&1 && return
        kill -0 "$server" 2> /dev/null || break
        sleep 0.05
    done
    return 1
}
