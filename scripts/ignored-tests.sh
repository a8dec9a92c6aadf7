#!/usr/bin/env bash
# Runs the ignored server tests that the server and this machine can run (tests/server/needs.rs). The others stay ignored.
#
#   scripts/ignored-tests.sh [PART...]    leaves out the tests whose names contain one of these parts
#
# Environment: that of scripts/test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

skip=()
for part in "$@"; do
    skip+=(-e "$part")
done
listed=$(cargo test --quiet --test server -- --ignored --exact needs::list --nocapture)
mapfile -t names < <(sed -n 's/^can run: //p' <<< "$listed" | if [ $# -gt 0 ]; then grep -vF "${skip[@]}"; else cat; fi)
[ ${#names[@]} -gt 0 ] || exit 0
echo "ignored tests that can run on $("$(scripts/find-server.sh)" --version):"
cargo test --quiet --test server -- --ignored --exact "${names[@]}"
