#!/usr/bin/env bash
# Installs the programs and libraries that a task needs and this machine lacks, as Debian packages, and prints
# what it installs. Changes nothing if all are present. Does not install Rust. Needs root or sudo to install.
#
#   scripts/install.sh NEED...      for example: scripts/install.sh build server
#
# Two of these can run at the same time: they use apt-get one after the other, and wait up to ten minutes for other programs that
# install packages, such as unattended-upgrades.
#
# The end of this file lists the needs.
#
# Environment:
#   ROUGHLY_SERVER  server program; if it is set, the need "server" installs nothing
#   LIBCLANG_PATH   directory of libclang; if it is set, libclang is not installed
#
# Exit status: 1 if an installation failed, 2 if a need is unknown.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:${CARGO_HOME:-$HOME/.cargo}/bin

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
        # By default, sudo removes the variables of a proxy.
        sudo env ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} "$@"
    else
        say "root or sudo is required for: $*"
        return 1
    fi
}

# Debian starts a newly installed server as a service, which would listen on port 6379. While /usr/sbin/policy-rc.d exits with 101,
# packages start no services. The lock is that of the machine: another run, also in another directory, would remove the policy.
apt_install() {
    # shellcheck disable=SC2016
    as_root flock /run/lock/roughly-install sh -c '
        policy=/usr/sbin/policy-rc.d line="# Temporary, of the installation of packages for Roughly."
        if [ ! -e $policy ] || grep -xF "$line" $policy > /dev/null; then
            trap "rm -f $policy" EXIT
            # A second signal would end the removal.
            trap "trap \"\" HUP INT TERM; exit 1" HUP INT TERM
            printf "#!/bin/sh\n%s\nexit 101\n" "$line" > $policy && chmod 755 $policy
        fi
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 "$@"
    ' sh "$@" < /dev/null
}

# apt_update: downloads the lists of packages. apt-get waits for the lock of the packages, but not for that of the lists.
apt_update() {
    local errors
    for _ in {1..3000}; do
        errors=$(as_root apt-get update -qq 2>&1 > /dev/null) && return
        grep -qF /lists/lock <<< "$errors" || break
        sleep 0.05
    done
    echo "$errors" >&2
    return 1
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
    # The package lists may be missing or outdated.
    apt_install "$@" || { apt_update && apt_install "$@"; }
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
    local required
    required=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    if ! printf '%s\n' "$required" "$(cargo --version | cut -d ' ' -f 2)" | sort -VC; then
        say "$(cargo --version) is too old: install Rust $required or later, with rustup (Debian 13: apt-get install rustup)"
        return 1
    fi
    has_c_compiler || install "a C compiler is missing" gcc libc6-dev
    has_libclang || install "libclang is missing" libclang-dev
}

need_server() {
    if [ -n "${ROUGHLY_SERVER:-}" ] || on_path redis-server || on_path valkey-server; then
        return 0
    fi
    # Each Debian release has redis-server, valkey-server or both.
    install "no Redis or Valkey server on the PATH" redis-server redis-tools \
        || install "no Redis or Valkey server on the PATH" valkey-server valkey-tools
}

need_lint() {
    local component directory=target/promtool
    for component in fmt clippy; do
        if ! cargo "$component" --version > /dev/null 2>&1; then
            say "the toolchain has no $component: adding it with rustup (Debian's Rust: install rustfmt and rust-clippy)"
            rustup component add "${component/fmt/rustfmt}"
        fi
    done
    need_tools
    if on_path promtool || [ -x "$directory/promtool" ]; then
        return 0
    fi
    # Unpacked, not installed: Debian's package also has Prometheus itself, which would run as a service.
    say "promtool is missing: unpacking it from the Debian package prometheus into $directory"
    rm -rf "$directory"
    mkdir -p "$directory"
    apt_update
    (cd "$directory" && apt-get -qq -o APT::Sandbox::User=root download prometheus)
    dpkg-deb --fsys-tarfile "$directory"/prometheus_*.deb | tar -xO ./usr/bin/promtool > "$directory/new"
    rm "$directory"/prometheus_*.deb
    chmod +x "$directory/new"
    mv "$directory/new" "$directory/promtool"
}

