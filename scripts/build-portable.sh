#!/usr/bin/env bash
# Builds the module for other x86-64 machines and prints its path: target/portable/libroughly.so. Takes no
# arguments.
#
# The module is stripped, requires glibc 2.17 or newer, and contains no directory names of this machine. The same
# sources, Rust version and linker produce the same bytes in any directory.
set -euo pipefail
cd "$(dirname "$0")/.."
export ROUGHLY_GLIBC=2.17
target=x86_64-unknown-linux-gnu

scripts/install.sh build zig
echo "build-portable: building for $target and glibc $ROUGHLY_GLIBC" >&2
# The encoded form separates flags with the character 31, so that directories may have spaces in their names.
printf -v CARGO_ENCODED_RUSTFLAGS '%s\x1f%s' "--remap-path-prefix=$PWD=roughly" \
    "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=$PWD/scripts/zig-cc.sh
export CARGO_ENCODED_RUSTFLAGS CARGO_PROFILE_RELEASE_STRIP=symbols
cargo build --locked --release --lib --target "$target" --target-dir target/portable >&2
cp "target/portable/$target/release/libroughly.so" target/portable
echo "$PWD/target/portable/libroughly.so"
