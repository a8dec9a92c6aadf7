#!/usr/bin/env bash
# Runs cargo for a target of scripts/targets.sh. The results are in target/portable/TARGET/TARGET.
#
#   scripts/cargo-target.sh TARGET COMMAND [ARGUMENT...]
#   scripts/cargo-target.sh aarch64-unknown-linux-gnu test --lib --no-run
#
# The C compiler and linker is the one in target/zig. For the target of this machine's Rust, cargo uses the compiled
# standard library of that Rust. For other targets, cargo compiles the standard library from the sources that
# scripts/rust-sysroot.sh provides; on stable Rust, this needs RUSTC_BOOTSTRAP.
#
# The results contain no directory names of this machine. The same sources, Rust version and linker produce the same
# bytes in any directory.
#
# Exit status: 2 if the target is unknown, otherwise cargo's.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/targets.sh
target=$1 command=$2
shift 2
ROUGHLY_ZIG_TARGET=$(zig_target "$target")
export ROUGHLY_ZIG_TARGET
scripts/install.sh build zig

# The programs of the toolchain itself. rustup's programs of the same names would not use the copy of rustc.
sysroot=$(rustc --print sysroot)
cargo=$sysroot/bin/cargo
export RUSTC=$sysroot/bin/rustc
flags=("--remap-path-prefix=$PWD=roughly" "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo")
options=()
if [ "$target" != "$(machine_target)" ]; then
    sysroot=$(scripts/rust-sysroot.sh)
    export RUSTC=$sysroot/bin/rustc RUSTC_BOOTSTRAP=1
    # The directory that Rust's own builds of the standard library have.
    flags+=("--remap-path-prefix=$sysroot/lib/rustlib/src/rust=/rustc/$(rustc -vV | sed -n 's/^commit-hash: //p')")
    options+=("-Zbuild-std=std,panic_unwind")
    # A module is a shared library, so it uses the server's libc.
    case $target in *-musl) flags+=(-Ctarget-feature=-crt-static) ;; esac
fi

# bindgen reads the server's header with the C headers of the target. It splits this variable like a shell.
includes=""
while read -r directory; do
    includes+="-isystem '$(readlink -f "$directory")' "
done < <(scripts/zig-cc.sh -E -v -x c /dev/null 2>&1 | sed -n 's|^ \([^"].*/libc/include/[^/]*\)$|\1|p')
name=${target//-/_}
export "BINDGEN_EXTRA_CLANG_ARGS_$name=$includes" "CC_$name=$PWD/scripts/zig-cc.sh" \
    "CARGO_TARGET_${name^^}_LINKER=$PWD/scripts/zig-cc.sh"
# The encoded form separates flags with the character 31, so that directories may have spaces in their names.
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && echo "${flags[*]}")
export CARGO_ENCODED_RUSTFLAGS
# A directory for each target: cargo would compile build scripts again after each change of the target, and what depends on them.
exec "$cargo" "$command" "${options[@]}" --locked --target "$target" --target-dir "target/portable/$target" "$@"
