#!/usr/bin/env bash
# Fuzzes every decoder, and compares sequences of operations with simple models. Runs one fuzz target after
# another and prints a line with the result of each.
#
#   scripts/fuzz.sh                             all targets
#   MINUTES=5 scripts/fuzz.sh bloom_stored      only the named targets
#
# Environment:
#   MINUTES  time for all targets together, in minutes (default 11)
#
# Exit status: 1 if a target found an error. The input that causes it is in fuzz/artifacts/TARGET.
#
# The corpus starts with valid stored forms and is kept in fuzz/corpus. The sanitizers need unstable compiler
# flags: RUSTC_BOOTSTRAP=1 makes a stable compiler accept them.
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${MINUTES:-11}

scripts/install.sh build fuzz
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
export RUSTC_BOOTSTRAP=1
echo "fuzz: building with AddressSanitizer" >&2
cargo fuzz build -O fuzz
# Without a name, the fuzzer prints those of all targets.
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(ROUGHLY_TARGET='' cargo fuzz run -O fuzz)
seconds=$((minutes * 60 / ${#targets[@]}))
[ "$seconds" -gt 0 ] || seconds=1

found=()
for target in "${targets[@]}"; do
    log=fuzz/artifacts/$target/log
    result=ok
    mkdir -p "fuzz/corpus/$target" "fuzz/artifacts/$target"
    # The models limit a sketch to 64 KiB (crates/models), so a block of 64 MiB is an error.
    ROUGHLY_TARGET=$target cargo fuzz run -O fuzz "fuzz/corpus/$target" -- \
        -artifact_prefix="fuzz/artifacts/$target/" -max_total_time="$seconds" -max_len=8192 -timeout=30 \
        -malloc_limit_mb=64 -rss_limit_mb=2048 -print_final_stats=1 > "$log" 2>&1 \
        || { result="FOUND: see $log"; found+=("$target"); }
    echo "fuzz: $target: $result"
done
if [ ${#found[@]} -gt 0 ]; then
    echo "fuzz: errors found in ${found[*]}" >&2
    exit 1
fi
