#!/usr/bin/env bash
# Formatting, clippy, documentation, the direction of the floors, and the scripts, without a warning.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build lint
step() {
    echo "lint: $*" >&2
    "$@"
}
step cargo fmt --check
step cargo clippy --all-targets -- -D warnings
step cargo fmt --check --manifest-path tests/clients/rust/Cargo.toml
step cargo clippy --manifest-path tests/clients/rust/Cargo.toml --target-dir target/clients/rust -- \
    -D warnings
RUSTDOCFLAGS="-D warnings" step cargo doc --no-deps
step cargo test --quiet --test architecture
for script in scripts/*.sh scripts/*/*.sh packaging/*.sh .ci/run; do
    bash -n "$script"
done
if command -v shellcheck > /dev/null; then
    step shellcheck -x scripts/*.sh scripts/*/*.sh packaging/*.sh .ci/run
else
    echo "lint: shellcheck is not there; the scripts were only parsed" >&2
fi
