#!/usr/bin/env bash
# Creates a minimal Debian system in target/chroots/SUITE, for testing packages, and prints its path.
#
#   scripts/chroot.sh SUITE [PACKAGE...]
#   scripts/chroot.sh bookworm redis-server
#
# The system contains Debian's minimal packages and PACKAGE... It is created once; later calls only print the
# path. No package starts a service in it. Needs root.
#
# Exit status: 1 if no archive has the release.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=$1
shift
dir=$PWD/target/chroots/$suite

if [ -e "$dir/made" ]; then
    echo "$dir"
    exit
fi
scripts/install.sh chroot
PATH=$PATH:/usr/sbin
echo "chroot: creating a Debian $suite system in target/chroots/$suite" >&2
# Try the archives that this machine uses for its own packages.
# shellcheck disable=SC2016
for mirror in $(apt-get indextargets --format '$(COMPONENT) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' \
    | awk '$1 == "main" && $2 !~ /security/ && !seen[$3]++ { print $3 }'); do
    rm -rf "$dir"
    mkdir -p "$dir"
    if debootstrap --variant=minbase ${1:+--include="$(IFS=, && echo "$*")"} "$suite" "$dir" "$mirror" \
        > "$dir.log" 2>&1; then
        printf '#!/bin/sh\nexit 101\n' > "$dir/usr/sbin/policy-rc.d"
        chmod +x "$dir/usr/sbin/policy-rc.d"
        rm -rf "$dir"/var/cache/apt/archives/*.deb
        touch "$dir/made"
        echo "$dir"
        exit
    fi
done
tail -n 5 "$dir.log" >&2
echo "chroot: Debian $suite is not available" >&2
exit 1
