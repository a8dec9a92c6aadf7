#!/usr/bin/env bash
# The C compiler of target/zig as the linker of scripts/build-portable.sh, against the glibc of
# $ROUGHLY_GLIBC, whatever this machine has.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec "$here/../target/zig/bin/python" -m ziglang cc -target "x86_64-linux-gnu.$ROUGHLY_GLIBC" "$@"
