#!/usr/bin/env bash
# Makes a small Debian system of another release with some packages more, for trying packages on, and
# prints where it is: target/chroots/SUITE. It is made once; nothing of it ever runs as a service.
#
#   scripts/chroot.sh bookworm redis-server
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
echo "chroot: making a Debian $suite in target/chroots" >&2
# No host is named here: the suite is looked for where this machine gets its own packages from.
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
echo "chroot: Debian $suite is not to be had here" >&2
exit 1
