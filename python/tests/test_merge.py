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
    first.merge(others[0], first, others[1], others[0], *others[2:], allow_rate=1)
    assert first.dump() == roughly.load(client.dump("0")).dump()
    assert first.contains([*range(3000), 5000]).all()
    assert first.count == client.execute_command("BF.CARD", 0)
    # A merge of nothing changes nothing.
    before = first.dump()
    first.merge()
    first |= first
    assert first.dump() == before


def test_the_operators_merge():
    one, other = filled(0, 100), filled(100, 200)
    same = one
    before, expected = one.copy(), one.copy()
    expected.merge(other)
    union = one | other
    assert union == expected and one == before and other == filled(100, 200)
    assert one | one == one and (one | one) is not one
    one |= other
    assert one is same and one == expected
    for value in ({1, 2}, 5, None, roughly.CuckooFilter(), roughly.TopK(1)):
        with pytest.raises(TypeError):
            one |= value
        with pytest.raises(TypeError):
            one | value
        with pytest.raises(TypeError):
            value | one
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


def fills_of_merges():
    """Filters, and whether their merge has too many false positives."""
    for name, capacity, kwargs in [
        ("growing", 1000, {}),
        ("nonscaling", 1000, {"nonscaling": True}),
        ("large", 100_000, {}),
        ("small", 10, {}),
    ]:

        def share(first, last):
            return filled(int(first * capacity), int(last * capacity), capacity=capacity, **kwargs)

        yield f"{name}, halves", [share(0, 0.5), share(0.5, 1)], False
        yield f"{name}, tenths", [share(i / 10, (i + 1) / 10) for i in range(10)], False
        yield f"{name}, overlap", [share(0, 0.8), share(0.2, 1)], False
        yield f"{name}, same items", [share(0, 1), share(0, 1), share(0, 1)], False
        yield f"{name}, a part", [share(0, 1), share(0.3, 0.4), share(0, 0)], False
        yield f"{name}, full", [share(i, i + 1) for i in range(3)], True
        yield f"{name}, three of 0.9", [share(i, i + 0.9) for i in range(3)], True
    grown = [filled(0, 3000, capacity=1000), filled(0, 3000, capacity=1000)]
    yield "grown, same items", grown, False
    yield "grown, others", [grown[0], filled(3000, 6000, capacity=1000)], True
    yield "grown and few", [grown[0], filled(3000, 3020, capacity=1000)], False


MERGES = list(fills_of_merges())


@pytest.mark.parametrize("filters, is_refused", [merge[1:] for merge in MERGES], ids=[merge[0] for merge in MERGES])
def test_a_merge_does_not_exceed_the_error_rate_silently(filters, is_refused):
    def rate(sketch):
        return sketch.accuracy()["false positive rate"]

    first, *others = filters
    merged = first.copy()
    merged.merge(*others, allow_rate=1)
    expected = rate(merged)
    first, before = first.copy(), first.copy()
    if not is_refused:
        first.merge(*others)
        assert first == merged
        if first.capacity >= 1000:
            assert expected <= max(1.3 * first.error_rate, rate(before))
        return
    with pytest.raises(ValueError, match="^cannot merge: the false positive rate would be ") as error:
        first.merge(*others)
    assert first == before and expected > 1.25 * first.error_rate
    # The text has the rate and the argument that permits it.
    allowed = float(str(error.value).split("allow_rate=")[1].rstrip(")"))
    assert expected <= allowed <= 1.01 * expected
    if len(others) == 1:
        with pytest.raises(ValueError, match="allow_rate="):
            first |= others[0]
        with pytest.raises(ValueError, match="allow_rate="):
            first | others[0]
    with pytest.raises(ValueError, match="^cannot merge: the false positive rate"):
        first.merge(*others, allow_rate=0.99 * expected)
    assert first == before
    first.merge(*others, allow_rate=allowed)
    assert first == merged
    # The filter may keep the rate that it has.
    first.merge(first, *others)
    assert first == merged
    # Another one does not get it silently.
    empty = roughly.BloomFilter(first.capacity, first.error_rate, nonscaling=first.nonscaling)
    with pytest.raises(ValueError, match="allow_rate="):
        empty |= first
    assert empty.fill == 0


