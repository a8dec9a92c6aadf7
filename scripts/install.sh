#!/usr/bin/env bash
# Installs the programs and libraries that a task needs and this machine lacks, as Debian packages, and prints
# what it installs. Changes nothing if all are present. Does not install Rust. Needs root or sudo to install.
#
#   scripts/install.sh NEED...      for example: scripts/install.sh build server
#
# Values of NEED:
#   build    a C compiler and libclang (bindgen generates the module's bindings from the server's header)
#   server   redis-server or valkey-server with its command-line client
#   source   the tools that unpack and build a Debian source package
#   musl     a C compiler for musl's C library
#   lint     rustfmt and clippy, and cargo-deny, typos and hadolint under target/lint
#   promtool promtool of Prometheus, which tests the alert rules, under target/promtool
#   fuzz     cargo-fuzz and the C++ compiler that builds libFuzzer
#   valgrind valgrind
#   browser  Chromium, in which the tests of docs/sizing.html and of the documentation site run
#   site     the generator of the documentation site, under target/site-tools
#   examples the Python client for Redis that the examples in docs/ use
#   clients  Python, Node, and the clients of tests/clients, under target/clients; Go with a Redis client
#   zig      the C compiler and linker of the packages, under target/zig
#   sbom     cargo-cyclonedx, which writes the bill of materials of a release
#   chroot   debootstrap, which creates the systems for testing packages
#   lintian  lintian, which checks the Debian package
#   image    Buildah, which builds container images, and docker-compose, which checks compose.yaml
#
# Environment:
#   ROUGHLY_SERVER  server program; if it is set, the need "server" installs nothing
#   LIBCLANG_PATH   directory of libclang; if it is set, libclang is not installed
#
# Exit status: 1 if an installation failed, 2 if a need is unknown.
set -euo pipefail
cd "$(dirname "$0")/.."

say() {
    echo "install: $*" >&2
}

on_path() {
    command -v "$1" > /dev/null 2>&1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif on_path sudo; then
        sudo "$@"
    else
        say "root or sudo is required for: $*"
        return 1
    fi
}

# Debian starts a newly installed server as a service, which would listen on port 6379. While
# /usr/sbin/policy-rc.d exits with 101, packages start no services.
policy=/usr/sbin/policy-rc.d
made_policy=no
forbid_services() {
    if [ ! -e "$policy" ]; then
        # shellcheck disable=SC2016
        as_root sh -c 'printf "#!/bin/sh\nexit 101\n" > "$1" && chmod +x "$1"' sh "$policy"
        made_policy=yes
    fi
}
allow_services() {
    if [ "$made_policy" = yes ]; then
        as_root rm -f "$policy"
        made_policy=no
    fi
}
trap allow_services EXIT

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$@" < /dev/null
}

# install WHY PACKAGE...
install() {
    local why=$1
    shift
    if ! on_path apt-get; then
        say "$why, and there is no apt-get: install the equivalent of the Debian packages $*"
        return 1
    fi
    say "$why: installing the Debian packages $*"
    forbid_services
    # The package lists may be missing or outdated.
    if ! apt_install "$@"; then
        as_root apt-get update -qq
        apt_install "$@"
    fi
    allow_services
}

has_c_compiler() {
    on_path cc && echo '#include <stdlib.h>' | cc -E - > /dev/null 2>&1
}

