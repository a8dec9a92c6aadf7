"""Checked by mypy and pyright: uses of the package with their types."""

import gzip
import io
import mmap
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import redis
import roughly
import roughly.shards

version: str = roughly.__version__

seen = roughly.BloomFilter(capacity=1_000_000, error_rate=0.001)
is_new: bool = seen.add("alice")
seen.update(["bob", b"carol", 5])
seen.update(np.arange(10))
new_items: list[bool] = seen.add_new(["bob", "dave"], at=None, chunk=5).tolist()
found: bool = "alice" in seen
found_of_all: int = int(seen.contains(np.array(["alice"]), at=datetime.now(timezone.utc)).sum())
size: int = len(seen) + seen.count + seen.capacity
seen.merge(roughly.BloomFilter(1_000_000, 0.001), seen)
seen.merge(seen.copy(), allow_rate=0.05)
seen |= seen.copy()
union: roughly.BloomFilter = seen | seen.copy()
share: float = seen.fill
valkey: bool = roughly.BloomFilter(valkey=True, seed=bytes(32)).valkey
equal: bool = seen == seen.copy()
payload: bytes = seen.dump(rdb_version=11)
copy: roughly.BloomFilter = seen.copy()
for iterator, chunk in seen.to_chunks():
    number: int = iterator
    data: bytes = chunk

cuckoo = roughly.CuckooFilter(1000, bucket_size=4)
removed: bool = cuckoo.remove("alice")
one_is_new: bool = cuckoo.add_new("alice")
some_are_new: int = int(cuckoo.add_new(["alice", "bob"], chunk=2).sum())

counts = roughly.CountMinSketch(error=0.001, probability=0.01)
estimate: int = counts.add("alice", 3)
counts.update(["a", "b"], [1, 2])
before: int = int(counts.between(-timedelta(hours=2), -timedelta(hours=1)).query(["a"])[0])
rows: list[list[int]] = counts.series(60_000, datetime.now(timezone.utc), items=["a"])
counts.update(["a", "b"], 5)
counts.update(Counter("abc"))
estimates: list[int] = [int(each) for each in counts.query(["a", "b"], within=60_000)]
total: int = counts.count + counts.width + counts.depth
counts.merge(roughly.CountMinSketch(2000, 7), weight=2)
windowed = roughly.CountMinSketch(2000, 7, window=60_000, panes=6, finest=1000, seed=bytes(16))
windowed.update(["a", "b"], at=[1.5, 2.5])
windowed.update(["a", "b"], at=np.array(["2026-01-01"] * 2, dtype="M8[ms]"))
windowed.add("a", at=datetime.now(timezone.utc))
windowed.add("a", at=np.datetime64("now"), allow_future=True)
windowed.update(iter(["a"]), at=[datetime.now(timezone.utc)], allow_future=True, chunk=1)
length: "int | None" = windowed.window

top = roughly.TopK(10)
expelled: "bytes | None" = top.add("alice")
items: list[tuple[bytes, int]] = top.items()
top.merge(roughly.TopK(10), top)

digest = roughly.TDigest()
digest.update(np.arange(10, dtype="f8"))
median: float = digest.quantile(0.5)
rank: int = digest.rank(3)
quartiles: float = float(digest.quantile([0.25, 0.5, 0.75]).max())
ranks = digest.rank(np.arange(3)).sum()
samples: int = digest.count
digest.update([1.5, 2.5], weights=[3, 4])
digest.update([1.5, 2.5], weights=[3.0, 4.0])
digest.update([1.5], weights=2.0)
digest.update([1.5, 2.5], 3)
digest.add(1.5, 3)
mean: float = digest.mean()
means, weights = digest.centroids()
of_centroids: roughly.TDigest = roughly.TDigest.from_centroids(means, weights, min=0.0, compression=200)
of_columns: roughly.TDigest = roughly.TDigest.from_centroids([1.5, 2.5], 3)
foreign: bytes = digest.to_bytes("datasketches", within=None)
of_bytes: roughly.TDigest = roughly.TDigest.from_bytes(memoryview(foreign), "reference-small")
weighted_mean: float = float((means * weights).sum() / weights.sum())

loaded: roughly.Sketch = roughly.load(payload)
loaded.update([1, 2])
fields: int = loaded.info()["Size"]
if isinstance(loaded, roughly.BloomFilter):
    number_of_items: int = loaded.count
same: roughly.BloomFilter = roughly.BloomFilter.load(memoryview(payload))
same = roughly.BloomFilter.load_chunks(seen.to_chunks())
in_file: roughly.BloomFilter = roughly.BloomFilter.open("seen.dump", lazy=True)
any_class: roughly.Sketch = roughly.Sketch.open(Path("seen.dump"))
with open("seen.dump", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
    same = roughly.BloomFilter.load(mapped)
    same = roughly.BloomFilter.load(np.frombuffer(payload, np.uint8))
    any_class = roughly.open(file)
with gzip.open("seen.dump.gz", "wb") as written:
    seen.save(written)
buffer = io.BytesIO()
seen.save(buffer)
for database, key, expires, sketch in roughly.load_rdb(gzip.open("dump.rdb.gz")):
    sketch_of_key: roughly.Sketch = sketch
memory: int = seen.__sizeof__()

visits = roughly.shards.ShardedBloomFilter(redis.RedisCluster(host="127.0.0.1", port=7000), "visits", 12)
names: list[str] = visits.keys + roughly.shards.keys("visits", 12)
visits.create(roughly.shards.capacity_of(1000, 12), 0.001, "WINDOW", 60_000, exist_ok=True)
visits.update(np.arange(10))
is_new = visits.add("alice")
present = visits.contains(["alice", 7]).all()
size_of_all: int = visits.info()["Size"] + int(visits.accuracy()["fill"])
shard: int = roughly.shards.shard_of("alice", 12)
in_first: int = int((roughly.shards.shards_of(np.arange(10), 12) == 0).sum())
