#!/usr/bin/env bash
# DuckDB 2.0.1, with a file of pyarrow 26.0.1: a Bloom filter hides the rows of a column of half floats, or of decimals of 256 bits.
#
# Of 10,000 rows in a Parquet file, 100 are 7. "x = 7" returns 100 rows without a Bloom filter and none with one: the filter has the hash of
# the 2 or 32 bytes in the file, and DuckDB looks up that of the float of 4 or 8 bytes which it reads. "x + 0 = 7" does not use the filter,
# and returns 100 rows of all files. ClickHouse writes Bloom filters by default, also of these decimals.
cd "$(dirname "$0")"
. lib/packages.sh
python_with duckdb==2.0.1 pyarrow==26.0.1 <<'END'
import duckdb
import pyarrow
import pyarrow.parquet

connection = duckdb.connect()
for type in pyarrow.float16(), pyarrow.decimal256(76, 2):
    rows = pyarrow.table({"x": pyarrow.array([i % 100 for i in range(10_000)]).cast(type)})
    pyarrow.parquet.write_table(rows, "plain.parquet")
    pyarrow.parquet.write_table(rows, "bloom.parquet", bloom_filter_options={"x": {"ndv": 100, "fpp": .001}})
    counts = {}
    for name in "plain", "bloom":
        for condition in "x = 7", "x + 0 = 7":
            [count] = connection.execute(f"select count(*) from '{name}.parquet' where {condition}").fetchone()
            counts[name, condition] = count
            print(type, name, condition, "rows:", count)
    assert counts.pop(("bloom", "x = 7")) == 0 and set(counts.values()) == {100}
END
