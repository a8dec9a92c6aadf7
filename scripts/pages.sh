#!/usr/bin/env bash
# Writes the generated parts of the documentation. Tests compare them with what they compute.
#
#   scripts/pages.sh               commands, accuracy and chart
#   scripts/pages.sh commands      headers of docs/commands and lists of commands in the guides, from the command table
#   scripts/pages.sh accuracy      tables and plots of docs/families, docs/recipes and SKETCH.ACCURACY, measured with fixed streams
#   scripts/pages.sh chart         docs/plots/series.svg, which `roughly series` draws
#   scripts/pages.sh sizing        tests/sizing/table.tsv, the figures of keys with which the tests of docs/sizing.html compare; on Redis 7.0
#
# scripts/bench.sh report writes those of docs/performance.md.
set -euo pipefail
cd "$(dirname "$0")/.."

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(commands accuracy chart)
scripts/install.sh build server
export ROUGHLY_PROFILE=release
scripts/build-module.sh
export ROUGHLY_WRITE=1
for part in "${parts[@]}"; do
    case $part in
        commands) cargo test --quiet --test server -- documents::commands ;;
        accuracy) cargo test --quiet --package roughly-models --test accuracy ;;
        chart)
            scripts/install.sh python-tests
            make python
            (cd python && ../target/python/bin/python -m pytest -q tests/test_period.py -k chart)
            ;;
        sizing) cargo test --quiet --test sizing -- the_table_has ;;
        *)
            echo "pages: unknown part: $part" >&2
            exit 2
            ;;
    esac
done
