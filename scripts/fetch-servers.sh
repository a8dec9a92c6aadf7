#!/usr/bin/env bash
# Fetches the servers of the test matrix into target/servers/NAME: Debian's own packages of other
# releases, unpacked beside the libraries they were built against, nothing installed.
#
#   scripts/fetch-servers.sh            all that can be had; prints what cannot
#   scripts/fetch-servers.sh redis-8.0  only the named ones
#
# No host is named here: the extra suites are made from a copy of the machine's own Debian sources.
# Each NAME gets two executables, NAME/server and NAME/cli, which start the unpacked binary, through
# its release's own loader where the machine's C library would not do.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/target/servers
mkdir -p "$root"

# name, suite, package, binary
matrix() {
    cat <<'LIST'
redis-7.0 bookworm redis redis
valkey-8.0 bookworm-backports valkey valkey
redis-8.0 trixie redis redis
valkey-8.1 trixie valkey valkey
valkey-9 sid valkey valkey
redis-sid sid redis redis
LIST
}

# The machine's first Debian archive entry that is not the security one, as a one-suite .sources file.
write_sources() {
    local suite=$1 out=$2 uri=""
    local files=(/etc/apt/sources.list.d/*.sources)
    if [ -e "${files[0]}" ]; then
        uri=$(awk '/^URIs:/ { for (i = 2; i <= NF; i++) print $i }' "${files[@]}" | grep -E '/debian/?$' | head -n 1)
    fi
    if [ -z "$uri" ]; then
        uri=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null \
            | sed -n 's/^deb \(\[[^]]*\] \)\?\([^ ]*\/debian\/\?\) .*/\2/p' | head -n 1)
    fi
    if [ -z "$uri" ]; then
        echo "fetch-servers: no Debian archive found in this machine's apt sources" >&2
        return 1
    fi
    printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' \
        "$uri" "$suite" > "$out"
}

# apt with state, cache and sources of its own, for one suite, on an empty package database.
private_apt() {
    local state=$1
    shift
    "$@" -qq \
        -o Dir::Etc::sourcelist="$state/suite.sources" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::Etc::preferencesparts=/dev/null -o Dir::Etc::preferences=/dev/null \
        -o Dir::State="$state/state" -o Dir::State::status="$state/status" \
        -o Dir::Cache="$state/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root \
        -o Acquire::Languages=none -o Acquire::Retries=2
}

fetch() {
    local name=$1 suite=$2 package=$3 binary=$4 dir=$root/$1
    if [ -x "$dir/server" ] && "$dir/server" --version > /dev/null 2>&1; then
        return 0
    fi
    echo "fetch-servers: $name from Debian $suite into target/servers/$name"
    rm -rf "$dir"
    local state=$dir/apt
    mkdir -p "$state/state/lists/partial" "$state/cache/archives/partial" "$dir/root"
    : > "$state/status"
    write_sources "$suite" "$state/suite.sources" || return 1
    # Backports stand on their base release.
    [ "$suite" = "${suite%-backports}" ] || sed -i "s/^Suites: .*/Suites: ${suite%-backports} $suite/" "$state/suite.sources"
    private_apt "$state" apt-get update || return 1
    private_apt "$state" apt-get install --download-only --no-install-recommends -y \
        -t "$suite" "$package-server" "$package-tools" > /dev/null || return 1
    local deb
    for deb in "$state"/cache/archives/*.deb; do
        case $(basename "$deb") in
            # Of the whole dependency closure only the servers and their libraries are wanted.
            redis*|valkey*|lib*) dpkg -x "$deb" "$dir/root" ;;
        esac
    done
    rm -rf "$state"
    local loader libs
    loader=$(find "$dir/root" -name 'ld-linux-*.so.*' | sort | head -n 1)
    libs=$(find "$dir/root" -name 'libc.so.6' -printf '%h\n' | head -n 1)
    [ -n "$loader" ] && [ -n "$libs" ] || return 1
    libs=$libs:${libs/\/usr\/lib\//\/lib\/}
    local role program
    for role in server cli; do
        program=$dir/root/usr/bin/$binary-$role
        [ "$role" != server ] || [ ! -e "$dir/root/usr/bin/$binary-check-rdb" ] || program=$(readlink -f "$dir/root/usr/bin/$binary-server")
        printf '#!/bin/sh\nexec "%s" --library-path "%s" --argv0 "%s" "%s" "$@"\n' \
            "$loader" "$libs" "$binary-$role" "$program" > "$dir/$role"
        chmod +x "$dir/$role"
    done
    "$dir/server" --version
}

wanted=("$@")
missing=()
while read -r name suite package binary; do
    if [ ${#wanted[@]} -gt 0 ] && ! printf '%s\n' "${wanted[@]}" | grep -qx "$name"; then
        continue
    fi
    if ! fetch "$name" "$suite" "$package" "$binary"; then
        rm -rf "${root:?}/$name"
        missing+=("$name")
    fi
done < <(matrix)
if [ ${#missing[@]} -gt 0 ]; then
    echo "fetch-servers: not to be had here: ${missing[*]}" >&2
fi
[ ${#missing[@]} -eq 0 ]
