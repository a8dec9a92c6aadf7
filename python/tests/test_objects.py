"""Copies, files, chunks, threads."""

import copy
import gc
import itertools
import os
import pickle
import signal
import threading
import time
import weakref

import numpy as np
import pytest
import roughly

CREATE = {
    "bloom": lambda: roughly.BloomFilter(500),
    "cuckoo": lambda: roughly.CuckooFilter(1000),
    "count_min": lambda: roughly.CountMinSketch(100, 4),
    "top_k": lambda: roughly.TopK(5, 50, 4),
    "t_digest": lambda: roughly.TDigest(50),
}


@pytest.fixture(params=CREATE, name="sketch")
def filled(request):
    sketch = CREATE[request.param]()
    sketch.update(np.arange(1000))
    return sketch


def test_copies_are_equal_and_independent(sketch, tmp_path):
    path = tmp_path / "sketch.dump"
    sketch.save(path)
    payload = sketch.dump()
    copies = [
        sketch.copy(),
        copy.copy(sketch),
        copy.deepcopy(sketch),
        pickle.loads(pickle.dumps(sketch)),
        roughly.load(payload),
        roughly.load_chunks(sketch.to_chunks()),
        roughly.load_chunks([list(pair) for pair in sketch.to_chunks()] + [(0, b"")]),
        roughly.open(path),
        roughly.open(str(path)),
    ]
    for each in copies:
        assert type(each) is type(sketch) and each.dump() == payload
        each.update([5000, 5001])
        assert sketch.dump() == payload
    assert len({each.dump() for each in copies}) == 1


def test_files_that_cannot_be_read_are_os_errors(sketch, tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        roughly.open(tmp_path / "missing")
    assert str(error.value.filename) == str(tmp_path / "missing")
    assert error.value.strerror == "No such file or directory"
    with pytest.raises(IsADirectoryError):
        sketch.save(tmp_path)
    (tmp_path / "bad").write_bytes(b"bad")
    with pytest.raises(ValueError):
        roughly.open(tmp_path / "bad")


def test_iterators_of_chunks_have_64_bits():
    header, chunk, *_ = roughly.BloomFilter(100).to_chunks()
    for pairs in ([(2**70, header[1])], [header, (2**70, chunk[1])], [header, (-(2**70), b"")]):
        with pytest.raises(ValueError, match="^(received bad data|invalid offset - no link found)$"):
            roughly.load_chunks(pairs)


def test_chunks_without_end_can_be_interrupted():
    header, chunk, *_ = roughly.BloomFilter(100).to_chunks()
    # The iterator has no code in Python, which would check for signals.
    pairs = itertools.chain([header], itertools.repeat(chunk))
    signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.1)
    with pytest.raises(KeyboardInterrupt):
        roughly.load_chunks(pairs)


def test_payloads_have_the_chosen_version(sketch, client):
    for version in (9, 11, 80, 65535):
        payload = sketch.dump(rdb_version=version)
        assert payload[-10:-8] == version.to_bytes(2, "little")
        assert roughly.load(payload).dump() == sketch.dump()
    for version in (-1, 8, 65536):
        with pytest.raises(ValueError, match="rdb_version"):
            sketch.dump(rdb_version=version)
    client.restore("k", 0, sketch.dump())
    assert client.dump("k")[:-10] == sketch.dump()[:-10]


def test_compressed_payloads_load(sketch, client):
    client.restore("k", 0, sketch.dump())
    client.config_set("rdbcompression", "yes")
    try:
        assert roughly.load(client.dump("k")).dump() == sketch.dump()
    finally:
        client.config_set("rdbcompression", "no")


def test_chunks_load_into_the_server(client):
    sketch = roughly.BloomFilter(20_000_000)
    sketch.update(np.arange(100_000))
    chunks = list(sketch.to_chunks())
    assert len(chunks) > 2
    for iterator, chunk in chunks:
        client.execute_command("BF.LOADCHUNK", "k", iterator, chunk)
    assert client.execute_command("BF.CARD", "k") == len(sketch)
    assert roughly.load(client.dump("k")).dump() == sketch.dump()


