#!/usr/bin/env bash
# cmsketch 0.1.11 (Python): 48 of 128 items have a count that is too high, where 0.03 are expected.
#
# The items k0 to k127 are inserted 40 times each into 4 rows of 1,000 counters. With independent rows, the probability that a count is too
# high is at most (127 / 1000)^4. PyCountMinSketchStr counts too much for 48 items, more than the 15 that are expected of a single row, and
# CountMinSketchStr, the version in C++, for 6.
cd "$(dirname "$0")"
. lib/packages.sh
python_with cmsketch==0.1.11 <<'END'
from cmsketch import CountMinSketchStr, PyCountMinSketchStr

items = [f"k{number}" for number in range(128)]
too_high = []
for create in (PyCountMinSketchStr, CountMinSketchStr):
    sketch = create(1000, 4)
    for _ in range(40):
        for item in items:
            sketch.insert(item)
    too_high.append(sum(sketch.count(item) > 40 for item in items))
print("items with a count that is too high:", too_high)
assert too_high == [48, 6]
END
