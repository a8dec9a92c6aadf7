#!/usr/bin/env bash
# docs/sizing.html in Chromium without a screen: its figures are compared with those of the module's own
# sketches. Nothing is fetched by the page, and the browser is told to fetch nothing either.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build browser
exec cargo test --test sizing
