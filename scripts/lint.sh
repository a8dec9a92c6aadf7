#!/usr/bin/env bash
# Checks formatting, clippy, rustdoc, the licenses and sources of all crates, spelling, the wording of the
# documentation, the alert rules, the manifests, the Dockerfiles, and the shell scripts. A warning is an error.
#
#   scripts/lint.sh           all these
#   scripts/lint.sh clients   only clippy of the programs of tests/clients and examples, which scripts/check-release.sh runs
set -euo pipefail
cd "$(dirname "$0")/.."
tools=target/tools/bin

scripts/install.sh build lint
step() {
    echo "lint: $*" >&2
    "$@"
}
programs=(tests/clients/rust examples/rust)
if [ "${1:-}" = clients ]; then
    for package in "${programs[@]}"; do
        step cargo clippy --manifest-path "$package/Cargo.toml" --target-dir target/clients/rust -- -D warnings
    done
    exit
fi
step cargo fmt --check --all
for package in "${programs[@]}"; do
    step cargo fmt --check --manifest-path "$package/Cargo.toml"
done
step cargo clippy --workspace --all-targets -- -D warnings
# --all-targets leaves out the tests that cargo test skips.
step cargo clippy --workspace --test sizing --test defrag -- -D warnings
RUSTDOCFLAGS="-D warnings" step cargo doc --workspace --no-deps
step $tools/cargo-deny --locked check licenses bans sources
# The advisory database is on a Git host, which a build machine may be unable to reach.
if timeout 60 $tools/cargo-deny fetch db > /dev/null 2>&1; then
    step $tools/cargo-deny --locked check advisories
else
    echo "lint: the advisory database is not reachable; advisories were not checked" >&2
fi
step $tools/typos
step scripts/minutes.sh
step python3 scripts/prose.py README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs
step $tools/python -c '
import sys, yaml
for name in sys.argv[1:]:
    with open(name) as file:
        assert all(yaml.safe_load_all(file)), f"{name} has an empty document"
' .github/workflows/*.yml packaging/compose.yaml packaging/kubernetes/{,charts/}*.yaml packaging/monitoring/*.yml
step $tools/kubernetes-validate --quiet --strict --kubernetes-version 1.36 packaging/kubernetes/*.yaml

PATH=$PATH:$PWD/target/promtool
step promtool check rules packaging/monitoring/alerts.yml
step promtool test rules tests/monitoring/alerts.test.yml
# promtool checks queries only in rules, so each query of the dashboard becomes a rule. Grafana replaces the variables.
# shellcheck disable=SC2016
python3 > target/dashboard-rules.json -c '
import json
with open("packaging/monitoring/dashboard.json") as file:
    panels = json.load(file)["panels"]
queries = [target["expr"] for panel in panels for target in panel.get("targets", [])]
assert queries
queries = [query.replace("$instance", ".*").replace("$__rate_interval", "2m") for query in queries]
rules = [{"record": f"dashboard:query:{number}", "expr": query} for number, query in enumerate(queries)]
print(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
'
step promtool check rules target/dashboard-rules.json
step $tools/hadolint packaging/Dockerfile packaging/kubernetes/Dockerfile
step $tools/shellcheck -x scripts/*.sh packaging/*.sh .ci/run
step $tools/shellcheck -x -P SCRIPTDIR findings/*.sh
# A command that does not read all of its input ends the one before it by a signal, or not: with pipefail, the result is random.
echo "lint: pipes that are closed early" >&2
if grep -nE '[|] *(head|grep -[A-Za-z]*q)' scripts/*.sh packaging/*.sh .ci/run findings/*.sh; then
    exit 1
fi
