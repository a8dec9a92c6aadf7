#!/usr/bin/env bash
# Links for scripts/build-portable.sh: runs the C compiler of target/zig with its own arguments, against the glibc
# version in $ROUGHLY_GLIBC instead of this machine's.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec "$here/../target/zig/bin/python" -m ziglang cc -target "x86_64-linux-gnu.$ROUGHLY_GLIBC" "$@"
