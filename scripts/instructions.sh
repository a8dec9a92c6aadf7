#!/usr/bin/env bash
# Counts the instructions that the server executes per command, and how many of them are in the module, with
# valgrind's callgrind. Unlike times, the counts do not depend on the load of the machine.
#
#   scripts/instructions.sh              all cases
#   scripts/instructions.sh BF CMS       cases whose names contain one of the arguments
#
# The total includes all work of the server for the command: reading, parsing, replying, and the command's share
# of the event loop. Only instructions in libroughly.so count as the module's. Server functions that the
# module calls (opening a key, replying, allocating) count as the server's.
#
# Environment:
#   ROUGHLY_SERVER  server program (default: redis-server or valkey-server on the PATH)
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build server valgrind
export ROUGHLY_PROFILE=release
scripts/build-module.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/roughly-instructions-XXXXXX")
trap 'rm -rf "$work"' EXIT
# --trace-children: the server may be a script that starts the server with exec.
cat > "$work/server" << STARTER
#!/bin/sh
exec valgrind --quiet --tool=callgrind --trace-children=yes --instr-atstart=no --dump-line=no --callgrind-out-file='$work/out' \\
    '$(scripts/find-server.sh)' "\$@" 2> '$work/log'
STARTER
chmod +x "$work/server"
ln -s "$(scripts/find-server.sh cli)" "$work/cli"
ln -s "$(scripts/find-server.sh benchmark)" "$work/benchmark"
export ROUGHLY_SERVER=$work/server work

random=__rand_int__
item=item:$random

# times COUNT ARGUMENT...: prints the arguments COUNT times.
times() {
    local count=$1 i
    shift
    for ((i = 0; i < count; i++)); do
        printf '%s ' "$@"
    done
    echo
}

# load COMMANDS RANGE ARGUMENT...: sends COMMANDS commands in pipelines; fails at the first error reply.
load() {
    local commands=$1 range=$2
    shift 2
    if ! "$work/benchmark" -p "$ROUGHLY_PORT" -q -c 4 -P 32 -n "$commands" -r "$range" "$@" > "$work/load" 2>&1; then
        tail -c 300 "$work/load" >&2
        return 1
    fi
}

# measure SETUP PREFILL ARGUMENT...: writes the file "out" of callgrind for a load of these arguments on the server at ROUGHLY_PORT, which it
# ends. SETUP is a command; PREFILL is the arguments of load. Both are strings whose parts are separated by spaces.
measure() {
    local setup=$1 prefill=$2 process call=("$work/cli" -p "$ROUGHLY_PORT")
    shift 2
    process=$("${call[@]}" info server | tr -d '\r' | sed -n 's/^process_id://p')
    # shellcheck disable=SC2086
    [ -z "$setup" ] || "${call[@]}" $setup > /dev/null
    # shellcheck disable=SC2086
    [ -z "$prefill" ] || load $prefill
    callgrind_control --instr=on "$process" > /dev/null 2>&1
    load "$@"
    callgrind_control --instr=off "$process" > /dev/null 2>&1
    "${call[@]}" shutdown nosave > /dev/null 2>&1 || true
    # callgrind writes the file when the server ends.
    while kill -0 "$process" 2> /dev/null; do
        sleep 0.05
    done
}
export -f load measure

# Adds up the instructions in a callgrind file: the total, those of the module, and those of the functions that the
# module calls. The line after "calls=" has the cost of the called function, which the file also lists under that
# function.
# shellcheck disable=SC2016
sums='
/^c?ob=/ {
    # The file names an object only where its number first occurs, which may be in a call.
    number = $0; sub(/^c?ob=/, "", number); name = number
    sub(/\).*/, ")", number); sub(/^\([0-9]+\) ?/, "", name)
    if (name != "") names[number] = name
    if ($0 ~ /^ob=/) is_ours = names[number] ~ /libroughly/
    else calls_ours = names[number] ~ /libroughly/
    next
}
# Without "cob=", the called function is in the same object.
/^fn=/ { calls_ours = is_ours }
/^calls=/ { getline; if (is_ours && !calls_ours) called += $NF; calls_ours = is_ours; next }
/^[0-9+*-]/ { all += $NF; if (is_ours) ours += $NF }
END { printf "%.0f %.0f %.0f\n", all, ours, called }'

