#!/usr/bin/env bash
# Builds the module of the packages in this directory and in a clone in another directory, and compares the
# bytes. Takes no arguments. The working tree must have no uncommitted changes, because a clone lacks them.
#
# Exit status: 1 if the bytes differ, if a module contains a directory name of this machine, or if there are
# uncommitted changes.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -n "$(git status --porcelain)" ]; then
    echo "test-reproducible: FAILED: there are uncommitted changes; commit them first" >&2
    exit 1
fi
here=$(scripts/build-portable.sh)
dir=$(mktemp -d "${TMPDIR:-/tmp}/roughly-reproducible-XXXXXX")
trap 'rm -rf "$dir"' EXIT
# The path has a space and another length and depth, so that a build path in the module changes its bytes.
clone="$dir/another one/much deeper/down"
git clone --quiet . "$clone"
mkdir "$clone/target"
cp -r target/zig "$clone/target/zig"
elsewhere=$("$clone/scripts/build-portable.sh")

sha256sum "$here" "$elsewhere"
for module in "$here" "$elsewhere"; do
    if grep -aqF -e "$PWD" -e "$dir" -e "$HOME" "$module"; then
        echo "test-reproducible: FAILED: $module contains a directory name of this machine" >&2
        exit 1
    fi
done
if ! cmp "$here" "$elsewhere"; then
    echo "test-reproducible: FAILED: the bytes differ" >&2
    exit 1
fi
echo "test-reproducible: both directories produce the same bytes"
