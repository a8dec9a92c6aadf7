#!/usr/bin/env bash
# Builds the release tarballs target/dist/roughly-VERSION-PLATFORM.tar.gz, each with a bill of materials, .cdx.json.
#
#   scripts/dist.sh              for all targets of scripts/targets.sh
#   scripts/dist.sh TARGET...
#
# A tarball contains the stripped module, its configuration, the installer, licenses, documents and SHA256SUMS.
# target/dist/SHA256SUMS has the checksums of the packages. The same commit produces the same bytes.
#
# Environment:
#   SOURCE_DATE_EPOCH  time of all files, in seconds since 1970 (default: time of the last commit)
#
# Exit status: 2 if a target is unknown.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/targets.sh
version=$(cargo pkgid | sed 's/.*[#@]//')
commit_time=$(git log -1 --format=%ct 2> /dev/null || echo 0)
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(all_targets)

for target in "${targets[@]}"; do
    name=roughly-$version-$(platform "$target")
    module=$(scripts/build-portable.sh "$target")
    scripts/stage.sh "$module" "target/dist/$name"
    scripts/third-party.sh "$target" > "target/dist/$name/THIRD-PARTY.txt"
    scripts/sbom.sh "$target" > "target/dist/$name.cdx.json"
    (
        cd "target/dist/$name"
        find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum > ../sums
        mv ../sums SHA256SUMS
        chmod -R u=rwX,go=rX .
        cd ..
        tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-$commit_time}" \
            -cf - "$name" | gzip -9n > "$name.tar.gz"
    )
    echo "dist: target/dist/$name.tar.gz"
done
scripts/sums.sh
