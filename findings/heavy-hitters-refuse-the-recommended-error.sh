#!/usr/bin/env bash
# river 0.26.1 (Python): HeavyHitters refuses the parameters that its documentation recommends.
#
# The error should be much smaller than the support, as in lossy counting (Manku and Motwani 2002, section 4.2). With a support of 1 % and
# an error of 0.1 %, the constructor raises a ValueError that requires the opposite. It accepts an error of 1 % with a support of 0.1 %.
cd "$(dirname "$0")"
. lib/packages.sh
python_with river==0.26.1 <<'END'
from river import sketch

try:
    sketch.HeavyHitters(support=0.01, epsilon=0.001)
    refusal = None
except ValueError as error:
    refusal = str(error)
print(refusal)
assert refusal is not None
assert sketch.HeavyHitters(support=0.001, epsilon=0.01) is not None
END
