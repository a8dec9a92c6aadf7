#!/usr/bin/env bash
# tdigest 0.5.2.2 (Python): percentiles are below the smallest sample, and negative for positive samples.
#
# 900 samples are 10 and 100 are 500. The 1st, 5th and 10th percentiles are -421.2, -382 and -333, and the 90th is 451. numpy returns 10 for
# the first three. The digest has one centroid per value. It interpolates below the first one without a limit at the minimum.
cd "$(dirname "$0")"
. lib/packages.sh
python_with tdigest==0.5.2.2 accumulation_tree==0.6.4 pyudorandom==1.0.0 numpy==2.4.6 <<'END'
import numpy
from tdigest import TDigest

samples, percents = [10] * 900 + [500] * 100, [1, 5, 10, 90]
digest = TDigest()
digest.batch_update(samples)
percentiles = [round(digest.percentile(percent), 6) for percent in percents]
print(percentiles, numpy.percentile(samples, percents))
assert percentiles == [-421.2, -382, -333, 451]
END
