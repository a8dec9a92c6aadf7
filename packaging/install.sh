#!/bin/sh
# Installs the module, its configuration and its documentation from the directory of this script, or removes
# them. Run it as root.
#
#   ./install.sh              installs
#   ./install.sh uninstall    removes
#
# Environment:
#   PREFIX      directory of LIBDIR and of share/doc/roughly, the documentation (default /usr)
#   LIBDIR      directory of redis/modules/libroughly.so (default PREFIX/lib). The services of Debian's
#               redis-server and valkey-server can load modules only from /usr/lib and /lib.
#   SYSCONFDIR  directory of roughly/roughly.conf (default /etc). An existing file is not changed.
#   DESTDIR     prepended to all paths, for building packages (default empty)
#
# To remove an installation, specify the same variables as for the installation.
#
# Exit status: 2 if the argument is unknown.
set -eu
here=$(dirname "$(readlink -f "$0")")
prefix=${PREFIX:-/usr}
etc=${DESTDIR:-}${SYSCONFDIR:-/etc}
modules=${LIBDIR:-$prefix/lib}/redis/modules
documents=${DESTDIR:-}$prefix/share/doc/roughly

# Prints the configuration file of a new installation.
new_conf() {
    sed "s|@MODULE@|$modules/libroughly.so|; s|/etc/roughly|${SYSCONFDIR:-/etc}/roughly|" \
        "$here/roughly.conf"
}

case ${1:-install} in
    install)
        # The command install replaces the file instead of overwriting it, so a running server keeps the module
        # that it has loaded. Servers refuse a module without execute permission.
        install -D -m 755 "$here/libroughly.so" "${DESTDIR:-}$modules/libroughly.so"
        if [ -e "$etc/roughly/roughly.conf" ]; then
            echo "install: $etc/roughly/roughly.conf exists and was not changed"
        else
            install -d "$etc/roughly"
            new_conf > "$etc/roughly/roughly.conf"
            chmod 644 "$etc/roughly/roughly.conf"
        fi
        install -d "$documents"
        # All other files are documents. Programs among them stay executable.
        (cd "$here" && find . -type f ! -path ./libroughly.so ! -path ./roughly.conf ! -path ./install.sh \
            ! -path ./SHA256SUMS | while IFS= read -r file; do
            mode=644
            [ ! -x "$file" ] || mode=755
            install -D -m "$mode" "$file" "$documents/${file#./}"
        done)
        echo "install: done. Add this line to the end of the server's configuration, then restart the server:"
        echo "    include ${SYSCONFDIR:-/etc}/roughly/roughly.conf"
        ;;
    uninstall)
        rm -f "${DESTDIR:-}$modules/libroughly.so"
        if new_conf | cmp -s - "$etc/roughly/roughly.conf"; then
            rm "$etc/roughly/roughly.conf"
        elif [ -e "$etc/roughly/roughly.conf" ]; then
            echo "uninstall: $etc/roughly/roughly.conf was changed after the installation and is kept"
        fi
        rm -rf "$documents"
        # Other packages may use these directories too.
        for directory in "${DESTDIR:-}$modules" "${DESTDIR:-}${modules%/*}" "$etc/roughly"; do
            [ ! -d "$directory" ] || rmdir --ignore-fail-on-non-empty "$directory"
        done
        echo "uninstall: done. The server does not start until you remove this line from its configuration:"
        echo "    include ${SYSCONFDIR:-/etc}/roughly/roughly.conf"
        ;;
    *)
        echo "install: unknown argument ${1}. Usage: install.sh [install|uninstall]" >&2
        exit 2
        ;;
esac
