#!/usr/bin/env bash
# DataFusion 55.0.0 (Python), with files of duckdb 2.0.1 and pyarrow 26.0.1: a Bloom filter hides rows with -0.0 from a query for 0.0.
#
# Half of 10,000 rows are -0.0, which is equal to 0.0. "x = 0.0" returns 5,000 rows of a Parquet file without a Bloom filter, and no row of a
# file with one: DataFusion hashes the bytes of 0.0, which differ from those of -0.0. DuckDB adds Bloom filters by default, DataFusion uses
# them by default, and DuckDB itself returns 5,000 rows.
cd "$(dirname "$0")"
. lib/packages.sh
python_with datafusion==55.0.0 duckdb==2.0.1 pyarrow==26.0.1 <<'END'
import datafusion
import duckdb
import pyarrow
import pyarrow.parquet

rows = pyarrow.table({"x": [-0.0 if i % 2 else float(i % 50 + 1) for i in range(10_000)]})
pyarrow.parquet.write_table(rows, "plain.parquet")
pyarrow.parquet.write_table(rows, "pyarrow.parquet", bloom_filter_options={"x": {"ndv": 100, "fpp": .01}})
connection = duckdb.connect()
connection.register("rows", rows)
connection.execute("copy rows to 'duckdb.parquet'")
counts = {}
for name in "plain", "pyarrow", "duckdb":
    context = datafusion.SessionContext()
    context.register_parquet("t", name + ".parquet")
    [of_datafusion] = context.sql("select count(*) as rows from t where x = 0.0").to_pylist()
    [of_duckdb] = connection.execute(f"select count(*) from '{name}.parquet' where x = 0.0").fetchone()
    counts[name] = of_datafusion["rows"], of_duckdb
    print("file of", name, "rows of DataFusion:", of_datafusion["rows"], "of DuckDB:", of_duckdb)
assert counts == {"plain": (5000, 5000), "pyarrow": (0, 5000), "duckdb": (0, 5000)}
END
