#!/usr/bin/env bash
# bloom-filters 3.0.4 (npm): HyperLogLog counts 1,000 distinct items as 475.
#
# The accuracy of a sketch with 1,024 registers is stated as 3.25 %. It counts 100, 1,000 and 10,000 items as 54, 475 and 10,304: about
# half of the registers that received one item stay 0, and small counts are computed from the number of registers that are 0.
cd "$(dirname "$0")"
. lib/packages.sh
node_with bloom-filters@3.0.4 <<'END'
import filters from "bloom-filters";

const counts = [100, 1000, 10000].map((items) => {
    const sketch = new filters.HyperLogLog(1024);
    for (let item = 0; item < items; item++) sketch.update("item" + item);
    console.log("items:", items, "count:", sketch.count(true), "accuracy:", sketch.accuracy());
    return sketch.count(true);
});
if (counts[0] > 65 || counts[1] > 600 || Math.abs(counts[2] - 10000) > 1000) process.exit(1);
END
