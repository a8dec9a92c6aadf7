#!/usr/bin/env bash
# hdr-histogram-js 3.0.1 (npm): the counter of a value starts again at 0, and every percentile is 0.
#
# 65,600 samples are 100 and 100 are 5. With bitBucketSize 8 or 16, which the README offers without a limit of samples, the median and the
# 99th percentile are 0, without an error; totalCount is 65,700. With 32 they are 100.
cd "$(dirname "$0")"
. lib/packages.sh
node_with hdr-histogram-js@3.0.1 <<'END'
import { build } from "hdr-histogram-js";

const percentiles = [8, 16, 32].map((bitBucketSize) => {
    const histogram = build({ bitBucketSize });
    for (let i = 0; i < 65600; i++) histogram.recordValue(100);
    for (let i = 0; i < 100; i++) histogram.recordValue(5);
    const values = [50, 99].map((percentile) => histogram.getValueAtPercentile(percentile));
    console.log("bits:", bitBucketSize, "samples:", histogram.totalCount, "minimum: 5, median and 99 %:", ...values);
    if (histogram.totalCount !== 65700) process.exit(1);
    return values;
});
if (String(percentiles) !== "0,0,0,0,100,100") process.exit(1);
END
