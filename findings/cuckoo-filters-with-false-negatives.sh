#!/usr/bin/env bash
# Cuckoo filters that lose items which they have accepted: cuckoopy 0.1.1 and bloom-filters 3.0.4 (npm).
#
# A cuckoo filter has no false negatives (Fan et al. 2014, section 3). Of a filter of cuckoopy with 64 buckets of 4, more than
# 100 of about 250 accepted items are absent when it is full. Of one of bloom-filters with 16 buckets of 2, 11 of 30 are absent.
cd "$(dirname "$0")"
. lib/packages.sh
python_with cuckoopy==0.1.1 <<'END'
from cuckoopy import CuckooFilter, exceptions

filter, accepted = CuckooFilter(capacity=64, bucket_size=4, fingerprint_size=8, max_displacements=50), []
try:
    for item in map(str, range(1000)):
        filter.insert(item)
        accepted.append(item)
except exceptions.CuckooFilterFullException:
    pass
absent = sum(not filter.contains(item) for item in accepted)
print("cuckoopy 0.1.1:", absent, "of", len(accepted), "items are absent")
assert absent > 20
END
node_with bloom-filters@3.0.4 <<'END'
import filters from "bloom-filters";

const filter = new filters.CuckooFilter(16, 3, 2, 10), accepted = [];
filter.seed = 1;
for (let item = 0; filter.add(String(item)); item++) accepted.push(String(item));
const absent = accepted.filter((item) => !filter.has(item)).length;
console.log("bloom-filters 3.0.4:", absent, "of", accepted.length, "items are absent");
if (absent < 5) process.exit(1);
END
