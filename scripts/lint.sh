#!/usr/bin/env bash
# Checks formatting, clippy, rustdoc, the licenses and sources of all crates, spelling, the wording of the
# documentation, the alert rules, the Dockerfile, and the shell scripts. Takes no arguments. A warning is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build lint
step() {
    echo "lint: $*" >&2
    "$@"
}
step cargo fmt --check --all
step cargo clippy --workspace --all-targets -- -D warnings
# --all-targets leaves out the tests that cargo test skips.
step cargo clippy --workspace --test sizing --test defrag -- -D warnings
step cargo fmt --check --manifest-path tests/clients/rust/Cargo.toml
step cargo clippy --manifest-path tests/clients/rust/Cargo.toml --target-dir target/clients/rust -- \
    -D warnings
step cargo fmt --check --manifest-path examples/rust/Cargo.toml
step cargo clippy --manifest-path examples/rust/Cargo.toml --target-dir target/clients/rust -- \
    -D warnings
RUSTDOCFLAGS="-D warnings" step cargo doc --workspace --no-deps
step target/lint/bin/cargo-deny --locked check licenses bans sources
# The advisory database is on a Git host, which a build machine may be unable to reach.
if timeout 60 target/lint/bin/cargo-deny fetch db > /dev/null 2>&1; then
    step target/lint/bin/cargo-deny --locked check advisories
else
    echo "lint: the advisory database is not reachable; advisories were not checked" >&2
fi
step target/lint/bin/typos
step python3 scripts/prose.py README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs
step target/lint/bin/python -c '
import sys, yaml
for name in sys.argv[1:]:
    with open(name) as file:
        assert all(yaml.safe_load_all(file)), f"{name} has an empty document"
' .github/workflows/*.yml packaging/compose.yaml packaging/kubernetes/*.yaml packaging/monitoring/*.yml
step scripts/test-rules.sh
step target/lint/bin/hadolint packaging/Dockerfile
for script in scripts/*.sh packaging/*.sh .ci/run; do
    bash -n "$script"
done
if command -v shellcheck > /dev/null; then
    step shellcheck -x scripts/*.sh packaging/*.sh .ci/run
else
    echo "lint: shellcheck is not installed; the scripts were only checked for syntax errors" >&2
fi
