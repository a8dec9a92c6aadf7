#!/usr/bin/env bash
# pybloom_live 4.0.0 (Python): the copy of a full Bloom filter has the length 0 and accepts as many additional items.
#
# A filter for 1,000 items with an error rate of 1 % refuses further items. Its copy contains all of its items, but copy() sets the
# number of items to 0: it accepts more than 1,000 additional items, and then finds 18 % of the items that were never added.
cd "$(dirname "$0")"
. lib/packages.sh
python_with pybloom_live==4.0.0 <<'END'
from pybloom_live import BloomFilter


def fill(filter, items):
    """Adds the items until the filter refuses one, and returns their number."""
    for count, item in enumerate(items):
        try:
            filter.add(item)
        except IndexError:
            return count
    raise AssertionError("the filter accepts all items")


filter = BloomFilter(1_000, .01)
fill(filter, range(10_000))
copy = filter.copy()
print("length:", len(filter), "of the copy:", len(copy))
assert len(copy) == 0 and 0 in copy
more = fill(copy, range(10_000, 20_000))
share = sum(-item in copy for item in range(1, 100_001)) / 100_000
print(f"the copy accepts {more} more; {share:.1%} false positives")
assert more > 1_000 and .15 < share < .21
END
