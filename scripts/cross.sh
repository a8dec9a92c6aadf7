#!/usr/bin/env bash
# Builds for a target of scripts/targets.sh, with the C compiler and linker of Zig under target/zig.
#
#   scripts/cross.sh TARGET module                    builds the stripped module and prints its path
#   scripts/cross.sh TARGET wheel DIRECTORY           builds the wheel of the Python package in a directory; needs target/python. For macOS,
#                                                     this is the only command
#   scripts/cross.sh TARGET cc                        prints the path of the C compiler
#   scripts/cross.sh TARGET cargo COMMAND [ARGUMENT...]
#                                                     runs cargo; the results are in target/portable/TARGET/TARGET
#
# Rust's standard library is that of the installed Rust, if it has the target. Otherwise, cargo compiles it from the
# sources that scripts/fetch.sh rust provides; on stable Rust, this needs RUSTC_BOOTSTRAP.
#
# The results contain no directory names of this machine. The same sources, Rust and linker produce the same bytes in any
# directory.
#
# Exit status: 2 if the target is unknown, otherwise cargo's.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/targets.sh
target=$1 what=$2
shift 2
zig_target=$(target_field "$target" 4)
directory=$PWD/target/portable/$target
scripts/install.sh build zig >&2

# The filter removes Rust's name of the target, and a workaround for a defect of old processors that this linker lacks.
mkdir -p "$directory"
cat > "$directory/cc" << PROGRAM
#!/usr/bin/env bash
arguments=()
for argument in "\$@"; do
    case \$argument in --target=* | -Wl,--fix-cortex-a53-843419) ;; *) arguments+=("\$argument") ;; esac
done
exec "$PWD/target/zig/bin/python" -m ziglang cc -target $zig_target -fno-sanitize=undefined "\${arguments[@]}"
PROGRAM
chmod +x "$directory/cc"

# The programs of the toolchain itself. rustup's programs of the same names would not use the copy of rustc.
sysroot=$(rustc --print sysroot)
cargo=$sysroot/bin/cargo
export RUSTC=$sysroot/bin/rustc
flags=("--remap-path-prefix=$PWD=roughly" "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo")
options=(--locked --target "$target" --target-dir "$directory")
if [ ! -d "$sysroot/lib/rustlib/$target/lib" ]; then
    sysroot=$(scripts/fetch.sh rust)
    export RUSTC=$sysroot/bin/rustc RUSTC_BOOTSTRAP=1
    # The directory that Rust's own builds of the standard library have.
    flags+=("--remap-path-prefix=$sysroot/lib/rustlib/src/rust=/rustc/$(rustc -vV | sed -n 's/^commit-hash: //p')")
    options+=("-Zbuild-std=std,panic_unwind")
fi
# A module is a shared library, so it uses the server's libc.
case $target in *-musl) flags+=(-Ctarget-feature=-crt-static) ;; esac

if [ -n "$zig_target" ]; then
    # bindgen reads the server's header with the C headers of the target. It splits this variable like a shell.
    includes=""
    while read -r include; do
        includes+="-isystem '$(readlink -f "$include")' "
    done < <("$directory/cc" -E -v -x c /dev/null 2>&1 | sed -n 's|^ \([^"].*/libc/include/[^/]*\)$|\1|p')
    name=${target//-/_}
    export "BINDGEN_EXTRA_CLANG_ARGS_$name=$includes" "CC_$name=$directory/cc" "CARGO_TARGET_${name^^}_LINKER=$directory/cc"
fi
# The encoded form separates flags with the character 31, so that directories may have spaces in their names.
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && echo "${flags[*]}")
export CARGO_ENCODED_RUSTFLAGS
case $what in
    cc) echo "$directory/cc" ;;
    cargo) exec "$cargo" "$1" "${options[@]}" "${@:2}" ;;
    module)
        echo "cross: building the module for $target, with the compiler target $zig_target" >&2
        CARGO_PROFILE_RELEASE_STRIP=symbols "$cargo" build "${options[@]}" --release --lib >&2
        cp "$directory/$target/release/libroughly.so" "$directory"
        echo "$directory/libroughly.so"
        ;;
    wheel)
        if [ -z "$zig_target" ]; then
            # maturin changes the arguments of the linker for macOS to those of Zig. Rust looks for an SDK, which only a Mac has.
            printf '#!/bin/sh\nexec "%s" -m ziglang "$@"\n' "$PWD/target/zig/bin/python" > "$directory/zig"
            chmod +x "$directory/zig"
            MACOSX_DEPLOYMENT_TARGET=$(target_field "$target" 5)
            export CARGO_ZIGBUILD_ZIG_PATH=$directory/zig MACOSX_DEPLOYMENT_TARGET
            compatibility=(--zig)
        else
            compatibility=(--compatibility "$(target_field "$target" 5)")
        fi
        scripts/install.sh advzip >&2
        rm -rf "$directory/wheel"
        # maturin also checks that the wheel requires only the libraries and symbols that its name promises.
        CARGO=$cargo CARGO_PROFILE_RELEASE_STRIP=symbols target/python/bin/maturin build --quiet --release \
            --manifest-path python/Cargo.toml "${options[@]}" "${compatibility[@]}" --out "$directory/wheel" >&2
        # Zopfli: 3 % smaller than zlib's highest level.
        advzip --quiet --recompress --shrink-extra "$directory"/wheel/*.whl >&2
        mkdir -p "$1"
        mv "$directory"/wheel/*.whl "$1"
        ;;
    *)
        echo "cross: unknown argument: $what" >&2
        exit 2
        ;;
esac
