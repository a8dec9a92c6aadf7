#!/usr/bin/env bash
# Lays out what is installed, or packed for installing elsewhere, in a directory: the module, its
# configuration, the installer, licences and documents.
#
#   scripts/stage.sh MODULE DIRECTORY
set -euo pipefail
cd "$(dirname "$0")/.."
module=$1 directory=$2

if [ ! -e "$module" ]; then
    echo "stage: there is no $module; run make build first" >&2
    exit 1
fi
rm -rf "$directory"
mkdir -p "$directory"
cp "$module" packaging/roughly.conf packaging/install.sh ./*.md LICENSE-* "$directory"
cp -r docs "$directory/docs"
chmod -R u=rwX,go=rX "$directory"
