"""Copies, files, chunks, threads."""

import copy
import itertools
import pickle
import signal
import threading

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


def test_a_write_excludes_other_threads():
    sketch = roughly.BloomFilter(3_000_000)
    items = np.arange(3_000_000)
    results = []

    def write():
        try:
            sketch.update(items)
            results.append(None)
        except RuntimeError as error:
            results.append(error)

    threads = [threading.Thread(target=write) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert results.count(None) >= 1
    assert all("borrowed" in str(error) for error in results if error)
    assert sketch.contains(items).all()


def test_bulk_calls_release_the_lock_of_the_interpreter():
    sketch = roughly.BloomFilter(1_000_000)
    items = np.arange(300_000)
    stop = threading.Event()

    def write():
        for _ in range(1000):
            if not stop.is_set():
                sketch.update(items)

    thread = threading.Thread(target=write)
    thread.start()
    saw_a_write = False
    while thread.is_alive() and not saw_a_write:
        try:
            len(sketch)
        except RuntimeError:
            # This thread runs while the other one changes the object.
            saw_a_write = True
    stop.set()
    thread.join()
    assert saw_a_write


def test_an_iterable_may_not_use_the_object_that_it_changes():
    sketch = roughly.BloomFilter()
    with pytest.raises(RuntimeError, match="borrowed"):
        sketch.update(item for item in range(10) if item not in sketch)


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
