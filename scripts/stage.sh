#!/usr/bin/env bash
# Copies the files of a release into DIRECTORY: the module, its configuration, the installer, licenses and
# documents. Deletes DIRECTORY first.
#
#   scripts/stage.sh MODULE DIRECTORY
#
# Exit status: 1 if MODULE does not exist.
set -euo pipefail
cd "$(dirname "$0")/.."
module=$1 directory=$2

if [ ! -e "$module" ]; then
    echo "stage: $module does not exist; run make build first" >&2
    exit 1
fi
rm -rf "$directory"
mkdir -p "$directory"
cp "$module" packaging/roughly.conf packaging/install.sh ./*.md LICENSE-* "$directory"
cp -r docs "$directory/docs"
chmod -R u=rwX,go=rX "$directory"
