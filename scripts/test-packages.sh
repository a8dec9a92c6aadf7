#!/usr/bin/env bash
# Installs, uses and removes the release tarball and the Debian package on Debian systems that scripts/chroot.sh
# creates, with the servers of those releases. Builds both packages first, and checks with scripts/test-crates.sh that
# the crates can be published.
#
#   scripts/test-packages.sh          builds the packages and tests them
#   scripts/test-packages.sh built    tests the packages in target/dist
#
# On this machine it installs only build tools, debootstrap and lintian. chroot needs root: for other users the
# script builds the packages and continues with sudo.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(cargo pkgid | sed 's/.*[#@]//')
tarball=target/dist/roughly-$version-linux-x86_64.tar.gz
deb=target/dist/roughly_${version}_amd64.deb
# The oldest glibc that the packages support. docs/packages.md states it too.
glibc=2.17

scripts/install.sh build chroot lintian
if [ "${1:-}" != built ]; then
    scripts/test-crates.sh
    scripts/deb.sh
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "test-packages: continuing with sudo, because chroot needs root" >&2
    exec sudo env "PATH=$PATH" "HOME=$HOME" "$PWD/scripts/test-packages.sh" built
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/roughly-packages-XXXXXX")
server=""
stop_server() {
    [ -z "$server" ] || kill -KILL "$server" 2> /dev/null || true
    [ -z "$server" ] || wait "$server" 2> /dev/null || true
    server=""
}
trap 'stop_server; rm -rf "$dir"' EXIT

fail() {
    echo "test-packages: FAILED: $*" >&2
    exit 1
}
passed() {
    echo "test-packages: $*"
}

# inventory DIRECTORY: lists the files of a system, except for those that dpkg and servers write on every use.
inventory() {
    (cd "$1" && find . -path ./var/lib/dpkg -prune -o -path ./var/log -prune -o -path ./var/lib/redis -prune \
        -o -path ./var/lib/valkey -prune -o -path ./tmp -prune -o -print | LC_ALL=C sort)
}

# broken_links DIRECTORY: prints the links of the Markdown and HTML files in DIRECTORY to files that are not in it.
broken_links() {
    local file target
    { grep -roE --include='*.md' '\]\([^)# ]+' "$1" && grep -roE --include='*.html' '(href|src)="[^"#]+' "$1"; } \
        | grep -vE '://|mailto:|data:' \
        | while IFS= read -r line; do
            file=${line%%:*} target=${line#*:}
            target=${target#*[(\"]}
            [ -e "${file%/*}/$target" ] || echo "$file: $target"
        done
}

# owners DIRECTORY: lists the files of a directory with their owners.
owners() {
    (cd "$1" && find . -printf '%U %p\n' | LC_ALL=C sort)
}

(cd target/dist && sha256sum --quiet -c SHA256SUMS) || fail "checksums of the packages"
tar -xzf "$tarball" -C "$dir"
release=$dir/roughly-$version-linux-x86_64
(cd "$release" && sha256sum --quiet -c SHA256SUMS) || fail "checksums in the tarball"
grep -q '^redis-module ' "$release/THIRD-PARTY.txt" || fail "THIRD-PARTY.txt lists no redis-module"
mkdir "$dir/root"
DESTDIR=$dir/root "$release/install.sh" > /dev/null
module=/usr/lib/redis/modules/libroughly.so
grep -qx "loadmodule $module" "$dir/root/etc/roughly/roughly.conf" || fail "roughly.conf has a wrong loadmodule line"
cmp "$release/libroughly.so" "$dir/root$module" || fail "the installed module differs from the packaged one"
documents=$dir/root/usr/share/doc/roughly
broken=$(broken_links "$documents")
[ -z "$broken" ] || fail "links to files that are not installed: $broken"
(cd examples && find . \( -name node_modules -o -name target -o -name __pycache__ \) -prune -o -type f -print) | while read -r file; do
    cmp -s "examples/$file" "$documents/examples/$file" || fail "the example $file is not installed"
done
"$documents/scripts/copy-sketches" --help > /dev/null || fail "the installed copy-sketches does not run"
"$documents/packaging/monitoring/bf-exporter" --help > /dev/null || fail "the installed bf-exporter does not run"
# The check of links must find a link to a file that is not installed.
rm "$documents/docs/packages.md"
broken=$(broken_links "$documents")
grep -q '/README.md: docs/packages.md$' <<< "$broken" || fail "the check finds no broken link"
left_after_uninstall() {
    (cd "$dir/root" && find . ! -type d -o -name '*roughly*' ! -path ./opt/roughly -o -name redis)
}
DESTDIR=$dir/root "$release/install.sh" uninstall > /dev/null
[ -z "$(left_after_uninstall)" ] || fail "uninstall left $(left_after_uninstall)"
for variables in LIBDIR=/usr/lib64 "PREFIX=/opt/roughly SYSCONFDIR=/opt/roughly/etc"; do
    # shellcheck disable=SC2086
    env DESTDIR="$dir/root" $variables "$release/install.sh" > /dev/null
    installed=$(cd "$dir/root" && find . -name libroughly.so)
    case $variables in LIBDIR*) expected=usr/lib64 ;; *) expected=opt/roughly/lib ;; esac
    [ "$installed" = "./$expected/redis/modules/libroughly.so" ] || fail "$variables installs $installed"
    conf=$(cd "$dir/root" && find . -name roughly.conf)
    grep -qx "loadmodule /$expected/redis/modules/libroughly.so" "$dir/root/$conf" || fail "$variables: $conf"
    # shellcheck disable=SC2086
    env DESTDIR="$dir/root" $variables "$release/install.sh" uninstall > /dev/null
    [ -z "$(left_after_uninstall)" ] || fail "uninstall left $(left_after_uninstall)"
