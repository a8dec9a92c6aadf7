#!/usr/bin/env bash
# Checks that the crates can be published and what the modules require, and installs, uses and removes the release
# tarballs and the Debian packages. Builds all of them first. `make release` also builds the wheels for other machines. Takes no arguments.
#
# The package for this machine's architecture is installed on Debian systems that scripts/fetch.sh chroot creates, with the
# servers of those releases. scripts/test-platform.sh loads the modules for arm64 and musl into servers.
#
# On this machine it installs only build tools, debootstrap and lintian. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/targets.sh
. scripts/testing.sh
needs_root
machine=$(machine_target)
version=$(package_version)
dir=$(mktemp -d "${TMPDIR:-/tmp}/roughly-packages-XXXXXX")
trap 'stop_server; rm -rf "$dir"' EXIT

# deb_of TARGET: prints the path of the Debian package.
deb_of() {
    echo "target/dist/roughly_${version}_$(debian_architecture "$1").deb"
}

# check_crates: packages the crates roughly-dump and roughly-sketch, builds them from the packages, and checks the files in
# the packages. Needs cargo 1.90 or later, which can package a crate together with another one that is not published yet.
check_crates() {
    local crate package file tests
    # --allow-dirty: the test also runs before a commit.
    cargo publish --quiet --dry-run --locked --allow-dirty -p roughly-dump -p roughly-sketch
    for crate in roughly-dump roughly-sketch; do
        # cargo unpacks each package into this directory and builds it there.
        package=target/package/$crate-$version
        for file in LICENSE-APACHE LICENSE-MIT; do
            cmp "$file" "$package/$file" || fail "$file of $crate"
        done
        tests=$(find "$package" -name tests -o -name proptest-regressions)
        [ -z "$tests" ] || fail "the package of $crate has tests, which need files of the repository: $tests"
    done
    passed "roughly-dump and roughly-sketch can be published"
}

# check_module TARGET: checks the libraries and symbols that a module requires, and loads it with a C library of Debian, in
# an emulator if the processor is another one than this machine's.
check_module() {
    local target=$1 loader=$dir/loader-$1 module symbols newest oldest libraries run
    module=$dir/roughly-$version-$(platform "$1")/libroughly.so
    symbols=$(readelf -VW "$module" | sed -nE 's/.*(GLIBC_[0-9.]+).*/\1/p' | sort -uV)
    libraries=$(readelf -dW "$module" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
    case $target in
        *-musl)
            [ -z "$symbols" ] || fail "the module for $target requires glibc: $symbols"
            libraries=$(grep -vx 'libc\.so' <<< "$libraries" || true)
            ;;
        *)
            newest=$(tail -n 1 <<< "${symbols:?the module for $target has no glibc symbols}")
            oldest=$(target_field "$target" 4 | sed 's/.*-gnu\./GLIBC_/')
            [ "$(printf '%s\n' "$newest" "$oldest" | sort -V | tail -n 1)" = "$oldest" ] || fail "the module for $target requires $newest"
            libraries=$(grep -vxE '(libc\.so\.6|libm\.so\.6|libpthread\.so\.0|libdl\.so\.2|ld-linux-.*)' <<< "$libraries" || true)
            ;;
    esac
    [ -z "$libraries" ] || fail "the module for $target requires the libraries $libraries"
    passed "$target: the module requires only the C library${newest:+, and no symbols newer than $newest}"

    "$(scripts/cross.sh "$target" cc)" -dynamic -o "$loader" tests/loader.c -ldl
    run=$(scripts/fetch.sh libc "$target")
    "$run" "$loader" "$module" || fail "the module for $target does not load"
    # Command handlers catch panics, so the unwinder that the linker adds must work. No known command makes the module
    # panic; a minimal library that is linked in the same way panics instead.
    CARGO_PROFILE_RELEASE_STRIP=symbols scripts/cross.sh "$target" cargo build --quiet --release --package panics
    [ "$("$run" "$loader" "$PWD/target/portable/$target/$target/release/libpanics.so" caught 2> /dev/null || true)" = 1 ] \
        || fail "a library for $target does not catch a panic"
    passed "$target: the module loads with a C library of Debian; a library that is linked in the same way catches a panic"
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

