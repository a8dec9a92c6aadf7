#!/usr/bin/env bash
# ClickHouse 26.9.2 (chdb 4.4.0): quantileTDigest returns a time before the first one.
#
# Eleven times, one second apart, begin at 22:13:21. The median is 22:13:20, and quantileExact returns 22:13:26. The digest stores means as
# floats of 32 bits, and two such floats near a current Unix time are 128 seconds apart.
cd "$(dirname "$0")"
. lib/packages.sh
python_with chdb==4.4.0 <<'END'
import chdb


def query(columns, rows):
    return str(chdb.query(f"select {columns} from numbers({rows})", "CSV")).strip()


print(query("version()", 1))
times = "toDateTime(1700000001, 'UTC') + number"
median, exact, first = (query(f"{name}({times})", 11) for name in ("quantileTDigest(0.5)", "quantileExact(0.5)", "min"))
print(median, exact, first)
assert (median, exact, first) == ('"2023-11-14 22:13:20"', '"2023-11-14 22:13:26"', '"2023-11-14 22:13:21"')
largest = query("quantileTDigest(1)(number + 9007199254740992)", 11)
print(largest)
assert float(largest) < 9007199254740992
END