# count NAME ITEMS COMMANDS RANGE SETUP PREFILL ARGUMENT...: measures one case.
count() {
    local name=$1 items=$2 commands=$3 range=$4 setup=$5 prefill=$6 all ours called
    shift 6
    local filter chosen=${#filters[@]}
    for filter in "${filters[@]}"; do
        [[ $name != *"$filter"* ]] || chosen=0
    done
    [ "$chosen" -eq 0 ] || return 0
    # shellcheck disable=SC2016
    scripts/with-server.sh bash -euo pipefail -c 'measure "$@"' bash "$setup" "$prefill" "$commands" "$range" "$@"
    read -r all ours called < <(awk "$sums" "$work"/out)
    rm -f "$work"/out*
    if [ "$all" -eq 0 ]; then
        echo "instructions: no instructions were counted for $name" >&2
        return 1
    fi
    all=$((all / commands))
    ours=$((ours / commands))
    called=$((called / commands))
    printf '%-28s %8d instructions, %7d of them in the module, %7d in functions that it calls' "$name" "$all" "$ours" "$called"
    [ "$items" -eq 1 ] || printf '; per item %d and %d' $((all / items)) $((ours / items))
    printf '\n'
}

# count_filter PREFIX FAMILY SETUP ARGUMENT...: measures the commands of a kind of filter. The arguments add several items.
count_filter() {
    local prefix=$1 family=$2 setup=$3 prefill
    shift 3
    prefill="3000 1000000 $* ${items100[*]}"
    count "$prefix$family.ADD" 1 40000 1000000000 "$setup" "" "$family.ADD" k "$item"
    count "$prefix$family.EXISTS" 1 40000 2000000 "$setup" "$prefill" "$family.EXISTS" k "$item"
    count "$prefix$1 x100" 100 2000 1000000000 "$setup" "" "$@" "${items100[@]}"
    count "$prefix$family.MEXISTS x100" 100 2000 2000000 "$setup" "$prefill" "$family.MEXISTS" k "${items100[@]}"
}

filters=("$@")
bf=BF.RESERVE\ k\ 0.001\ 10000000
# The same parameters for a key of valkey-bloom's type.
vb="BF.INSERT k CAPACITY 10000000 ERROR 0.001 SEED 0123456789abcdefghijklmnopqrstuv ITEMS a"
cf=CF.RESERVE\ k\ 10000000
window="WINDOW 86400000 PANES 24"
cms=CMS.INITBYPROB\ k\ 0.001\ 0.01
cms50=CMS.INITBYPROB\ k\ 0.00001\ 0.001
topk=TOPK.RESERVE\ k\ 100\ 1000\ 7\ 0.9
digest=TDIGEST.CREATE\ k\ COMPRESSION\ 1000
samples="2000 1000000000 TDIGEST.ADD k $(times 100 $random)"
read -ra items100 < <(times 100 "$item")
read -ra items50 < <(times 50 "$item")
read -ra pairs50 < <(times 50 "$item" 3)
read -ra samples100 < <(times 100 $random)

count "EXISTS" 1 40000 1 "" "" EXISTS nokey
count "EXISTS x100" 100 2000 1000000 "" "" EXISTS "${items100[@]}"
count "BF.EXISTS, no such key" 1 40000 1000000 "" "" BF.EXISTS nokey "$item"
count_filter "" BF "$bf" BF.MADD k
count_filter "bloomfltr " BF "$vb" BF.MADD k
count_filter "" CF "$cf" CF.INSERT k ITEMS
count_filter "bf-window " BF "$bf $window" BF.MADD k
count_filter "cf-window " CF "$cf $window" CF.INSERT k ITEMS
count "CMS.INCRBY" 1 40000 1000000 "$cms" "" CMS.INCRBY k "$item" 1
count "CMS.INCRBY x50" 50 2000 10000000 "$cms50" "" CMS.INCRBY k "${pairs50[@]}"
count "CMS.INCRBYLIMIT" 1 40000 1000000 "$cms" "" CMS.INCRBYLIMIT k 1000000 "$item" 1
count "CMS.INCRBYLIMIT x50" 50 2000 10000000 "$cms50" "" CMS.INCRBYLIMIT k 1000000 "${pairs50[@]}"
count "CMS.QUERY x50" 50 2000 10000000 "$cms50" "2000 10000000 CMS.INCRBY k ${pairs50[*]}" CMS.QUERY k "${items50[@]}"
count "TOPK.ADD" 1 40000 2000 "$topk" "20000 2000 TOPK.ADD k $item" TOPK.ADD k "$item"
count "TOPK.INCRBY by 1,000" 1 20000 100000 "$topk" "20000 2000 TOPK.ADD k $item" TOPK.INCRBY k "$item" 1000
count "TOPK.QUERY" 1 40000 2000 "$topk" "20000 2000 TOPK.ADD k $item" TOPK.QUERY k "$item"
count "TDIGEST.ADD" 1 40000 1000000000 "$digest" "" TDIGEST.ADD k "$random"
count "TDIGEST.ADD x100" 100 2000 1000000000 "$digest" "" TDIGEST.ADD k "${samples100[@]}"
count "TDIGEST.QUANTILE" 1 40000 1 "$digest" "$samples" TDIGEST.QUANTILE k 0.5
count "TDIGEST.CDF" 1 40000 1000000000 "$digest" "$samples" TDIGEST.CDF k "$random"
