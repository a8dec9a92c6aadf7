#!/usr/bin/env bash
# fastbloom_rs 0.5.10 (Python): an item that was added 20 times and removed 15 times is not in a counting Bloom filter.
#
# A counter has 4 bits and stops at 15, so that five of the additions are lost, and the 15th removal makes the item absent. Fan et al. (2000,
# "Summary cache") expect such counts from random collisions only; one frequent item is enough.
cd "$(dirname "$0")"
. lib/packages.sh
python_with fastbloom_rs==0.5.10 <<'END'
from fastbloom_rs import FilterBuilder

builder = FilterBuilder(1_000, .01)
builder.enable_repeat_insert(True)
filter = builder.build_counting_bloom_filter()
for _ in range(20):
    filter.add("item")
estimate = filter.estimate_count("item")
for _ in range(14):
    filter.remove("item")
before = filter.contains("item")
filter.remove("item")
print(f"count: {estimate}; contained after 14 removals: {before}, after 15: {filter.contains('item')}")
assert estimate == 15 and before and not filter.contains("item")
END
