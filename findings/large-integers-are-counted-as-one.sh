#!/usr/bin/env bash
# datasketches 5.2.0 (Python): the 1,000 integers from 2^63 on are counted as one by HLL and theta sketches.
#
# Identifiers of 64 bits without a sign have such values. The sketches take them as floats, which are equal for all these integers. A CPC
# sketch counts them right, but not those from 2^64 on.
cd "$(dirname "$0")"
. lib/packages.sh
python_with datasketches==5.2.0 <<'END'
from datasketches import cpc_sketch, hll_sketch, update_theta_sketch

counts = {}
for name, create in {"HLL": hll_sketch, "theta": update_theta_sketch, "CPC": cpc_sketch}.items():
    for first in (2**62, 2**63, 2**64):
        sketch = create(12)
        for number in range(1000):
            sketch.update(first + number)
        counts[name, first.bit_length()] = round(sketch.get_estimate())
        print(f"{name}, integers of {first.bit_length()} bits: {counts[name, first.bit_length()]}")
right = [count for count in counts.values() if count > 990]
assert len(right) == 4 and sorted(counts.values())[:5] == [1] * 5
assert counts["HLL", 64] == counts["theta", 64] == 1 and counts["CPC", 64] > 990
END
