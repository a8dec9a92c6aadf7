"""Lists have another path than other iterables, and lists of `str` a third one. All must add the same items."""

import random
import threading
import tracemalloc

import numpy as np
import pytest
import roughly
from test_every_method import CLASSES, methods

#: The classes and methods that take several items.
METHODS = [
    (name, method)
    for name in CLASSES
    for method, parameters in methods(name)
    if "items" in parameters[:1] and method not in ("items",)
]


class Text(str):
    """A subclass, which adds the bytes of a `str`."""


KINDS = {
    "ascii": lambda rng: f"user:{rng.randrange(10**9)}",
    "empty": lambda rng: "",
    "zero": lambda rng: f"\0{rng.randrange(10)}\0",
    "latin": lambda rng: f"ä{rng.randrange(1000)}ß",
    "chinese": lambda rng: f"{rng.randrange(1000)}上海",
    "emoji": lambda rng: f"\U0001f600{rng.randrange(1000)}",
    "subclass": lambda rng: Text(rng.randrange(1000)),
    "bytes": lambda rng: b"\xff" * rng.randrange(3),
    "bytearray": lambda rng: bytearray(b"ab"),
    "memoryview": lambda rng: memoryview(b"cd"),
    "int": lambda rng: rng.randrange(-(10**9), 10**9),
    "large": lambda rng: rng.choice([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 10**30, 0]),
    "float": lambda rng: rng.random(),
    "integer": lambda rng: rng.choice([np.int8(-5), np.uint64(2**64 - 1)]),
}
STRINGS = ("ascii", "empty", "zero", "latin", "chinese", "emoji")


def items(seed, kinds, number):
    rng = random.Random(seed)
    return [KINDS[rng.choice(kinds)](rng) for _ in range(number)]


def text(item):
    """The item as `bytes`, which no path converts."""
    if isinstance(item, (bytes, bytearray, memoryview)):
        return bytes(item)
    return (item if isinstance(item, str) else repr(item) if isinstance(item, float) else str(int(item))).encode()


def outcome(name, method, argument):
    """The result of a call with the state after it."""
    sketch = CLASSES[name]()
    sketch.update(items(7, STRINGS, 100))
    try:
        result = getattr(sketch, method)(argument)
        result = None if result is None else list(result)
    except (UnicodeEncodeError, TypeError) as error:
        result = type(error), str(error)
    return result, sketch.dump()


CASES = [
    ("ascii",),
    ("zero",),
    ("int",),
    ("float",),
    STRINGS,
    ("ascii", "int"),
    (*["ascii"] * 1000, "int"),
    tuple(KINDS),
]


def test_the_rules_find_methods():
    assert {method for _, method in METHODS} == {"update", "add_new", "contains", "query"}


@pytest.mark.parametrize("number", [0, 1, 4095, 4096, 9000])
@pytest.mark.parametrize("name, method", METHODS)
def test_all_iterables_add_the_same_items(name, method, number):
    for seed, kinds in enumerate(CASES):
        added = items(seed, kinds, number)
        expected = outcome(name, method, iter([text(item) for item in added]))
        for argument in (added, tuple(added), (item for item in added)):
            assert outcome(name, method, argument) == expected, kinds


@pytest.mark.parametrize("bad", ["\ud800", None, True, 1j], ids=repr)
@pytest.mark.parametrize("name", [name for name, method in METHODS if method == "update"])
def test_the_items_before_an_error_are_added(name, bad):
    for seed, kinds in enumerate([STRINGS, ("int",), ("ascii", "int")]):
        for position in (0, 4095, 4096, 5000):
            before = items(seed, kinds, position)
            _, expected = outcome(name, "update", before)
            after = items(seed + 1, kinds, 100)
            for create in (list, tuple, iter):
                (error, _), state = outcome(name, "update", create([*before, bad, *after]))
                assert error is (UnicodeEncodeError if bad == "\ud800" else TypeError)
                assert state == expected


@pytest.mark.parametrize("create", [list, tuple, iter], ids=lambda create: create.__name__)
def test_long_strings_are_not_joined_to_much_longer_ones(create):
    """A batch of 4,096 of them would take gigabytes."""
    strings = [f"{number}" + "x" * 500_000 for number in range(64)]
    seen = roughly.BloomFilter(1000)
    argument = create(strings)
    tracemalloc.start()
    try:
        seen.update(argument)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert all(text in seen for text in strings)
    assert peak < 8 << 20


@pytest.mark.parametrize("kind", ["ascii", "int"])
def test_a_list_may_change_during_an_update(kind):
    class Number:
        def __index__(self):
            changed.clear()
            return 5

    added = items(1, (kind,), 10_000)
    changed = [*added[:5000], Number(), *added[5000:]]
    seen = roughly.BloomFilter(20_000)
    seen.update(changed)
    assert changed == []
    assert seen.contains([*added[:5000], 5]).all()
    assert len(seen) <= 8192


@pytest.mark.parametrize("name", CLASSES)
def test_a_dump_while_the_length_of_the_payload_changes(name):
    """The length is determined before the payload is written, and other threads may change it in between."""
    create = {"BloomFilter": lambda: roughly.BloomFilter(10), "CuckooFilter": lambda: roughly.CuckooFilter(10, expansion=2)}
    sketch = create.get(name, CLASSES[name])()
    done = threading.Event()

    def add():
        for number in range(20_000):
            sketch.add(number)
        done.set()

    thread = threading.Thread(target=add)
    thread.start()
    payloads = 0
    while not done.is_set() or not payloads:
        roughly.load(sketch.dump())
        payloads += 1
    thread.join()
    assert roughly.load(sketch.dump()) == sketch
