#!/usr/bin/env bash
# Formatting, clippy, documentation, licenses and sources of all crates, and the scripts, without a warning.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build lint
step() {
    echo "lint: $*" >&2
    "$@"
}
step cargo fmt --check --all
step cargo clippy --all-targets --test sizing --test defrag -- -D warnings
step cargo fmt --check --manifest-path tests/clients/rust/Cargo.toml
step cargo clippy --manifest-path tests/clients/rust/Cargo.toml --target-dir target/clients/rust -- \
    -D warnings
RUSTDOCFLAGS="-D warnings" step cargo doc --no-deps
step target/lint/bin/cargo-deny --locked check licenses bans sources
# The database of advisories is on a Git host, which a build machine may not reach.
if timeout 60 target/lint/bin/cargo-deny fetch db > /dev/null 2>&1; then
    step target/lint/bin/cargo-deny --locked check advisories
else
    echo "lint: the database of advisories is not reachable; advisories were not checked" >&2
fi
step target/lint/bin/python -c '
import sys, yaml
for name in sys.argv[1:]:
    with open(name) as file:
        assert all(yaml.safe_load_all(file)), f"{name} has an empty document"
' packaging/compose.yaml packaging/kubernetes/*.yaml packaging/monitoring/*.yml
for script in scripts/*.sh scripts/*/*.sh packaging/*.sh .ci/run; do
    bash -n "$script"
done
if command -v shellcheck > /dev/null; then
    step shellcheck -x scripts/*.sh scripts/*/*.sh packaging/*.sh .ci/run
else
    echo "lint: shellcheck is not there; the scripts were only parsed" >&2
fi
