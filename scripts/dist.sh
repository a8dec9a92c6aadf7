#!/usr/bin/env bash
# Builds packages in target/dist:
#
#   scripts/dist.sh [TARGET|KIND...]         the packages of these kinds for these targets of scripts/targets.sh. By default, all kinds
#                                            for all targets: a release. The target "machine" is that of this machine
#   scripts/dist.sh stage MODULE DIRECTORY   only copies the files of a tarball into DIRECTORY, after deleting it
#   scripts/dist.sh licenses [TARGET]        only prints the licenses of third-party code (default: this machine's target)
#
# For example, "scripts/dist.sh machine deb" builds only the Debian package for this machine. Each kind needs only its own tools, which
# the script installs.
#
# Kinds, and the files of each:
#
#   tarball
#   roughly-VERSION-PLATFORM.tar.gz     the stripped module, the installer, licenses, documents, SHA256SUMS
#   roughly-VERSION-PLATFORM.cdx.json   the bill of materials (CycloneDX): the crates that the module is built from. It does not
#                                       list Rust's standard library
#   deb
#   roughly_VERSION_ARCHITECTURE.deb    the Debian package, if the target has one. It has no maintainer scripts: installing and
#                                       removing it does not touch a server
#   wheel
#   roughly-VERSION-cp310-abi3-PLATFORM.whl, roughly-VERSION.tar.gz
#                                       the wheel of the Python package, also for macOS, and its sources
#
# SHA256SUMS has the checksums of all these files in target/dist.
#
# The same commit produces the same bytes.
#
# Environment:
#   DEBFULLNAME, DEBEMAIL
#                      name and mail address of the maintainer, as for Debian's tools. By default the field
#                      Maintainer has a name without an address, because the project has no mail address.
#   SOURCE_DATE_EPOCH  time of all files, in seconds since 1970 (default: time of the last commit)
#
# Exit status: 1 if MODULE does not exist or a crate names no license, 2 if a target is unknown or has no package of the kind.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/targets.sh

# stage MODULE DIRECTORY: copies the module, the installer, licenses, documents, and the examples and
# programs that the documents name. Leaves out the documents for contributors; links to them become text.
stage() {
    if [ ! -e "$1" ]; then
        echo "dist: $1 does not exist; run make build first" >&2
        exit 1
    fi
    rm -rf "$2"
    mkdir -p "$2"
    cp "$1" packaging/install.sh ./*.md LICENSE-* "$2"
    # The same paths as in the repository, because the documents link to them. Running the examples creates the
    # directories that are left out.
    tar -c --exclude=node_modules --exclude=target --exclude=__pycache__ \
        docs examples packaging/kubernetes packaging/monitoring scripts/copy-sketches | tar -x -C "$2" --no-same-owner
    rm -r "$2/docs/contributing" "$2/CONTRIBUTING.md" "$2/CODE_OF_CONDUCT.md"
    find "$2" -name '*.md' -exec sed -i -zE \
        's,\[([^][]*)\]\(([^) ]*/)?(contributing/[^) ]*|(CONTRIBUTING|CODE_OF_CONDUCT)\.md[^) ]*)\),\1,g' {} +
    chmod -R u=rwX,go=rX "$2"
}

# licenses TARGET [PACKAGE]: prints the licenses of the code that is linked into the module, or into PACKAGE: the crates in Cargo.lock, Rust's standard
# library, and the parts of the C compiler. `make lint` checks that the licenses of the crates are allowed (deny.toml).
licenses() {
    local target=$1 linked=${2:-roughly} registry=${CARGO_HOME:-$HOME/.cargo}/registry/src rule package license name version crate text
    rule=$(printf '%.0s-' {1..100})
    cat << 'LINES'
Third-party code that is linked into this library, and its licenses.

Rust's standard library: MIT OR Apache-2.0, by the Rust Project contributors. It contains the crates addr2line,
adler2, cfg-if, gimli, hashbrown, libc, memchr, miniz_oxide, object and rustc-demangle, each under MIT or a choice of
licenses that includes MIT, by their authors. Its compiler-builtins: MIT AND Apache-2.0 WITH LLVM-exception AND (MIT OR
Apache-2.0).
The unwinder of LLVM: Apache-2.0 WITH LLVM-exception, by the LLVM Project contributors.
The compiler runtime of Zig: MIT, Copyright (c) Zig contributors. Its license has the same text as Roughly's MIT license.
LINES
    case $target in
        *-gnu)
            cat << 'LINES'
