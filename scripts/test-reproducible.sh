#!/usr/bin/env bash
# Builds the packages' module here and in a clone elsewhere, and compares the bytes. All must be committed,
# or the two were made of different sources.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -n "$(git status --porcelain)" ]; then
    echo "test-reproducible: FAILED: commit first, since the clone has only what is committed" >&2
    exit 1
fi
here=$(scripts/build-portable.sh)
dir=$(mktemp -d "${TMPDIR:-/tmp}/roughly-reproducible-XXXXXX")
trap 'rm -rf "$dir"' EXIT
# A path with a space, of another length and depth.
clone="$dir/another one/much deeper/down"
git clone --quiet . "$clone"
mkdir "$clone/target"
cp -r target/zig "$clone/target/zig"
elsewhere=$("$clone/scripts/build-portable.sh")

sha256sum "$here" "$elsewhere"
for module in "$here" "$elsewhere"; do
    if grep -aqF -e "$PWD" -e "$dir" -e "$HOME" "$module"; then
        echo "test-reproducible: FAILED: $module names a directory of this machine" >&2
        exit 1
    fi
done
if ! cmp "$here" "$elsewhere"; then
    echo "test-reproducible: FAILED: the bytes differ" >&2
    exit 1
fi
echo "test-reproducible: the same bytes from both directories"
