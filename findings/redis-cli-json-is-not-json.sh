#!/usr/bin/env bash
# redis-cli 7.0.15, 8.6.3 and valkey-cli 9.1.2: the output of --json is not JSON if a score is infinite.
#
# The score of a permanent member is +inf. ZRANGE … WITHSCORES with --json writes [["a",1],["b",inf]]: JSON has no infinity.
# TDIGEST.BYRANK of RedisBloom, which is inf for a rank above the last sample, has the same output.
cd "$(dirname "$0")"
. lib/packages.sh
installed_server
redis-cli --version
redis-cli -s socket zadd z 1 a +inf b
redis-cli -s socket --json zrange z 0 0 withscores | tee finite
redis-cli -s socket --json zrange z 0 1 withscores | tee infinite
python3 <<'END'
import json

assert json.load(open("finite")) == [["a", 1]]
text = open("infinite").read()
assert text == '[["a",1],["b",inf]]\n'
try:
    json.loads(text)
except json.JSONDecodeError as error:
    print(error)
else:
    raise SystemExit("The output is JSON.")
END
