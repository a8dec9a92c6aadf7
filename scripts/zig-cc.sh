#!/usr/bin/env bash
# The linker of scripts/build-portable.sh: passes its arguments to the C compiler in target/zig, which links against
# the glibc version in $ROUGHLY_GLIBC instead of this machine's.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec "$here/../target/zig/bin/python" -m ziglang cc -target "x86_64-linux-gnu.$ROUGHLY_GLIBC" "$@"
