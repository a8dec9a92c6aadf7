#!/usr/bin/env bash
# Prints the bill of materials (CycloneDX, JSON) of the module for a target of scripts/targets.sh: the crates that the
# module is built from, with versions, checksums and licenses. It does not list Rust's standard library.
#
#   scripts/sbom.sh TARGET
#
# The same commit produces the same bytes.
#
# Environment:
#   SOURCE_DATE_EPOCH  time in the bill, in seconds since 1970 (default: time of the last commit)
#
# Exit status: 2 if the target is unknown.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/targets.sh
target=$1
platform "$target" > /dev/null
scripts/install.sh sbom

# cargo-cyclonedx writes a file into the directory of each crate, so it works on a copy.
copy=$PWD/target/sbom
rm -rf "$copy"
mkdir -p "$copy"
cp -r Cargo.toml Cargo.lock build.rs src crates tests "$copy"
install -D -m 644 benches/Cargo.toml "$copy/benches/Cargo.toml"
commit_time=$(git log -1 --format=%ct 2> /dev/null || echo 0)
# Without SOURCE_DATE_EPOCH, the bill has a random serial number.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$commit_time} cargo cyclonedx --quiet --manifest-path "$copy/Cargo.toml" \
    --format json --spec-version 1.5 --target "$target" --no-build-deps --override-filename bill >&2
# In these URLs, a space in the name of the directory is %20.
sed -E 's|file://[^"#]*/target/sbom|file:///roughly|g' "$copy/bill.json"
rm -rf "$copy"
