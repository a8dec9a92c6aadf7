#!/usr/bin/env bash
# Fetches the servers of the test matrix into target/servers/NAME: Debian's packages from several releases,
# unpacked with the libraries that they need. Installs nothing and does not need root.
#
#   scripts/fetch-servers.sh              all servers
#   scripts/fetch-servers.sh redis-8.0    only the named servers
#   scripts/fetch-servers.sh --list       print the names
#
# Each NAME has two programs, NAME/server and NAME/cli. They start the unpacked programs with the dynamic loader
# of their own release, so that the C library of this machine does not matter.
#
# Exit status: 1 if a server is not available (stderr lists the names), 2 if a name is unknown.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/private-apt.sh
root=$PWD/target/servers

# Per line: name, Debian suite, prefix of the package names.
matrix() {
    cat << 'LIST'
redis-7.0 bookworm redis
valkey-8.0 bookworm-backports valkey
redis-8.0 trixie redis
valkey-8.1 trixie valkey
valkey-9 sid valkey
redis-sid sid redis
LIST
}

say() {
    echo "fetch-servers: $*" >&2
}

# download STATE SUITE PACKAGE...: downloads the packages and all dependencies into STATE/cache/archives.
download() {
    local state=$1 suite=$2 archive suites
    shift 2
    # Packages of backports depend on packages of the base release.
    suites=$suite
    [ "$suite" = "${suite%-backports}" ] || suites="${suite%-backports} $suite"
    for archive in $(archives); do
        if private_lists "$state" deb "$suites" "$archive" \
            && private_apt "$state" install --download-only --no-install-recommends -y \
                -t "$suite" "$@" > /dev/null; then
            return 0
        fi
    done
    return 1
}

# write_starter DIR ROLE NAME: creates DIR/ROLE, which starts DIR/root/usr/bin/NAME-ROLE with the loader and the
# libraries under DIR/root. Fails if the program needs a library that is not there: the loader would use the library
# of this machine, or another machine would have none.
write_starter() {
    local dir=$1 role=$2 name=$3 loader directory libraries="" program foreign
    cd "$dir"
    # Regular files only: the packages' symbolic links are absolute and point to this machine's loader.
    loader=$(find root -type f -name 'ld-linux-*.so.*' | LC_ALL=C sort | head -n 1)
    while read -r directory; do
        libraries+=":\$here/$directory"
    done < <(find root -name '*.so.[0-9]*' -printf '%h\n' | LC_ALL=C sort -u)
    program=$(find root/usr/bin -name "$name-$role")
    [ -n "$loader" ] && [ -n "$program" ] || return 1
    # In some releases redis-server is a symbolic link to redis-check-rdb, which is the same program.
    program=root/usr/bin/$(basename "$(readlink -f "$program")")
    foreign=$("$loader" --library-path "${libraries//\$here/$dir}" --list "$program" \
        | grep -E '=> (/|not found)' | grep -vF "=> $dir/" || true)
    if [ -n "$foreign" ]; then
        say "libraries of $name-$role that Debian's packages do not contain:" "$foreign"
        return 1
    fi
    cat > "$role" << STARTER
#!/bin/sh
here=\$(dirname "\$(readlink -f "\$0")")
exec "\$here/$loader" --library-path "${libraries#:}" --argv0 "$name-$role" "\$here/$program" "\$@"
STARTER
    chmod +x "$role"
}

fetch() {
    local name=$1 suite=$2 package=$3 dir=$root/$1 deb
    if [ -x "$dir/server" ] && "$dir/server" --version > /dev/null 2>&1; then
        return 0
    fi
    say "fetching $name from Debian $suite into target/servers/$name"
    rm -rf "$dir"
    mkdir -p "$dir/root"
    download "$dir/apt" "$suite" "$package-server" "$package-tools" || return 1
    # Unpack all packages, because not every package with a library is named lib*, for example zlib1g.
    for deb in "$dir"/apt/cache/archives/*.deb; do
        dpkg -x "$deb" "$dir/root" || return 1
    done
    rm -rf "$dir/apt"
    (write_starter "$dir" cli "$package" && write_starter "$dir" server "$package") || return 1
    "$dir/server" --version >&2
}

if [ "${1:-}" = --list ]; then
    matrix | cut -d ' ' -f 1
    exit
fi
if ! command -v apt-get > /dev/null || ! command -v dpkg > /dev/null; then
    say "apt-get and dpkg are required, because the servers are Debian packages"
    exit 1
fi
wanted=("$@")
[ ${#wanted[@]} -gt 0 ] || mapfile -t wanted < <(matrix | cut -d ' ' -f 1)
missing=()
for name in "${wanted[@]}"; do
    read -r _ suite package < <(matrix | grep "^$name ") || {
        say "unknown server: $name; --list prints the names"
        exit 2
    }
    if ! fetch "$name" "$suite" "$package"; then
        rm -rf "${root:?}/$name"
        missing+=("$name")
    fi
done
if [ ${#missing[@]} -gt 0 ]; then
    say "not available: ${missing[*]}"
    exit 1
fi
