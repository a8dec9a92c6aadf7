#!/usr/bin/env bash
# @datadog/sketches-js 2.1.1 (npm): merge() loses the negative samples of the other sketch, and counts them.
#
# A sketch of 1 to 1,000 receives one of -1,000 to -1. The count is 2,000 and the minimum is -1,000, but the quantiles 0, .25 and .5 are 1,
# 497.8 and 1002.4. The sketch that receives the same samples without a merge has -1002.4, -497.8 and -1.
cd "$(dirname "$0")"
. lib/packages.sh
node_with @datadog/sketches-js@2.1.1 protobufjs@8.8.1 <<'END'
import { DDSketch } from "@datadog/sketches-js";

const samples = (sketch, from, to) => {
    for (let sample = from; sample <= to; sample++) if (sample) sketch.accept(sample);
    return sketch;
};
const quantiles = (sketch) => [0, .25, .5].map((q) => Number(sketch.getValueAtQuantile(q).toFixed(1)));
const merged = samples(new DDSketch(), 1, 1000);
merged.merge(samples(new DDSketch(), -1000, -1));
const single = samples(new DDSketch(), -1000, 1000);
for (const [name, sketch] of Object.entries({ merged, single })) {
    console.log(name, "count:", sketch.count, "minimum:", sketch.min, "quantiles:", ...quantiles(sketch));
}
if (merged.count !== 2000 || merged.min !== -1000 || String(quantiles(merged)) !== "1,497.8,1002.4") process.exit(1);
if (String(quantiles(single)) !== "-1002.4,-497.8,-1") process.exit(1);
END
