#!/usr/bin/env bash
# Runs the checks that .ci/run leaves out because they take hours: all servers, other platforms, packages, browsers, kills. Takes no
# arguments. Stops at the first check that fails. The working tree must have no uncommitted changes (scripts/test-reproducible.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
exec < /dev/null
. scripts/steps.sh

steps 13
step "release script" "1 minute" make test-release
step "server tests on all servers" "25 minutes" make test-matrix
step "clients on all servers" "6 minutes" make test-clients
step "worst cases of keys of 128 MiB" "60 minutes" env ROUGHLY_WORST_CASE_MIB=128 cargo test --quiet --test server -- once::worst_cases --test-threads 1
step "200 kills" "5 minutes" make test-kills
step "active defragmentation" "5 minutes" make test-defrag
step "sizing page in a browser" "3 minutes" make test-sizing
step "documentation site in a browser" "3 minutes" make test-docs
step "unit tests and server tests for arm64 in an emulator" "25 minutes" make test-arm64
step "unit tests and server tests for musl" "15 minutes" make test-musl
step "packages" "10 minutes" make test-packages
step "reproducible packages" "25 minutes" make test-reproducible
step "container image" "6 minutes" make test-image
