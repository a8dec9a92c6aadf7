#!/usr/bin/env bash
# redis-py 8.1.0: topk().list() returns other items than were added, and changes execute_command of the same client.
#
# The items 007 and 1e5 are returned as 7 and 100000.0. execute_command("TOPK.LIST", …) returns bytes before the first call of
# client.topk(), and numbers after it.
cd "$(dirname "$0")"
. lib/packages.sh
redisbloom
python_with redis==8.1.0 <<'END'
import redis

client = redis.Redis(unix_socket_path="socket")
client.execute_command("TOPK.RESERVE", "k", 5)
client.execute_command("TOPK.INCRBY", "k", "007", 2, "1e5", 1)
before = client.execute_command("TOPK.LIST", "k")
items = client.topk().list("k")
after = client.execute_command("TOPK.LIST", "k")
print(before, items, after)
assert before == [b"007", b"1e5"] and items == after == [7, 100000.0]
END
