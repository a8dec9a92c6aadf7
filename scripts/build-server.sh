#!/usr/bin/env bash
# Builds servers that Debian does not package, from Debian's source package of Redis 7.0 (bookworm). Installs only
# the build tools. Does nothing if the server exists.
#
#   scripts/build-server.sh defrag    target/servers/redis-defrag/server, which supports active defragmentation:
#                                     it contains the extended jemalloc of Redis's sources; Debian's packages are
#                                     linked with the system's jemalloc and refuse activedefrag
#   scripts/build-server.sh musl      target/servers/redis-musl/server and cli, linked with musl's C library
#
# Exit status: 1 if the server is not available, 2 if the name is unknown.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/private-apt.sh
name=${1:-}
dir=$PWD/target/servers/redis-$name

say() {
    echo "build-server: $*" >&2
}

case $name in
    defrag)
        # Debian's patch selects the system's jemalloc if USE_SYSTEM_JEMALLOC equals an undefined name, which the
        # preprocessor evaluates to 0. Any other number selects the jemalloc in the sources.
        needs=(source)
        options=(redis-server MALLOC=jemalloc REDIS_CFLAGS=-DUSE_SYSTEM_JEMALLOC=1)
        ;;
    musl)
        needs=(source musl)
        options=(redis-server redis-cli MALLOC=libc CC=musl-gcc)
        ;;
    *)
        say "unknown server: $name; the servers are defrag and musl"
        exit 2
        ;;
esac
if [ -x "$dir/server" ] && "$dir/server" --version > /dev/null 2>&1; then
    exit 0
fi
if ! command -v apt-get > /dev/null || ! command -v dpkg > /dev/null; then
    say "apt-get and dpkg are required, because the server is a Debian package"
    exit 1
fi
scripts/install.sh "${needs[@]}"
rm -rf "$dir"
mkdir -p "$dir/source"
cd "$dir/source"

say "fetching the source package redis of Debian bookworm"
fetched=no
for archive in $(archives); do
    if private_lists "$dir/apt" deb-src bookworm "$archive" \
        && private_apt "$dir/apt" source --download-only redis > /dev/null; then
        fetched=yes
        break
    fi
done
if [ "$fetched" = no ]; then
    say "the source package is not available"
    rm -rf "$dir"
    exit 1
fi
dpkg-source --no-check -x redis_*.dsc redis > /dev/null 2>&1

say "building Redis (log in ${dir#"${PWD%/target/*}/"}/build.log)"
if ! make -C redis/src -j"$(nproc)" "${options[@]}" > "$dir/build.log" 2>&1; then
    tail -n 20 "$dir/build.log" >&2
    say "the build failed"
    exit 1
fi
mv redis/src/redis-server "$dir/server"
[ ! -x redis/src/redis-cli ] || mv redis/src/redis-cli "$dir/cli"
cd "$dir"
rm -rf source apt
"$dir/server" --version >&2
