#!/usr/bin/env bash
# Builds the Python package into target/python, and tests its types, and its objects beside a server. Takes no arguments.
#
# The tests of half of the files run at the same time as the others, because a process uses one core.
#
# Environment:
#   ROUGHLY_PROFILE      as in scripts/build-module.sh
#   ROUGHLY_SAMPLE_SEED  selects a sample of the cases (python/tests/conftest.py)
#   ROUGHLY_ONLY_SERVERS with 1: leaves out the types, and files of tests without a server
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install.sh build python server python-tests
scripts/build-module.sh
cd python
# shellcheck source=/dev/null
. ../target/python/bin/activate
maturin develop --profile "${ROUGHLY_PROFILE:-checks}" --quiet

types() {
    [ -z "${ROUGHLY_ONLY_SERVERS:-}" ] || return 0
    python -m mypy.stubtest roughly && mypy --strict tests/typed.py && pyright tests/typed.py
}

# half NUMBER: tests the files at even (0) or odd (1) positions.
half() {
    # shellcheck disable=SC2046
    python -m pytest -q $(printf '%s\n' tests/test_*.py | awk -v number="$1" 'NR % 2 == number')
}

log=../target/python-tests.log
half 1 > $log 2>&1 &
other=$!
types &
status=0
half 0 || status=$?
wait $! || status=$?
wait $other || status=$?
cat $log
exit $status
