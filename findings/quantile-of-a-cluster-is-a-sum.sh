#!/usr/bin/env bash
# prom-client 15.1.3 (npm): the quantiles of a cluster are the sums of the quantiles of its workers.
#
# Each of four workers observes 1,000 samples in a Summary, all of them 1 s. AggregatorRegistry.aggregate returns 4 s for the median and for
# the 99th percentile. The README documents the sum as the default for custom metrics.
cd "$(dirname "$0")"
. lib/packages.sh
node_with prom-client@15.1.3 <<'END'
import { AggregatorRegistry, Registry, Summary } from "prom-client";

const workers = [];
for (let worker = 0; worker < 4; worker++) {
    const registry = new Registry();
    const summary = new Summary({ name: "seconds", help: "-", percentiles: [0.5, 0.99], registers: [registry] });
    for (let i = 0; i < 1000; i++) summary.observe(1);
    workers.push(await registry.getMetricsAsJSON());
}
const text = await AggregatorRegistry.aggregate(workers).metrics();
console.log(text);
if (!text.includes('seconds{quantile="0.5"} 4\nseconds{quantile="0.99"} 4\nseconds_sum 4000\nseconds_count 4000')) process.exit(1);
END
