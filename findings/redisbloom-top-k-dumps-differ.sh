#!/usr/bin/env bash
# RedisBloom 2.8.2: a top-k restored from a DUMP has another DUMP.
#
# Each element is stored with 8 bytes that have no meaning. A comparison of payloads therefore finds differences between equal keys.
cd "$(dirname "$0")"
. lib/packages.sh
redisbloom
python_with redis==8.1.0 <<'END'
import redis

client = redis.Redis(unix_socket_path="socket")
client.execute_command("TOPK.RESERVE", "k", 3)
client.execute_command("TOPK.ADD", "k", "a", "b", "c", "a")
payload = client.dump("k")
client.restore("copy", 0, payload)
lists = [client.execute_command("TOPK.LIST", key, "WITHCOUNT") for key in ("k", "copy")]
print(lists, client.dump("copy") == payload)
assert lists[0] == lists[1] and client.dump("copy") != payload
END
