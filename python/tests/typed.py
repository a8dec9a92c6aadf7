"""Checked by mypy and pyright: uses of the package with their types."""

from collections import Counter
from datetime import datetime, timezone

import numpy as np
import roughly

version: str = roughly.__version__

seen = roughly.BloomFilter(capacity=1_000_000, error_rate=0.001)
is_new: bool = seen.add("alice")
seen.update(["bob", b"carol", 5])
seen.update(np.arange(10))
found: bool = "alice" in seen
found_of_all: int = int(seen.contains(np.array(["alice"]), at=datetime.now(timezone.utc)).sum())
size: int = len(seen) + seen.count + seen.capacity
seen.merge(roughly.BloomFilter(1_000_000, 0.001), seen)
seen |= seen.copy()
equal: bool = seen == seen.copy()
payload: bytes = seen.dump(rdb_version=11)
copy: roughly.BloomFilter = seen.copy()
for iterator, chunk in seen.to_chunks():
    number: int = iterator
    data: bytes = chunk

cuckoo = roughly.CuckooFilter(1000, bucket_size=4)
removed: bool = cuckoo.remove("alice")

counts = roughly.CountMinSketch(error=0.001, probability=0.01)
estimate: int = counts.add("alice", 3)
counts.update(["a", "b"], [1, 2])
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

digest = roughly.TDigest()
digest.update(np.arange(10, dtype="f8"))
median: float = digest.quantile(0.5)
rank: int = digest.rank(3)
quartiles: float = float(digest.quantile([0.25, 0.5, 0.75]).max())
ranks = digest.rank(np.arange(3)).sum()
samples: int = digest.count

loaded = roughly.load(payload)
if isinstance(loaded, roughly.BloomFilter):
    number_of_items: int = loaded.count
else:
    others: (
        roughly.CuckooFilter | roughly.CountMinSketch | roughly.TopK | roughly.TDigest
    ) = loaded