need_tools() {
    python_packages target/tools scripts/requirements.txt
}

# program NAME PACKAGE...: installs the packages if the program is missing.
program() {
    on_path "$1" || install "$1 is missing" "${@:2}"
}

# On Debian, venv with pip needs the package python3-venv.
need_venv() {
    python3 -c 'import ensurepip, venv' 2> /dev/null || install "Python with venv is missing" python3 python3-venv
}

# environment REQUIREMENTS: prints what identifies a virtual environment, which contains its path and that of Python.
environment() {
    echo "# $PWD, $(python3 --version 2> /dev/null)"
    cat "$1"
}

# python_packages DIRECTORY REQUIREMENTS: creates a virtual environment with exactly these packages.
python_packages() {
    local directory=$1 requirements=$2
    if ! environment "$requirements" | cmp -s - "$directory/requirements.txt"; then
        say "installing the Python packages of $requirements into $directory"
        need_venv
        rm -rf "$directory"
        python3 -m venv "$directory"
        "$directory/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
        # Last, so that the next run repeats a failed installation.
        environment "$requirements" > "$directory/requirements.txt"
    fi
}

need_clients() {
    local go_client=/usr/share/gocode/src/github.com/gomodule/redigo
    local lock=tests/clients/node/package-lock.json node=target/clients/node
    python_packages target/clients/python tests/clients/python/requirements.txt
    program node nodejs
    if ! cmp -s "$lock" "$node/installed.json"; then
        program npm npm
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

for need in "$@"; do
    case $need in
        # build: a C compiler, and libclang, with which bindgen generates the module's bindings from the server's header.
        # server: a server with its command-line client. tools: the programs of scripts/requirements.txt, under target/tools.
        # lint: these, rustfmt, clippy and promtool. venv: Python with virtual environments and pip.
        # clients: Python, Node and Go with the clients of tests/clients, under target/clients.
        build | server | lint | tools | venv | clients) "need_$need" ;;
        # The client of the examples in docs/ and of copy-sketches. Debian's package works only with Debian's own Python.
        examples) /usr/bin/python3 -c 'import redis' 2> /dev/null || install "Python's Redis client is missing" python3 python3-redis ;;
        # Unpacks and builds a Debian source package.
        source)
            for tool in dpkg-source make patch cc; do
                program $tool dpkg-dev make patch xz-utils gcc libc6-dev
            done
            ;;
        musl) program musl-gcc musl-tools ;;
        fuzz)
            # To build libFuzzer.
            program c++ g++
            on_path cargo-fuzz || cargo install --locked cargo-fuzz
            ;;
        browser)
            program chromium chromium
            need_tools
            ;;
        valgrind | lintian | git | debootstrap | buildah | docker-compose) program "$need" "$need" ;;
        # The build tool of the Python package.
        python) python_packages target/python python/requirements.txt ;;
        python-tests)
            # In the same environment, so that `make python` before and after the tests builds only what changed.
            python_packages target/python python/requirements.txt
            target/python/bin/pip install --quiet --disable-pip-version-check -r python/tests/requirements.txt
            ;;
        python-engines)
            python_packages target/engines python/tests/engines.txt
            # Debian's Java runs Spark.
            program java default-jre-headless
            ;;
        # Compresses wheels.
        advzip) program advzip advancecomp ;;
        # The C compiler and linker of the packages.
        zig) python_packages target/zig packaging/requirements.txt ;;
        # The bill of materials of a release. Pinned, because the output of another version can differ.
        sbom) cargo cyclonedx --version 2> /dev/null | grep -F " 0.5.9" > /dev/null || cargo install --quiet --locked --debug cargo-cyclonedx@0.5.9 ;;
        *)
            say "unknown need: $need"
            exit 2
            ;;
    esac
done
