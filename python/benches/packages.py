"""Measures the Python package beside others, and prints a table as in docs/performance.md.

    target/python/bin/pip install rbloom pybloom_live datasketches polars
    target/python/bin/python python/benches/packages.py [server]

The candidates of a row run alternately, for ROUNDS rounds (default 5). The table has the median of the CPU times, and the median of the
ratios of the rounds. With `server`, it also compares a filter of MILLIONS (default 100) million items that is built here and
loaded with RESTORE with one that BF.MADD builds, on a server with the module at port PORT (default 6379). Of BF.MADD, a tenth of the items
is measured.
"""

import os
import resource
import sys
import time
from statistics import median

import numpy as np
import roughly

ROUNDS = int(os.environ.get("ROUNDS", 5))
ITEMS = 10_000_000


def cpu(call):
    """The CPU time of a call in seconds."""
    start = time.process_time()
    call()
    return time.process_time() - start


def row(name, items, ours, *peers):
    """Prints a row: the candidates are pairs of a name and a function that prepares and returns a call."""
    candidates = [("roughly", ours), *peers]
    times = {which: [] for which, _ in candidates}
    for _ in range(ROUNDS):
        for which, prepare in candidates:
            times[which].append(cpu(prepare()))
    cells = []
    for which, measured in times.items():
        ratio = median(ours / theirs for ours, theirs in zip(times["roughly"], measured))
        peer = "" if which == "roughly" else f"{which}: "
        beside = "" if which == "roughly" else f", ratio {ratio:.2f}"
        cells.append(f"{peer}{median(measured) / items * 1e9:.0f} ns{beside}")
    print(f"| {name} | {cells[0]} | {'; '.join(cells[1:]) or '–'} |", flush=True)


def update_of_strings():
    import pybloom_live
    import rbloom

    items = [f"user:{number}" for number in range(ITEMS)]
    few = items[: ITEMS // 20]

    def build(filter, items):
        return lambda: filter.update(items)

    def add_each(filter):
        def call():
            for item in few:
                filter.add(item)

        return call

    row(
        "`BloomFilter.update`, 10 million `str`, error rate 1 %",
        ITEMS,
        lambda: build(roughly.BloomFilter(ITEMS, 0.01, nonscaling=True), items),
        ("rbloom", lambda: build(rbloom.Bloom(ITEMS, 0.01), items)),
    )
    for number, text in ((1_000_000, "1 million"), (20_000, "20,000")):
        part = items[:number]
        # Of a short call, the sum of several.
        repeat = max(1, 1_000_000 // number)

        def several(create, part=part, repeat=repeat):
            filters = [create() for _ in range(repeat)]
            return lambda: [filter.update(part) for filter in filters]

        row(
            f"the same, {text} `str`",
            number * repeat,
            lambda n=number, several=several: several(
                lambda: roughly.BloomFilter(n, 0.01, nonscaling=True)
            ),
            ("rbloom", lambda n=number, several=several: several(lambda: rbloom.Bloom(n, 0.01))),
        )
    row(
        "the same, 500,000 `str`",
        len(few),
        lambda: build(roughly.BloomFilter(ITEMS, 0.01, nonscaling=True), few),
        ("pybloom_live", lambda: add_each(pybloom_live.BloomFilter(ITEMS, 0.01))),
    )


def contains_of_integers():
    numbers = np.arange(ITEMS, dtype="i8")
    for capacity, where in ((100_000, "120 kB"), (ITEMS, "12 MB")):
        filter = roughly.BloomFilter(capacity, 0.01, nonscaling=True)
        filter.update(numbers[::2][:capacity])
        row(
            f"`BloomFilter.contains`, 10 million `int64` from NumPy, filter of {where}",
            ITEMS,
            lambda: lambda: filter.contains(numbers),
        )


def columns():
    import polars

    items = [f"user:{number}" for number in range(ITEMS // 2)]
    column = polars.Series(items)
    numbers = np.arange(10**9, 10**9 + len(items))

    def build(items):
        filter = roughly.BloomFilter(len(items), 0.01, nonscaling=True)
        return lambda: filter.update(items)

    before = memory()
    build(column)()
    print(f"memory for a column: {memory() - before:.0f} MiB, with the filter", file=sys.stderr)
    row(
        "`BloomFilter.update`, 5 million strings of a polars column",
        len(items),
        lambda: build(column),
        ("list of the same `str`", lambda: build(items)),
        ("`int64` from NumPy", lambda: build(numbers)),
    )


def memory():
    """The largest memory of the process so far in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def samples():
    import datasketches

    values = np.random.default_rng(1).normal(size=ITEMS)

    def build(sketch):
        return lambda: sketch.update(values)

    row(
        "`TDigest.update`, 10 million `float64` from NumPy",
        ITEMS,
        lambda: build(roughly.TDigest(100)),
        ("datasketches tdigest_double", lambda: build(datasketches.tdigest_double(100))),
        ("datasketches kll_doubles_sketch", lambda: build(datasketches.kll_doubles_sketch(200))),
    )


def server():
    import redis

    client = redis.Redis(port=int(os.environ.get("PORT", 6379)))
    items = int(os.environ.get("MILLIONS", 100)) * 1_000_000

    def cpu_of_both():
        info = client.info("cpu")
        return time.process_time() + info["used_cpu_sys"] + info["used_cpu_user"]

    before = memory()
    cpu = cpu_of_both()
    start = time.monotonic()
    filter = roughly.BloomFilter(items, 0.01, nonscaling=True)
    for first in range(0, items, ITEMS):
        filter.update(np.arange(first, first + ITEMS))
    built = time.monotonic()
    payload = filter.dump()
    dumped = time.monotonic()
    client.restore("bench:offline", 0, payload, replace=True)
    end = time.monotonic()
    offline_cpu = cpu_of_both() - cpu
    print(f"build {built - start:.1f} s, dump {dumped - built:.1f} s, RESTORE {end - dumped:.1f} s")
    print(f"payload {len(payload) / 2**20:.0f} MiB, memory of the program {memory() - before:.0f} MiB")
    client.delete("bench:online")
    client.execute_command("BF.RESERVE", "bench:online", 0.01, items, "NONSCALING")
    part = items // 10
    cpu = cpu_of_both()
    begin = time.monotonic()
    for first in range(0, part, 10_000):
        pipeline = client.pipeline(transaction=False)
        for chunk in range(first, first + 10_000, 1000):
            pipeline.execute_command("BF.MADD", "bench:online", *range(chunk, chunk + 1000))
        pipeline.execute()
    online = (time.monotonic() - begin) * items / part
    online_cpu = (cpu_of_both() - cpu) * items / part
    print(f"BF.MADD of 1,000 items, pipelines of 10: {online:.0f} s (from a tenth of the items)")
    print(f"ratio of the times {(end - start) / online:.3f}")
    print(f"CPU of program and server: {offline_cpu:.1f} s and {online_cpu:.0f} s, ratio {offline_cpu / online_cpu:.3f}")
    assert client.execute_command("BF.CARD", "bench:offline") == len(filter)
    client.delete("bench:offline", "bench:online")


if __name__ == "__main__":
    if sys.argv[1:] == ["server"]:
        server()
    else:
        print("| operation | roughly, per item | others in the same run |\n|---|---|---|")
        update_of_strings()
        columns()
        contains_of_integers()
        samples()
