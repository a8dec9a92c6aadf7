#!/bin/sh
# Installs the module, the programs copy-sketches and bf-exporter, the documentation and this script from the directory of
# this script, adds the line that loads the module to the configuration of a server, or removes the installation. Run it as root.
#
#   ./install.sh                     installs
#   ./install.sh --configure FILE    adds the line to FILE, a server's main configuration file, and shows the changes
#   ./install.sh uninstall           removes
#
# --configure also replaces an include line of roughly.conf, which earlier versions installed, with the lines of that file, and
# removes repeated lines that load the module. It does not change the lines that load other modules.
#
# Environment:
#   PREFIX      directory of LIBDIR and of these files (default /usr):
#                 bin                  copy-sketches and bf-exporter
#                 lib/systemd/system   the unit bf-exporter.service, which the installation does not enable
#                 share/roughly        this script, and the alert rules, the dashboard and the script for Prometheus and Grafana
#                 share/doc/roughly    the documentation
#   LIBDIR      directory of redis/modules/libroughly.so (default PREFIX/lib). The services of Debian's
#               redis-server and valkey-server can load modules only from /usr/lib and /lib.
#   SYSCONFDIR  directory of default/bf-exporter, the environment file of the unit (default /etc). Only root can read the file,
#               because it can have a password. If the file was changed, the installation and uninstall keep it.
#   DESTDIR     prepended to the paths of installed files, for building packages (default empty)
#
# For --configure and uninstall, specify the same variables as for the installation.
#
# Exit status: 1 if FILE cannot be changed, 2 if an argument is unknown.
set -eu
here=$(dirname "$(readlink -f "$0")")
prefix=${PREFIX:-/usr}
modules=${LIBDIR:-$prefix/lib}/redis/modules
module=$modules/libroughly.so
documents=${DESTDIR:-}$prefix/share/doc/roughly
shared=${DESTDIR:-}$prefix/share/roughly
units=${DESTDIR:-}$prefix/lib/systemd/system
environment=${SYSCONFDIR:-/etc}/default/bf-exporter
installed_environment=${DESTDIR:-}$environment
# The file as it was installed, to detect changes.
default_environment=$shared/bf-exporter.default
# The files of the directory packaging/monitoring that are in $shared.
monitoring='alerts.yml bf-stats.lua dashboard.json'

fail() {
    echo "install: $1" >&2
    exit 1
}

# included_bloom FILE: prints the first file that FILE includes and that loads Roughly or a module whose name may also be bf.
# Files named roughly.conf do not count.
included_bloom() {
    # The server expands patterns, and paths can have spaces.
    IFS='
'
    # shellcheck disable=SC2013
    for included in $(tr -d "\"'\r" < "$1" | sed -n 's/^[[:space:]]*[Ii][Nn][Cc][Ll][Uu][Dd][Ee][[:space:]]\{1,\}//p'); do
        case $included in */roughly.conf) continue ;; esac
        if grep -qiE "^[[:space:]\"']*loadmodule[[:space:]\"'].*(bloom|libroughly)" "$included" 2> /dev/null; then
            echo "$included"
            break
        fi
    done
}

