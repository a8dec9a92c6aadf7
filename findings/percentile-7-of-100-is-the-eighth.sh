#!/usr/bin/env bash
# numpy 2.4.6 and percentile 1.6.0 (npm): the 7th percentile of 1 to 100 is 8.
#
# With the method inverted_cdf (definition 1 of Hyndman and Fan 1996), percentile p is the smallest value with at least p % of the values at
# or below it: 7. In floating point, 100 · 0.07 is 7.000000000000001, which both round up to 8. The percents 7, 14, 28, 55 and 56 are
# affected. DuckDB 2.0.1 (quantile_disc) and stats-percentile 3.3.0 (npm) return 1 to 100.
cd "$(dirname "$0")"
. lib/packages.sh
python_with numpy==2.4.6 duckdb==2.0.1 <<'END'
import duckdb
import numpy

percents = list(range(1, 101))
of_numpy = [int(numpy.percentile(percents, percent, method="inverted_cdf")) for percent in percents]
query = "select quantile_disc(x, [p / 100 for p in range(1, 101)]) from range(1, 101) t(x)"
[of_duckdb] = duckdb.connect().execute(query).fetchone()
wrong = [pair for pair in zip(percents, of_numpy) if pair[0] != pair[1]]
print("numpy:", wrong)
assert wrong == [(7, 8), (14, 15), (28, 29), (55, 56), (56, 57)] and of_duckdb == percents
END
node_with percentile@1.6.0 stats-percentile@3.3.0 <<'END'
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const percentile = require("percentile"), other = require("stats-percentile");
const percents = Array.from({ length: 100 }, (_, i) => i + 1);
const wrong = percents.filter((percent) => percentile(percent, percents) !== percent);
console.log("percentile (npm):", wrong.map((percent) => [percent, percentile(percent, percents)]));
if (String(wrong) !== "7,14,28,55,56" || percents.some((percent) => other(percents, percent) !== percent)) process.exit(1);
END
