#!/usr/bin/env bash
# bounter 1.2.0 (Python): CountMinSketch, which can only count too much, counts 4,294,967,298 occurrences as 2.
#
# The merge of two sketches with 2^31 + 1 occurrences of an item each begins again at 0, and so does a single increment by 2^32 + 5. Two
# increments by 2^31 are counted as one. total() is right each time. The documentation says that counters have 32 bits, not what happens
# above.
cd "$(dirname "$0")"
. lib/packages.sh
python_with bounter==1.2.0 <<'END'
from bounter import CountMinSketch

merged, other = CountMinSketch(1), CountMinSketch(1)
for sketch in (merged, other):
    sketch.increment("a", 2**31 + 1)
merged.update(other)
large = CountMinSketch(1)
large.increment("a", 2**32 + 5)
twice = CountMinSketch(1)
for _ in range(2):
    twice.increment("a", 2**31)
counts = [(sketch["a"], sketch.total()) for sketch in (merged, large, twice)]
for count, total in counts:
    print("count:", count, "of", total)
assert counts == [(2, 2**32 + 2), (5, 2**32 + 5), (2**31, 2**32)]
END
