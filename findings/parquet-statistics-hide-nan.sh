#!/usr/bin/env bash
# DuckDB 2.0.1, DataFusion 55.0.0, ClickHouse 26.9.2 (chdb 4.4.0) and pyarrow 26.0.1: the statistics of a Parquet file hide rows with NaN.
#
# Of 10,000 rows, 1,000 are NaN. "NOT x < 1000" returns them from a file without statistics, and no row from a file with them: the maximum is
# 99, so that the readers skip all rows. The same applies to "x = NaN", which is true for NaN in DuckDB and DataFusion. The Parquet
# specification excludes NaN from the minimum and the maximum, and readers should ignore both if they look up NaN. Polars 2.1.0 returns 1,000.
cd "$(dirname "$0")"
. lib/packages.sh
python_with chdb==4.4.0 datafusion==55.0.0 duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1 <<'END'
import chdb
import datafusion
import duckdb
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.parquet

rows = pyarrow.table({"x": [float("nan") if i % 10 == 0 else float(i % 100) for i in range(10_000)]})
counts = {}
for statistics in False, True:
    name = f"statistics-{statistics}.parquet"
    pyarrow.parquet.write_table(rows, name, write_statistics=statistics)
    context = datafusion.SessionContext()
    context.register_parquet("t", name)
    for condition in "not x < 1000", "x = 'nan'::double":
        [of_duckdb] = duckdb.connect().execute(f"select count(*) from '{name}' where {condition}").fetchone()
        [of_datafusion] = context.sql(f"select count(*) as rows from t where {condition}").to_pylist()
        counts[condition, statistics] = of_duckdb, of_datafusion["rows"]
    of_clickhouse = int(str(chdb.query(f"select count() from file('{name}') where not x < 1000", "CSV")))
    of_pyarrow = pyarrow.dataset.dataset(name).count_rows(filter=~(pyarrow.dataset.field("x") < 1000))
    counts["others", statistics] = of_clickhouse, of_pyarrow
    counts["polars", statistics] = polars.scan_parquet(name).filter(~(polars.col("x") < 1000)).collect().height
for (condition, statistics), count in counts.items():
    print(condition, "statistics:", statistics, "rows:", count)
assert counts.pop(("polars", True)) == counts.pop(("polars", False)) == 1000
assert all(count == ((0, 0) if statistics else (1000, 1000)) for (_, statistics), count in counts.items())
END
