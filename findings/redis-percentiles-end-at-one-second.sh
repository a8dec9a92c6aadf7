#!/usr/bin/env bash
# Redis 7.0.15: the median latency of a command that takes three seconds is one second.
#
# Two calls take 3 s each. INFO commandstats has an average of more than 3,000,000 µs, and INFO latencystats has the percentiles 50, 99 and
# 99.9 at 1,002,438.655 µs: the server records a longer call as one second. Redis 8.6.3 and Valkey 9.1.2 do the same.
cd "$(dirname "$0")"
. lib/packages.sh
installed_server
redis-server --version
redis-cli -s socket debug sleep 3
redis-cli -s socket debug sleep 3
redis-cli -s socket info commandstats | grep cmdstat_debug: | tee average
redis-cli -s socket info latencystats | grep usec_debug: | tee percentiles
grep -qE 'calls=2,.*usec_per_call=[3-9][0-9]{6}\.' average
[ "$(tr -d '\r' < percentiles)" = "latency_percentiles_usec_debug:p50=1002438.655,p99=1002438.655,p99.9=1002438.655" ]
