#!/usr/bin/env bash
# Tests docs/sizing.html in headless Chromium: compares its numbers with the module's sketches and with the
# replies of a server. Takes no arguments. Neither the page nor the browser needs a network.
#
# Environment:
#   ROUGHLY_SERVER  server program (default: redis-server or valkey-server on the PATH)
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build server browser
cargo build --release --lib
exec cargo test --test sizing
