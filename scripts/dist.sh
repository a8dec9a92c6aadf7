#!/usr/bin/env bash
# Builds the release tarball target/dist/roughly-VERSION-linux-x86_64.tar.gz. Takes no arguments.
#
# The tarball contains the stripped module, its configuration, the installer, licenses, documents and SHA256SUMS.
# target/dist/SHA256SUMS has the checksums of the packages. The same commit produces the same bytes.
#
# Environment:
#   SOURCE_DATE_EPOCH  time of all files, in seconds since 1970 (default: time of the last commit)
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(cargo pkgid | sed 's/.*[#@]//')
name=roughly-$version-linux-x86_64

module=$(scripts/build-portable.sh)
scripts/stage.sh "$module" "target/dist/$name"
scripts/third-party.sh > "target/dist/$name/THIRD-PARTY.txt"
cd "target/dist/$name"
find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum > ../sums
mv ../sums SHA256SUMS
chmod -R u=rwX,go=rX .
cd ..
commit_time=$(git -C ../.. log -1 --format=%ct 2> /dev/null || echo 0)
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-$commit_time}" \
    -cf - "$name" | gzip -9n > "$name.tar.gz"
find . -maxdepth 1 \( -name '*.tar.gz' -o -name '*.deb' \) -exec sha256sum {} + > SHA256SUMS
echo "dist: target/dist/$name.tar.gz"
