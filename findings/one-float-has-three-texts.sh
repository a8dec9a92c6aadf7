#!/usr/bin/env bash
# pyarrow 26.0.1, polars 2.1.0 and duckdb 2.0.1: equal floats become different texts, so that they are different items of a set or filter.
#
# A cast of a column of floats to strings writes 1.0, ten billion and 0.00001 as 1, 1e+10 and 0.00001 in pyarrow, as 1.0, 10000000000.0 and
# 0.00001 in polars, and as 1.0, 10000000000.0 and 1e-05 in DuckDB, which are the texts of Python.
cd "$(dirname "$0")"
. lib/packages.sh
python_with polars==2.1.0 pyarrow==26.0.1 duckdb==2.0.1 <<'END'
import duckdb
import polars
import pyarrow

floats = [1.0, 1e10, 1e-5]
of_pyarrow = pyarrow.array(floats).cast(pyarrow.string()).to_pylist()
of_polars = polars.Series(floats).cast(polars.String).to_list()
rows = duckdb.sql("select cast(x as varchar) from (select unnest(?) x)", params=[floats]).fetchall()
of_duckdb = [text for [text] in rows]
print("pyarrow", of_pyarrow, "polars", of_polars, "DuckDB", of_duckdb)
assert of_pyarrow == ["1", "1e+10", "0.00001"]
assert of_polars == ["1.0", "10000000000.0", "0.00001"]
assert of_duckdb == ["1.0", "10000000000.0", "1e-05"] == [repr(x) for x in floats]
END
