#!/usr/bin/env bash
# DuckDB 2.0.1: reservoir_quantile prefers the first rows: the median of 0 to 19,999 in this order is 7,519.
#
# The default sample has 8,192 rows. A random sample of this size has its median at 10,000 with a standard deviation of 85. In descending
# order, the result is 12,478. Up to 8,192 rows, it is exact; approx_quantile returns 10,000.
cd "$(dirname "$0")"
. lib/packages.sh
python_with duckdb==2.0.1 <<'END'
import duckdb


def median(function, rows, count):
    [[value]] = duckdb.sql(f"select {function}(x, .5) from (select {rows} as x from range({count}))").fetchall()
    return value


ascending = median("reservoir_quantile", "range", 20_000)
descending = median("reservoir_quantile", "20_000 - range", 20_000)
exact = median("reservoir_quantile", "range", 8_192)
approximate = median("approx_quantile", "range", 20_000)
print("ascending:", ascending, "descending:", descending, "of 8,192 rows:", exact, "approx_quantile:", approximate)
assert ascending < 8_000 and descending > 12_000 and exact == 4_095 and abs(approximate - 10_000) < 100
END
