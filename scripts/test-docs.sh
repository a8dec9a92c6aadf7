#!/usr/bin/env bash
# Builds the documentation site and checks every page in headless Chromium: light and dark colors, no horizontal
# scrolling on a phone, no missing image. Screenshots are in target/site-screenshots. Takes no arguments.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh browser
scripts/docs.sh
target/site-tools/bin/python scripts/site/check.py target/site target/site-screenshots
