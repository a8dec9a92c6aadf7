"""Rules for the methods of all classes, which the tests find by their signatures."""

import datetime
import inspect
import time
import warnings

import numpy as np
import pandas as pd
import pytest
import roughly

MINUTE = {"window": 60_000, "panes": 6}
CLASSES = {
    "BloomFilter": lambda **window: roughly.BloomFilter(20_000, **window),
    "CuckooFilter": lambda **window: roughly.CuckooFilter(20_000, bucket_size=255, **window),
    "CountMinSketch": lambda **window: roughly.CountMinSketch(2000, 4, **window),
    "TopK": lambda **window: roughly.TopK(10, **window),
    "TDigest": lambda **window: roughly.TDigest(**window),
}
#: The first parameters of methods that take several items or numbers.
SEVERAL = {"items", "values", "value", "q", "rank"}
ONE = {"item", "value"}


def methods(name):
    """Names and parameters of the public methods of a class."""
    for method, function in inspect.getmembers(getattr(roughly, name), callable):
        if not method.startswith("_"):
            parameters = [each.name for each in inspect.signature(function).parameters.values()]
            yield method, [each for each in parameters if each != "self"]


def of_several(name):
    """The methods of a class that take several items or numbers."""
    found = [method for method, parameters in methods(name) if method != "add" and SEVERAL & {*parameters[:1]}]
    assert "update" in found
    return found


@pytest.mark.parametrize("name", CLASSES)
def test_the_sketch_may_advance_during_a_call_without_a_time(name):
    """As by another thread: the items are processed in parts, and meanwhile a pane becomes the newest one."""
    for method in of_several(name):
        sketch = CLASSES[name](**MINUTE)
        sketch.add(0)

        def numbers():
            for hour in range(1, 4):
                yield from [0.5 if method == "quantile" else 1] * 5000
                sketch.add(1, at=time.time() + 3600 * hour)

        getattr(sketch, method)(numbers())
        getattr(sketch, method)([1])
    now = time.time()
    if name in ("BloomFilter", "CuckooFilter", "CountMinSketch"):
        read = sketch.query if name == "CountMinSketch" else sketch.contains
        with pytest.raises(ValueError, match="^at is before the newest pane of the sketch$"):
            read([1], at=now)
        with pytest.raises(ValueError, match="^at is before the newest pane of the sketch$"):
            read([], at=now)
    with pytest.raises(ValueError, match="^at is before the newest pane of the sketch$"):
        sketch.update([1], at=now)


COMPLEX = [1 + 2j, np.complex64(1 + 2j), np.complex128(1), np.array(1 + 2j), np.array([1 + 2j])]


@pytest.mark.parametrize("value", COMPLEX, ids=repr)
@pytest.mark.parametrize("name", CLASSES)
def test_no_parameter_takes_complex_numbers(name, value):
    """Each parameter of each method, with and without a window; the others have values that fit."""
    good = {"item": 1, "items": [1], "values": [1], "value": 1, "q": 0.5, "rank": 0, "low": 0.1, "high": 0.9}
    tried = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for window in ({}, MINUTE):
            sketch = CLASSES[name](**window)
            for method, parameters in methods(name):
                required = [each for each in parameters if each in good]
                for parameter in parameters:
                    if parameter in ("n", "counts", "weight", "weights", "low", "high", "at", *good):
                        arguments = {each: good[each] for each in required} | {parameter: value}
                        # An array without a dimension is no array of items, of whatever type.
                        errors = (TypeError, ValueError) if isinstance(value, np.ndarray) and not value.ndim else TypeError
                        with pytest.raises(errors, match=None if errors is TypeError else "dimension|complex|must be|int"):
                            getattr(sketch, method)(**arguments)
                        tried += 1
        create = getattr(roughly, name)
        for parameter in inspect.signature(create).parameters:
            required = {"width": 10, "depth": 2} if name == "CountMinSketch" else {"k": 10} if name == "TopK" else {}
            if parameter in ("error", "probability"):
                required = {"error": 0.1, "probability": 0.1}
            with pytest.raises(TypeError):
                create(**(required | {"window": 1000} if parameter == "seed" else required) | {parameter: value})
            tried += 1
    assert tried > 10


TIMES = [
    1_700_000_000,
    1_700_000_000.0,
    np.float64(1_700_000_000),
    np.int64(1_700_000_000),
    datetime.datetime.fromtimestamp(1_700_000_000, datetime.timezone.utc),
    pd.Timestamp(1_700_000_000, unit="s"),
    pd.Timestamp(1_700_000_000, unit="s", tz="UTC"),
]


@pytest.mark.parametrize("at", TIMES, ids=lambda at: type(at).__name__)
@pytest.mark.parametrize("name", CLASSES)
def test_every_method_takes_the_same_times(name, at):
    options = MINUTE if name == "TDigest" else MINUTE | {"seed": bytes(16)}
    one, other, third = (CLASSES[name](**options) for _ in range(3))
    one.add(1, at=at)
    other.update([1], at=at)
    third.update([1], at=[at])
    assert one == other == third
    assert one.info(at=at) == other.info(at=1_700_000_000) if name != "TopK" else one.items(at=at) == [(b"1", 1)]
    for sketch in (one, other, third):
        sketch.update([1], at=pd.Series([1_700_000_001.0]))


@pytest.mark.parametrize("name", CLASSES)
def test_arrays_of_another_length_change_nothing(name):
    """Also if the items are several parts of a batch."""
    for items in (range(3), list(range(10_000)), np.arange(10_000), pd.Series(range(10_000)), tuple(range(10_000))):
        for difference in (-1, 1):
            sketch = CLASSES[name](**MINUTE)
            before = sketch.copy()
            arguments = [{"at": [1_700_000_000] * (len(items) + difference)}]
            if name in ("CountMinSketch", "TopK"):
                arguments.append({"counts": [1] * (len(items) + difference)})
            if name == "TDigest":
                arguments.append({"weights": [1] * (len(items) + difference)})
            for argument in arguments:
                with pytest.raises(ValueError, match="different lengths$"):
                    sketch.update(items, **argument)
                assert sketch == before
