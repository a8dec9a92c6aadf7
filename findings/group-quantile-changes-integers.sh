#!/usr/bin/env bash
# pandas 3.1.1 (Python): the quantile of a group is an integer that the group does not contain.
#
# The identifiers of a group end with 1, 3 and 5. groupby().quantile(interpolation="lower") returns a column of int64 with an identifier that
# ends with 0, and a time that is 3 ns earlier: the values were converted to floats. Series.quantile and numpy.quantile return the identifier
# that ends with 3. With this interpolation, a quantile is one of the values.
cd "$(dirname "$0")"
. lib/packages.sh
python_with pandas==3.1.1 numpy==2.4.6 <<'END'
import numpy
import pandas

rows = pandas.DataFrame({"group": ["a"] * 3, "id": [1793000000000000001, 1793000000000000003, 1793000000000000005]})
rows["time"] = pandas.to_datetime(rows["id"])
groups = rows.groupby("group").quantile(.5, interpolation="lower")
single = rows["id"].quantile(.5, interpolation="lower")
of_numpy = numpy.quantile(rows["id"].to_numpy(), .5, method="lower")
print("group:", groups["id"].dtype, groups["id"]["a"], groups["time"]["a"])
print("column:", single, rows["time"].quantile(.5, interpolation="lower"), "numpy:", of_numpy)
assert groups["id"].dtype == "int64" and groups["id"]["a"] == groups["time"]["a"].value == 1793000000000000000
assert single == of_numpy == rows["time"].quantile(.5, interpolation="lower").value == 1793000000000000003
END
