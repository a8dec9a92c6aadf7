#!/usr/bin/env bash
# Demonstrates the module on a cluster of three primaries and three replicas on this machine. Takes no arguments.
# docs/cluster.md explains the steps.
#
# The script distributes one logical Bloom filter over the nodes, merges the sketches of several shards, moves a
# shard to another node, and stops all nodes. It checks every result and ends with an error at the first wrong one.
#
# Environment:
#   ROUGHLY_SERVER  server program (default: redis-server or valkey-server on the PATH)
set -euo pipefail
cd "$(dirname "$0")/.."
shards=12
items=20000

scripts/install.sh build server
echo "cluster: building the module (cargo build --release --lib)" >&2
cargo build --release --lib
module=$(realpath "${CARGO_TARGET_DIR:-target}/release/libroughly.so")
server=$(scripts/find-server.sh)
client=$(scripts/find-server.sh cli)

dir=$(mktemp -d "${TMPDIR:-/tmp}/roughly-cluster-XXXXXX")
pids=() ports=()
stop_servers() {
    [ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" 2> /dev/null || true
    [ ${#pids[@]} -eq 0 ] || wait "${pids[@]}" 2> /dev/null || true
    rm -rf "$dir"
}
trap stop_servers EXIT

fail() {
    echo "cluster: FAILED: $*" >&2
    tail -n 5 "$dir"/*/server.log >&2
    exit 1
}

# node PORT ARGUMENT...: runs a command on one node; fails if the reply is an error.
node() {
    local port=$1
    shift
    "$client" -p "$port" -e "$@"
}

# cli ARGUMENT...: runs a command on the node that has its key.
cli() {
    node "${ports[0]}" -c "$@"
}

# until_true COMMAND...: repeats the command until it succeeds, at most 300 times with pauses of 0.1 s.
until_true() {
    local attempt
    for attempt in {1..300}; do
        "$@" > /dev/null 2>&1 && return
        sleep 0.1
    done
    fail "no success after $attempt attempts: $*"
}

cluster_is_ok() {
    local port
    for port in "${ports[@]}"; do
        node "$port" CLUSTER INFO | grep -q '^cluster_state:ok' || return 1
    done
}

heading() {
    printf '\n== %s\n\n' "$*"
}

is_free() {
    ! (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null
}

heading "Six nodes"
# The port of the cluster bus is 10000 higher. Both ports must be below 32768, where Linux's default range of ports
# for outgoing connections begins.
base=$((11000 + RANDOM % 9000))
for number in {0..5}; do
    port=$((base + number))
    for wanted in "$port" $((port + 10000)); do
        is_free "$wanted" || fail "port $wanted is in use; run the script again"
    done
    ports+=("$port")
    mkdir "$dir/$port"
    "$server" --port "$port" --bind 127.0.0.1 --daemonize no --dir "$dir/$port" --save "" \
        --appendonly no --cluster-enabled yes --cluster-node-timeout 3000 \
        --logfile "$dir/$port/server.log" --loadmodule "$module" &
    pids+=("$!")
done
for port in "${ports[@]}"; do
    until_true node "$port" PING
done
timeout 60 "$client" --cluster create "${ports[@]/#/127.0.0.1:}" --cluster-replicas 1 --cluster-yes \
    > "$dir/create.log" || fail "$(cat "$dir/create.log")"
until_true cluster_is_ok
echo "  primaries on ${ports[*]:0:3}, replicas on ${ports[*]:3}"

heading "One filter in $shards shards"
for ((shard = 0; shard < shards; shard++)); do
    cli BF.RESERVE "visits:{visits-$shard}" 0.001 $((items * 11 / 10 / shards)) > /dev/null
done
# by_shard COMMAND PREFIX: prints one command per shard, for the items PREFIX1 to PREFIX20000. A polynomial of
# the characters is a hash that awk can compute. An application would use CRC32.
by_shard() {
    seq "$items" | awk -v command="$1" -v prefix="$2" -v shards="$shards" '
        BEGIN { for (i = 1; i < 128; i++) code[sprintf("%c", i)] = i }
        {
            item = prefix $0; hash = 0
            for (i = 1; i <= length(item); i++)
                hash = (hash * 31 + code[substr(item, i, 1)]) % 1000003
            line[hash % shards] = line[hash % shards] " " item
        }
        END { for (s = 0; s < shards; s++) print command " visits:{visits-" s "}" line[s] }'
}
ones() {
    "$client" -c -p "${ports[0]}" | awk '$NF == "1" { n++ } END { print n + 0 }'
}
added=$(by_shard BF.MADD user: | ones)
found=$(by_shard BF.MEXISTS user: | ones)
false_positives=$(by_shard BF.MEXISTS other: | ones)
echo "  $added of $items items were new; $found of them are found; $false_positives of $items other items are found"
[ "$found" -eq "$items" ] || fail "an item is missing"
# The error rate is 0.001: 20 are expected, and 60 is almost nine standard deviations above.
[ "$false_positives" -lt 60 ] || fail "too many false positives"
for port in "${ports[@]:0:3}"; do
    echo "  node $port has $(node "$port" DBSIZE) of $shards shards"
done

heading "Merging across slots is refused; copies in one slot are merged"
for shard in 0 1 2; do
    cli TDIGEST.CREATE "latency:{latency-$shard}" > /dev/null
    # shellcheck disable=SC2046
    cli TDIGEST.ADD "latency:{latency-$shard}" $(seq $((shard + 1)) 3 3000) > /dev/null
    cli CMS.INITBYDIM "hits:{hits-$shard}" 2000 5 > /dev/null
    cli CMS.INCRBY "hits:{hits-$shard}" /index $((shard + 1)) > /dev/null
done
refusal=$(cli TDIGEST.MERGE "latency:{all}" 2 "latency:{latency-0}" "latency:{latency-1}" 2>&1 || true)
echo "  $refusal"
[[ $refusal == *CROSSSLOT* ]] || fail "CROSSSLOT is missing"
for name in latency hits; do
    for shard in 0 1 2; do
        cli --raw DUMP "$name:{$name-$shard}" | head -c -1 \
            | cli -x RESTORE "gathered:$name:{all}:$shard" 0 > /dev/null
    done
done
gathered() {
    printf 'gathered:%s:{all}:0 gathered:%s:{all}:1 gathered:%s:{all}:2' "$1" "$1" "$1"
}
# shellcheck disable=SC2046
cli TDIGEST.MERGE "latency:{all}" 3 $(gathered latency) > /dev/null
median=$(cli TDIGEST.QUANTILE "latency:{all}" 0.5)
echo "  median of the numbers 1 to 3000: $median"
awk "BEGIN { exit !($median > 1450 && $median < 1550) }" || fail "the median is $median instead of about 1500"
cli CMS.INITBYDIM "hits:{all}" 2000 5 > /dev/null
# shellcheck disable=SC2046
cli CMS.MERGE "hits:{all}" 3 $(gathered hits) > /dev/null
hits=$(cli CMS.QUERY "hits:{all}" /index)
echo "  hits of /index on all shards: $hits"
[ "$hits" -eq 6 ] || fail "the hits are $hits instead of 6"

heading "A shard moves to another node"
slot=$(cli CLUSTER KEYSLOT "visits:{visits-0}")
owner() {
    local port
    for port in "${ports[@]}"; do
        if [ "$(node "$port" CLUSTER NODES | grep -c "myself,master")" -eq 1 ] \
            && [ "$(node "$port" CLUSTER COUNTKEYSINSLOT "$slot")" -gt 0 ]; then
            echo "$port"
        fi
    done
}
from=$(owner)
for to in "${ports[@]:0:3}"; do
    [ "$to" = "$from" ] || break
done
from_id=$(node "$from" CLUSTER MYID)
to_id=$(node "$to" CLUSTER MYID)
node "$to" CLUSTER SETSLOT "$slot" IMPORTING "$from_id" > /dev/null
node "$from" CLUSTER SETSLOT "$slot" MIGRATING "$to_id" > /dev/null
node "$from" MIGRATE 127.0.0.1 "$to" "visits:{visits-0}" 0 60000 > /dev/null
for port in "$to" "$from"; do
    node "$port" CLUSTER SETSLOT "$slot" NODE "$to_id" > /dev/null
done
echo "  slot $slot moved from node $from to node $(owner)"
[ "$(owner)" = "$to" ] || fail "the slot did not move"
found=$(by_shard BF.MEXISTS user: | ones)
echo "  $found of $items items are found"
[ "$found" -eq "$items" ] || fail "an item is missing"

printf '\ncluster: all checks passed\n'
