# Each command of the pages docs/commands, with redis-py. A comment after a call has its output.
#
#   pip install redis
#   python commands.py
#
# The server is on port 6379 of this machine, or on ROUGHLY_PORT. The program refuses a server that has keys, and deletes its own keys
# at the end.
import os
import sys

import redis

port = int(os.environ.get("ROUGHLY_PORT", 6379))
client = redis.Redis(port=port, decode_responses=True)
if client.info("keyspace"):
    sys.exit(f"The server on port {port} has keys. Set ROUGHLY_PORT to the port of a server without data.")

# command: BF.RESERVE
print(client.bf().create("visitors", 0.01, 1000))  # True
# command: BF.ADD
print(client.bf().add("visitors", "alice"))  # True
# command: BF.MADD
print(client.bf().madd("visitors", "alice", "bob"))  # [False, True]
# command: BF.ADDNX
print(client.execute_command("BF.ADDNX", "visitors", "bob", "carol"))  # [False, True]
# command: BF.INSERT
print(client.bf().insert("members", ["alice", "dave"], capacity=1000, error=0.01))  # [True, True]
# command: BF.EXISTS
print(client.bf().exists("visitors", "alice"))  # True
# command: BF.MEXISTS
print(client.bf().mexists("visitors", "bob", "eve"))  # [True, False]
# command: BF.CARD
print(client.bf().card("visitors"))  # 3
# command: BF.INFO
print(client.bf().info("visitors").capacity)  # 1000
# command: BF.MERGE
print(client.execute_command("BF.MERGE", "everyone", 2, "visitors", "members"))  # OK

# command: CF.RESERVE
print(client.cf().create("sessions", 1000))  # True
# command: CF.ADD
print(client.cf().add("sessions", "session:1"))  # True
# command: CF.ADDNX
print(client.cf().addnx("sessions", "session:1"))  # False
# command: CF.INSERT
print(client.cf().insert("sessions", ["session:2", "session:3"]))  # [True, True]
# command: CF.INSERTNX
print(client.cf().insertnx("sessions", ["session:3", "session:4"]))  # [0, 1]
# command: CF.EXISTS
print(client.cf().exists("sessions", "session:1"))  # True
# command: CF.MEXISTS
print(client.cf().mexists("sessions", "session:1", "session:9"))  # [True, False]
# command: CF.COUNT
print(client.cf().count("sessions", "session:1"))  # 1
# command: CF.DEL
print(client.cf().delete("sessions", "session:1"))  # True
# command: CF.INFO
print(client.cf().info("sessions").get("deletedNum"))  # 1
# command: CF.COMPACT
print(client.execute_command("CF.COMPACT", "sessions"))  # OK

# command: CMS.INITBYPROB
print(client.cms().initbyprob("views", 0.001, 0.01))  # True
# command: CMS.INITBYDIM
print(client.cms().initbydim("views:all", 2000, 7))  # True
# command: CMS.INCRBY
print(client.cms().incrby("views", ["/home", "/news"], [3, 1]))  # [3, 1]
# command: CMS.INCRBYLIMIT
print(client.execute_command("CMS.INCRBYLIMIT", "views", 5, "/home", 2, "/home", 1))  # [[1, 5], [0, 5]]
# command: CMS.QUERY
print(client.cms().query("views", "/home", "/shop"))  # [5, 0]
# command: CMS.MERGE
print(client.cms().merge("views:all", 1, ["views"], [10]))  # True
# command: CMS.INFO
print(client.cms().info("views").width)  # 2000

# command: TOPK.RESERVE
print(client.topk().reserve("pages", 2, 50, 5, 0.9))  # True
# command: TOPK.ADD
print(client.topk().add("pages", "/home", "/news"))  # [None, None]
# command: TOPK.INCRBY
print(client.topk().incrby("pages", ["/home", "/shop"], [41, 17]))  # [None, '/news']
# command: TOPK.LIST
print(client.topk().list("pages", withcount=True))  # ['/home', 42, '/shop', 17]
# command: TOPK.QUERY
print(client.topk().query("pages", "/home", "/news"))  # [True, False]
# command: TOPK.COUNT
print(client.execute_command("TOPK.COUNT", "pages", "/home", "/news"))  # [42, 1]
# command: TOPK.INFO
print(client.topk().info("pages").k)  # 2

# command: TDIGEST.CREATE
print(client.tdigest().create("latency"))  # True
# command: TDIGEST.ADD
print(client.tdigest().add("latency", [12, 9, 11, 10, 250, 9, 10, 31]))  # OK
# command: TDIGEST.QUANTILE
print(client.tdigest().quantile("latency", 0.5, 0.99))  # [11.0, 250.0]
# command: TDIGEST.CDF
print(client.tdigest().cdf("latency", 10, 100))  # [0.375, 0.875]
# command: TDIGEST.RANK
print(client.tdigest().rank("latency", 11))  # [4]
# command: TDIGEST.REVRANK
print(client.tdigest().revrank("latency", 31))  # [1]
# command: TDIGEST.BYRANK
print(client.tdigest().byrank("latency", 0, 7))  # [9.0, 250.0]
# command: TDIGEST.BYREVRANK
print(client.tdigest().byrevrank("latency", 0, 7))  # [250.0, 9.0]
# command: TDIGEST.MIN
print(client.tdigest().min("latency"))  # 9.0
# command: TDIGEST.MAX
print(client.tdigest().max("latency"))  # 250.0
# command: TDIGEST.TRIMMED_MEAN
print(client.tdigest().trimmed_mean("latency", 0.1, 0.75))  # 10.166666666666666
# command: TDIGEST.INFO
print(client.tdigest().info("latency").compression)  # 100
# command: TDIGEST.MERGE
print(client.tdigest().merge("latency:all", 1, "latency"))  # OK
# command: TDIGEST.RESET
print(client.tdigest().reset("latency"))  # OK

# command: SKETCH.WINDOW
client.execute_command("TOPK.RESERVE", "recent", 10, 80, 5, 0.9, "WINDOW", 3_600_000)
print(client.execute_command("SKETCH.WINDOW", "recent")["window"])  # 3600000
# command: SKETCH.WITHIN
client.topk().add("recent", "/home")
print(client.execute_command("SKETCH.WITHIN", 300_000, "TOPK.LIST", "recent"))  # ['/home']
# command: SKETCH.BETWEEN
print(client.execute_command("SKETCH.BETWEEN", -900_000, "+", "TOPK.LIST", "recent"))  # ['/home']
# command: SKETCH.SERIES
rows = client.execute_command("SKETCH.SERIES", -3_600_000, "+", 3_600_000, "TOPK.COUNT", "recent", "/home")
print(rows[-1][2])  # [1]
# command: SKETCH.AGE
client.execute_command("BF.RESERVE", "seen", 0.01, 1000, "WINDOW", 3_600_000)
print(client.execute_command("SKETCH.AGE", "seen", "alice"))  # [None]
# command: SKETCH.ACCURACY
print(client.execute_command("SKETCH.ACCURACY", "seen")["specified rate"])  # 0.01
# end
client.delete("visitors", "members", "everyone", "sessions", "views", "views:all", "pages", "latency", "latency:all", "recent", "seen")
