#!/usr/bin/env bash
# Builds the Debian packages target/dist/roughly_VERSION_ARCHITECTURE.deb from the releases that scripts/dist.sh builds
# first.
#
#   scripts/deb.sh              for all targets of scripts/targets.sh that have a Debian architecture
#   scripts/deb.sh TARGET...
#
# The packages have no maintainer scripts: installing and removing them does not touch a server.
#
# Environment:
#   DEBFULLNAME, DEBEMAIL
#                      name and mail address of the maintainer, as for Debian's tools. By default the field
#                      Maintainer has a name without an address, because the project has no mail address.
#   SOURCE_DATE_EPOCH  time of all files, in seconds since 1970 (default: time of the last commit)
#
# Exit status: 2 if a target is unknown or has no Debian package.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/targets.sh
version=$(cargo pkgid | sed 's/.*[#@]//')
commit_time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || echo 0)}
maintainer=${DEBFULLNAME:-Roughly maintainers}
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(debian_targets)
for target in "${targets[@]}"; do
    [ -n "$(debian_architecture "$target")" ] || {
        echo "deb: there is no Debian package for $target" >&2
        exit 2
    }
done
scripts/dist.sh "${targets[@]}"

root=target/dist/deb
documents=$root/usr/share/doc/roughly

# write_documents: writes the files that Debian requires in a package.
write_documents() {
    # Debian's names for the license and the changelog.
    {
        printf 'Copyright 2026 the Roughly maintainers\n\n'
        printf 'Roughly is licensed under the MIT license or the Apache License 2.0, at your option.\n\n'
        cat LICENSE-MIT
        printf '\n%s\n%s\n' \
            "The Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0 on Debian systems. The licenses" \
            "of the code that is linked into the module are in THIRD-PARTY.txt."
    } > "$documents/copyright"
    # README.md links to both files.
    ln -sf copyright "$documents/LICENSE-MIT"
    ln -sf ../../common-licenses/Apache-2.0 "$documents/LICENSE-APACHE"
    {
        printf 'roughly (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n' "$version"
        printf ' -- %s <%s>  %s\n' "$maintainer" "${DEBEMAIL:-}" "$(date -u -R -d "@$commit_time")"
    } | gzip -9n > "$documents/changelog.gz"
    if [ -z "${DEBEMAIL:-}" ]; then
        mkdir -p "$root/usr/share/lintian/overrides"
        cat > "$root/usr/share/lintian/overrides/roughly" << 'LINES'
# The project has no mail address.
roughly: malformed-contact Maintainer *
roughly: bogus-mail-host-in-debian-changelog *
LINES
    fi
}

for target in "${targets[@]}"; do
    architecture=$(debian_architecture "$target")
    rm -rf "$root"
    DESTDIR=$PWD/$root "target/dist/roughly-$version-$(platform "$target")/install.sh" > /dev/null
    write_documents
    mkdir "$root/DEBIAN"
    echo /etc/roughly/roughly.conf > "$root/DEBIAN/conffiles"
    cat > "$root/DEBIAN/control" << LINES
Package: roughly
Version: $version
Architecture: $architecture
Maintainer: $maintainer${DEBEMAIL:+ <$DEBEMAIL>}
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f 1)
Depends: libc6 (>= 2.17)
Suggests: redis-server (>= 5:7.0) | valkey-server
Enhances: redis-server, valkey-server
Section: database
Priority: optional
Description: Bloom filters and other sketches for Redis and Valkey
 A module with five data types that give approximate answers in little
 memory: Bloom and cuckoo filters (was this item added?), count-min sketch
 (how often?), top-k (which items most often?) and t-digest (quantiles). Its
 commands, replies and stored data are compatible with RedisBloom.
 .
 To load the module, add the line "include /etc/roughly/roughly.conf" to the
 end of the server's configuration, then restart the server.
LINES
    (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum > DEBIAN/md5sums)
    chmod -R u=rwX,go=rX "$root"
    # dpkg-deb uses SOURCE_DATE_EPOCH only for files that are newer.
    find "$root" -exec touch -h -d "@$commit_time" {} +
    SOURCE_DATE_EPOCH=$commit_time dpkg-deb --root-owner-group --build "$root" \
        "target/dist/roughly_${version}_$architecture.deb" > /dev/null
    rm -rf "$root"
    echo "deb: target/dist/roughly_${version}_$architecture.deb"
done
scripts/sums.sh
