#!/usr/bin/env bash
# Creates target/rust, a copy of this machine's Rust with the sources of its standard library, and prints its path.
# Takes no arguments. Cargo compiles the standard library for other targets from these sources.
#
# The sources are those of the installed Rust, if it has them, or else of Debian's package rust-src of the same
# version, from any of the suites below. The copy consists of hard links where the file system permits.
#
# Exit status: 1 if there are no sources of the same version.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/private-apt.sh
copy=$PWD/target/rust
suites=(trixie-backports sid)

say() {
    echo "rust-sysroot: $*" >&2
}

version=$(rustc -vV)
sysroot=$(rustc --print sysroot)
if [ "$(cat "$copy/version" 2> /dev/null)" = "$version" ]; then
    echo "$copy"
    exit
fi
release=$(sed -n 's/^release: //p' <<< "$version")
host=$(sed -n 's/^host: //p' <<< "$version")
rm -rf "$copy"
mkdir -p "$copy/bin" "$copy/lib/rustlib/src/rust"

# fetch_sources: unpacks Debian's package into target/rust/debian.
fetch_sources() {
    local archive suite
    for archive in $(archives); do
        for suite in "${suites[@]}"; do
            if private_lists "$copy/apt" deb "$suite" "$archive" 2> /dev/null \
                && (cd "$copy/apt" && private_apt "$copy/apt" download "rust-src=$release+*" 2> /dev/null); then
                say "unpacking the standard library's sources from Debian $suite"
                dpkg -x "$copy"/apt/rust-src_*.deb "$copy/debian"
                rm -rf "$copy/apt"
                return
            fi
        done
    done
    return 1
}

library=$sysroot/lib/rustlib/src/rust/library
if [ ! -e "$library/Cargo.lock" ]; then
    if ! fetch_sources; then
        rm -rf "$copy"
        say "there are no sources of the standard library of Rust $release, which the build for other targets needs"
        say "Debian (${suites[*]}) has no rust-src $release: install another version of Rust, or run" \
            "rustup component add rust-src"
        exit 1
    fi
    library=$copy/debian/usr/src/rustc-$release/library
fi
cp -rL "$library" "$copy/lib/rustlib/src/rust/library"
rm -rf "$copy/debian"

# Only these files are needed. Cargo looks for the sources next to them.
# Hard links fail if target/ is on another file system.
link() {
    cp -rl "$@" 2> /dev/null || cp -r "$@"
}
link "$sysroot/bin/rustc" "$copy/bin"
link "$sysroot"/lib/*.so* "$copy/lib"
link "$sysroot/lib/rustlib/$host" "$copy/lib/rustlib"
if [ "$("$copy/bin/rustc" --print sysroot)" != "$copy" ]; then
    rm -rf "$copy"
    say "the Rust in $sysroot does not work from another directory: install Rust with rustup"
    exit 1
fi
echo "$version" > "$copy/version"
echo "$copy"
