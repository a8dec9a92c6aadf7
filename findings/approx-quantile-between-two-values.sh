#!/usr/bin/env bash
# DuckDB 2.0.1: approx_quantile of a column with two values returns other values.
#
# 500 rows are 0 and 500 are 1000. approx_quantile(x, .49) is 0.000518, and .501 is 597.5. The exact function quantile_cont returns 0 and
# 1000.
cd "$(dirname "$0")"
. lib/packages.sh
python_with duckdb==2.0.1 <<'END'
import duckdb

query = """select approx_quantile(x, .49), approx_quantile(x, .501), quantile_cont(x, .49), quantile_cont(x, .501)
from (select case when i < 500 then 0.0::double else 1000.0::double end x from range(1000) r(i))"""
[row] = duckdb.sql(query).fetchall()
print(row)
assert 0 < row[0] < 1 and 1 < row[1] < 999 and row[2:] == (0.0, 1000.0)
END
