#!/usr/bin/env bash
# polars 2.1.0, pyarrow 26.0.1 and duckdb 2.0.1: a value that is replaced by null can stay in the data that other programs receive.
#
# The text of a column is set to null. The array that polars exports, and the result of pyarrow.compute.if_else, still have the text in
# their data buffer; only the validity bit differs. The array of DuckDB has zeros or no bytes there. Arrow does not define the contents of
# null slots, so that a reader must test the validity before it reads a slot.
cd "$(dirname "$0")"
. lib/packages.sh
python_with polars==2.1.0 pyarrow==26.0.1 duckdb==2.0.1 <<'END'
import duckdb
import polars
import pyarrow
import pyarrow.compute


def texts(array):
    array = array.combine_chunks() if isinstance(array, pyarrow.ChunkedArray) else array
    return array.cast(pyarrow.large_string()).buffers()[2].to_pybytes()


column, keep = ["x", "secret", "y"], [True, False, True]
of_polars = polars.Series(column).set(~polars.Series(keep), None)
of_pyarrow = pyarrow.compute.if_else(pyarrow.array(keep), pyarrow.array(column), pyarrow.scalar(None, pyarrow.string()))
of_duckdb = duckdb.sql("select nullif(x, 'secret') x from (values ('x'), ('secret'), ('y')) v(x)").to_arrow_table()["x"]
assert of_polars.to_list() == of_pyarrow.to_pylist() == of_duckdb.to_pylist() == ["x", None, "y"]
print("polars", texts(of_polars.to_arrow()), "pyarrow", texts(of_pyarrow), "duckdb", texts(of_duckdb))
assert b"secret" in texts(of_polars.to_arrow()) and b"secret" in texts(of_pyarrow)
assert b"secret" not in texts(of_duckdb)
END
