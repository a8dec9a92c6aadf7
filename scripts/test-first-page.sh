#!/usr/bin/env bash
# Runs the commands of README.md, in the order of the page, in a fresh clone of the current commit: `make run` with the session of redis-cli, the
# installation, and `make test`. The server must then list the installed module.
#
#   scripts/test-first-page.sh                    on this machine, into a temporary directory instead of / and with the module that
#                                                 scripts/build-module.sh built instead of a new build; without `make test`
#   scripts/test-first-page.sh SUITE...           on new Debian systems (bookworm, trixie) with git, make, sudo and the Rust toolchain of this machine
#                                                 only: on bookworm as root, without `make test`, on others as a user with sudo, in a directory
#                                                 with a space. Needs root; uses port 6379
#
# systemctl is replaced by a script that starts the server with the configuration file of the page.
#
# Exit status: 1 if a command fails.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/testing.sh
dir=$(mktemp -d "${TMPDIR:-/tmp}/roughly-first-page-XXXXXX")
system=""
cleanup() {
    [ -z "${port:-}" ] || in_clone "redis-cli -p $port SHUTDOWN NOSAVE" > /dev/null 2>&1 || true
    [ -z "${server:-}" ] || kill -- "-$server" 2> /dev/null || true
    [ -z "$system" ] || umount -R "$system/proc" "$system/dev" 2> /dev/null || true
    rm -rf --one-file-system "$dir" ${system:+"$system"}
}
trap cleanup EXIT

# blocks KIND...: prints the lines of the fenced blocks of these kinds, with their comments.
blocks() {
    awk -v kinds=" $* " '{ sub(/^ +/, "") } /^```/ { inside = index(kinds, " " substr($0, 4) " "); next } inside' README.md
}

# in_clone COMMAND: runs a command of the page in the clone, with the replaced programs first on the PATH.
in_clone() {
    if [ -n "$system" ]; then
        chroot --userspec="$user:$user" "$system" env -i HOME="$home" LANG=C.UTF-8 CARGO_HOME=/opt/cargo \
            PATH="/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
            bash -euo pipefail -c "cd \"$clone\" && $1"
    else
        (cd "$dir/clone" && DESTDIR=$dir/root PORT=$port PATH=$dir/programs:$PATH bash -euo pipefail -c "$1")
    fi
}

# program NAME: writes a replaced program from the standard input.
program() {
    mkdir -p "$programs"
    cat > "$programs/$1"
    chmod +x "$programs/$1"
}

