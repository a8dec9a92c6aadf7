#!/usr/bin/env bash
# Runs the unit tests of all crates and the mutation test (200,000 damaged payloads) under AddressSanitizer and
# LeakSanitizer. Takes no arguments.
#
# A read or write outside of a block, a use after free or a leak ends the run with an error. The sanitizers are
# part of the Rust toolchain, but need an unstable compiler flag: RUSTC_BOOTSTRAP=1 makes a stable compiler
# accept it.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build
export RUSTC_BOOTSTRAP=1
export RUSTFLAGS="-Zsanitizer=address -Cforce-frame-pointers=yes"
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1
export CARGO_TARGET_DIR=target/asan
# With --target, cargo builds build scripts and procedural macros without the sanitizer.
host=$(rustc -vV | sed -n 's/^host: //p')
echo "asan: running unit tests and the mutation test with AddressSanitizer and LeakSanitizer" >&2
exec cargo test --target "$host" --lib --test mutation --workspace
