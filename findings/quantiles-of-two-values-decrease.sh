#!/usr/bin/env bash
# datasketches 5.2.0 (Python): quantiles of a t-digest decrease as the quantile rises.
#
# 500 samples are 0 and 500 are 1000, k is 100. The quantiles .49, .5 and .51 are 653.4, 349.5 and 45.6: values that never occurred, in
# falling order.
cd "$(dirname "$0")"
. lib/packages.sh
python_with datasketches==5.2.0 numpy==2.4.6 <<'END'
from datasketches import tdigest_double

digest = tdigest_double(100)
for sample in [0.0] * 500 + [1000.0] * 500:
    digest.update(sample)
quantiles = [digest.get_quantile(quantile) for quantile in (0.49, 0.5, 0.51)]
print(quantiles)
assert quantiles[0] > quantiles[1] > quantiles[2]
END
