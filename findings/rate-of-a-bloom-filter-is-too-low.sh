#!/usr/bin/env bash
# bloom-filters 3.0.4 (npm): rate() of a Bloom filter states a fifth of its false positives.
#
# A filter for 1,000 items with an error rate of 1 % that has 1,000 items finds 1 % of 100,000 others. Its method rate() returns 0.0018.
cd "$(dirname "$0")"
. lib/packages.sh
node_with bloom-filters@3.0.4 <<'END'
import filters from "bloom-filters";

const filter = filters.BloomFilter.create(1000, 0.01);
for (let item = 0; item < 1000; item++) filter.add("item" + item);
let found = 0;
for (let item = 1000; item < 101000; item++) found += filter.has("item" + item);
console.log("found:", found / 100000, "rate():", filter.rate());
if (filter.rate() > found / 100000 / 3) process.exit(1);
END
