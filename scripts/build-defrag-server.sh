#!/usr/bin/env bash
# Builds a server that supports active defragmentation: target/servers/redis-defrag/server. Takes no arguments.
# Does nothing if the server exists.
#
# Active defragmentation needs the extended jemalloc in Redis's sources. Debian's packages are linked with the
# system's jemalloc and refuse activedefrag. This script builds Debian's source package of Redis 7.0 (bookworm)
# with the extended jemalloc. It installs only the build tools.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/private-apt.sh
dir=$PWD/target/servers/redis-defrag

say() {
    echo "build-defrag-server: $*" >&2
}

if [ -x "$dir/server" ] && "$dir/server" --version > /dev/null 2>&1; then
    exit 0
fi
if ! command -v apt-get > /dev/null || ! command -v dpkg > /dev/null; then
    say "apt-get and dpkg are required, because the server is a Debian package"
    exit 1
fi
scripts/install.sh source
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

say "building Redis with the jemalloc in its sources (log in target/servers/redis-defrag/build.log)"
# Debian's patch selects the system's jemalloc if USE_SYSTEM_JEMALLOC equals an undefined name, which the
# preprocessor evaluates to 0. Any other number selects the jemalloc in the sources.
if ! make -C redis/src -j"$(nproc)" redis-server MALLOC=jemalloc REDIS_CFLAGS=-DUSE_SYSTEM_JEMALLOC=1 \
    > "$dir/build.log" 2>&1; then
    tail -n 20 "$dir/build.log" >&2
    say "the build failed"
    exit 1
fi
mv redis/src/redis-server "$dir/server"
cd "$dir"
rm -rf source apt
"$dir/server" --version >&2
