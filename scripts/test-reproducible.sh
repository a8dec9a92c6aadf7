#!/usr/bin/env bash
# Builds the packages' module twice from the last commit, in directories of different names and depths,
# and compares the bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD

scripts/install.sh build zig
dir=$(mktemp -d "${TMPDIR:-/tmp}/roughly-reproducible-XXXXXX")
trap 'rm -rf "$dir"' EXIT
[ -z "$(git status --porcelain)" ] || echo "test-reproducible: what is not committed is left out" >&2
sums=()
for place in one "another one/much deeper/down"; do
    git clone --quiet "$source" "$dir/$place"
    mkdir "$dir/$place/target"
    cp -r target/zig "$dir/$place/target/zig"
    module=$("$dir/$place/scripts/build-portable.sh")
    sums+=("$(sha256sum < "$module")")
    if strings "$module" | grep -F "$dir"; then
        echo "test-reproducible: FAILED: the module names the directory it was built in" >&2
        exit 1
    fi
    echo "test-reproducible: ${sums[-1]%% *}  $place"
done
if [ "${sums[0]}" != "${sums[1]}" ]; then
    echo "test-reproducible: FAILED: the bytes differ" >&2
    exit 1
fi
echo "test-reproducible: the same bytes from both directories"