# check_programs ROOT [COMMAND...]: checks the programs and their files in the directory ROOT. Runs the programs here, or with COMMAND in a
# system without Python.
check_programs() {
    local root=$1 file program python
    shift
    for file in bin/copy-sketches bin/bf-exporter share/roughly/install.sh share/roughly/alerts.yml share/roughly/bf-stats.lua \
        share/roughly/dashboard.json lib/systemd/system/bf-exporter.service; do
        [ -f "$root/usr/$file" ] || fail "/usr/$file is not installed"
    done
    [ "$(stat -c %a "$root/etc/default/bf-exporter")" = 600 ] || fail "other users can read /etc/default/bf-exporter"
    for program in copy-sketches bf-exporter; do
        if [ $# -eq 0 ]; then
            # Debian's Python has the library of copy-sketches.
            PATH=/usr/bin:/bin "$root/usr/bin/$program" --help > /dev/null || fail "the installed $program does not run"
        else
            python=$("$@" "$program" --help 2>&1) && fail "$program runs without Python"
            grep -q python3 <<< "$python" || fail "$program without Python: $python"
        fi
    done
}

# owners DIRECTORY: lists the files of a directory with their owners.
owners() {
    (cd "$1" && find . -printf '%U %p\n' | LC_ALL=C sort)
}

scripts/install.sh build debootstrap lintian examples
check_crates
scripts/dist.sh tarball deb
# A single package is built without the others, and has the same bytes.
package=$(deb_of "$machine")
mv "$package" "$dir/release.deb"
scripts/dist.sh machine deb > "$dir/dist"
cmp "$package" "$dir/release.deb" || fail "scripts/dist.sh machine deb builds another package than scripts/dist.sh"
[ "$(wc -l < "$dir/dist")" -eq 1 ] || fail "scripts/dist.sh machine deb also builds: $(< "$dir/dist")"
passed "a single Debian package is built without the other packages"
for target in $(all_targets); do
    tar -xzf "target/dist/roughly-$version-$(platform "$target").tar.gz" -C "$dir"
    (cd "$dir/roughly-$version-$(platform "$target")" && sha256sum --quiet -c SHA256SUMS) \
        || fail "checksums in the tarball for $target"
    check_module "$target"
done
release=$dir/roughly-$version-$(platform "$machine")
grep -q '^redis-module ' "$release/THIRD-PARTY.txt" || fail "THIRD-PARTY.txt lists no redis-module"
mkdir "$dir/root"
DESTDIR=$dir/root "$release/install.sh" > /dev/null
module=/usr/lib/redis/modules/libroughly.so
cmp "$release/libroughly.so" "$dir/root$module" || fail "the installed module differs from the packaged one"
documents=$dir/root/usr/share/doc/roughly
broken=$(broken_links "$documents")
[ -z "$broken" ] || fail "links to files that are not installed: $broken"
(cd examples && find . \( -name node_modules -o -name target -o -name __pycache__ \) -prune -o -type f -print) | while read -r file; do
    cmp -s "examples/$file" "$documents/examples/$file" || fail "the example $file is not installed"
done
for file in docs/contributing CONTRIBUTING.md CODE_OF_CONDUCT.md scripts packaging/monitoring; do
    [ ! -e "$documents/$file" ] || fail "$file is installed as a document"
done
check_programs "$dir/root"
left_after_uninstall() {
    (cd "$dir/root" && find . ! -type d -o -name '*roughly*' ! -path ./opt/roughly -o -name redis)
}
DESTDIR=$dir/root "$release/install.sh" uninstall > /dev/null
[ -z "$(left_after_uninstall)" ] || fail "uninstall left $(left_after_uninstall)"
for variables in LIBDIR=/usr/lib64 PREFIX=/opt/roughly; do
    env DESTDIR="$dir/root" "$variables" "$release/install.sh" > /dev/null
    installed=$(cd "$dir/root" && find . -name libroughly.so)
    case $variables in LIBDIR*) expected=usr/lib64 prefix=usr ;; *) expected=opt/roughly/lib prefix=opt/roughly ;; esac
    "$dir/root/$prefix/bin/bf-exporter" --help > /dev/null || fail "$variables: bf-exporter does not run"
    grep -q "^ExecStart=/$prefix/bin/bf-exporter " "$dir/root/$prefix/lib/systemd/system/bf-exporter.service" || fail "$variables: the unit"
    [ "$installed" = "./$expected/redis/modules/libroughly.so" ] || fail "$variables installs $installed"
    : > "$dir/conf"
    env DESTDIR="$dir/root" "$variables" "$release/install.sh" --configure "$dir/conf" > /dev/null
    grep -qx "loadmodule /$expected/redis/modules/libroughly.so" "$dir/conf" || fail "$variables: $(< "$dir/conf")"
    env DESTDIR="$dir/root" "$variables" "$release/install.sh" uninstall > /dev/null
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
rm -rf "$dir/clone"
passed "make install and make uninstall do not write to the clone"

