#!/usr/bin/env bash
# Runs the checks that .ci/run leaves out because they take hours: all servers, other platforms, packages, browsers, kills. Takes no
# arguments. Stops at the first check that fails. The working tree must have no uncommitted changes (scripts/test-reproducible.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
exec < /dev/null
. scripts/steps.sh

steps 13
step "release script" "1 minute" scripts/test-release.sh
step "server tests on all servers" "25 minutes" scripts/test-matrix.sh
step "clients on all servers" "6 minutes" scripts/test-clients.sh
step "worst cases of keys of 128 MiB" "60 minutes" env ROUGHLY_WORST_CASE_MIB=128 cargo test --quiet --test server -- once::worst_cases --test-threads 1
step "200 kills" "5 minutes" scripts/test-kills.sh
step "active defragmentation" "5 minutes" scripts/test-defrag.sh
step "sizing page in a browser" "3 minutes" scripts/test-sizing.sh
step "documentation site in a browser" "3 minutes" scripts/test-docs.sh
step "unit tests and server tests for arm64 in an emulator" "25 minutes" scripts/test-platform.sh aarch64-unknown-linux-gnu
step "unit tests and server tests for musl" "15 minutes" scripts/test-platform.sh x86_64-unknown-linux-musl
step "packages" "10 minutes" scripts/test-packages.sh
step "reproducible packages" "25 minutes" scripts/test-reproducible.sh
step "container image" "6 minutes" scripts/test-image.sh
