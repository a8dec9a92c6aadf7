"""Attributes, texts, comparison, documentation of the objects; the defaults of the package."""

import collections
import importlib.metadata
import math

import numpy as np
import pytest
import roughly
from conftest import ROOT
from every_type import add_sketches

SKETCHES = {
    "bloom": (
        lambda: roughly.BloomFilter(500, 0.02, expansion=4),
        {"capacity": 500, "error_rate": 0.02, "expansion": 4, "nonscaling": False, "count": 3},
        "<BloomFilter capacity=500 error_rate=0.02 expansion=4 count=3>",
    ),
    "bloom nonscaling": (
        lambda: roughly.BloomFilter(500, 0.02, nonscaling=True),
        {"capacity": 500, "error_rate": 0.02, "expansion": None, "nonscaling": True, "count": 3},
        "<BloomFilter capacity=500 error_rate=0.02 nonscaling=True count=3>",
    ),
    "bloom window": (
        lambda: roughly.BloomFilter(500, 0.02, window=60_000, panes=6, seed=bytes(16)),
        {"capacity": 500, "error_rate": 0.02, "count": 3, "window": 60_000, "panes": 6}
        | {"finest": 10_000, "seed": "00" * 16},
        "<BloomFilter capacity=500 error_rate=0.02 expansion=2 count=3 window=60000 panes=6 finest=10000>",
    ),
    "cuckoo": (
        lambda: roughly.CuckooFilter(1024, bucket_size=4, max_iterations=9, expansion=2),
        {"capacity": 1024, "bucket_size": 4, "max_iterations": 9, "expansion": 2, "window": None},
        "<CuckooFilter capacity=1024 bucket_size=4 max_iterations=9 expansion=2 len=3>",
    ),
    "cuckoo window": (
        lambda: roughly.CuckooFilter(1000, window=60_000),
        {"capacity": 1000, "bucket_size": 2, "max_iterations": 20, "expansion": 1, "panes": 12},
        "<CuckooFilter capacity=1000 bucket_size=2 max_iterations=20 expansion=1 len=3 window=60000 panes=12 finest=5000>",
    ),
    "cuckoo window with an error rate": (
        lambda: roughly.CuckooFilter(1000, window=60_000, error_rate=0.001),
        {"capacity": 1000, "error_rate": 0.001, "panes": 12},
        "<CuckooFilter capacity=1000 bucket_size=2 max_iterations=20 expansion=1 len=3 error_rate=0.001 window=60000 panes=12 finest=5000>",
    ),
    "count_min": (
        lambda: roughly.CountMinSketch(200, 5, cell_size=8),
        {"width": 200, "depth": 5, "cell_size": 8, "count": 3, "seed": None, "panes": None},
        "<CountMinSketch width=200 depth=5 cell_size=8 count=3>",
    ),
    "count_min window": (
        lambda: roughly.CountMinSketch(200, 5, window=60_000, finest=1000),
        {"width": 200, "depth": 5, "cell_size": 4, "count": 3, "finest": 1000},
        "<CountMinSketch width=200 depth=5 cell_size=4 count=3 window=60000 panes=12 finest=1000>",
    ),
    "top_k": (
        lambda: roughly.TopK(7, 50, 4, 0.95),
        {"k": 7, "width": 50, "depth": 4, "decay": 0.95, "finest": None},
        "<TopK k=7 width=50 depth=4 decay=0.95>",
    ),
    "t_digest": (
        lambda: roughly.TDigest(200),
        {"compression": 200, "count": 3, "window": None},
        "<TDigest compression=200 count=3>",
    ),
    "t_digest window": (
        lambda: roughly.TDigest(200, window=60_000, panes=3),
        {"compression": 200, "count": 3, "window": 60_000, "panes": 3, "finest": 20_000},
        "<TDigest compression=200 count=3 window=60000 panes=3 finest=20000>",
    ),
}


@pytest.mark.parametrize("create, attributes, text", SKETCHES.values(), ids=SKETCHES)
def test_objects_have_attributes_a_text_and_equality(create, attributes, text):
    sketch = create()
    sketch.update([1, 2, 3])
    for same in (sketch, sketch.copy(), roughly.load(sketch.dump())):
        assert {name: getattr(same, name) for name in attributes} == attributes
        assert repr(same) == text
        assert same == sketch and not same != sketch
    with pytest.raises(AttributeError):
        sketch.seed = 5
    with pytest.raises(TypeError, match="unhashable"):
        hash(sketch)
    other = sketch.copy()
    other.update([4])
    assert other != sketch and not other == sketch
    assert sketch != 5 and sketch != sketch.dump()
    others = [each() for each, *_ in SKETCHES.values()]
    assert sum(each == create() for each in others if each.seed is None) <= 1


FILTERS = {
    "bloom": lambda: roughly.BloomFilter(500),
    "nonscaling": lambda: roughly.BloomFilter(500, nonscaling=True),
    "valkey": lambda: roughly.BloomFilter(500, valkey=True),
    "bloom window": lambda: roughly.BloomFilter(500, window=60_000),
    "cuckoo": lambda: roughly.CuckooFilter(500),
    "cuckoo window": lambda: roughly.CuckooFilter(500, window=60_000),
}


