#!/usr/bin/env bash
# Demonstrates the module with about 100,000 English words: adds them to sketches of every family, queries the
# sketches, and compares all replies after restarts from an RDB file and from an append-only file. Takes no
# arguments. A wrong result ends the tour with an error.
#
# Each family has a file in scripts/tour/ with three functions: FAMILY_load fills keys, FAMILY_show prints and
# checks replies, FAMILY_answers prints all replies that restarts must not change.
#
# Environment:
#   ROUGHLY_SERVER  server program (default: redis-server or valkey-server on the PATH)
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build server words
echo "tour: building the module (cargo build --release --lib)" >&2
cargo build --release --lib
module=$(realpath "${CARGO_TARGET_DIR:-target}/release/libroughly.so")
server=$(scripts/find-server.sh)
client=$(scripts/find-server.sh cli)
families=()
for file in scripts/tour/*.sh; do
    # shellcheck source=scripts/tour/bloom.sh
    . "$file"
    families+=("$(basename "$file" .sh)")
done

dir=$(mktemp -d "${TMPDIR:-/tmp}/roughly-tour-XXXXXX")
port="" pid=""
stop_server() {
    [ -z "$pid" ] || kill -KILL "$pid" 2> /dev/null || true
    [ -z "$pid" ] || wait "$pid" 2> /dev/null || true
    pid=""
}
trap 'stop_server; rm -rf "$dir"' EXIT

fail() {
    echo "tour: FAILED: $*" >&2
    exit 1
}

# check MESSAGE CONDITION...: fails with the message if the awk condition is false.
check() {
    local what=$1
    shift
    awk "BEGIN { exit !($*) }" || fail "$what ($*)"
}

# cli ARGUMENT...: runs a command; an error reply ends the tour.
cli() {
    "$client" -p "$port" -e "$@"
}

heading() {
    printf '\n== %s\n\n' "$*"
}

# show COMMAND...: prints the command, runs it, and prints its reply.
show() {
    printf '> %s\n' "$*"
    cli "$@" | sed 's/^/  /'
}

# start_server ARGUMENT...: starts a server on a free port, in the tour's directory.
start_server() {
    local attempt
    for attempt in 1 2 3 4 5; do
        port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
        "$server" --port "$port" --bind 127.0.0.1 --daemonize no --dir "$dir" \
            --logfile "$dir/server.log" "$@" --loadmodule "$module" &
        pid=$!
        while kill -0 "$pid" 2> /dev/null; do
            # The process ID must match, because another server may use the same port.
            if "$client" -p "$port" INFO 2> /dev/null | tr -d '\r' \
                | grep -cxE "process_id:$pid|loading:0" | grep -qx 2; then
                return
            fi
            sleep 0.05
        done
        grep -q "Address already in use" "$dir/server.log" || break
    done
    tail -n 20 "$dir/server.log" >&2
    fail "the server does not start (attempt $attempt)"
}

# pipe: sends the commands on stdin with the client's pipe mode; one per line, arguments separated by tabs.
pipe() {
    local summary
    summary=$(LC_ALL=C awk -F '\t' '{
        printf "*%d\r\n", NF
        for (i = 1; i <= NF; i++) printf "$%d\r\n%s\r\n", length($i), $i
    }' | "$client" -p "$port" --pipe | tail -n 1)
    echo "  redis-cli --pipe: $summary"
    [[ $summary == "errors: 0,"* ]] || fail "pipe mode: $summary"
}

# ask COMMAND KEY: runs the command on the words on stdin, 200 per command; prints one reply per line.
ask() {
    awk -v command="$1 $2" '
        { line = line " \"" $0 "\"" }
        NR % 200 == 0 { print command line; line = "" }
        END { if (line != "") print command line }' | "$client" -p "$port"
}

answers() {
    local family
    for family in "${families[@]}"; do
        "${family}_answers"
    done
}

with_aof=(--save "" --appendonly yes --aof-use-rdb-preamble no --auto-aof-rewrite-percentage 0)
start_server "${with_aof[@]}"
version=$(cli INFO server | tr -d '\r' | awk -F : '/^(redis|valkey)_version/ { v = $1 " " $2 } END { sub("_version", "", v); print v }')
words=$dir/words
LC_ALL=C sort -u /usr/share/dict/american-english > "$words"
word_count=$(wc -l < "$words")
# Items that are never added: no word contains a tilde. With ten items per word, the standard error of a measured
# rate of 0.01 is about 1 % of the rate.
absent=$dir/absent
sed 's/.*/&~0\n&~1\n&~2\n&~3\n&~4\n&~5\n&~6\n&~7\n&~8\n&~9/' "$words" > "$absent"
absent_count=$((10 * word_count))
echo "tour: $version, $word_count words of /usr/share/dict/american-english"

for family in "${families[@]}"; do
    "${family}_load"
    "${family}_show"
done

# compare WHEN: fails unless the checksum of all replies is equal to the first one.
compare() {
    local now
    now=$(answers | sha256sum)
    printf '  %-40s %s\n' "$1" "${now%% *}"
    [ "$now" = "$before" ] || fail "the replies differ $1"
}

heading "Restarts: checksum of all replies"
before=$(answers | sha256sum)
compare "before the restarts"

cli SAVE > /dev/null
stop_server
start_server --save "" --appendonly no
compare "after a restart from RDB"

stop_server
rm "$dir/dump.rdb"
start_server "${with_aof[@]}"
compare "after a restart from AOF"

cli BGREWRITEAOF > /dev/null
until cli INFO persistence | tr -d '\r' | grep -cxE 'aof_rewrite_(in_progress|scheduled):0' | grep -qx 2; do
    sleep 0.05
done
cli INFO persistence | grep -q '^aof_last_bgrewrite_status:ok' || fail "the AOF rewrite failed"
stop_server
start_server "${with_aof[@]}"
compare "after a restart from rewritten AOF"

printf '\ntour: all checks passed\n'
