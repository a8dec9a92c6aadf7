#!/usr/bin/env bash
# Prints the path of a program that starts other programs of a target of scripts/targets.sh, with a C library from
# Debian and, for another processor than this machine's, in an emulator. Fetches them if they are missing.
#
#   $(scripts/fetch-libc.sh aarch64-unknown-linux-musl) PROGRAM [ARGUMENT...]
#
# For glibc it is the oldest version that is available, from Debian 11 or 12. Installs nothing and does not need root.
#
# Exit status: 1 if the library is not available, 2 if the target is unknown.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/private-apt.sh
. scripts/targets.sh
target=$1
dir=$PWD/target/libc/$target

say() {
    echo "fetch-libc: $*" >&2
}

# The names of the processors are the same for all libraries.
processor=${target%%-*}
emulator=""
if [ "$processor" != "$(machine_target | cut -d - -f 1)" ]; then
    emulator=$(scripts/fetch-emulator.sh "$target")
fi
case $target in
    *-musl) package=musl suites=(bookworm) ;;
    *) package=libc6 suites=(bullseye bookworm) ;;
esac
if [ -x "$dir/run" ]; then
    echo "$dir/run"
    exit
fi
private_architecture=$(processor_architecture "$target")
for suite in "${suites[@]}"; do
    rm -rf "$dir"
    mkdir -p "$dir/root"
    if private_download "$dir/apt" "$suite" "$package" 2> "$dir/log"; then
        break
    fi
    say "Debian $suite has no $package"
done
for deb in "$dir"/apt/cache/archives/*.deb; do
    if [ ! -e "$deb" ]; then
        cat "$dir/log" >&2
        exit 1
    fi
    dpkg -x "$deb" "$dir/root"
done
rm -rf "$dir/apt"
# The loader is a regular file. musl's C library is its own loader.
loader=$(find "$dir/root" -type f \( -name 'ld-*.so*' -o -path '*-musl/libc.so' \) | LC_ALL=C sort | head -n 1)
libraries=$(find "$dir/root" -name 'libc.so*' -printf '%h\n' | LC_ALL=C sort -u | paste -s -d :)
cat > "$dir/run" << RUNNER
#!/bin/sh
exec ${emulator:+"'$emulator'"} '$loader' --library-path '$libraries' "\$@"
RUNNER
chmod +x "$dir/run"
say "fetched $package of Debian $suite for $target"
echo "$dir/run"
