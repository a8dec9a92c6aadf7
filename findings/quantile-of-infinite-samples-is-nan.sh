#!/usr/bin/env bash
# numpy 2.4.6, pandas 3.1.1 and polars 2.1.0 (Python): the median of 1, 3 and infinity is NaN.
#
# numpy.quantile and Series.quantile return NaN for 0.5 and 1, where numpy.median returns 3 and max infinity: the interpolation multiplies the
# difference to the next sample, which is infinite, by 0. In polars, a rolling quantile of equal infinite samples is NaN, and the quantile of
# the same samples is infinite.
cd "$(dirname "$0")"
. lib/packages.sh
python_with numpy==2.4.6 pandas==3.1.1 polars==2.1.0 <<'END'
from math import inf, isnan

import numpy
import pandas
import polars

numpy.seterr(all="ignore")
samples = [1, 3, inf]
of_numpy = numpy.quantile(samples, [0.5, 1])
of_pandas = pandas.Series(samples).quantile([0.5, 1])
equal = polars.Series([inf, inf, inf])
rolling = equal.rolling_quantile(0.25, "linear", window_size=3)[2]
print("numpy:", of_numpy, numpy.median(samples), "pandas:", of_pandas.tolist(), "polars:", rolling, equal.quantile(0.25, "linear"))
assert all(isnan(quantile) for quantile in [*of_numpy, *of_pandas, rolling])
assert numpy.median(samples) == pandas.Series(samples).median() == 3
assert equal.quantile(0.25, "linear") == inf
END
