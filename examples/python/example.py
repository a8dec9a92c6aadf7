"""A day of a web shop in five sketches, with redis-py (or valkey-py: the methods are the same).

    pip install redis
    python examples/python/example.py

The server is on port 6379 of this machine, or on ROUGHLY_PORT. Keys of this example start with "shop:"
and are removed first.
"""

import os

import redis

client = redis.Redis(port=int(os.environ.get("ROUGHLY_PORT", 6379)), decode_responses=True)
client.delete("shop:seen", "shop:carts", "shop:views", "shop:trending", "shop:latency")

# Bloom filter: has this visitor been here? One in a thousand newcomers is taken for a known one.
client.bf().create("shop:seen", errorRate=0.001, capacity=100_000)
client.bf().madd("shop:seen", "ann", "bob")
seen = client.bf().mexists("shop:seen", "ann", "cid")
print(f"seen before: ann {bool(seen[0])}, cid {bool(seen[1])}")

# Cuckoo filter: as above, and what went in can be taken out.
client.cf().create("shop:carts", capacity=10_000)
client.cf().add("shop:carts", "ann:teapot")
client.cf().delete("shop:carts", "ann:teapot")
there = client.cf().exists("shop:carts", "ann:teapot")
print(f"teapot in the cart after it was taken out: {bool(there)}")

# Count-min sketch: how often was this page read? Never too few, and seldom too many.
client.cms().initbyprob("shop:views", error=0.001, probability=0.01)
client.cms().incrby("shop:views", ["/teapots", "/cups"], [120, 45])
print(f"views of /teapots: {client.cms().query('shop:views', '/teapots')[0]}")

# Top-k: the two words most searched for, with their counts.
client.topk().reserve("shop:trending", k=2, width=8, depth=7, decay=0.9)
client.topk().incrby("shop:trending", ["teapot", "cup", "spoon"], [30, 20, 1])
print(f"searched most: {client.topk().list('shop:trending', withcount=True)}")

# t-digest: how long does the slowest hundredth of the answers take?
client.tdigest().create("shop:latency")
client.tdigest().add("shop:latency", list(range(1, 1001)))
half, slow = client.tdigest().quantile("shop:latency", 0.5, 0.99)
print(f"latency: half within {half:.0f} ms, 99 % within {slow:.0f} ms")
