"""Merges of several objects."""

import os
import threading

import numpy as np
import pytest
import redis
import roughly
from conftest import ROOT


def filled(start, stop, capacity=500, **kwargs):
    sketch = roughly.BloomFilter(capacity, 0.01, **kwargs)
    sketch.update(range(start, stop))
    return sketch


RANGES = [(0, 400), (200, 900), (0, 3000), (5000, 5001), (0, 0)]


@pytest.mark.parametrize("kwargs, options", [({}, []), ({"expansion": 4}, ["EXPANSION", 4])])
def test_a_merge_of_bloom_filters_is_that_of_the_server(client, kwargs, options):
    for key, (start, stop) in enumerate(RANGES):
        client.execute_command("BF.RESERVE", key, 0.01, 500, *options)
        if stop > start:
            client.execute_command("BF.MADD", key, *range(start, stop))
    first, *others = [filled(*each, **kwargs) for each in RANGES]
    client.execute_command("BF.MERGE", 0, len(others) + 2, 1, 0, 2, 1, 3, 4)
    first.merge(others[0], first, others[1], others[0], *others[2:])
    assert first.dump() == roughly.load(client.dump("0")).dump()
    assert first.contains([*range(3000), 5000]).all()
    assert first.count == client.execute_command("BF.CARD", 0)
    # A merge of nothing changes nothing.
    before = first.dump()
    first.merge()
    first |= first
    assert first.dump() == before


def test_the_operator_merges():
    one, other = filled(0, 100), filled(100, 200)
    same = one
    expected = one.copy()
    expected.merge(other)
    one |= other
    assert one is same and one == expected
    with pytest.raises(TypeError):
        one |= {1, 2}
    with pytest.raises(TypeError):
        one.merge(roughly.CuckooFilter())


@pytest.mark.parametrize(
    "options, kwargs",
    [
        ([500, "EXPANSION", 3], {"capacity": 500, "expansion": 3}),
        ([600], {"capacity": 600}),
        ([500, "NONSCALING"], {"capacity": 500, "nonscaling": True}),
        ([500, "WINDOW", 60_000], {"capacity": 500, "window": 60_000}),
    ],
)
def test_other_parameters_are_errors_of_the_server(client, options, kwargs):
    client.execute_command("BF.RESERVE", "a", 0.01, 500)
    client.execute_command("BF.RESERVE", "b", 0.01, *options)
    with pytest.raises(redis.ResponseError) as theirs:
        client.execute_command("BF.MERGE", "a", 1, "b")
    one, other = roughly.BloomFilter(500), roughly.BloomFilter(**kwargs)
    before = one.dump()
    with pytest.raises(ValueError) as ours:
        one.merge(roughly.BloomFilter(500), other)
    assert str(ours.value) == str(theirs.value)
    assert one.dump() == before


def test_filters_of_valkey_bloom_cannot_be_merged():
    path = next((ROOT / "tests/golden/valkey-bloom").glob("*.dump"))
    valkey = roughly.load(path.read_bytes())
    for merge in (lambda: valkey.merge(valkey.copy()), lambda: roughly.BloomFilter().merge(valkey)):
        with pytest.raises(ValueError, match="^filters of valkey-bloom cannot be merged$"):
            merge()


def test_merges_in_both_directions_do_not_wait_for_each_other():
    one, other = filled(0, 2000), filled(1000, 4000)
    counts, same = roughly.CountMinSketch(100, 4), roughly.CountMinSketch(100, 4)
    errors = []

    def run(step):
        try:
            for _ in range(300):
                step()
        except BaseException as error:
            errors.append(error)

    def query():
        assert 1500 in one and isinstance(one == other, bool)
        repr(one)

    steps = [
        lambda: one.merge(other),
        lambda: other.merge(one, other),
        lambda: counts.merge(same, 0),
        lambda: same.merge(counts, same, 0),
        lambda: one.update(np.arange(100)),
        query,
    ]
    threads = [threading.Thread(target=run, args=(step,)) for step in steps]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not errors
    one.merge(other)
    other.merge(one)
    assert one.contains(range(4000)).all() and other.contains(range(4000)).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_during_merges_and_additions_with_times_leaves_usable_objects():
    import signal

    one, other = filled(0, 2000), filled(1000, 4000)
    windowed = roughly.CountMinSketch(1000, 4, window=60_000, panes=6)
    stop = threading.Event()

    def merge():
        while not stop.is_set():
            one.merge(other)
            assert one == one

    def add():
        at = 0
        while not stop.is_set():
            at += 1
            windowed.update(np.arange(5000), at=at)

    threads = [threading.Thread(target=each) for each in (merge, merge, add)]
    [thread.start() for thread in threads]
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                # A child that hangs is ended by the signal.
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(60)
                other.merge(one)
                windowed.merge(windowed.copy(), at=2**32, allow_future=True)
                good = 0 in other and roughly.load(windowed.dump()) == windowed
                os._exit(0 if good else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        [thread.join() for thread in threads]
