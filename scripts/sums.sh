#!/usr/bin/env bash
# Writes target/dist/SHA256SUMS, the checksums of all packages and bills of materials in target/dist. Takes no
# arguments.
set -euo pipefail
cd "$(dirname "$0")/../target/dist"
find . -maxdepth 1 \( -name '*.tar.gz' -o -name '*.deb' -o -name '*.cdx.json' \) -printf '%f\0' | LC_ALL=C sort -z \
    | xargs -0 sha256sum > SHA256SUMS
