#!/bin/sh
# Installs the module, its configuration and its documents from the directory of this file, or removes
# them.
#
#   ./install.sh              as root
#   ./install.sh uninstall
#
# PREFIX (/usr) is where; under another one the service of Debian's redis-server may not load the module.
# SYSCONFDIR (/etc) is where roughly/roughly.conf goes: one that is there stays as it is. DESTDIR is put
# before all paths, for packages.
set -eu
here=$(dirname "$(readlink -f "$0")")
prefix=${PREFIX:-/usr}
etc=${DESTDIR:-}${SYSCONFDIR:-/etc}
modules=$prefix/lib/redis/modules
documents=${DESTDIR:-}$prefix/share/doc/roughly

# What the configuration is when it is new.
new_conf() {
    sed "s|@MODULE@|$modules/libroughly.so|; s|/etc/roughly|${SYSCONFDIR:-/etc}/roughly|" \
        "$here/roughly.conf"
}

case ${1:-install} in
    install)
        # "install" makes a new file: a server that runs keeps the one it has loaded.
        # Servers refuse a module without the permission to execute it.
        install -D -m 755 "$here/libroughly.so" "${DESTDIR:-}$modules/libroughly.so"
        if [ -e "$etc/roughly/roughly.conf" ]; then
            echo "install: $etc/roughly/roughly.conf stays as it is"
        else
            install -d "$etc/roughly"
            new_conf > "$etc/roughly/roughly.conf"
            chmod 644 "$etc/roughly/roughly.conf"
        fi
        install -d "$documents"
        (cd "$here" && find . \( -path './docs/*' -o -name '*.md' -o -name 'LICENSE-*' \
            -o -name THIRD-PARTY.txt \) -type f -exec install -D -m 644 {} "$documents/{}" \;)
        echo "install: done. Add this line to the server's configuration, and restart it:"
        echo "    include ${SYSCONFDIR:-/etc}/roughly/roughly.conf"
        ;;
    uninstall)
        rm -f "${DESTDIR:-}$modules/libroughly.so"
        if new_conf | cmp -s - "$etc/roughly/roughly.conf"; then
            rm "$etc/roughly/roughly.conf"
        elif [ -e "$etc/roughly/roughly.conf" ]; then
            echo "uninstall: $etc/roughly/roughly.conf was changed and stays"
        fi
        rm -rf "$documents"
        # Directories that others use too stay.
        for directory in "${DESTDIR:-}$modules" "${DESTDIR:-}${modules%/*}" "$etc/roughly"; do
            [ ! -d "$directory" ] || rmdir --ignore-fail-on-non-empty "$directory"
        done
        echo "uninstall: done. The server does not start before its configuration has no line"
        echo "    include ${SYSCONFDIR:-/etc}/roughly/roughly.conf"
        ;;
    *)
        echo "install: what is ${1}? Use: install.sh [install|uninstall]" >&2
        exit 2
        ;;
esac
