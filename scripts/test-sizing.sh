#!/usr/bin/env bash
# docs/sizing.html in headless Chromium: its figures are compared with the module's sketches, and with what a server
# reports of filled keys. Neither the page nor the browser fetches anything.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build server browser
cargo build --release --lib
exec cargo test --test sizing