# use_server KIND: starts the KIND-server of $system as the service does, with its own user and Debian's configuration, but without systemd;
# uses the module, and stops the server. With a Unix socket, because the chroot shares the network of this machine.
use_server() {
    local kind=$1 user replies client
    client=(chroot "$system" "/usr/bin/$kind-cli" -s "/run/$kind/socket" -e)
    user=$(stat -c %u:%g "$system/var/lib/$kind")
    install -d -o "${user%:*}" -g "${user#*:}" "$system/run/$kind"
    # The system has no locales.
    LC_ALL=C chroot --userspec="$user" "$system" "/usr/bin/$kind-server" "/etc/$kind/$kind.conf" --daemonize no --port 0 \
        --unixsocket "/run/$kind/socket" > "$dir/server.log" 2>&1 &
    server=$!
    wait_for_server "${client[@]}" || fail "the server does not start: $(tail -n 5 "$dir/server.log" "$system"/var/log/*/*.log)"
    [ "$("${client[@]}" BF.ADD key item)" = 1 ] || fail "BF.ADD on $kind"
    [ "$("${client[@]}" BF.EXISTS key item)" = 1 ] || fail "BF.EXISTS on $kind"
    replies=$("${client[@]}" MODULE LIST)
    grep -qxF "$module" <<< "$replies" || fail "MODULE LIST on $kind"
    replies=$("${client[@]}" INFO modules)
    grep -q '^module:name=bf,ver=81200,' <<< "$replies" || fail "INFO on $kind"
    stop_server
}

# on_debian SUITE KIND: on a copy of the suite with Debian's KIND-server, installs the package, adds the line that loads the
# module to the server's configuration, uses the module, and removes the package.
on_debian() {
    local suite=$1 kind=$2 system=$dir/$1 before broken runtime='^\./run/(redis|valkey)'
    new_system "$system" "$suite" "$kind-server"
    cp "$(deb_of "$machine")" "$system/tmp/roughly.deb"
    before=$(inventory "$system")
    chroot "$system" dpkg -i /tmp/roughly.deb > /dev/null || fail "dpkg -i on $suite"
    broken=$(broken_links "$system/usr/share/doc/roughly")
    [ -z "$broken" ] || fail "links to files that the package does not have: $broken"
    check_programs "$system" chroot "$system"
    passed "copy-sketches and bf-exporter report on $suite that Python is missing"
    chroot "$system" /usr/share/roughly/install.sh --configure "/etc/$kind/$kind.conf" > "$dir/configure" 2>&1 \
        || fail "--configure on $suite: $(< "$dir/configure")"
    use_server "$kind"
    chroot "$system" dpkg --purge roughly > /dev/null 2> "$dir/purge" || fail "dpkg --purge: $(< "$dir/purge")"
    [ ! -s "$dir/purge" ] || fail "dpkg --purge printed: $(< "$dir/purge")"
    diff <(grep -vE "$runtime" <<< "$before") <(inventory "$system" | grep -vE "$runtime") || fail "files of $suite differ after the removal"
    passed "the .deb package installs, runs and is removed completely on $suite with $kind $(
        chroot "$system" "/usr/bin/$kind-server" --version | grep -oE 'v=[0-9.]+' | cut -c 3-)"

    chroot "$(scripts/fetch.sh chroot "$suite" python3-redis)" python3 - --help < scripts/copy-sketches > /dev/null \
        || fail "copy-sketches does not run with the library of $suite"
    passed "copy-sketches runs with the library of $suite"
    rm -rf "$system"
}
on_debian bookworm redis
on_debian trixie valkey

for target in $(debian_targets); do
    lintian --allow-root --fail-on error,warning "$(deb_of "$target")" || fail "lintian for $target"
done
passed "lintian finds no error and no warning"
