#!/usr/bin/env bash
# Packs target/dist/roughly_VERSION_ARCH.deb from the release of dist.sh, which is made first. It has no
# scripts of its own: dpkg alone installs and removes it, and no server is touched.
set -euo pipefail
cd "$(dirname "$0")/.."
architecture=${1:-x86_64}
version=$(cargo pkgid | sed 's/.*[#@]//')

scripts/dist.sh "$architecture"
case $architecture in
    x86_64) debian=amd64 ;;
    aarch64) debian=arm64 ;;
esac
root=target/dist/deb
documents=$root/usr/share/doc/roughly
rm -rf "$root"
DESTDIR=$PWD/$root "target/dist/roughly-$version-linux-$architecture/install.sh" > /dev/null
# Debian's names for licences and changes.
commit_time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || echo 0)}
{
    cat << 'LINES'
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Roughly

Files: *
LINES
    echo "Copyright: $(sed -n 's/^Copyright (c) //p' LICENSE-MIT)"
    echo "License: MIT or Apache-2.0"
    # In this form an empty line is a dot, and each line has a space before it.
    sed 's/^$/./; s/^/ /' LICENSE-MIT
    echo " ."
    echo " The Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0 on Debian systems; the"
    echo " licences of what is linked into the module are in THIRD-PARTY.txt."
} > "$documents/copyright"
rm "$documents"/LICENSE-*
{
    printf 'roughly (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n' "$version"
    printf ' -- Roughly <roughly@localhost>  %s\n' "$(date -u -R -d "@$commit_time")"
} | gzip -9n > "$documents/changelog.gz"
mkdir "$root/DEBIAN"
echo /etc/roughly/roughly.conf > "$root/DEBIAN/conffiles"
cat > "$root/DEBIAN/control" << LINES
Package: roughly
Version: $version
Architecture: $debian
Maintainer: Roughly <roughly@localhost>
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f 1)
Depends: libc6 (>= 2.17)
Recommends: redis-server (>= 5:7.0) | valkey-server
Section: database
Priority: optional
Description: Bloom filters and other sketches for Redis and Valkey
 A module that answers approximately in little memory: Bloom and cuckoo
 filters (has this been seen?), count-min sketches (how often?), top-k (what
 most often?) and t-digests (which value is larger than 99 % of all?). It has
 the commands, replies and stored forms of RedisBloom.
 .
 To load it, let the configuration of the server end with the line "include
 /etc/roughly/roughly.conf", and restart the server.
LINES
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum > DEBIAN/md5sums)
chmod -R u=rwX,go=rX "$root"
# dpkg-deb takes the time of the commit from here, for all files.
find "$root" -exec touch -h -d "@$commit_time" {} +
SOURCE_DATE_EPOCH=$commit_time dpkg-deb --root-owner-group --build "$root" \
    "target/dist/roughly_${version}_$debian.deb" > /dev/null
rm -rf "$root"
(cd target/dist && find . -maxdepth 1 \( -name '*.tar.gz' -o -name '*.deb' \) \
    -exec sha256sum {} + > SHA256SUMS)
echo "deb: target/dist/roughly_${version}_$debian.deb"
