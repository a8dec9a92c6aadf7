#!/usr/bin/env bash
# Runs a test program, and prints its processor time and that of the servers it has ended. Cargo calls it (scripts/test.sh).
#
#   scripts/timed.sh PROGRAM [ARGUMENT...]
# shellcheck source=scripts/steps.sh
. "$(dirname "$0")/steps.sh"
status=0
"$@" || status=$?
echo "$(basename "$1" | sed -E 's/-[0-9a-f]{16}$//'): processor time: $(duration "$(processor_seconds)")"
exit "$status"
