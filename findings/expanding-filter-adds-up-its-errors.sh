#!/usr/bin/env bash
# pyprobables 0.7.0: ExpandingBloomFilter finds half of the items that were never added.
#
# A filter for 100 items with an error rate of 1 % grows by filters of the same rate and size, whose errors add up: with 100, 1,000 and
# 10,000 items it finds 1, 8 and 52 % of 20,000 others. The rates of a scalable filter must fall (Almeida et al. 2007, section 3).
cd "$(dirname "$0")"
. lib/packages.sh
python_with pyprobables==0.7.0 <<'END'
from probables import ExpandingBloomFilter

filter, shares = ExpandingBloomFilter(est_elements=100, false_positive_rate=.01), []
for size in 100, 1_000, 10_000:
    for item in range(filter.elements_added, size):
        filter.add(str(item))
    shares.append(sum(filter.check(f"absent {item}") for item in range(20_000)) / 20_000)
    print(f"{size} items, {filter.expansions} expansions: {shares[-1]:.1%} false positives")
assert shares[0] < .02 and .06 < shares[1] < .11 and .45 < shares[2] < .6
END
