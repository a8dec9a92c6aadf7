#!/usr/bin/env bash
# ioredis 6.0.0 (npm): keyPrefix is added to the keys of the server's commands, but not to those of a module's commands.
#
# With the prefix "p:", SET y creates p:y, and call("BF.ADD", "x", "a") creates x.
cd "$(dirname "$0")"
. lib/packages.sh
redisbloom
PORT=$port node_with ioredis@6.0.0 <<'END'
import Redis from "ioredis";

const client = new Redis({ port: process.env.PORT, keyPrefix: "p:" });
await client.call("BF.ADD", "x", "a");
await client.set("y", 1);
const keys = (await new Redis({ port: process.env.PORT }).keys("*")).sort();
console.log(keys);
process.exit(keys.join() === "p:y,x" ? 0 : 1);
END
