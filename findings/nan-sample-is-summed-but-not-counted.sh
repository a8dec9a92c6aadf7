#!/usr/bin/env bash
# prometheus_client 0.26.0 (Python): a histogram adds NaN to its sum, but does not count it.
#
# After the samples 1, NaN and 2, the count and the bucket +Inf are 2, and the sum is NaN until the process ends. A summary counts all
# three.
cd "$(dirname "$0")"
. lib/packages.sh
python_with prometheus_client==0.26.0 <<'END'
from prometheus_client import CollectorRegistry, Histogram, Summary, generate_latest

registry = CollectorRegistry()
metrics = [Histogram("h", "A histogram", registry=registry, buckets=[5]), Summary("s", "A summary", registry=registry)]
for metric in metrics:
    for sample in (1, float("nan"), 2):
        metric.observe(sample)
lines = [line for line in generate_latest(registry).decode().splitlines() if line[0] in "hs" and "_created" not in line]
print("\n".join(lines))
assert lines == ['h_bucket{le="5.0"} 2.0', 'h_bucket{le="+Inf"} 2.0', "h_count 2.0", "h_sum NaN", "s_count 3.0", "s_sum NaN"]
END