def test_reads_share_an_object_between_threads(sketch):
    payload = sketch.dump()
    errors = []

    def read():
        try:
            for _ in range(50):
                assert sketch.dump() == payload
                if isinstance(sketch, roughly.TDigest):
                    sketch.quantile([0.1, 0.5])
                elif hasattr(sketch, "contains"):
                    assert sketch.contains(np.arange(1000)).all()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not errors


def test_writes_of_several_threads_wait_for_each_other():
    sketch = roughly.BloomFilter(3_000_000)
    items = np.arange(3_000_000)
    errors = []

    def run(method):
        try:
            method()
        except BaseException as error:
            errors.append(error)

    def read():
        for number in range(2000):
            assert isinstance(number in sketch, bool)
            len(sketch)

    methods = [lambda: sketch.update(items), lambda: sketch.update(items[::-1]), read, read]
    threads = [threading.Thread(target=run, args=(method,)) for method in methods]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not errors
    assert sketch.contains(items).all()


def test_bulk_calls_release_the_lock_of_the_interpreter():
    sketch = roughly.CuckooFilter(4_000_000)
    thread = threading.Thread(target=sketch.update, args=(np.arange(3_000_000),))
    thread.start()
    seen = set()
    while thread.is_alive():
        seen.add(len(sketch))
    thread.join()
    # This thread ran during the call of the other one.
    assert len(seen - {0, 3_000_000}) > 0


def test_an_iterable_may_use_the_object_that_it_changes():
    sketch = roughly.BloomFilter()
    sketch.update(item for item in [*range(10), *range(10)] if item not in sketch)
    assert len(sketch) == 10


