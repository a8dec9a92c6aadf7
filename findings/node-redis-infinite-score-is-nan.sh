#!/usr/bin/env bash
# node-redis 5.10.0 (npm), RESP2: an infinite score of a sorted set is NaN.
#
# ZADD z inf a. zScore("z", "a") returns NaN, and with RESP 3 Infinity. The same applies to tDigest.byRank of a rank above the last sample,
# which is inf in RedisBloom. node-redis 6.3.1 returns Infinity with both protocols.
cd "$(dirname "$0")"
. lib/packages.sh
redisbloom
PORT=$port node_with redis@5.10.0 <<'END'
import { createClient } from "redis";

const replies = [];
for (const RESP of [2, 3]) {
  const client = await createClient({ RESP, url: "redis://localhost:" + process.env.PORT }).connect();
  await client.flushAll();
  await client.zAdd("z", { score: Infinity, value: "a" });
  await client.tDigest.create("t");
  await client.tDigest.add("t", [1, 2, 3]);
  replies.push([await client.zScore("z", "a"), ...(await client.tDigest.byRank("t", [5]))]);
  client.destroy();
}
console.log(replies);
if (!Object.is(replies[0][0], NaN) || !Object.is(replies[0][1], NaN) || String(replies[1]) !== "Infinity,Infinity") process.exit(1);
END
