#!/usr/bin/env bash
# The tests of the sketches and the 100,000 damaged forms under AddressSanitizer and LeakSanitizer: reads and
# writes outside of blocks, use after free, and leaks, each of which ends it with an error.
#
# The runtime is the Rust toolchain's own. The sanitizers need a flag that a stable compiler refuses:
# RUSTC_BOOTSTRAP=1 makes it take that.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build
export RUSTC_BOOTSTRAP=1
export RUSTFLAGS="-Zsanitizer=address -Cforce-frame-pointers=yes"
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1
export CARGO_TARGET_DIR=target/asan
# With a target of its own, build scripts and procedural macros go without the sanitizer.
host=$(rustc -vV | sed -n 's/^host: //p')
echo "asan: unit tests and mutations with AddressSanitizer and LeakSanitizer" >&2
exec cargo test --target "$host" --lib --test mutation --workspace
