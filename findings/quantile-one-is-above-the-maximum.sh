#!/usr/bin/env bash
# ddsketch 3.0.1 (Python): quantile 1 is above the largest sample.
#
# All samples are 1000. Every quantile is 1002.43, the middle of the bin, although the sketch stores the minimum and the maximum.
cd "$(dirname "$0")"
. lib/packages.sh
python_with ddsketch==3.0.1 <<'END'
from ddsketch import DDSketch

sketch = DDSketch()
for _ in range(500):
    sketch.add(1000.0)
print(sketch.get_quantile_value(1), sketch.get_quantile_value(0), sketch._max)
assert sketch.get_quantile_value(1) > sketch._max == 1000.0
END
