"""Sketches of 100 million rows: CPU time, memory, and the accuracy of merged trees, for docs/large-data.md.

    python benches/large_data.py            all measurements, each in a process
    python benches/large_data.py NAME...    these; `cluster` needs a cluster of three nodes on port 7000
"""

import resource
import subprocess
import sys
import time

import duckdb
import numpy as np
import roughly
import roughly.shards

ROWS = 100_000_000
PARTS = 16


def integers(start, end):
    return duckdb.connect().sql(f"SELECT range FROM range({start}, {end})")


def merge(sketches, width=4):
    """The root of a tree, in which each task takes and returns payloads."""
    while len(sketches) > 1:
        groups = [sketches[at : at + width] for at in range(0, len(sketches), width)]
        sketches = [merged(map(roughly.load, group)).dump() for group in groups]
    return roughly.load(sketches[0])


def merged(sketches):
    first, *others = sketches
    first.merge(*others)
    return first


def one_filter():
    seen = roughly.BloomFilter(ROWS)
    seen.update(integers(0, ROWS))
    yield "one filter", seen.count


def one_digest():
    digest = roughly.TDigest()
    digest.update(duckdb.connect().sql(f"SELECT ln(range + 1) FROM range({ROWS})").to_arrow_reader())
    yield "one t-digest", digest.count


def tree_of_filters():
    step = ROWS // PARTS
    payloads = []
    for start in range(0, ROWS, step):
        part = roughly.BloomFilter(ROWS)
        part.update(integers(start, start + step))
        payloads.append(part.dump())
    yield f"{PARTS} filters", sum(map(len, payloads))
    yield "their tree", merge(payloads).count


def filters_of_shards():
    count, step = 16, ROWS // PARTS
    filters = [roughly.BloomFilter(roughly.shards.capacity_of(ROWS, count)) for _ in range(count)]
    for start in range(0, ROWS, step):
        items = np.arange(start, start + step)
        numbers = roughly.shards.shards_of(items, count)
        for number, part in enumerate(filters):
            part.update(items[numbers == number])
    yield f"filters of {count} shards", sum(part.count for part in filters)


def cluster():
    import redis

    client = redis.RedisCluster(host="127.0.0.1", port=7000)
    visits = roughly.shards.ShardedBloomFilter(client, "visits", 12)
    client.delete(*visits.keys)
    visits.create(10_000_000)
    items = np.arange(1_000_000)
    yield "creation", 0
    visits.update(items)
    yield "update, 1 million", visits.info()["Number of items inserted"]
    yield "contains, 1 million", visits.contains(items).sum()


def accuracy():
    """Rank errors in % of one digest, of the merge of 1,000 at once, and of their tree: mean (and maximum) of 10 streams."""
    for compression in (100, 1000):
        errors = {}
        for seed in range(10):
            samples = np.random.default_rng(seed).lognormal(0, 2, 1_000_000)
            whole = roughly.TDigest(compression)
            whole.update(samples)
            parts = []
            for part in np.split(samples, 1000):
                digest = roughly.TDigest(compression)
                digest.update(part)
                parts.append(digest.dump())
            flat = merged(map(roughly.load, parts))
            samples.sort()
            for name, digest in {"one": whole, "at once": flat, "tree of 10": merge(parts, 10), "tree of 4": merge(parts)}.items():
                for q in (0.5, 0.9, 0.99, 0.999):
                    error = abs(np.searchsorted(samples, digest.quantile(q)) / len(samples) - q)
                    errors.setdefault((name, q), []).append(100 * error)
        for (name, q), values in errors.items():
            yield f"compression {compression}, {name}, p{100 * q:g}: {np.mean(values):.2g} ({max(values):.2g}) %", 0


MEASUREMENTS = {each.__name__: each for each in (one_filter, one_digest, tree_of_filters, filters_of_shards, cluster, accuracy)}

if __name__ == "__main__":
    names = sys.argv[1:]
    if len(names) == 1:
        before = time.process_time()
        for step, result in MEASUREMENTS[names[0]]():
            now = time.process_time()
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
            print(f"{step}: {now - before:.1f} s, at most {memory:.0f} MB, {result}", flush=True)
            before = time.process_time()
    else:
        for name in names or MEASUREMENTS:
            subprocess.run([sys.executable, __file__, name], check=True)