@pytest.mark.parametrize("create", FILTERS.values(), ids=FILTERS)
def test_filters_have_their_fill(create):
    sketch = create()
    assert sketch.fill == 0
    fills = []
    for items in (range(100), range(100, 200), range(200, 300)):
        sketch.update(items)
        assert sketch.fill == sketch.accuracy()["fill"]
        fills.append(sketch.fill)
    assert 0 < fills[0] < fills[1] < fills[2] <= 1
    with pytest.raises(AttributeError):
        sketch.fill = 0


def test_large_objects_are_compared_to_their_end():
    one = roughly.BloomFilter(30_000_000)
    one.add("a")
    other = one.copy()
    assert one == other
    other.add("b")
    assert one != other


def test_the_accuracy_is_that_of_the_server(client):
    add_sketches(client)
    keys = client.keys()
    assert len(keys) == 11
    for key in keys:
        accuracy = roughly.load(client.dump(key)).accuracy()
        reply = client.execute_command("SKETCH.ACCURACY", key)
        if isinstance(reply, list):
            reply = dict(zip(reply[::2], reply[1::2]))
        assert [name.encode() for name in accuracy] == list(reply), key
        assert list(accuracy.values()) == [float(value) for value in reply.values()], key


def test_capacities_of_loaded_filters_are_those_of_their_creation(client):
    client.execute_command("BF.RESERVE", "k", 0.01, 100)
    client.execute_command("BF.MADD", "k", *range(1000))
    sketch = roughly.load(client.dump("k"))
    assert (sketch.capacity, sketch.error_rate, sketch.count) == (100, 0.01, len(sketch))
    assert sketch.info()["Capacity"] > 1000
    # All servers accept the name with the prefix.
    client.config_set("bf.bf-new-keys", "valkey-bloom")
    try:
        client.execute_command("BF.RESERVE", "v", 0.02, 300, "EXPANSION", 3)
    finally:
        client.config_set("bf.bf-new-keys", "redisbloom")
    valkey = roughly.load(client.dump("v"))
    assert (valkey.capacity, valkey.error_rate, valkey.expansion) == (300, 0.02, 3)
    assert valkey == valkey.copy() and valkey != sketch


def test_mappings_have_weights():
    class Weights(collections.abc.Mapping):
        def __getitem__(self, value):
            return {1.5: 1, 9: 99}[value]

        def __iter__(self):
            return iter([1.5, 9])

        def __len__(self):
            return 2

    expected = roughly.TDigest()
    expected.update([1.5, 9], [1, 99])
    for mapping in ({1.5: 1, 9: 99}, collections.Counter({1.5: 1, 9.0: 99}), {1.5: 1.0, np.int64(9): 99}, Weights()):
        digest = roughly.TDigest()
        digest.update(mapping)
        digest.update({})
        assert digest == expected and digest.count == 100
        for weights in (1, [1, 2]):
            with pytest.raises(TypeError, match="^a mapping has weights of its own: update takes no others$"):
                digest.update(mapping, weights)
        with pytest.raises(ValueError, match="^T-Digest: samples of a digest with a window have no weights$"):
            roughly.TDigest(window=60_000).update(mapping)
    for mapping, error in (({1: 0}, ValueError), ({1: 1, math.nan: 2}, ValueError), ({"a": 1}, TypeError), ({1: "a"}, TypeError)):
        with pytest.raises(error):
            digest.update(mapping)
    assert digest == expected


def test_mappings_have_counts():
    counter = collections.Counter({"a": 5, "b": 2, 7: 1})
    for create in (lambda: roughly.CountMinSketch(100, 4), lambda: roughly.TopK(3)):
        one, other = create(), create()
        one.update(counter)
        other.update(list(counter), list(counter.values()))
        assert one == other
        # Which of the counts are meant is unknown.
        for counts in (2, [1, 2, 3], counter.values()):
            with pytest.raises(TypeError, match="^a mapping has counts of its own: update takes no others$"):
                one.update(counter, counts)
        with pytest.raises(TypeError, match="^a mapping has counts"):
            one.update({}, counts=[])
        assert one == other
    seen = roughly.BloomFilter()
    seen.update(counter)
    assert seen.contains(["a", "b", 7]).all() and len(seen) == 3


def test_the_version_is_that_of_the_package():
    assert roughly.__version__ == importlib.metadata.version("roughly")
    assert f'version = "{roughly.__version__}"' in (ROOT / "Cargo.toml").read_text()


def test_the_default_width_is_ten_times_k():
    assert [(top.width, top.depth) for top in map(roughly.TopK, (1, 10, 1000))] == [(10, 5), (100, 5), (10_000, 5)]


def test_the_dimensions_of_the_command_are_explicit(client):
    client.execute_command("TOPK.RESERVE", "k", 10)
    client.execute_command("TOPK.ADD", "k", *range(100))
    top = roughly.TopK(10, 8, 7)
    top.update(range(100))
    assert top.dump() == roughly.load(client.dump("k")).dump()
