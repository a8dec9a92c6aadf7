#!/usr/bin/env bash
# Node.js 20.20.2 (node:perf_hooks): add() of a histogram loses the samples above its range, and counts them.
#
# A histogram up to 10,000 has 1,000 samples 10 and receives one with 1,000 samples 60,000. count is 2,000, exceeds is 0, and the maximum and
# the 99th percentile are 10. With the same samples and record(), count and exceeds are 1,000 each: exceeds reports the lost samples.
cd "$(dirname "$0")"
. lib/packages.sh
node --input-type=module <<'END'
import { createHistogram } from "node:perf_hooks";

function filled(options, ...samples) {
    const histogram = createHistogram(options);
    for (const sample of samples) for (let i = 0; i < 1000; i++) histogram.record(sample);
    return histogram;
}

const range = { lowest: 1, highest: 10000 };
const added = filled(range, 10);
added.add(filled({}, 60000));
const results = [added, filled(range, 10, 60000)].map((histogram) => {
    const { count, exceeds, max } = histogram;
    return [count, exceeds, max, histogram.percentile(99)];
});
console.log(process.version, "count, exceeds, maximum and 99 %, with add() and with record():", ...results);
if (String(results) !== "2000,0,10,10,1000,1000,10,10") process.exit(1);
END
