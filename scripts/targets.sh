# shellcheck shell=bash
# The platforms of the release, under Rust's names for targets. Other scripts source this file; no other script names
# an architecture.

# Per line: Rust's name, name in file names, Debian's architecture (- if there is no Debian package), the name for the C compiler and
# linker, which specifies the oldest glibc that the module supports, and what a wheel requires: the oldest C library, or the oldest macOS
# that Rust's standard library supports. docs/packages.md states the oldest glibc too. macOS has only wheels.
target_table() {
    cat << 'LIST'
x86_64-unknown-linux-gnu linux-x86_64 amd64 x86_64-linux-gnu.2.17 manylinux_2_17
aarch64-unknown-linux-gnu linux-aarch64 arm64 aarch64-linux-gnu.2.17 manylinux_2_17
x86_64-unknown-linux-musl linux-x86_64-musl - x86_64-linux-musl musllinux_1_2
aarch64-unknown-linux-musl linux-aarch64-musl - aarch64-linux-musl musllinux_1_2
aarch64-apple-darwin - - - 11.0
x86_64-apple-darwin - - - 10.12
LIST
}

# wheel_targets, all_targets and debian_targets: print the names of the targets with a wheel, with a module, and with a Debian package.
wheel_targets() {
    target_table | cut -d ' ' -f 1
}
all_targets() {
    target_table | awk '$2 != "-" { print $1 }'
}
debian_targets() {
    target_table | awk '$3 != "-" { print $1 }'
}

# target_field TARGET NUMBER: prints a column of the table, nothing for a -. Exits with status 2 if the target is unknown.
target_field() {
    local line
    line=$(target_table | grep "^$1 ") || {
        echo "targets: unknown target: $1; the targets are" "$(wheel_targets | paste -s -d ' ')" >&2
        exit 2
    }
    cut -d ' ' -f "$2" <<< "$line" | sed '/^-$/d'
}

# platform TARGET: prints the name of the target in file names, for example linux-x86_64.
platform() {
    target_field "$1" 2
}

# debian_architecture TARGET: prints Debian's name, for example amd64, or nothing if there is no Debian package.
debian_architecture() {
    target_field "$1" 3
}

# machine_target: prints the target of this machine's Rust.
machine_target() {
    rustc -vV | sed -n 's/^host: //p'
}

# package_version: prints the version in Cargo.toml.
package_version() {
    cargo pkgid | sed 's/.*[#@]//'
}
