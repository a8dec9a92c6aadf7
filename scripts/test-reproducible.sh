#!/usr/bin/env bash
# Builds the packages for this machine's target in this directory and in a clone in another directory, and compares the bytes of the
# tarball, the Debian package, the wheels and the bill of materials. The other targets are built by the same commands. The working tree
# must have no uncommitted changes, because a clone lacks them. Takes no arguments.
#
# Exit status: 1 if the bytes differ, if the module contains the name of the home directory, or if there are uncommitted changes.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/targets.sh
. scripts/testing.sh
version=$(package_version)
target=$(machine_target)

[ -z "$(git status --porcelain)" ] || fail "there are uncommitted changes; commit them first"
rm -rf target/dist
scripts/install.sh build zig sbom
dir=$(mktemp -d "${TMPDIR:-/tmp}/roughly-reproducible-XXXXXX")
other=""
trap '[ -z "$other" ] || kill "$other" 2> /dev/null || true; rm -rf "$dir"' EXIT
# The path has a space and another length and depth, so that a build path in the module changes its bytes.
clone="$dir/another one/much deeper/down"
git clone --quiet . "$clone"
# At the same time: to link with optimization uses one core.
"$clone/scripts/dist.sh" "$target" > "$dir/log" 2>&1 &
other=$!
scripts/dist.sh "$target"
wait "$other" || fail "in the clone: $(tail -n 20 "$dir/log")"

cat target/dist/SHA256SUMS
! grep -aqF "$HOME" "target/dist/roughly-$version-$(platform "$target")/libroughly.so" || fail "the module contains the name $HOME"
diff target/dist/SHA256SUMS "$clone/target/dist/SHA256SUMS" || fail "the bytes differ"
passed "both directories produce the same bytes"
