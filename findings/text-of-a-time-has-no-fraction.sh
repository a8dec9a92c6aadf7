#!/usr/bin/env bash
# polars 2.1.0 (Python): a cast of times to strings removes the fraction of the second.
#
# 1,000 times between 12:00:00.000 and 12:00:00.999 become the string 12:00:00, also in concat_str and format, so that 1,000 distinct items
# become one. A cast of datetimes, dt.to_string() of the same times and write_csv() keep the fraction.
cd "$(dirname "$0")"
. lib/packages.sh
python_with polars==2.1.0 <<'END'
import datetime

import polars

datetimes = polars.Series([datetime.datetime(2024, 1, 1, 12, 0, 0, 1000 * i) for i in range(1000)])
times = datetimes.dt.time()
texts = {
    "times": times,
    "cast of the times": times.cast(polars.String),
    "concat_str": polars.select(polars.concat_str(polars.lit(times), polars.lit(" h"))).to_series(),
    "to_string of the times": times.dt.to_string(),
    "cast of the datetimes": datetimes.cast(polars.String),
}
for name, column in texts.items():
    print(name, "distinct:", column.n_unique(), "second:", column[1])
assert [column.n_unique() for column in texts.values()] == [1000, 1, 1, 1000, 1000]
assert ".001" in times.to_frame("time").write_csv()
END