# configured FILE: prints FILE with the line that loads the module.
configured() {
    awk -v file="$1" -v module="$module" -v included="$(included_bloom "$1")" '
        function refuse(text) {
            print "install: " text > "/dev/stderr"
            refused = 1
            exit 1
        }
        function add(line, directive, path, text) {
            text = line
            gsub(/["\047\r]/, "", text)
            sub(/^[ \t]+/, "", text)
            sub(/[ \t]+$/, "", text)
            directive = tolower(text)
            sub(/[ \t].*/, "", directive)
            sub(/^[^ \t]+[ \t]*/, "", text)
            if (directive == "include" && text ~ /\/roughly\.conf$/) {
                while ((getline line < text) > 0)
                    if (line !~ /^[ \t\r]*(#|$)/)
                        add(line)
                close(text)
                return
            }
            if (directive == "loadmodule") {
                path = text
                sub(/[ \t].*/, "", path)
                gsub(/\/+/, "/", path)
                if (path == module && loaded++)
                    return
                if (path != module && path ~ /\/libroughly\.so$/)
                    refuse(file " loads " path ", not " module ". Remove its line first, or specify LIBDIR")
                if (path ~ /bloom[^\/]*$/)
                    other = path
            }
            print line
        }
        { add($0) }
        END {
            if (refused)
                exit 1
            if (loaded)
                exit
            if (included != "")
                refuse(included ", which " file " includes, loads Roughly or a module whose name is also bf. Remove that line first")
            if (other != "")
                refuse(file " loads " other ", whose name is also bf. Remove its line first, or if it is valkey-bloom, add this" \
                    " line:\n    loadmodule " module " families cf,cms,topk,tdigest")
            print "loadmodule " module
        }' "$1"
}

# attributes FILE: prints its owner, group and mode.
attributes() {
    stat -c '%u %g %a' "$1"
}

# configure FILE: adds the line that loads the module.
configure() {
    [ -f "$1" ] || fail "$1 is not a file"
    # CONFIG REWRITE of the server writes the path without quotation marks.
    case $module in *[[:space:]\"\'\\]*) fail "the server cannot read the path '$module' from a file that it rewrote" ;; esac
    [ -f "${DESTDIR:-}$module" ] || fail "${DESTDIR:-}$module does not exist. Install the module first"
    # The link stays, and its target changes.
    file=$(readlink -f "$1")
    if [ ! -r "$file" ] || [ ! -w "$file" ]; then
        fail "$1 is not writable"
    fi
    new=$(mktemp "$file.XXXXXX") || fail "cannot create a file beside $file"
    trap 'rm -f "$new"' EXIT
    cp -a "$file" "$new" 2> /dev/null || cp "$file" "$new"
    configured "$file" > "$new" || exit 1
    # A missing line feed at the end of the file is no reason to change it.
    if awk 1 "$file" | cmp -s - "$new"; then
        echo "install: $1 loads the module already and was not changed"
        return
    fi
    echo "install: changes of $1:"
    diff -u "$file" "$new" | tail -n +3
    # A file that is mounted by itself cannot be replaced, and only root can create a file of another owner.
    if [ "$(attributes "$file")" != "$(attributes "$new")" ] || ! mv -f "$new" "$file" 2> /dev/null; then
        cat "$new" > "$file"
    fi
    directory=$modules
    while [ -n "$directory" ]; do
        case $(stat -c %A "${DESTDIR:-}$directory") in
            *[xt]) ;;
            *) echo "install: not every user can read files in ${DESTDIR:-}$directory. Check that the server's user can" >&2 ;;
        esac
        directory=${directory%/*}
    done
    echo "install: done. Restart the server"
}

# is_changed: whether the environment file exists and differs from the one that was installed.
is_changed() {
    [ -e "$installed_environment" ] && ! cmp -s "$default_environment" "$installed_environment"
}

# install_programs: installs the programs and their files.
install_programs() {
    install -D -m 755 "$here/scripts/copy-sketches" "${DESTDIR:-}$prefix/bin/copy-sketches"
    install -D -m 755 "$here/packaging/monitoring/bf-exporter" "${DESTDIR:-}$prefix/bin/bf-exporter"
    for file in $monitoring; do
        install -D -m 644 "$here/packaging/monitoring/$file" "$shared/$file"
    done
    install -d "$units"
    sed "s|/usr/bin/|$prefix/bin/|; s|/usr/share/|$prefix/share/|; s|/etc/default/|${environment%bf-exporter}|" \
        "$here/packaging/monitoring/bf-exporter.service" > "$units/bf-exporter.service"
    chmod 644 "$units/bf-exporter.service"
    if is_changed; then
        echo "install: $installed_environment was changed, and stays as it is. The new default is $default_environment" >&2
    else
        install -D -m 600 "$here/packaging/monitoring/bf-exporter.default" "$installed_environment"
    fi
    install -D -m 644 "$here/packaging/monitoring/bf-exporter.default" "$default_environment"
}

# uninstall_programs: removes what install_programs installed.
uninstall_programs() {
    if is_changed; then
        echo "uninstall: $installed_environment was changed, and stays as it is" >&2
    else
        rm -f "$installed_environment"
    fi
    rm -f "${DESTDIR:-}$prefix/bin/copy-sketches" "${DESTDIR:-}$prefix/bin/bf-exporter" "$units/bf-exporter.service"
}

case ${1:-install} in
    install)
        # The command install replaces the file instead of overwriting it, so a running server keeps the module
        # that it has loaded. Servers refuse a module without execute permission.
        install -D -m 755 "$here/libroughly.so" "${DESTDIR:-}$module"
        # --configure does not need the other files of this directory.
        install -D -m 755 "$here/install.sh" "$shared/install.sh"
        install_programs
        install -d "$documents"
        # All other files are documents. Programs among them stay executable.
        (cd "$here" && find . -type f ! -path ./libroughly.so ! -path ./install.sh ! -path ./SHA256SUMS \
            ! -path './scripts/*' ! -path './packaging/monitoring/*' \
            | while IFS= read -r file; do
                mode=644
                [ ! -x "$file" ] || mode=755
                install -D -m "$mode" "$file" "$documents/${file#./}"
            done)
        echo "install: done. Add this line to the main configuration file of the server, then restart the server:"
        echo "    loadmodule $module"
        echo "This command adds it:"
        echo "    $prefix/share/roughly/install.sh --configure /path/to/redis.conf"
        echo "The programs copy-sketches and bf-exporter need python3, and copy-sketches its library redis (python3-redis). The module does not."
        ;;
    --configure)
        if [ $# -ne 2 ]; then
            echo "install: --configure needs the path of a configuration file" >&2
            exit 2
        fi
        configure "$2"
        ;;
    uninstall)
        rm -f "${DESTDIR:-}$module"
        uninstall_programs
        rm -rf "$documents" "$shared"
        # Other packages may use these directories too.
        for directory in "${DESTDIR:-}$modules" "${DESTDIR:-}${modules%/*}"; do
            [ ! -d "$directory" ] || rmdir --ignore-fail-on-non-empty "$directory"
        done
        echo "uninstall: done. The server does not start until you remove the module's settings and this line from its configuration:"
        echo "    loadmodule $module"
        ;;
    *)
        echo "install: unknown argument ${1}. Usage: install.sh [install|--configure FILE|uninstall]" >&2
        exit 2
        ;;
esac
