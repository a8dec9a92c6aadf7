#!/usr/bin/env bash
# Copies the files of a release into DIRECTORY: the module, its configuration, the installer, licenses, documents,
# and the examples and programs that the documents name. Deletes DIRECTORY first.
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
# The same paths as in the repository, because the documents link to them. Running the examples creates the
# directories that are left out.
tar -c --exclude=node_modules --exclude=target --exclude=__pycache__ \
    docs examples packaging/kubernetes packaging/monitoring scripts/copy-sketches | tar -x -C "$directory" --no-same-owner
chmod -R u=rwX,go=rX "$directory"
