#!/usr/bin/env bash
# datasketches 5.2.0 (Python): 1,000 distinct decimals or floats of 32 bits are counted as 10, the number of their integer parts.
#
# The samples are 0, 0.01, ... 9.99 as Decimal, Fraction, numpy.float16 and numpy.float32. update() raises no error. The same samples
# as float and numpy.float64 are counted right. A count-min sketch adds Decimal("1.25") to the count of 1.
cd "$(dirname "$0")"
. lib/packages.sh
python_with datasketches==5.2.0 numpy==2.4.6 <<'END'
from decimal import Decimal
from fractions import Fraction

import numpy
from datasketches import count_min_sketch, cpc_sketch, hll_sketch, update_theta_sketch

samples = [number / 100 for number in range(1000)]
sketches = {"HLL": hll_sketch, "CPC": cpc_sketch, "theta": update_theta_sketch}
for name, create in sketches.items():
    for sample_type in (float, numpy.float64, Decimal, Fraction, numpy.float16, numpy.float32):
        sketch = create(12)
        for sample in samples:
            sketch.update(sample_type(sample))
        count = round(sketch.get_estimate())
        print(name, sample_type.__name__, count)
        assert count > 990 if sample_type in (float, numpy.float64) else count == 10

counts = count_min_sketch(5, 1000)
counts.update(Decimal("1.25"))
print("count of 1:", counts.get_estimate(1))
assert counts.get_estimate(1) == 1
END
