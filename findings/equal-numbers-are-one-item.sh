#!/usr/bin/env bash
# rbloom 1.5.4 (Python): True and 1.0 are in a Bloom filter to which 1 was added.
#
# The filter uses Python's hash(), which is equal for equal objects. Filters of other packages and of servers add the bytes of a text,
# in which "1", "1.0" and "True" are three items.
cd "$(dirname "$0")"
. lib/packages.sh
python_with rbloom==1.5.4 <<'END'
from rbloom import Bloom

filter = Bloom(1000, 0.000001)
filter.add(1)
print(True in filter, 1.0 in filter, "1" in filter)
assert True in filter and 1.0 in filter and "1" not in filter
END