def test_rates_out_of_range_are_refused():
    for rate in (0, -0.1, 1.1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"^allow_rate must be in the range \(0, 1\]$"):
            filled(0, 10).merge(filled(10, 20), allow_rate=rate)
    # The text has a rate that suffices, however small it is.
    one, other = (filled(i, i + 1, capacity=100_000) for i in range(2))
    with pytest.raises(ValueError, match="would be") as error:
        one.merge(other, allow_rate=1e-300)
    one.merge(other, allow_rate=float(str(error.value).split("allow_rate=")[1].rstrip(")")))


def top_k_of(items, k):
    top = roughly.TopK(k)
    top.update(items)
    return top


def test_merged_top_k_sketches_of_few_items_are_exact(client):
    first, second, third = top_k_of({"a": 5, "b": 2}, 3), top_k_of({"a": 1, "c": 4}, 3), top_k_of({"d": 3}, 3)
    before = second.copy()
    first.merge(second, third, second)
    assert first.items() == [(b"c", 8), (b"a", 7), (b"d", 3)] and second == before
    assert (first.count("a"), first.count("b"), "b" in first, "d" in first) == (7, 2, False, True)
    first.merge()
    first.merge(first)
    assert first.items() == [(b"c", 16), (b"a", 14), (b"d", 6)]
    # It is a sketch like others.
    client.restore("k", 0, first.dump())
    added = [("d", 100), ("e", 50), ("a", 1)]
    for item, n in added:
        client.execute_command("TOPK.INCRBY", "k", item, n)
        first.add(item, n)
    assert first == roughly.load(client.dump("k"))


OTHER_PARAMETERS = {"k": {"k": 11, "width": 100}, "width": {"width": 99}, "depth": {"depth": 4}, "decay": {"decay": 0.8}}


@pytest.mark.parametrize("name", OTHER_PARAMETERS)
def test_top_k_sketches_with_other_parameters_are_not_merged(name):
    one = roughly.TopK(10)
    one.add("a")
    before = one.copy()
    with pytest.raises(ValueError, match=f"^TopK: {name} differs: "):
        one.merge(before, roughly.TopK(**{"k": 10} | OTHER_PARAMETERS[name]))
    assert one == before


def test_top_k_sketches_with_a_window_are_not_merged():
    one, window = roughly.TopK(10), roughly.TopK(10, window=1000)
    for destination, sources in ((window, [one]), (one, [window]), (one, [one, window]), (window, [])):
        with pytest.raises(ValueError, match="^TopK: sketches with a window cannot be merged$"):
            destination.merge(*sources)
    with pytest.raises(TypeError):
        one.merge(roughly.BloomFilter())


def test_objects_of_other_classes_are_not_merged():
    sketches = [roughly.BloomFilter(), roughly.CountMinSketch(9, 3), roughly.TopK(3), roughly.TDigest()]
    for one in sketches:
        for other in sketches:
            if type(one) is not type(other):
                for others in ([other], [one, other], [other, one]):
                    with pytest.raises(TypeError, match=f"'(roughly.)?{type(other).__name__}' object .*{type(one).__name__}"):
                        one.merge(*others)
    with pytest.raises(TypeError, match="integer"):
        sketches[1].merge(sketches[1], "3")


def test_a_merged_digest_keeps_its_compression(client):
    """As an existing destination of the command."""
    sources = [roughly.TDigest(1000), roughly.TDigest(500)]
    for key, source in enumerate(sources):
        source.update(range(key * 100, 1000 * (key + 1)))
        client.restore(key, 0, source.dump())
    client.execute_command("TDIGEST.CREATE", "k")
    client.execute_command("TDIGEST.MERGE", "k", 2, 0, 1)
    merged = roughly.TDigest()
    merged.merge(*sources)
    assert merged.compression == 100 and merged.dump() == roughly.load(client.dump("k")).dump()
    # A new one has the largest.
    client.execute_command("TDIGEST.MERGE", "new", 2, 0, 1)
    assert roughly.load(client.dump("new")).compression == 1000


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
        lambda: one.merge(other, allow_rate=1),
        lambda: other.merge(one, other, allow_rate=1),
        lambda: counts.merge(same, 0),
        lambda: same.merge(counts, same, 0),
        lambda: one.update(np.arange(100)),
        query,
    ]
    threads = [threading.Thread(target=run, args=(step,)) for step in steps]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not errors
    one.merge(other, allow_rate=1)
    other.merge(one, allow_rate=1)
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
            one.merge(other, allow_rate=1)
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
                other.merge(one, allow_rate=1)
                windowed.merge(windowed.copy(), at=2**32, allow_future=True)
                good = 0 in other and roughly.load(windowed.dump()) == windowed
                os._exit(0 if good else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        [thread.join() for thread in threads]
