#!/usr/bin/env bash
# pyprobables 0.7.0: a cuckoo filter that refuses an item has replaced another one.
#
# CuckooFilter.add raises CuckooFilterFullError, and the item that was evicted last is no longer in the filter: a later check of it is
# a false negative.
cd "$(dirname "$0")"
. lib/packages.sh
python_with pyprobables==0.7.0 <<'END'
import random

from probables import CuckooFilter
from probables.exceptions import CuckooFilterFullError

random.seed(0)
filter, accepted = CuckooFilter(capacity=32, bucket_size=2, max_swaps=50, auto_expand=False), []
try:
    for item in map(str, range(1000)):
        filter.add(item)
        accepted.append(item)
except CuckooFilterFullError as error:
    print(error)
absent = [item for item in accepted if not filter.check(item)]
print("absent:", absent)
assert len(absent) == 1
END
