#!/usr/bin/env bash
# Writes docs/abilities.md, the table of what each type supports on each server.
#
#   scripts/abilities.sh          writes the page; fails if a cell is incomplete
#   scripts/abilities.sh check    writes nothing; fails if a cell of a tested server is incomplete
#
# The input is one file per server in target/abilities, which scripts/test-matrix.sh and
# scripts/test-defrag.sh write.
set -euo pipefail
cd "$(dirname "$0")/.."
records=target/abilities
types="MBbloom-- MBbloomCF CMSk-TYPE TopK-TYPE TDIS-TYPE bf-window cf-window cmswindow tk-window td-window bloomfltr"
status=0

# recorded SERVER ABILITY: prints the types that support the ability on the server, in the order of $types.
recorded() {
    local type
    for type in $types; do
        if grep -qxF "$2"$'\t'"$type" "$records/$1.txt" 2> /dev/null; then
            printf '%s ' "$type"
        fi
    done
}

# cell SERVER ABILITY: prints the text of a cell.
cell() {
    local found
    found=$(recorded "$1" "$2")
    if [ "$found" = "$types " ]; then
        echo "all eleven"
    else
        echo "abilities: $2 on $1 is recorded for these types only: ${found:-none}" >&2
        status=1
        echo "${found:-none}"
    fi
}

# table LIST SERVER...: prints a table of the abilities in the file LIST, with a column for each server.
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
            # A subshell would lose the change of $status.
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

`scripts/pages.sh abilities` generates this page from the test results of each server; do not edit it. "All eleven" are the types
`MBbloom--`, `MBbloomCF`, `CMSk-TYPE`, `TopK-TYPE` and `TDIS-TYPE` of RedisBloom, `bf-window`, `cf-window`, `cmswindow`, `tk-window` and
`td-window` with a sliding window, and `bloomfltr` of valkey-bloom.
The tests are in `tests/server`. A test records an ability for a type only if all checks passed. The server `redis-sid` is the Redis of
Debian's unstable release.

HEAD
    table tests/support/abilities.tsv "${servers[@]}"
    cat << 'DEFRAG'

Redis 7.0 puts module commands into the category `@all` only. Redis 7.2 and older and Valkey 7.2 do not support categories that modules
define. On these servers, the tests of `ACL, categories` check only the categories that the server supports.

Active defragmentation requires a server that is linked with the version of jemalloc in the server's sources. Debian's servers are
linked with the system's jemalloc. `scripts/test-defrag.sh` builds a suitable server (Redis 7.0):

DEFRAG
    table tests/support/abilities-defrag.tsv redis-defrag
} > "$records/abilities.md"
[ "$status" -eq 0 ] || exit "$status"
mv "$records/abilities.md" docs/abilities.md
