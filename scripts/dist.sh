#!/usr/bin/env bash
# Packs a release: target/dist/roughly-VERSION-linux-x86_64.tar.gz with the stripped module, its
# configuration, installer, licences and documents, and SHA256SUMS inside and beside it. The same commit
# makes the same bytes.
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
