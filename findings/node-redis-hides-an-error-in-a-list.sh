#!/usr/bin/env bash
# node-redis 5.10.0 (npm), RESP2: bf.mAdd returns false for an item that a full filter refused, as for one that exists.
#
# A filter with NONSCALING for two items receives four. The reply of RedisBloom 2.8.2 is [1, 1, error]; node-redis returns
# [true, true, false].
cd "$(dirname "$0")"
. lib/packages.sh
redisbloom
PORT=$port node_with redis@5.10.0 <<'END'
import { createClient } from "redis";

const client = await createClient({ url: "redis://localhost:" + process.env.PORT }).connect();
await client.bf.reserve("f", 0.01, 2, { NONSCALING: true });
const replies = await client.bf.mAdd("f", ["a", "b", "c", "d"]);
console.log(replies);
client.destroy();
if (JSON.stringify(replies) !== "[true,true,false]") process.exit(1);
END
