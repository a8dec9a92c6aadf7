#!/usr/bin/env bash
# pyarrow 26.0.1: group_by, unique and value_counts of a dictionary array return the same value twice.
#
# The dictionary Red, red, Blue is mapped to lower case, which is faster than to map all rows. The array is valid: the Arrow format permits
# duplicate values in a dictionary. group_by returns two groups red with 2 rows each. DuckDB 2.0.1 and DataFusion 55.0.0 return one group red
# with 4 rows of the same table.
cd "$(dirname "$0")"
. lib/packages.sh
python_with pyarrow==26.0.1 duckdb==2.0.1 datafusion==55.0.0 <<'END'
import datafusion
import duckdb
import pyarrow
import pyarrow.compute

colors = pyarrow.array(["Red", "red", "Blue", "red", "Red"]).dictionary_encode()
colors = pyarrow.DictionaryArray.from_arrays(colors.indices, pyarrow.compute.utf8_lower(colors.dictionary))
colors.validate(full=True)
rows = pyarrow.table({"x": colors})
of_pyarrow = [tuple(row.values()) for row in rows.group_by("x").aggregate([([], "count_all")]).to_pylist()]
connection, context = duckdb.connect(), datafusion.SessionContext()
connection.register("rows", rows)
context.register_record_batches("rows", [rows.to_batches()])
query = "select x, count(*) as n from rows group by x order by n desc"
of_duckdb = connection.execute(query).fetchall()
of_datafusion = [tuple(row.values()) for row in context.sql(query).to_pylist()]
print("pyarrow", of_pyarrow, "DuckDB", of_duckdb, "DataFusion", of_datafusion)
assert colors.to_pylist() == ["red", "red", "blue", "red", "red"]
assert of_pyarrow == [("red", 2), ("red", 2), ("blue", 1)]
assert of_duckdb == of_datafusion == [("red", 4), ("blue", 1)]
assert pyarrow.compute.unique(colors).to_pylist() == ["red", "red", "blue"]
assert [pair["counts"] for pair in pyarrow.compute.value_counts(colors).to_pylist()] == [2, 2, 1]
END