Functions of glibc that are linked statically, for example stat: LGPL-2.1-or-later, by the Free Software Foundation, with its
permission to link the compiled functions with other programs and to distribute those without any restriction.
LINES
            ;;
    esac
    # Data in crates/sketch/src/math/tables.rs. Its license has the same text as Roughly's MIT license.
    printf '\n%s\n%s\n\n%s\n' "$rule" "Tables of Arm's Optimized Routines: MIT" 'Copyright (c) 2018, Arm Limited'
    sed 1,3d LICENSE-MIT
    cargo tree --locked --package "$linked" --target "$target" --edges normal,no-proc-macro --prefix none --format '{p}|{l}' \
        | sed 's/ (\*)$//' | LC_ALL=C sort -u | while IFS='|' read -r package license; do
        read -r name version _ <<< "$package"
        case $name in roughly | roughly-*) continue ;; esac
        if [ -z "$license" ]; then
            echo "dist: $name names no license" >&2
            exit 1
        fi
        printf '\n%s\n%s %s: %s\n\n' "$rule" "$name" "${version#v}" "$license"
        crate=$(find "$registry" -mindepth 2 -maxdepth 2 -name "$name-${version#v}" -print -quit)
        # If a crate offers several licenses, print the MIT license, which requires its text to be included.
        text=$(find "$crate" -maxdepth 2 \( -iname 'LICENSE*' -o -path '*/LICENSES/*' -o -iname 'COPYING' \) \
            -type f | LC_ALL=C sort | awk '/MIT/ { mit = $0 } END { print mit == "" ? $0 : mit }')
        if [ -n "$text" ]; then
            cat "$text"
        else
            echo "(The crate has no license text; $(grep -m 1 '^authors' "$crate/Cargo.toml" || echo 'no authors are named').)"
        fi
        # The Apache license requires the notices of a crate, too.
        find "$crate" -maxdepth 1 -iname 'NOTICE*' -type f -exec sh -c 'echo; cat "$1"' sh {} \;
    done
}

case ${1:-} in
    stage)
        stage "$2" "$3"
        exit
        ;;
    licenses)
        licenses "${2:-$(machine_target)}"
        exit
        ;;
esac

version=$(package_version)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || echo 0)}
maintainer=${DEBFULLNAME:-Roughly maintainers}
targets=()
kinds=""
for argument in "$@"; do
    case $argument in
        tarball | deb | wheel) kinds+=" $argument" ;;
        machine) targets+=("$(machine_target)") ;;
        *) targets+=("$argument") ;;
    esac
done
# builds KIND: whether packages of this kind are built.
builds() {
    [ -z "$kinds" ] || [[ "$kinds " = *" $1 "* ]]
}
for target in "${targets[@]}"; do
    target_field "$target" 1 > /dev/null
    # Without kinds, targets have the packages that exist for them.
    if [ "$kinds" = " deb" ] && [ -z "$(debian_architecture "$target")" ]; then
        echo "dist: $target has no Debian package; these targets have one: $(debian_targets | paste -s -d ' ')" >&2
        exit 2
    fi
done
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(wheel_targets)

# bill_of_materials TARGET: prints it.
bill_of_materials() {
    # cargo-cyclonedx writes a file into the directory of each crate, so it works on a copy.
    local copy=$PWD/target/sbom
    rm -rf "$copy"
    mkdir -p "$copy"
    cp -r Cargo.toml Cargo.lock build.rs src crates tests "$copy"
    install -D -m 644 benches/Cargo.toml "$copy/benches/Cargo.toml"
    mkdir "$copy/python"
    cp -r python/Cargo.toml python/src "$copy/python"
    # Without SOURCE_DATE_EPOCH, the bill has a random serial number.
    cargo cyclonedx --quiet --manifest-path "$copy/Cargo.toml" --format json --spec-version 1.5 --target "$1" --no-build-deps \
        --override-filename bill >&2
    # In these URLs, a space in the name of the directory is %20.
    sed -E 's|file://[^"#]*/target/sbom|file:///roughly|g' "$copy/bill.json"
    rm -rf "$copy"
}