# first_page: runs the commands.
first_page() {
    local line directory conf=/etc/redis/redis.conf
    [ "$(blocks make | grep -c '^make run')" -ge 1 ] || fail "README.md has no make run"
    set -m
    in_clone "exec make run" > "$dir/output" 2>&1 &
    server=$!
    set +m
    until in_clone "redis-cli -p $port PING | grep -x PONG" > /dev/null 2>&1; do
        kill -0 "$server" 2> /dev/null || fail "make run ended: $(tail -n 20 "$dir/output")"
        sleep 0.05
    done
    blocks redis | sed -n 's/^> //p' > "$dir/session"
    [ -s "$dir/session" ] || fail "README.md has no session"
    in_clone "redis-cli -p $port" < "$dir/session" > "$dir/replies" || fail "the session: $(< "$dir/replies")"
    ! grep -qE '^\(?(error|ERR|WRONGTYPE)' "$dir/replies" || fail "the session: $(< "$dir/replies")"
    directory=$system$(sed -n 's/^run: starting .* in //p' "$dir/output")
    [ -d "$directory" ] || fail "make run has no directory: $directory"
    # make repeats a signal, and users do.
    for _ in {1..20}; do
        kill -- "-$server" 2> /dev/null || break
    done
    for _ in {1..1200}; do
        [ -e "$directory" ] || break
        sleep 0.05
    done
    [ ! -e "$directory" ] || fail "make run leaves $directory behind"
    wait "$server" 2> /dev/null || true
    server=""

    blocks console > "$dir/install"
    grep -q '^sudo make install' "$dir/install" || fail "README.md does not install the module"
    grep -q "$conf" "$dir/install" || fail "README.md does not configure $conf"
    while read -r line; do
        [ -n "$system" ] || line=${line//"/usr/share/roughly"/"$dir/root/usr/share/roughly"}
        [ -n "$system" ] || line=${line//"$conf"/"$dir/root$conf"}
        passed "$line"
        in_clone "$line" > "$dir/output" 2>&1 < /dev/null || fail "$line: $(tail -n 20 "$dir/output")"
    done < "$dir/install"
    # The last line of the block is MODULE LIST.
    grep -q '/usr/lib/redis/modules/libroughly.so' "$dir/output" || fail "the server does not list the module: $(< "$dir/output")"
    in_clone "redis-cli -p $port SHUTDOWN NOSAVE" || true
}

if [ $# -eq 0 ]; then
    scripts/build-module.sh
    module=$(realpath "${ROUGHLY_MODULE:-target/${ROUGHLY_PROFILE:-checks}/libroughly.so}")
    git clone --quiet . "$dir/clone"
    until port=$((20000 + RANDOM % 12000)) && ! (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; do :; done
    programs=$dir/programs
    mkdir -p "$dir/root/etc/redis"
    printf 'port %s\nbind 127.0.0.1\nsave ""\n' "$port" > "$dir/root/etc/redis/redis.conf"
    # Both build the same sources; a new build with other optimizations would take minutes.
    program cargo << LINES
#!/bin/sh
[ "\$*" != --version ] || exec '$(command -v cargo)' --version
[ "\$*" = "build --release --lib" ] || exit 2
mkdir -p target/release && cp "$module" target/release/libroughly.so
LINES
    printf '#!/bin/sh\nexec "$@"\n' | program sudo
    # The file names the path without the temporary directory.
    program systemctl << LINES
#!/bin/sh
[ "\$*" = "restart redis-server" ] || exit 2
sed "s|^loadmodule /usr|loadmodule $dir/root/usr|" "$dir/root/etc/redis/redis.conf" > "$dir/root/started.conf"
'$(scripts/find-server.sh)' "$dir/root/started.conf" --daemonize yes || exit
until '$(scripts/find-server.sh cli)' -p $port PING > /dev/null 2>&1; do sleep 0.05; done
LINES
    # The port of the page is 6379.
    program redis-cli << LINES
#!/bin/sh
case " \$* " in *' -p '*) ;; *) set -- -p $port "\$@" ;; esac
exec '$(scripts/find-server.sh cli)' "\$@"
LINES
    first_page
    passed "the commands of README.md work in a clone"
    exit
fi

needs_root
for suite in "$@"; do
    system=$(mktemp -d "${TMPDIR:-/tmp}/roughly-$suite-XXXXXX") port=6379 programs=$system/usr/local/bin
    new_system "$system" "$suite" git make sudo ca-certificates
    mount -t proc proc "$system/proc"
    mount --rbind /dev "$system/dev"
    # To remove this mount later does not remove that of this machine.
    mount --make-rslave "$system/dev"
    cp /etc/resolv.conf /etc/hosts "$system/etc"
    # The certificates and the mirrors that this machine uses.
    cp -r /etc/ssl/certs "$system/etc/ssl"
    find /etc/apt/apt.conf.d -type f -exec cp -t "$system/etc/apt/apt.conf.d" {} +
    cp -a "$(rustc --print sysroot)" "$system/opt/rust"
    case $suite in
        bookworm) user=root home=/root clone=/root/roughly ;;
        *)
            user=dev home=/home/dev clone="/home/dev/my projects/roughly"
            chroot "$system" useradd --create-home --shell /bin/bash $user
            echo "$user ALL=(ALL) NOPASSWD: ALL" > "$system/etc/sudoers.d/$user"
            ;;
    esac
    mkdir -p "$system/opt/cargo"
    for file in config.toml registry; do
        [ ! -e "${CARGO_HOME:-$HOME/.cargo}/$file" ] || cp -a "${CARGO_HOME:-$HOME/.cargo}/$file" "$system/opt/cargo"
    done
    [ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$system/etc"
    git clone --quiet . "$system$clone"
    chroot "$system" chown -R $user: /opt/cargo "$home"
    chroot "$system" apt-get update -qq
    program systemctl << 'LINES'
#!/bin/sh
[ "$*" = "restart redis-server" ] || exit 2
redis-server /etc/redis/redis.conf --daemonize yes --dir /tmp || exit
until redis-cli PING > /dev/null 2>&1; do sleep 0.05; done
LINES
    first_page
    # .ci/run runs it as root.
    if [ $user != root ]; then
        passed "make test on $suite"
        in_clone "make test" > "$dir/tests" 2>&1 || fail "make test on $suite: $(tail -n 60 "$dir/tests")"
        grep '^test result' "$dir/tests" || true
    fi
    umount -R "$system/proc" "$system/dev"
    rm -rf --one-file-system "$system"
    passed "the commands of README.md work on Debian $suite"
done
system=""
