#!/usr/bin/env bash
# Prints the licenses of the code that is linked into the module: the crates in Cargo.lock, Rust's standard library
# and the unwinder. Takes no arguments. `make lint` checks that the licenses are allowed (deny.toml).
#
# Exit status: 1 if a crate names no license.
set -euo pipefail
cd "$(dirname "$0")/.."
registry=${CARGO_HOME:-$HOME/.cargo}/registry/src
rule=$(printf '%.0s-' {1..100})

cat << 'LINES'
Third-party code that is linked into libroughly.so, and its licenses.

Rust's standard library: MIT OR Apache-2.0, by the Rust Project contributors.
The unwinder of LLVM: Apache-2.0 WITH LLVM-exception, by the LLVM Project contributors.
LINES
# Data in crates/sketch/src/math/tables.rs. Its license has the same text as Roughly's MIT license.
printf '\n%s\n%s\n\n%s\n' "$rule" "Tables of Arm's Optimized Routines: MIT" 'Copyright (c) 2018, Arm Limited'
sed 1,3d LICENSE-MIT
cargo tree --locked --package roughly --edges normal,no-proc-macro --prefix none --format '{p}|{l}' \
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
