#!/usr/bin/env bash
# Writes docs/abilities.md from the records of the tests in target/abilities. test-matrix and test-defrag write one
# file per server there.
#
#   scripts/abilities.sh          writes the table; fails if an ability of a type was not recorded
#   scripts/abilities.sh check    checks the servers that were tested, and writes nothing
set -euo pipefail
cd "$(dirname "$0")/.."
records=target/abilities
types="MBbloom-- MBbloomCF CMSk-TYPE TopK-TYPE TDIS-TYPE"
status=0

# recorded SERVER ABILITY: the types that have the ability on the server, in the order above.
recorded() {
    local type
    for type in $types; do
        if grep -qxF "$2"$'\t'"$type" "$records/$1.txt" 2> /dev/null; then
            printf '%s ' "$type"
        fi
    done
}

# cell SERVER ABILITY: the text of the cell.
cell() {
    local found
    found=$(recorded "$1" "$2")
    if [ "$found" = "$types " ]; then
        echo "all five"
    else
        echo "abilities: $2 on $1 was recorded for: ${found:-no type}" >&2
        status=1
        echo "${found:-none}"
    fi
}

# table LIST SERVER...: a table of the abilities that the file LIST names, on these servers.
table() {
    local list=$1 server ability meaning
    shift
    printf '| ability |'
    printf ' %s |' "$@"
    printf ' what was checked |\n|---|'
    for server in "$@"; do printf -- '---|'; done
    printf -- '---|\n'
    while IFS=$'\t' read -r ability meaning; do
        printf '| %s |' "$ability"
        for server in "$@"; do
            # Not in a subshell, so that the status is kept.
            cell "$server" "$ability" > "$records/cell"
            printf ' %s |' "$(cat "$records/cell")"
        done
        printf ' %s |\n' "$meaning"
    done < "$list"
    rm -f "$records/cell"
}

mapfile -t servers < <(scripts/fetch-servers.sh --list)
if [ "${1:-}" = check ]; then
    for server in "${servers[@]}"; do
        [ ! -e "$records/$server.txt" ] || table tests/support/abilities.tsv "$server" > /dev/null
    done
    server=redis-defrag
    [ ! -e "$records/$server.txt" ] || table tests/support/abilities-defrag.tsv "$server" > /dev/null
    exit "$status"
fi

{
    cat << 'HEAD'
# What each type can do

Every type of the module has every ability in this table on every supported server that the tests run on. "All five" are the types
`MBbloom--`, `MBbloomCF`, `CMSk-TYPE`, `TopK-TYPE` and `TDIS-TYPE`.

HEAD
    table tests/support/abilities.tsv "${servers[@]}"
    cat << 'DEFRAG'

ACL categories depend on the server. Redis 7.0 puts the commands of modules into no category except `@all`. Redis up to 7.2 and
Valkey 7.2 have no categories of modules. The row `ACL, categories` covers the categories that the server has.

Active defragmentation requires a server that is linked with its bundled jemalloc. Debian's servers are not. `make test-defrag`
builds one (Redis 7.0):

DEFRAG
    table tests/support/abilities-defrag.tsv redis-defrag
    cat << 'METHOD'

## Method

The tests in `tests/server` check each ability. A test records an ability of a type after all its checks have passed.
`make abilities` writes this page from the records. Do not edit it.
METHOD
} > "$records/abilities.md"
[ "$status" -eq 0 ] || exit "$status"
mv "$records/abilities.md" docs/abilities.md
