#!/usr/bin/env bash
# Prints the path of the program that emulates the processor of TARGET (scripts/targets.sh) on this machine. Fetches
# QEMU's emulators from Debian's unstable release into target/qemu if they are missing.
#
#   scripts/fetch-emulator.sh aarch64-unknown-linux-gnu
#
# Installs nothing and does not need root. QEMU 7.2 of Debian 12 is too old: tests fail because of its own defects.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/private-apt.sh
dir=$PWD/target/qemu
program=$dir/root/usr/bin/qemu-${1%%-*}

if ! "$program" --version > /dev/null 2>&1; then
    echo "fetch-emulator: fetching qemu-user from Debian sid into target/qemu" >&2
    rm -rf "$dir"
    mkdir -p "$dir/root"
    if ! private_download "$dir/apt" sid qemu-user; then
        echo "fetch-emulator: qemu-user is not available" >&2
        exit 1
    fi
    for deb in "$dir"/apt/cache/archives/*.deb; do
        dpkg -x "$deb" "$dir/root"
    done
    rm -rf "$dir/apt"
    "$program" --version >&2
fi
echo "$program"
