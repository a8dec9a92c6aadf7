#!/usr/bin/env bash
# Runs tests of Cargo and, at the same time, the ignored server tests that the server and this machine can run
# (tests/server/needs.rs), because many of these wait. The others stay ignored.
#
#   scripts/server-tests.sh COMMAND [--third NUMBER] [--skip TEST...]
#
# COMMAND is a command of Cargo that runs the server tests, such as "test --quiet --test server" or test-all. With --third,
# a third of the tests of the longest files runs, which the number selects. With --skip, the tests with these names are left out.
#
# Environment: that of scripts/test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

longest='^(each_server::(cluster|copy_sketches|peers)|once::(faults|worst_cases))::'

command=$1 skipped=()
shift
if [ "${1:-}" = --third ]; then
    mapfile -t skipped < <(cargo test --quiet --test server -- --list | sed -n 's/: test$//p' | grep -E "$longest" | awk -v number="$2" '(NR + number) % 3')
    shift 2
fi
skipped+=("${@:2}")
skip=()
for test in "${skipped[@]}"; do
    skip+=(--skip "$test")
done
listed=$(cargo test --quiet --test server -- --ignored --exact needs::list --nocapture)
mapfile -t names < <(sed -n 's/^can run: //p' <<< "$listed" | grep -vxFf <(printf '%s\n' "${skipped[@]}"))
output=$(mktemp)
trap 'rm -f "$output"' EXIT
ignored=""
if [ ${#names[@]} -gt 0 ]; then
    cargo test --quiet --test server -- --ignored --exact "${names[@]}" > "$output" 2>&1 &
    ignored=$!
fi
status=0
# shellcheck disable=SC2086
cargo $command -- --exact "${skip[@]}" || status=$?
if [ -n "$ignored" ]; then
    wait "$ignored" || status=$?
    echo "ignored tests that can run on $("$(scripts/find-server.sh)" --version):"
    cat "$output"
fi
exit "$status"
