"""Uses all five sketches in a web shop, with redis-py. valkey-py has the same methods.

    pip install redis
    python examples/python/example.py

Environment: ROUGHLY_PORT is the port of the server on this machine (default 6379).
The keys of this example start with "shop:". The program deletes them first.
"""

import os

import redis

client = redis.Redis(port=int(os.environ.get("ROUGHLY_PORT", 6379)), decode_responses=True)
client.delete("shop:seen", "shop:carts", "shop:views", "shop:trending", "shop:latency")

# Bloom filter: was this visitor here before? The answer is a false yes for at most 1 in 1,000 new visitors.
client.bf().create("shop:seen", errorRate=0.001, capacity=100_000)
client.bf().madd("shop:seen", "ann", "bob")
seen = client.bf().mexists("shop:seen", "ann", "cid")
print(f"seen before: ann {bool(seen[0])}, cid {bool(seen[1])}")

# Cuckoo filter: like a Bloom filter, but items can be deleted.
client.cf().create("shop:carts", capacity=10_000)
client.cf().add("shop:carts", "ann:teapot")
client.cf().delete("shop:carts", "ann:teapot")
there = client.cf().exists("shop:carts", "ann:teapot")
print(f"teapot in the cart after its removal: {bool(there)}")

# Count-min sketch: how often was this page viewed? The estimate is never too low and rarely too high.
client.cms().initbyprob("shop:views", error=0.001, probability=0.01)
client.cms().incrby("shop:views", ["/teapots", "/cups"], [120, 45])
print(f"views of /teapots: {client.cms().query('shop:views', '/teapots')[0]}")

# Top-k: the two most frequent search terms, with their counts.
client.topk().reserve("shop:trending", k=2, width=8, depth=7, decay=0.9)
client.topk().incrby("shop:trending", ["teapot", "cup", "spoon"], [30, 20, 1])
print(f"most searched: {client.topk().list('shop:trending', withcount=True)}")

# t-digest: the median and the 99th percentile of response times, in milliseconds.
client.tdigest().create("shop:latency")
client.tdigest().add("shop:latency", list(range(1, 1001)))
half, slow = client.tdigest().quantile("shop:latency", 0.5, 0.99)
print(f"latency: 50 % within {half:.0f} ms, 99 % within {slow:.0f} ms")
