#!/usr/bin/env bash
# Builds the module for machines other than this one, stripped, and prints where it is:
# target/portable/ARCH/libroughly.so. It needs glibc 2.17 or newer, names no directory of this machine,
# and the same sources, Rust and linker make the same bytes wherever they lie.
#
#   scripts/build-portable.sh            x86_64
#   scripts/build-portable.sh aarch64    if the toolchain has the target's standard library
set -euo pipefail
cd "$(dirname "$0")/.."
export ROUGHLY_ARCH=${1:-x86_64} ROUGHLY_GLIBC=2.17
target=$ROUGHLY_ARCH-unknown-linux-gnu

if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; then
    echo "build-portable: the Rust toolchain cannot build for $target; rustup target add $target" >&2
    exit 1
fi
scripts/install.sh build zig
echo "build-portable: building for $target and glibc $ROUGHLY_GLIBC" >&2
# Between the flags stands the character 31, so that directories may have spaces.
printf -v CARGO_ENCODED_RUSTFLAGS '%s\x1f%s' "--remap-path-prefix=$PWD=roughly" \
    "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
linker=CARGO_TARGET_${target^^}_LINKER
declare -x "${linker//-/_}=$PWD/scripts/zig-cc.sh"
export CARGO_ENCODED_RUSTFLAGS CARGO_PROFILE_RELEASE_STRIP=symbols
cargo build --locked --release --lib --target "$target" --target-dir target/portable >&2
mkdir -p "target/portable/$ROUGHLY_ARCH"
cp "target/portable/$target/release/libroughly.so" "target/portable/$ROUGHLY_ARCH"
echo "$PWD/target/portable/$ROUGHLY_ARCH/libroughly.so"
