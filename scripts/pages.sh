#!/usr/bin/env bash
# Writes the generated parts of the documentation. Tests compare the first two with what they compute.
#
#   scripts/pages.sh               commands and accuracy
#   scripts/pages.sh commands      headers and tables of docs/commands, from the command table
#   scripts/pages.sh accuracy      tables and plots of docs/families, measured with fixed streams
#   scripts/pages.sh worst-cases   tables of docs/worst-cases.md, measured; needs an idle machine
#   scripts/pages.sh abilities     docs/abilities.md, from the records of test-matrix.sh and test-defrag.sh
#
# scripts/bench.sh report writes those of docs/performance.md.
set -euo pipefail
cd "$(dirname "$0")/.."

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(commands accuracy)
scripts/install.sh build server
cargo build --release --lib
for part in "${parts[@]}"; do
    case $part in
        commands) ROUGHLY_WRITE=1 cargo test --quiet --test server -- documents::commands ;;
        accuracy) ROUGHLY_WRITE=1 cargo test --quiet --test accuracy ;;
        worst-cases) ROUGHLY_WRITE=1 cargo test --quiet --test server -- once::worst_cases --test-threads 1 ;;
        abilities) scripts/abilities.sh ;;
        *)
            echo "pages: unknown part: $part" >&2
            exit 2
            ;;
    esac
done
