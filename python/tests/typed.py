"""Checked by mypy and pyright: uses of the package with their types."""

from datetime import datetime, timezone

import numpy as np
import roughly

seen = roughly.BloomFilter(capacity=1_000_000, error_rate=0.001)
is_new: bool = seen.add("alice")
seen.update(["bob", b"carol", 5])
seen.update(np.arange(10))
found: bool = "alice" in seen
seen.contains(np.array(["alice"]), at=datetime.now(timezone.utc))
size: int = len(seen)
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
counts.merge(roughly.CountMinSketch(2000, 7), weight=2)

top = roughly.TopK(10)
expelled: "bytes | None" = top.add("alice")
items: list[tuple[bytes, int]] = top.items()

digest = roughly.TDigest()
digest.update(np.arange(10, dtype="f8"))
median: float = digest.quantile(0.5)
rank: int = digest.rank(3)
quartiles = list(digest.quantile([0.25, 0.5, 0.75]))

loaded: roughly.BloomFilter = roughly.load(payload)
