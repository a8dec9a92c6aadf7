#!/usr/bin/env bash
# Prints the licences of what is linked into the module: the crates that Cargo.lock names, Rust's
# standard library and the unwinder. make lint checks their licenses (deny.toml).
set -euo pipefail
cd "$(dirname "$0")/.."
registry=${CARGO_HOME:-$HOME/.cargo}/registry/src
rule=$(printf '%.0s-' {1..100})

cat << 'LINES'
What is linked into libroughly.so beside its own code, and under which licences.

Rust's standard library: MIT OR Apache-2.0, by the Rust Project contributors.
The unwinder of LLVM: Apache-2.0 WITH LLVM-exception, by the LLVM Project contributors.
LINES
# Data in crates/sketch/src/math/tables.rs, under the text of our own MIT license.
printf '\n%s\n%s\n\n%s\n' "$rule" "Tables of Arm's Optimized Routines: MIT" 'Copyright (c) 2018, Arm Limited'
sed 1,3d LICENSE-MIT
cargo tree --locked --package roughly --edges normal,no-proc-macro --prefix none --format '{p}|{l}' \
    | sed 's/ (\*)$//' | LC_ALL=C sort -u | while IFS='|' read -r package licence; do
    read -r name version _ <<< "$package"
    case $name in roughly | roughly-*) continue ;; esac
    if [ -z "$licence" ]; then
        echo "third-party: $name names no licence" >&2
        exit 1
    fi
    printf '\n%s\n%s %s: %s\n\n' "$rule" "$name" "${version#v}" "$licence"
    crate=$(find "$registry" -mindepth 2 -maxdepth 2 -name "$name-${version#v}" | head -n 1)
    # Of several licences to choose from, the one that asks for its text: MIT where it is there.
    text=$(find "$crate" -maxdepth 2 \( -iname 'LICENSE*' -o -path '*/LICENSES/*' -o -iname 'COPYING' \) \
        -type f | LC_ALL=C sort | awk '/MIT/ { mit = $0 } END { print mit == "" ? $0 : mit }')
    if [ -n "$text" ]; then
        cat "$text"
    else
        echo "(The crate brings no text of it; $(grep -m 1 '^authors' "$crate/Cargo.toml" || echo 'no authors are named').)"
    fi
done