done
passed "the tarball installs and uninstalls; the links of the installed documents have targets"

# `sudo make install` runs as root in a clone of another user. It must not write to the clone.
mkdir -p "$dir/clone/target/release"
cp -r Makefile packaging scripts docs examples ./*.md LICENSE-* "$dir/clone"
cp "$release/libroughly.so" "$dir/clone/target/release"
chown -R nobody "$dir/clone"
owners "$dir/clone" > "$dir/owners"
for make_target in install uninstall; do
    make --silent -C "$dir/clone" "$make_target" DESTDIR="$dir/root" LIBDIR=/usr/lib64 > "$dir/make" \
        || fail "make $make_target: $(< "$dir/make")"
    owners "$dir/clone" | diff "$dir/owners" - || fail "make $make_target changed the clone"
    [ "$make_target" = uninstall ] || cmp "$release/libroughly.so" "$dir/root/usr/lib64/redis/modules/libroughly.so" \
        || fail "make install did not install the module"
done
[ -z "$(left_after_uninstall)" ] || fail "make uninstall left $(left_after_uninstall)"
rm "$dir/clone/target/release/libroughly.so"
if make --silent -C "$dir/clone" install DESTDIR="$dir/root" > /dev/null 2> "$dir/make"; then
    fail "make install succeeds without a module"
fi
grep -q 'run make build first' "$dir/make" || fail "make install without a module: $(< "$dir/make")"
rm -rf "$dir/clone"
passed "make install and make uninstall do not write to the clone"

# The module must load with the oldest supported glibc and no other library.
symbols=$(objdump -T "$release/libroughly.so" | grep -oE 'GLIBC_[0-9.]+' | sort -uV)
[ -n "$symbols" ] || fail "the module has no glibc symbols"
highest=$(tail -n 1 <<< "$symbols")
[ "$(printf '%s\n' "${highest#GLIBC_}" "$glibc" | sort -V | tail -n 1)" = "$glibc" ] \
    || fail "the module requires $highest"
libraries=$(objdump -p "$release/libroughly.so" | awk '$1 == "NEEDED" { print $2 }')
while read -r library; do
    case $library in
        libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | ld-linux-x86-64.so.2) ;;
        *) fail "the module requires the library $library" ;;
    esac
done <<< "$libraries"
passed "the newest glibc symbol that the module requires is $highest"

# Command handlers catch panics, so the unwinder that the linker adds must work. No known command makes the
# module panic; a minimal library that is linked in the same way panics instead.
cat > "$dir/panics.rs" << 'RUST'
#[unsafe(no_mangle)]
pub extern "C" fn caught() -> i32 {
    std::panic::catch_unwind(|| panic!("on purpose")).is_err().into()
}
RUST
ROUGHLY_GLIBC=$glibc rustc --edition 2024 -O --crate-type cdylib \
    -C linker=scripts/zig-cc.sh -C strip=symbols -o "$dir/libpanics.so" "$dir/panics.rs"
caught=$(target/zig/bin/python -c \
    "import ctypes; print(ctypes.CDLL('$dir/libpanics.so').caught())" 2> /dev/null || true)
[ "$caught" = 1 ] || fail "a panic is not caught"
passed "a panic in a library that is linked in the same way is caught"

# bullseye is older than every Debian release that has a server for the module.
if old=$(scripts/chroot.sh bullseye); then
    cp "$release/libroughly.so" "$old/tmp"
    # Every Debian system has perl, which can load a library with RTLD_NOW.
    chroot "$old" env PERL_DL_NONLAZY=1 perl -MDynaLoader -e \
        'DynaLoader::dl_load_file("/tmp/libroughly.so", 0) or die DynaLoader::dl_error(), "\n"' \
        || fail "glibc $(chroot "$old" getconf GNU_LIBC_VERSION) cannot load it"
    rm "$old/tmp/libroughly.so"
    passed "$(chroot "$old" getconf GNU_LIBC_VERSION) of Debian bullseye loads it"
else
    # Mirrors remove old releases. The test of the symbols above covers most of this one.
    passed "SKIPPED: loading the module on Debian bullseye, which is not available"
fi

# on_debian SUITE KIND: on a copy of the suite with Debian's KIND-server, installs the package, adds the include
# line to the server's configuration, uses the module, and removes the package.
on_debian() {
    local suite=$1 kind=$2 system=$dir/$1 before broken client attempt added
    cp -a "$(scripts/chroot.sh "$suite" "$kind-server")" "$system"
    cp "$deb" "$system/tmp/roughly.deb"
    cp "$system/etc/$kind/$kind.conf" "$dir/conf"
    before=$(inventory "$system")
    chroot "$system" dpkg -i /tmp/roughly.deb > /dev/null || fail "dpkg -i on $suite"
    broken=$(broken_links "$system/usr/share/doc/roughly")
    [ -z "$broken" ] || fail "links to files that the package does not have: $broken"
    echo "include /etc/roughly/roughly.conf" >> "$system/etc/$kind/$kind.conf"
    # Start the server as the service does, with its own user and Debian's configuration, but without systemd.
    # Use a Unix socket, because the chroot shares the network of this machine.
    mkdir -p "$system/run/$kind"
    chroot "$system" chown "$kind:$kind" "/run/$kind"
    chroot "$system" setpriv --reuid "$kind" --regid "$kind" --init-groups \
        "/usr/bin/$kind-server" "/etc/$kind/$kind.conf" --daemonize no --port 0 \
        --unixsocket "/run/$kind/socket" > "$dir/$suite.log" 2>&1 &
    server=$!
    client=(chroot "$system" "/usr/bin/$kind-cli" -s "/run/$kind/socket" -e)
    for attempt in {1..100}; do
        "${client[@]}" PING > /dev/null 2>&1 && break
        kill -0 "$server" 2> /dev/null || fail "$kind of $suite does not start: $(tail -n 5 \
            "$dir/$suite.log" "$system/var/log/$kind"/*.log)"
        sleep 0.1
    done
    [ "$("${client[@]}" BF.ADD key item)" = 1 ] || fail "BF.ADD on $suite (after $attempt attempts to connect)"
    [ "$("${client[@]}" BF.EXISTS key item)" = 1 ] || fail "BF.EXISTS on $suite"
    "${client[@]}" MODULE LIST | grep -qx "$module" || fail "MODULE LIST on $suite"
    "${client[@]}" INFO modules | grep -q '^module:name=bf,ver=81200,' || fail "INFO on $suite"
    stop_server
    rm -rf "$system/run/$kind"

    cp "$dir/conf" "$system/etc/$kind/$kind.conf"
    chroot "$system" dpkg --purge roughly > /dev/null 2> "$dir/purge" || fail "dpkg --purge: $(< "$dir/purge")"
    [ ! -s "$dir/purge" ] || fail "dpkg --purge printed: $(< "$dir/purge")"
    diff <(echo "$before" | grep -v "^./run/$kind") <(inventory "$system" | grep -v "^./run/$kind") \
        || fail "the files of $suite differ after the removal"
    passed "the .deb package installs, runs and is removed completely on $suite with $kind $(
        chroot "$system" "/usr/bin/$kind-server" --version | grep -oE 'v=[0-9.]+' | cut -c 3-)"

    chroot "$system" dpkg --purge "$kind-server" "$kind-tools" > "$dir/purge" 2>&1 || fail "$(< "$dir/purge")"
    added=$(chroot "$system" apt-get -s -o APT::Install-Recommends=yes install /tmp/roughly.deb \
        | awk '$1 == "Inst" { print $2 }')
    [ "$added" = roughly ] || fail "apt on $suite without a server also installs: $added"
    passed "apt on $suite does not install a server together with the .deb package"
    rm -rf "$system"
}
on_debian bookworm redis
on_debian trixie valkey

lintian --allow-root --fail-on error,warning "$deb" || fail "lintian"
passed "lintian finds no error and no warning"
