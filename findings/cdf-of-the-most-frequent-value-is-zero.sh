#!/usr/bin/env bash
# fastdigest 0.12.0 and crick 0.0.8 (Python): the distribution function at the minimum is 0, although half of the samples are equal to it.
#
# 500 samples are 0 and 500 are 1000. P(x <= 0) is .5, and the middle of the step is .25: both return 0.0.
cd "$(dirname "$0")"
. lib/packages.sh
python_with fastdigest==0.12.0 crick==0.0.8 numpy==2.4.6 <<'END'
import crick
import fastdigest
import numpy

samples = [0.0] * 500 + [1000.0] * 500
fast = fastdigest.TDigest.from_values(samples)
other = crick.TDigest(100)
other.update(numpy.array(samples))
print(fast.cdf(0.0), other.cdf(0.0))
assert fast.cdf(0.0) == other.cdf(0.0) == 0.0
END