# stage_target TARGET: builds the module and creates the directory of the tarball, from which the packages are built.
stage_target() {
    local directory module
    directory=target/dist/roughly-$version-$(platform "$1")
    module=$(scripts/cross.sh "$1" module)
    stage "$module" "$directory"
    licenses "$1" > "$directory/THIRD-PARTY.txt"
}

# tarball TARGET: builds the tarball and the bill of materials.
tarball() {
    local name
    name=roughly-$version-$(platform "$1")
    bill_of_materials "$1" > "target/dist/$name.cdx.json"
    (
        cd "target/dist/$name"
        find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum > ../sums
        mv ../sums SHA256SUMS
        chmod -R u=rwX,go=rX .
        cd ..
        tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" | gzip -9n > "$name.tar.gz"
    )
    echo "dist: target/dist/$name.tar.gz"
}

# debian_package TARGET: builds the package from the files of the tarball.
debian_package() {
    local architecture root=target/dist/deb documents=target/dist/deb/usr/share/doc/roughly
    architecture=$(debian_architecture "$1")
    rm -rf "$root"
    # Variables of make install have no effect on the package.
    env -u PREFIX -u LIBDIR -u SYSCONFDIR DESTDIR="$PWD/$root" "target/dist/roughly-$version-$(platform "$1")/install.sh" > /dev/null
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
        printf ' -- %s <%s>  %s\n' "$maintainer" "${DEBEMAIL:-}" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")"
    } | gzip -9n > "$documents/changelog.gz"
    mkdir -p "$root/usr/share/lintian/overrides"
    cat > "$root/usr/share/lintian/overrides/roughly" << 'LINES'
# The file can have a password.
roughly: non-standard-file-perm * [etc/default/bf-exporter]
# The programs have --help, and pages in the documentation.
roughly: no-manual-page *
# The project has no mail address.
roughly: malformed-contact Maintainer *
roughly: bogus-mail-host-in-debian-changelog *
LINES
    mkdir "$root/DEBIAN"
    cat > "$root/DEBIAN/control" << LINES
Package: roughly
Version: $version
Architecture: $architecture
Maintainer: $maintainer${DEBEMAIL:+ <$DEBEMAIL>}
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f 1)
Depends: libc6 (>= 2.17)
Recommends: python3 (>= 3.9), python3-redis (>= 4.1)
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
 To load the module, run "/usr/share/roughly/install.sh --configure FILE" with
 the server's main configuration file, then restart the server.
LINES
    echo /etc/default/bf-exporter > "$root/DEBIAN/conffiles"
    (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum > DEBIAN/md5sums)
    chmod -R u=rwX,go=rX "$root"
    # It can have a password.
    chmod 600 "$root/etc/default/bf-exporter"
    # dpkg-deb uses SOURCE_DATE_EPOCH only for files that are newer.
    find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group --build "$root" "target/dist/roughly_${version}_$architecture.deb" > /dev/null
    rm -rf "$root"
    echo "dist: target/dist/roughly_${version}_$architecture.deb"
}

! builds tarball || scripts/install.sh sbom
! builds wheel || scripts/install.sh python
for target in "${targets[@]}"; do
    if builds wheel; then
        licenses "$target" roughly-python > python/roughly/THIRD-PARTY.txt
        scripts/cross.sh "$target" wheel target/dist
    fi
    case $target in *-apple-darwin) continue ;; esac
    if builds tarball || { builds deb && [ -n "$(debian_architecture "$target")" ]; }; then
        stage_target "$target"
        ! builds tarball || tarball "$target"
        ! builds deb || [ -z "$(debian_architecture "$target")" ] || debian_package "$target"
    fi
done
! builds wheel || target/python/bin/maturin sdist --manifest-path python/Cargo.toml --out target/dist
cd target/dist
find . -maxdepth 1 \( -name '*.whl' -o -name '*.tar.gz' -o -name '*.deb' -o -name '*.cdx.json' \) -printf '%f\0' | LC_ALL=C sort -z \
    | xargs -0 sha256sum > SHA256SUMS
