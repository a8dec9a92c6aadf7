#!/usr/bin/env bash
# Checks that the crates roughly-dump and roughly-sketch can be published: packages both, builds them from the
# packages, and checks the files in the packages. Takes no arguments. Uploads nothing.
#
# Needs cargo 1.90 or later, which can package a crate together with another one that is not published yet.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(cargo pkgid | sed 's/.*[#@]//')

fail() {
    echo "test-crates: FAILED: $*" >&2
    exit 1
}

# --allow-dirty: the test also runs before a commit.
cargo publish --quiet --dry-run --locked --allow-dirty -p roughly-dump -p roughly-sketch
for crate in roughly-dump roughly-sketch; do
    # cargo unpacks each package into this directory and builds it there.
    package=target/package/$crate-$version
    for file in LICENSE-APACHE LICENSE-MIT README.md Cargo.toml src/lib.rs; do
        [ -f "$package/$file" ] || fail "the package of $crate has no $file"
    done
    for license in LICENSE-APACHE LICENSE-MIT; do
        cmp "$license" "$package/$license" || fail "$license of $crate"
    done
    tests=$(find "$package" -name tests -o -name proptest-regressions)
    [ -z "$tests" ] || fail "the package of $crate has tests, which need files of the repository: $tests"
done
echo "test-crates: roughly-dump and roughly-sketch can be published"
