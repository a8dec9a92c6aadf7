#!/usr/bin/env bash
# rbloom 1.5.4 (Python): all of 100,000 fractions that were not added are in a Bloom filter with an error rate of .1 %.
#
# The added numbers are the even multiples of 2^-20, and the others the odd ones, 100,000 of each. rbloom uses Python's hash(), whose 41
# lowest bits are zero for each of these numbers. The filter estimates that it has 21,332 items.
cd "$(dirname "$0")"
. lib/packages.sh
python_with rbloom==1.5.4 <<'END'
from rbloom import Bloom

count = 100_000
filter = Bloom(count, 0.001)
filter.update(2 * number / 2**20 for number in range(count))
false = sum((2 * number + 1) / 2**20 in filter for number in range(count))
print("numbers that were not added and are in the filter:", false)
print("estimated items:", round(filter.approx_items))
assert false == count and round(filter.approx_items) == 21_332
END