# libclang needs its own C headers.
has_libclang() {
    [ -n "${LIBCLANG_PATH:-}" ] && return 0
    compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' > /dev/null \
        && compgen -G '/usr/lib/llvm-*/lib/clang/*/include/stddef.h' > /dev/null
}

need_build() {
    if ! on_path cargo; then
        say "cargo is not on the PATH: install Rust first, with rustup or from your distribution"
        return 1
    fi
    has_c_compiler || install "a C compiler is missing" gcc libc6-dev
    has_libclang || install "libclang is missing" libclang-dev
}

has_package() {
    apt-cache show "$1" > /dev/null 2>&1
}

need_server() {
    if [ -n "${ROUGHLY_SERVER:-}" ] || on_path redis-server || on_path valkey-server; then
        return 0
    fi
    # Each Debian release has redis-server, valkey-server or both.
    if on_path apt-cache && ! has_package redis-server && ! has_package valkey-server; then
        as_root apt-get update -qq
    fi
    if has_package redis-server || ! has_package valkey-server; then
        install "no Redis or Valkey server on the PATH" redis-server redis-tools
    else
        install "no Redis or Valkey server on the PATH" valkey-server valkey-tools
    fi
}

need_source() {
    if ! on_path dpkg-source || ! on_path make || ! on_path patch || ! has_c_compiler; then
        install "tools that build a source package are missing" dpkg-dev make patch xz-utils gcc libc6-dev
    fi
}

need_musl() {
    on_path musl-gcc || install "the C compiler for musl is missing" musl-tools
}

need_lint() {
    local component
    for component in rustfmt clippy; do
        if ! cargo "${component/rustfmt/fmt}" --version > /dev/null 2>&1; then
            say "the toolchain has no $component: adding it with rustup"
            rustup component add "$component"
        fi
    done
    python_packages target/lint scripts/lint-requirements.txt
}

# Unpacked, not installed: Debian's package also has Prometheus itself, which would run as a service.
need_promtool() {
    local directory=target/promtool
    if on_path promtool || [ -x "$directory/promtool" ]; then
        return 0
    fi
    if ! on_path apt-get; then
        say "promtool is missing, and there is no apt-get: install Prometheus"
        return 1
    fi
    say "promtool is missing: unpacking it from the Debian package prometheus into $directory"
    rm -rf "$directory"
    mkdir -p "$directory"
    # The package lists may be missing or outdated.
    if ! (cd "$directory" && apt-get -qq -o APT::Sandbox::User=root download prometheus); then
        as_root apt-get update -qq
        (cd "$directory" && apt-get -qq -o APT::Sandbox::User=root download prometheus)
    fi
    dpkg-deb --fsys-tarfile "$directory"/prometheus_*.deb \
        | tar -x -C "$directory" --strip-components=3 ./usr/bin/promtool
    rm "$directory"/prometheus_*.deb
}

need_fuzz() {
    on_path c++ || install "a C++ compiler is missing" g++
    if ! on_path cargo-fuzz && [ ! -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo-fuzz" ]; then
        say "cargo-fuzz is missing: installing it with cargo"
        cargo install --locked cargo-fuzz
    fi
}

need_valgrind() {
    on_path valgrind || install "valgrind is missing" valgrind
}

need_site() {
    python_packages target/site-tools scripts/site/requirements.txt
}

need_browser() {
    on_path chromium || install "the browser Chromium is missing" chromium
}

# The Debian package works only with Debian's own Python, not with another one on the PATH.
need_examples() {
    /usr/bin/python3 -c 'import redis' 2> /dev/null \
        || install "Python's Redis client is missing" python3 python3-redis
}

# On Debian, venv with pip needs the package python3-venv.
need_python() {
    if ! on_path python3 || ! python3 -c 'import ensurepip, venv' 2> /dev/null; then
        install "Python with venv is missing" python3 python3-venv
    fi
}

# python_packages DIRECTORY REQUIREMENTS: creates a virtual environment with exactly these packages.
python_packages() {
    local directory=$1 requirements=$2
    if ! cmp -s "$requirements" "$directory/requirements.txt"; then
        say "installing the Python packages of $requirements into $directory"
        need_python
        rm -rf "$directory"
        python3 -m venv "$directory"
        "$directory/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
        # Last, so that the next run repeats a failed installation.
        cp "$requirements" "$directory/requirements.txt"
    fi
}

need_clients() {
    local go_client=/usr/share/gocode/src/github.com/gomodule/redigo
    local lock=tests/clients/node/package-lock.json node=target/clients/node
    python_packages target/clients/python tests/clients/python/requirements.txt
    on_path node || install "Node is missing" nodejs
    if ! cmp -s "$lock" "$node/installed.json"; then
        on_path npm || install "npm is missing" npm
        say "installing the Node packages of $lock into $node"
        mkdir -p "$node"
        cp tests/clients/node/package.json "$lock" "$node"
        (cd "$node" && npm ci --silent --no-fund --no-audit)
        cp "$lock" "$node/installed.json"
    fi
    # Debian's client for Go is a directory of sources.
    if ! on_path go || [ ! -d "$go_client" ]; then
        install "Go or its Redis client is missing" golang-go golang-github-gomodule-redigo-dev
    fi
}

need_zig() {
    python_packages target/zig packaging/requirements.txt
}

# Pinned, because the output of another version can differ.
need_sbom() {
    local version=0.5.9
    if ! cargo cyclonedx --version 2> /dev/null | grep -qF " $version"; then
        say "cargo-cyclonedx $version is missing: installing it with cargo"
        cargo install --quiet --locked --debug "cargo-cyclonedx@$version"
    fi
}

need_chroot() {
    on_path debootstrap || [ -x /usr/sbin/debootstrap ] \
        || install "debootstrap is missing" debootstrap
}

need_lintian() {
    on_path lintian || install "lintian is missing" lintian
}

need_image() {
    on_path buildah || install "Buildah is missing" buildah
    on_path docker-compose || install "docker-compose is missing" docker-compose
}

for need in "$@"; do
    case $need in
        build | server | source | musl | lint | promtool | fuzz | valgrind | browser | site | examples | clients | zig \
            | sbom | chroot | lintian | image)
            "need_$need"
            ;;
        *)
            say "unknown need: $need"
            exit 2
            ;;
    esac
done
