#!/usr/bin/env bash
# Builds the documentation site from docs/ into target/site. A warning, such as a link without a target, is an error.
# Takes no arguments.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh site
# The variable suppresses a notice about MkDocs 2, which this site does not use.
NO_MKDOCS_2_WARNING=1 target/site-tools/bin/mkdocs --quiet build --strict
echo "docs: target/site/index.html" >&2
