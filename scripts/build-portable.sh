#!/usr/bin/env bash
# Builds the module for a target of scripts/targets.sh and prints its path: target/portable/TARGET/libroughly.so.
#
#   scripts/build-portable.sh           for other machines with the target of this machine's Rust
#   scripts/build-portable.sh TARGET
#
# The module is stripped. See scripts/cargo-target.sh for how it is built.
#
# Exit status: 2 if the target is unknown.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/targets.sh
target=${1:-$(machine_target)}

echo "build-portable: building for $target, with the compiler target $(zig_target "$target")" >&2
CARGO_PROFILE_RELEASE_STRIP=symbols scripts/cargo-target.sh "$target" build --release --lib >&2
module=target/portable/$target/libroughly.so
cp "target/portable/$target/$target/release/libroughly.so" "$module"
echo "$PWD/$module"
