#!/usr/bin/env bash
# Fetches the servers of the test matrix into target/servers/NAME: Debian's packages from several releases,
# unpacked with the libraries that they need. Installs nothing and does not need root.
#
#   scripts/fetch-servers.sh              all servers
#   scripts/fetch-servers.sh redis-8.0    only the named servers
#   scripts/fetch-servers.sh --list       print the names
#   scripts/fetch-servers.sh --target TARGET redis-8.0
#                                         the same server for the processor of TARGET (scripts/targets.sh), unpacked into
#                                         target/servers/ARCHITECTURE-NAME; programs run in an emulator
#
# Each NAME has two programs, NAME/server and NAME/cli. They start the unpacked programs with the dynamic loader
# of their own release, so that the C library of this machine does not matter. NAME/run starts any other program with
# this loader.
#
# Exit status: 1 if a server is not available (stderr lists the names), 2 if a name is unknown.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/private-apt.sh
. scripts/targets.sh
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

# write_runner DIR: creates DIR/run, which starts a program with the loader and the libraries under DIR/root.
write_runner() {
    local loader directory libraries="" prefix=""
    [ -z "$emulator" ] || prefix="\"\$here/$emulator\" "
    cd "$1"
    # Regular files only: the packages' symbolic links are absolute and point to this machine's loader.
    loader=$(find root -type f -name 'ld-linux-*.so.*' | LC_ALL=C sort | head -n 1)
    [ -n "$loader" ] || return 1
    while read -r directory; do
        libraries+=":\$here/$directory"
    done < <(find root -name '*.so.[0-9]*' -printf '%h\n' | LC_ALL=C sort -u)
    cat > run << RUNNER
#!/bin/sh
here=\$(dirname "\$(readlink -f "\$0")")
exec $prefix"\$here/$loader" --library-path "${libraries#:}" "\$@"
RUNNER
    chmod +x run
}

# write_starter DIR ROLE NAME: creates DIR/ROLE, which starts DIR/root/usr/bin/NAME-ROLE with DIR/run. Fails if the
# program needs a library that is not under DIR/root: the loader would use the library of this machine, or another
# machine would have none.
write_starter() {
    local dir=$1 role=$2 name=$3 program foreign
    cd "$dir"
    program=$(find root/usr/bin -name "$name-$role")
    [ -n "$program" ] || return 1
    # In some releases redis-server is a symbolic link to redis-check-rdb, which is the same program.
    program=root/usr/bin/$(basename "$(readlink -f "$program")")
    foreign=$(./run --list "$program" | grep -E '=> (/|not found)' | grep -vF "=> $dir/" || true)
    if [ -n "$foreign" ]; then
        say "libraries of $name-$role that Debian's packages do not contain:" "$foreign"
        return 1
    fi
    {
        echo '#!/bin/sh'
        # shellcheck disable=SC2016
        echo 'here=$(dirname "$(readlink -f "$0")")'
        if [ -n "$emulator" ] && [ "$role" = server ]; then
            echo '# The test for a bug of old arm64 kernels fails in the emulator, and the server would stop.'
            # shellcheck disable=SC2016
            echo '[ "$*" = --version ] || set -- "$@" --ignore-warnings ARM64-COW-BUG'
        fi
        echo "exec \"\$here/run\" --argv0 '$name-$role' \"\$here/$program\" \"\$@\""
    } > "$dir/$role"
    chmod +x "$dir/$role"
}

# fetch NAME SUITE PACKAGE DIR: unpacks the server into DIR.
fetch() {
    local name=$1 suite=$2 package=$3 dir=$4 deb
    if [ -x "$dir/run" ] && "$dir/server" --version > /dev/null 2>&1; then
        return 0
    fi
    say "fetching $name from Debian $suite into ${dir#"$PWD/"}"
    rm -rf "$dir"
    mkdir -p "$dir/root"
    private_download "$dir/apt" "$suite" "$package-server" "$package-tools" || return 1
    # Unpack all packages, because not every package with a library is named lib*, for example zlib1g.
    for deb in "$dir"/apt/cache/archives/*.deb; do
        dpkg -x "$deb" "$dir/root" || return 1
    done
    rm -rf "$dir/apt"
    (write_runner "$dir" && write_starter "$dir" cli "$package" && write_starter "$dir" server "$package") || return 1
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
emulator="" architecture=""
if [ "${1:-}" = --target ]; then
    private_architecture=$(debian_architecture "$2")
    architecture=$private_architecture-
    emulator=$(scripts/fetch-emulator.sh "$2")
    # Relative to the directory of a server, which does not exist yet.
    emulator=$(realpath --canonicalize-missing --relative-to "$root/${architecture}NAME" "$emulator")
    shift 2
fi
wanted=("$@")
[ ${#wanted[@]} -gt 0 ] || mapfile -t wanted < <(matrix | cut -d ' ' -f 1)
missing=()
for name in "${wanted[@]}"; do
    read -r _ suite package < <(matrix | grep "^$name ") || {
        say "unknown server: $name; --list prints the names"
        exit 2
    }
    if ! fetch "$name" "$suite" "$package" "$root/$architecture$name"; then
        rm -rf "${root:?}/$architecture$name"
        missing+=("$architecture$name")
    fi
done
if [ ${#missing[@]} -gt 0 ]; then
    say "not available: ${missing[*]}"
    exit 1
fi
