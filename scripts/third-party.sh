#!/usr/bin/env bash
# Prints the licenses of the code that is linked into the module: the crates in Cargo.lock, Rust's standard library,
# and the parts of the C compiler. `make lint` checks that the licenses of the crates are allowed (deny.toml).
#
#   scripts/third-party.sh           for the target of this machine's Rust
#   scripts/third-party.sh TARGET    for a target of scripts/targets.sh
#
# Exit status: 1 if a crate names no license.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/targets.sh
target=${1:-$(machine_target)}
registry=${CARGO_HOME:-$HOME/.cargo}/registry/src
rule=$(printf '%.0s-' {1..100})

cat << 'LINES'
Third-party code that is linked into libroughly.so, and its licenses.

Rust's standard library: MIT OR Apache-2.0, by the Rust Project contributors. It contains the crates addr2line,
adler2, cfg-if, gimli, hashbrown, libc, memchr, miniz_oxide, object and rustc-demangle, each under MIT or a choice of
licenses that includes MIT, by their authors. Its compiler-builtins: MIT AND Apache-2.0 WITH LLVM-exception AND (MIT OR
Apache-2.0).
The unwinder of LLVM: Apache-2.0 WITH LLVM-exception, by the LLVM Project contributors.
The compiler runtime of Zig: MIT, Copyright (c) Zig contributors. Its license has the same text as Roughly's MIT license.
LINES
case $target in
    *-gnu)
        cat << 'LINES'
Functions of glibc that are linked statically, for example stat: LGPL-2.1-or-later, by the Free Software Foundation, with its
permission to link the compiled functions with other programs and to distribute those without any restriction.
LINES
        ;;
esac
# Data in crates/sketch/src/math/tables.rs. Its license has the same text as Roughly's MIT license.
printf '\n%s\n%s\n\n%s\n' "$rule" "Tables of Arm's Optimized Routines: MIT" 'Copyright (c) 2018, Arm Limited'
sed 1,3d LICENSE-MIT
cargo tree --locked --package roughly --target "$target" --edges normal,no-proc-macro --prefix none --format '{p}|{l}' \
    | sed 's/ (\*)$//' | LC_ALL=C sort -u | while IFS='|' read -r package license; do
    read -r name version _ <<< "$package"
    case $name in roughly | roughly-*) continue ;; esac
    if [ -z "$license" ]; then
        echo "third-party: $name names no license" >&2
        exit 1
    fi
    printf '\n%s\n%s %s: %s\n\n' "$rule" "$name" "${version#v}" "$license"
    crate=$(find "$registry" -mindepth 2 -maxdepth 2 -name "$name-${version#v}" | head -n 1)
    # If a crate offers several licenses, print the MIT license, which requires its text to be included.
    text=$(find "$crate" -maxdepth 2 \( -iname 'LICENSE*' -o -path '*/LICENSES/*' -o -iname 'COPYING' \) \
        -type f | LC_ALL=C sort | awk '/MIT/ { mit = $0 } END { print mit == "" ? $0 : mit }')
    if [ -n "$text" ]; then
        cat "$text"
    else
        echo "(The crate has no license text; $(grep -m 1 '^authors' "$crate/Cargo.toml" || echo 'no authors are named').)"
    fi
done
