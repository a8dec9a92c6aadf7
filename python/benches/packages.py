"""Measures the Python package beside others, and prints a table. docs/python.md has some of the times.

    target/python/bin/pip install rbloom xxhash pybloom_live datasketches polars
    target/python/bin/python python/benches/packages.py [section ...]

The sections are `strings`, `integers`, `calls`, `storage`, `imports`, `columns`, `arrays`, `samples` (by default these), `new`, `pickles`
and `server`.

The candidates of a row run alternately, for ROUNDS rounds (default 5). The table has the median of the CPU times per item or call, and
the median of the ratios of the rounds. `rbloom` uses Python's hash, which differs in each process, so these filters cannot be
saved. `rbloom, xxhash` uses a hash that can be saved, as its documentation advises.

`server` compares a filter of MILLIONS (default 100) million items that is built here and loaded with RESTORE with one that BF.MADD
builds, on a server with the module at port PORT (default 6379). Of BF.MADD, a tenth of the items is measured.
"""

import os
import resource
import subprocess
import sys
import time
from statistics import median

import numpy as np
import rbloom
import roughly
import xxhash

ROUNDS = int(os.environ.get("ROUNDS", 5))
ITEMS = 10_000_000
ERROR_RATE = 0.01


def text(seconds):
    """A time with a unit and at least two digits."""
    for unit, factor in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3)):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def row(name, number, ours, *peers, clock=time.process_time):
    """Prints a row. The candidates are pairs of a name and a function that prepares and returns a call. `number` is how many
    operations a call has."""
    candidates = [("roughly", ours), *peers]
    times = {which: [] for which, _ in candidates}
    for _ in range(ROUNDS):
        for which, prepare in candidates:
            call = prepare()
            start = clock()
            call()
            times[which].append(clock() - start)
    cells = []
    for which, measured in times.items():
        ratio = median(ours / theirs for ours, theirs in zip(times["roughly"], measured))
        peer = "" if which == "roughly" else f"{which}: "
        beside = "" if which == "roughly" else f", ratio {ratio:.2f}"
        cells.append(f"{peer}{text(median(measured) / number)}{beside}")
    print(f"| {name} | {cells[0]} | {'; '.join(cells[1:]) or '–'} |", flush=True)


def saved_hash(item):
    """A hash for filters of rbloom that are saved."""
    return xxhash.xxh3_128_intdigest(str(item).encode()) - 2**127


def filter_of(capacity):
    return roughly.BloomFilter(capacity, ERROR_RATE, nonscaling=True)


def peers(prepare):
    """rbloom with both hashes; `prepare` has a function that creates a filter for a capacity."""
    return (
        ("rbloom", lambda: prepare(lambda capacity: rbloom.Bloom(capacity, ERROR_RATE))),
        ("rbloom, xxhash", lambda: prepare(lambda capacity: rbloom.Bloom(capacity, ERROR_RATE, saved_hash))),
    )


