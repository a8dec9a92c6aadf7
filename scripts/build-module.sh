#!/usr/bin/env bash
# Builds the module that tests load, target/PROFILE/libroughly.so, with the Cargo profile ROUGHLY_PROFILE: checks by default,
# which panics on arithmetic overflow, or release, as in scripts/check-release.sh. Builds nothing if
# ROUGHLY_MODULE selects a module.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -n "${ROUGHLY_MODULE:-}" ] || cargo build --profile "${ROUGHLY_PROFILE:-checks}" --lib
