#!/usr/bin/env bash
# Builds a server that can defragment its memory while it runs, into target/servers/redis-defrag/server.
#
# That takes the jemalloc which Redis brings along, with a hint of its own; Debian's packages link the plain
# one and refuse activedefrag. So the source package of Debian's Redis 7.0 (bookworm) is built with the
# jemalloc in it. Nothing is installed but what builds it.
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
    say "this works with Debian's packages, and there is no apt-get or dpkg here"
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
    say "the source package is not to be had here"
    rm -rf "$dir"
    exit 1
fi
dpkg-source --no-check -x redis_*.dsc redis > /dev/null 2>&1

say "building it with its own jemalloc (log in target/servers/redis-defrag/build.log)"
# Debian's patch for the system's jemalloc compares USE_SYSTEM_JEMALLOC with a word, which the preprocessor
# takes for 0 as it does an undefined name; any other number leaves Redis its own.
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