def updates(name, items):
    """A row of `update` of a list. A call has several filters if the list is short."""
    repeat = max(1, 1_000_000 // len(items))

    def prepare(create):
        filters = [create(len(items)) for _ in range(repeat)]
        return lambda: [filter.update(items) for filter in filters]

    row(f"`BloomFilter.update`, {name}", len(items) * repeat, lambda: prepare(filter_of), *peers(prepare))


def strings():
    import pybloom_live

    items = [f"user:{number}" for number in range(ITEMS)]
    for number, name in ((1000, "1,000"), (20_000, "20,000"), (1_000_000, "1 million"), (ITEMS, "10 million")):
        updates(f"{name} `str`", items[:number])
    few = items[: ITEMS // 20]

    def add_each():
        filter = pybloom_live.BloomFilter(len(few), ERROR_RATE)
        return lambda: [filter.add(item) for item in few]

    def update():
        filter = filter_of(len(few))
        return lambda: filter.update(few)

    row("`BloomFilter.update`, 500,000 `str`", len(few), update, ("pybloom_live", add_each))


def integers():
    for number, name in ((1000, "1,000"), (1_000_000, "1 million")):
        updates(f"list of {name} `int`", list(range(10**9, 10**9 + number)))


def calls():
    number = 100_000
    strings = [f"user:{index}" for index in range(2 * number)]
    integers = list(range(10**9, 10**9 + 2 * number))
    for kind, items in (("str", strings), ("int", integers)):
        present, absent = items[:number], items[number:]

        def add(create):
            filter = create(number)

            def call():
                for item in present:
                    filter.add(item)

            return call

        row(f"`BloomFilter.add`, one `{kind}` per call", number, lambda: add(filter_of), *peers(add))
        for where, tested in (("present", present), ("absent", absent)):

            def test(create):
                filter = create(number)
                filter.update(present)

                def call():
                    for item in tested:
                        item in filter

                return call

            row(f"`in`, one {where} `{kind}`", number, lambda: test(filter_of), *peers(test))


def storage():
    for capacity, repeat, name in ((800, 2000, "1 kB"), (800_000, 20, "1 MB"), (80_000_000, 1, "100 MB")):
        ours, theirs = filter_of(capacity), rbloom.Bloom(capacity, ERROR_RATE, saved_hash)
        for filter in (ours, theirs):
            filter.update(range(capacity // 100))
        dumped, saved = ours.dump(), theirs.save_bytes()

        def several(operation):
            return lambda: lambda: [operation() for _ in range(repeat)]

        row(f"`BloomFilter.dump`, {name}", repeat, several(ours.dump), ("rbloom, xxhash", several(theirs.save_bytes)))
        row(
            f"`load`, {name}",
            repeat,
            several(lambda: roughly.load(dumped)),
            ("rbloom, xxhash", several(lambda: rbloom.Bloom.load_bytes(saved, saved_hash))),
        )


def imports():
    # With compiled bytecode, as after an installation.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def process(code):
        command = [sys.executable, "-c", code]
        return lambda: lambda: [subprocess.run(command, check=True, env=environment) for _ in range(10)]

    def children():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    row(
        "a process that imports the package",
        10,
        process("import roughly"),
        *((f"`import {name}`", process(f"import {name}")) for name in ("rbloom", "pybloom_live", "numpy")),
        ("nothing", process("")),
        clock=children,
    )


def arrays():
    numbers = np.arange(ITEMS, dtype="i8")
    for capacity, where in ((100_000, "120 kB"), (ITEMS, "12 MB")):
        filter = filter_of(capacity)
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
        filter = filter_of(len(items))
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


def new():
    """`add_new` beside `update`: a ratio of at most 1.1 for Bloom filters."""
    items = [f"user:{number}" for number in range(1_000_000)]
    numbers = np.arange(1_000_000) // 2
    filters = {
        "BloomFilter": lambda: filter_of(1_000_000),
        "BloomFilter that grows": lambda: roughly.BloomFilter(10_000),
        "BloomFilter with a window": lambda: roughly.BloomFilter(1_000_000, window=60_000),
        "CuckooFilter": lambda: roughly.CuckooFilter(2_000_000),
    }
    roughly.BloomFilter().contains(items[:1])
    for name, create in filters.items():
        for kind, several in (("`str`", items), ("`int64` from NumPy, each twice", numbers)):

            def call(method):
                filter = create()
                return lambda: getattr(filter, method)(several)

            def test_and_update():
                filter = create()
                return lambda: (filter.contains(several), filter.update(several))

            row(
                f"`add_new`, {name}, 1 million {kind}",
                len(several),
                lambda: call("add_new"),
                ("`update`", lambda: call("update")),
                ("`contains` and `update`", test_and_update),
            )


def pickles():
    import pickle

    filter = roughly.BloomFilter(115_000_000)
    filter.update(np.arange(10_000_000))
    row(
        f"`pickle.dumps` with `buffer_callback`, filter of {filter.__sizeof__() / 1e6:.0f} MB",
        1,
        lambda: lambda: pickle.dumps(filter, 5, buffer_callback=[].append),
        ("protocol 5 in band", lambda: lambda: pickle.dumps(filter, 5)),
        ("protocol 4", lambda: lambda: pickle.dumps(filter, 4)),
    )


def memory():
    """The largest memory of the process so far in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def samples():
    import datasketches

    values = np.random.default_rng(1).normal(size=ITEMS)

    def update(create, values):
        repeat = max(1, 1_000_000 // len(values))
        sketches = [create() for _ in range(repeat)]
        return lambda: [sketch.update(values) for sketch in sketches]

    def add(sketch, method):
        add = getattr(sketch, method)
        few = values[:100_000].tolist()
        return lambda: [add(value) for value in few]

    for number, name in ((1000, "1,000"), (ITEMS, "10 million")):
        part = values[:number]
        row(
            f"`TDigest.update`, {name} `float64` from NumPy",
            max(number, 1_000_000),
            lambda: update(lambda: roughly.TDigest(100), part),
            ("datasketches, t-digest", lambda: update(lambda: datasketches.tdigest_double(100), part)),
            ("datasketches, KLL", lambda: update(lambda: datasketches.kll_doubles_sketch(200), part)),
        )
    row(
        "`TDigest.add`, one `float` per call",
        100_000,
        lambda: add(roughly.TDigest(100), "add"),
        ("datasketches, t-digest", lambda: add(datasketches.tdigest_double(100), "update")),
        ("datasketches, KLL", lambda: add(datasketches.kll_doubles_sketch(200), "update")),
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
    filter = filter_of(items)
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


SECTIONS = (strings, integers, calls, storage, imports, columns, arrays, samples)

if __name__ == "__main__":
    chosen = [{section.__name__: section for section in (*SECTIONS, new, pickles, server)}[name] for name in sys.argv[1:]]
    if chosen != [server]:
        print("| operation | roughly | others in the same run |\n|---|---|---|")
    for section in chosen or SECTIONS:
        section()