def test_values_that_another_thread_writes_are_checked_and_not_used():
    samples = np.zeros(2_000_000)
    digest = roughly.TDigest()
    stop = threading.Event()

    def write():
        while not stop.is_set():
            samples[-1000:] = np.nan
            samples[-1000:] = 1.0

    thread = threading.Thread(target=write)
    thread.start()
    digest.add(1)
    for _ in range(20):
        try:
            digest.update(samples)
        except ValueError as error:
            assert "finite" in str(error)
        # A digest with a value that is not finite does not load.
        assert roughly.load(digest.dump()).max() == 1.0
    stop.set()
    thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_during_calls_leaves_a_usable_object():
    digest = roughly.TDigest(1000)
    digest.update(np.arange(200_000))
    seen = roughly.BloomFilter(1_000_000)
    stop = threading.Event()

    def use():
        number = 0
        while not stop.is_set():
            number += 1
            seen.update(np.arange(number, number + 50_000))
            digest.add(number)
            digest.quantile([0.1, 0.5])

    threads = [threading.Thread(target=use) for _ in range(3)]
    [thread.start() for thread in threads]
    try:
        for _ in range(30):
            child = os.fork()
            if child == 0:
                # A child that hangs is ended by the signal.
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(60)
                digest.add(1)
                good = digest.quantile(0.5) > 0 and roughly.load(digest.dump()).max() > 0
                seen.add("x")
                good &= "x" in seen and len(roughly.load(seen.dump())) == len(seen)
                os._exit(0 if good else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        [thread.join() for thread in threads]


def test_chunks_must_be_complete():
    sketch = roughly.BloomFilter(20_000_000)
    sketch.update(np.arange(1000))
    pairs = list(sketch.to_chunks())
    assert len(pairs) == 3
    size = pairs[-1][0] - 1
    first = len(pairs[1][1])
    for some, missing in [
        (pairs[:1], f"0 to {size - 1} of {size}"),
        (pairs[:2], f"{first} to {size - 1} of {size}"),
        ([pairs[0], pairs[2]], f"0 to {first - 1} of {size}"),
    ]:
        with pytest.raises(ValueError, match=f"^the chunks lack the bytes {missing}$"):
            roughly.load_chunks(some)
    for all_of_them in (pairs, [pairs[0], pairs[2], pairs[1]], [*pairs, pairs[1]]):
        assert roughly.load_chunks(all_of_them).dump() == sketch.dump()


def test_a_missing_key_has_no_payload():
    with pytest.raises(ValueError, match="^the key does not exist$"):
        roughly.load(None)


def test_a_star_import_leaves_the_built_in_functions():
    names = {}
    exec("from roughly import *", names)
    assert "open" not in names and "BloomFilter" in names


def test_several_digests_are_merged_at_once(client):
    digests = []
    for key in ("a", "b", "c"):
        client.execute_command("TDIGEST.CREATE", key)
        samples = np.random.default_rng(len(digests)).lognormal(size=5000)
        client.execute_command("TDIGEST.ADD", key, *samples.tolist())
        digests.append(roughly.load(client.dump(key)))
    client.execute_command("TDIGEST.MERGE", "a", 2, "b", "c")
    digests[0].merge(*digests[1:])
    assert digests[0].dump() == roughly.load(client.dump("a")).dump()


def test_a_merge_reads_a_window_at_a_time(client):
    client.execute_command("TDIGEST.CREATE", "w", "WINDOW", 60000)
    client.execute_command("TDIGEST.ADD", "w", 1, 2, 3)
    windowed = roughly.load(client.dump("w"))
    now = time.time()
    for at, count in ((now, 3), (now + 1000, 0)):
        digest = roughly.TDigest()
        digest.merge(windowed, at=at)
        assert digest.info()["Observations"] == count
    with pytest.raises(ValueError, match="before the newest pane"):
        roughly.TDigest().merge(windowed, at=now - 3600)
    with pytest.raises(ValueError, match="between the years 1970 and 9999"):
        windowed.quantile(0.5, at=now * 1000)


def test_merges_with_itself_count_twice():
    counts = roughly.CountMinSketch(100, 4)
    counts.update(["a", "b"], [1, 2])
    counts.merge(counts, 3)
    assert counts.query(["a", "b"]).tolist() == [4, 8]
    digest = roughly.TDigest()
    digest.update([1, 2, 3])
    digest.merge(digest)
    assert digest.info()["Observations"] == 6
    with pytest.raises(ValueError, match="^CMS: width/depth is not equal$"):
        counts.merge(roughly.CountMinSketch(10, 4))


def test_merges_are_those_of_the_server(client):
    for key, start in (("a", 0), ("b", 500)):
        client.execute_command("TDIGEST.CREATE", key)
        client.execute_command("TDIGEST.ADD", key, *range(start, start + 1000))
        client.execute_command("CMS.INITBYDIM", "cms:" + key, 50, 3)
        client.execute_command("CMS.INCRBY", "cms:" + key, "x", start + 1)
    digest, counts = (roughly.load(client.dump(key)) for key in ("a", "cms:a"))
    digest.merge(roughly.load(client.dump("b")))
    counts.merge(roughly.load(client.dump("cms:b")), 7)
    client.execute_command("TDIGEST.MERGE", "a", 1, "b")
    client.execute_command("CMS.MERGE", "cms:a", 2, "cms:a", "cms:b", "WEIGHTS", 1, 7)
    assert digest.dump() == roughly.load(client.dump("a")).dump()
    assert counts.dump() == roughly.load(client.dump("cms:a")).dump()


def test_parameters_are_required_together():
    for arguments in ({}, {"width": 3}, {"width": 3, "depth": 1, "error": 0.1}, {"error": 0.1}):
        with pytest.raises(TypeError):
            roughly.CountMinSketch(**arguments)


@pytest.mark.parametrize("window", [{}, {"window": 60_000}], ids=["no window", "window"])
@pytest.mark.parametrize("name", ["BloomFilter", "CuckooFilter", "CountMinSketch", "TopK", "TDigest"])
def test_weak_references(name, window):
    parameters = {"CountMinSketch": (100, 4), "TopK": (5,)}.get(name, ())
    sketch = getattr(roughly, name)(*parameters, **window)
    freed = []
    reference = weakref.ref(sketch, freed.append)
    assert reference() is sketch and weakref.getweakrefcount(sketch) == 1
    cache = weakref.WeakValueDictionary({"today": sketch})
    assert cache["today"] is sketch
    del sketch
    gc.collect()
    assert reference() is None and freed == [reference] and not cache
