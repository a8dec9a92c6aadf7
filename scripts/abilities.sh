#!/usr/bin/env bash
# Makes docs/abilities.md of what the tests recorded in target/abilities, where test-matrix and test-defrag
# leave a file for each server.
#
#   scripts/abilities.sh          writes the table; fails where a cell is empty
#   scripts/abilities.sh check    only looks for empty cells of the servers that were tested
set -euo pipefail
cd "$(dirname "$0")/.."
records=target/abilities
types="MBbloom-- MBbloomCF CMSk-TYPE TopK-TYPE TDIS-TYPE"
status=0

# recorded SERVER ABILITY: the types that have it there, in the order above.
recorded() {
    local type
    for type in $types; do
        if grep -qxF "$2"$'\t'"$type" "$records/$1.txt" 2> /dev/null; then
            printf '%s ' "$type"
        fi
    done
}

# cell SERVER ABILITY: what the table says.
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

# table LIST SERVER...: a table of the abilities in a file on servers.
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

Made by `make abilities` of what the tests recorded on each server; do not edit. "All five" are the types `MBbloom--`,
`MBbloomCF`, `CMSk-TYPE`, `TopK-TYPE` and `TDIS-TYPE`. The tests are in `tests/server`; each records an ability of a type when all
of it was checked.

HEAD
    table tests/support/abilities.tsv "${servers[@]}"
    cat << 'DEFRAG'

Redis 7.0 puts commands of modules into no category but `@all`, Redis up to 7.2 and Valkey 7.2 know no categories of modules: there
`ACL, categories` is about those that there are.

Active defragmentation needs a server that is linked with the jemalloc of its own; Debian's are not. `make test-defrag` builds one
(Redis 7.0):

DEFRAG
    table tests/support/abilities-defrag.tsv redis-defrag
} > "$records/abilities.md"
[ "$status" -eq 0 ] || exit "$status"
mv "$records/abilities.md" docs/abilities.md
