#!/usr/bin/env bash
# The C compiler and linker of scripts/cargo-target.sh: passes its arguments to the C compiler in target/zig, which
# compiles for the platform and the glibc version in $ROUGHLY_ZIG_TARGET instead of this machine's.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")

arguments=(-target "$ROUGHLY_ZIG_TARGET" -fno-sanitize=undefined)
for argument in "$@"; do
    case $argument in
        # Rust's name of the target, and a workaround for a defect of old processors that this linker does not have.
        --target=* | -Wl,--fix-cortex-a53-843419) ;;
        *) arguments+=("$argument") ;;
    esac
done
exec "$here/../target/zig/bin/python" -m ziglang cc "${arguments[@]}"
