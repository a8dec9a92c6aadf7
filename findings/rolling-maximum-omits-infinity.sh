#!/usr/bin/env bash
# pandas 3.1.1 (Python): the maximum of a window omits infinite values, which the window's count includes.
#
# Series.rolling and Series.expanding replace infinite values by NaN before max, min, sum, mean, median and quantile: the maximum of 3,
# infinity and 1 is 3. count is 3. Series.max, Series.cummax and polars 2.1.0 return infinity.
cd "$(dirname "$0")"
. lib/packages.sh
python_with pandas==3.1.1 polars==2.1.0 <<'END'
from math import inf

import pandas
import polars

values = [3.0, inf, 1.0]
series = pandas.Series(values)
window = series.rolling(3, min_periods=1)
print(window.max().tolist(), window.sum().tolist(), window.count().tolist(), series.expanding().max().tolist())
print(series.max(), series.cummax().tolist(), polars.Series(values).rolling_max(3, min_samples=1).to_list())
assert window.max().tolist() == series.expanding().max().tolist() == [3, 3, 3]
assert window.sum().tolist() == [3, 3, 4] and window.count().tolist() == [1, 2, 3]
assert series.max() == inf
assert series.cummax().tolist() == polars.Series(values).rolling_max(3, min_samples=1).to_list() == [3, inf, inf]
END
