#!/usr/bin/env bash
# Node.js 20.20.2 (node:perf_hooks): a structured clone of a histogram changes with the original.
#
# A clone of a histogram with ten samples 1,000 is a snapshot for a report. After one further sample 5 and a reset() of the original, the
# clone has the count 11 and then 0. A structured clone is a deep copy: that of a Map keeps its contents.
cd "$(dirname "$0")"
. lib/packages.sh
node --input-type=module <<'END'
import { createHistogram } from "node:perf_hooks";

const histogram = createHistogram();
for (let i = 0; i < 10; i++) histogram.record(1000);
const counts = new Map([[1000, histogram.count]]);
const [clone, copy] = structuredClone([histogram, counts]);
const seen = [[clone.count, clone.min]];
histogram.record(5);
seen.push([clone.count, clone.min]);
histogram.reset();
counts.clear();
seen.push([clone.count, copy.get(1000)]);
console.log(process.version, "count and minimum of the clone, count after the reset and that of the Map:", ...seen);
if (String(seen) !== "10,1000,11,5,0,10") process.exit(1);
END
