"""Rules for the methods of all classes, which the tests find by their signatures."""

import datetime
import functools
import inspect
import itertools
import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
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
#: Valid arguments of all methods.
GOOD = {"item": 1, "items": [1], "values": [1], "value": 1, "q": 0.5, "rank": 0, "low": 0.1, "high": 0.9, "step": 1000, "start": 0}
GOOD |= {"means": [1], "data": b"", "format": "datasketches"}


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
                sketch.add(1, at=time.time() + 3600 * hour, allow_future=True)

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
    tried = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for window in ({}, MINUTE):
            sketch = CLASSES[name](**window)
            for method, parameters in methods(name):
                if not window and "start" in parameters:
                    continue
                required = [each for each in parameters if each in GOOD]
                for parameter in parameters:
                    # NumPy's scalars are bytes-like.
                    if parameter != "data" and parameter in ("n", "counts", "weight", "weights", "low", "high", "at", *GOOD):
                        arguments = {each: GOOD[each] for each in required} | {parameter: value}
                        if "means" in parameters:
                            arguments.setdefault("weights", 1)
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
    np.datetime64(1_700_000_000, "s"),
    np.datetime64(1_700_000_000_000_000_000, "ns"),
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


NAIVE = datetime.datetime(2026, 1, 1)
WITHOUT_A_ZONE = {
    "datetime": NAIVE,
    "pandas": pd.Timestamp(NAIVE),
    "list": [NAIVE],
    "array of objects": np.array([NAIVE], dtype=object),
    "Series": pd.Series([NAIVE]),
    "Series of objects": pd.Series([NAIVE], dtype=object),
    "Series of pyarrow": pd.Series([NAIVE]).astype(pd.ArrowDtype(pa.timestamp("us"))),
    "index": pd.DatetimeIndex([NAIVE]),
    "polars": pl.Series([NAIVE]),
    "polars frame": pl.DataFrame({"at": [NAIVE]}),
    "pyarrow": pa.array([NAIVE]),
    "pyarrow chunks": pa.chunked_array([[NAIVE]]),
    "generator": (each for each in [NAIVE]),
}


@pytest.mark.parametrize("at", WITHOUT_A_ZONE.values(), ids=WITHOUT_A_ZONE)
@pytest.mark.parametrize("name", CLASSES)
def test_times_without_a_time_zone_are_errors_of_every_method(name, at):
    is_several = not isinstance(at, datetime.datetime)
    sketch = CLASSES[name](**MINUTE)
    before = sketch.copy()
    tried = 0
    for method, parameters in methods(name):
        if "at" in parameters and (method == "update" or not is_several):
            with pytest.raises(ValueError, match="^the time has no time zone: use "):
                getattr(sketch, method)(**arguments(parameters), at=next(generator(at)))
            tried += 1
    assert tried == 1 if is_several else tried > 3
    assert sketch == before


def generator(at):
    """The argument: a new generator if it is one, which can be read once."""
    yield iter([NAIVE]) if hasattr(at, "send") else at


def additions(name):
    """The methods of a class that advance a sketch with a window."""
    for method, parameters in methods(name):
        if "allow_future" in parameters:
            yield method, parameters


@pytest.mark.parametrize("name", CLASSES)
def test_additions_ahead_of_the_clock_are_errors_unless_they_are_allowed(name):
    assert {"add", "update"} <= {method for method, _ in additions(name)}
    for window, pane in (({"window": 60_000, "panes": 6}, 10), ({"window": 12_000, "finest": 2}, 1)):
        if "finest" in window and name in ("BloomFilter", "CuckooFilter"):
            continue
        for method, parameters in additions(name):
            sketch = CLASSES[name](**window)
            before = sketch.copy()
            others = (sketch.copy(),) if method == "merge" else ()
            call = functools.partial(getattr(sketch, method), *others, **arguments(parameters))
            future = time.time() + pane + 60
            with pytest.raises(ValueError, match="^at is more than one pane ahead of the clock, and allow_future is not set$"):
                call(at=future)
            assert sketch == before
            call(at=time.time() + pane - 0.5)
            if method == "remove":
                # A sketch advances only if there is an item to remove.
                sketch.add(*arguments(parameters).values(), at=future, allow_future=True)
            call(at=future, allow_future=True)
            with pytest.raises(ValueError, match="before the newest pane"):
                call(at=time.time())
    sketch = CLASSES[name](**MINUTE)
    before = sketch.copy()
    now = time.time()
    for times in ([now, now, now + 100], np.array([now, now, now + 100]), pl.Series([now, now, now + 100])):
        text = "^the time of the item at position 2 is more than one pane ahead of the clock, and allow_future is not set$"
        with pytest.raises(ValueError, match=text):
            sketch.update([1, 2, 3], at=times)
        assert sketch == before
        sketch.copy().update([1, 2, 3], at=times, allow_future=True)


@pytest.mark.parametrize("name", CLASSES)
def test_reads_ahead_of_the_clock_are_allowed(name):
    sketch = CLASSES[name](**MINUTE)
    sketch.add(1)
    tried = 0
    for method, parameters in methods(name):
        if "within" in parameters:
            getattr(sketch, method)(**arguments(parameters), at=time.time() + 1000)
            tried += 1
    assert tried >= 2


def arguments(parameters):
    """Valid arguments of a method."""
    return {each: GOOD[each] for each in parameters if each in GOOD}


NAN = float("nan")
#: Arguments whose item at position 1 is NaN.
NANS = {
    "list": [1.5, NAN, 2.5],
    "list of NumPy": [1.5, np.float64("nan")],
    "list of others": ["a", NAN, b"c"],
    "generator": [1.5, NAN],
    "array": np.array([1.5, NAN]),
    "array of objects": np.array([1.5, NAN], dtype=object),
    "array of integers and NaN": np.array([1.0, NAN, 2.0]),
    "Series": pd.Series([1.5, NAN]),
    "Series of integers and NaN": pd.Series([1, None, 2]),
    "Series of another index": pd.Series([1.5, NAN], index=[7, 8]),
    "polars": pl.Series([1.5, NAN]),
    "pyarrow": pa.array([1.5, NAN]),
    "pyarrow chunks": pa.chunked_array([[1.5], [NAN]]),
    "mapping": {1.5: 1, NAN: 2},
}


@pytest.mark.filterwarnings("ignore:the floats of the column")
@pytest.mark.parametrize("items", NANS.values(), ids=NANS)
@pytest.mark.parametrize("name", [name for name in CLASSES if name != "TDigest"])
def test_nan_is_an_error_with_its_position(name, items):
    tried = 0
    for method, parameters in methods(name):
        sketch = CLASSES[name]()
        if parameters[:1] == ["items"]:
            with pytest.raises(ValueError, match="^the item at position 1 is NaN, which is no item$"):
                getattr(sketch, method)(items)
            with pytest.raises(ValueError, match="^the item at position 5000 is NaN, which is no item$"):
                getattr(sketch, method)(each for each in [*range(5000), NAN])
            tried += 1
        elif parameters[:1] == ["item"]:
            for item in (NAN, np.float64("nan")):
                with pytest.raises(ValueError, match="^the item is NaN, which is no item$"):
                    getattr(sketch, method)(item)
    assert tried
    if hasattr(sketch, "__contains__"):
        with pytest.raises(ValueError, match="^the item is NaN, which is no item$"):
            NAN in sketch


INTEGRAL = {
    "array": np.array([1.0, 2.0]),
    "array of negative numbers": np.array([-1.0, 0.0]),
    "Series": pd.Series([1.0, 2.0]),
    "index": pd.Index([1.0, 2.0]),
    "nullable": pd.Series([1.0, 2.0], dtype="Float64"),
    "polars": pl.Series([1.0, 2.0]),
    "pyarrow": pa.array([1.0, 2.0]),
    "pyarrow chunks": pa.chunked_array([[1.0], [2.0]]),
}
NOT_INTEGRAL = {
    "list": [1.0, 2.0],
    "generator": (1.0, 2.0),
    "array of objects": np.array([1.0, 2.0], dtype=object),
    "fractions": np.array([1.0, 2.5]),
    "large": np.array([1e300, 1e200]),
    "infinite": pl.Series([1.0, float("inf")]),
    "integers": np.array([1, 2]),
    "empty": np.array([]),
}


@pytest.mark.parametrize("items", (INTEGRAL | NOT_INTEGRAL).values(), ids=INTEGRAL | NOT_INTEGRAL)
@pytest.mark.parametrize("name", [name for name in CLASSES if name != "TDigest"])
def test_a_column_of_floats_that_are_integers_is_a_warning(name, items):
    """One, which has the line of the caller."""
    expected = 1 if any(items is each for each in INTEGRAL.values()) else 0
    for method, parameters in methods(name):
        if parameters[:1] == ["items"]:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                getattr(CLASSES[name](), method)(items)
            assert len(caught) == expected
            for warning in caught:
                assert warning.category is UserWarning and "astype('Int64')" in str(warning.message)
                assert warning.filename == __file__
    if expected:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sketch = CLASSES[name]()
            before = sketch.copy()
            with pytest.raises(UserWarning):
                sketch.update(items)
            assert sketch == before


#: The number of items that were added, of items that are all 1 or, of filters, 0, 1, 2, ...
ADDED = {
    # Without the false positives.
    "BloomFilter": lambda sketch: next(number for number in itertools.count() if number not in sketch),
    "CuckooFilter": len,
    "CountMinSketch": lambda sketch: sketch.count,
    "TopK": lambda sketch: sketch.count(1),
    "TDigest": lambda sketch: sketch.count,
}


@pytest.mark.parametrize("window", [{}, MINUTE], ids=["no window", "window"])
@pytest.mark.parametrize("chunk", [1, 7, 4096, None])
@pytest.mark.parametrize("name", CLASSES)
def test_an_update_reads_at_most_a_chunk_ahead(name, chunk, window):
    """When an item is requested, all but a chunk of those before it have been added."""
    sketch, ahead = CLASSES[name](**window), []

    def items():
        for number in range(9000):
            if number % 1024 == 1023 or number < 20:
                ahead.append(number - ADDED[name](sketch))
            yield number if name in ("BloomFilter", "CuckooFilter") else 1

    options = {} if chunk is None else {"chunk": chunk}
    if window:
        options["at"] = np.full(9000, time.time())
    sketch.update(items(), **options)
    # It reads that many ahead, without false positives.
    assert max(ahead) == {1: 0, 7: 6}.get(chunk, 4095)
    assert ADDED[name](sketch) >= 9000


@pytest.mark.parametrize("chunk", [0, -1, 4097, 2**70, 1.5, "1", None, 1j])
@pytest.mark.parametrize("name", CLASSES)
def test_a_chunk_is_in_a_range(name, chunk):
    with pytest.raises((ValueError, TypeError), match="^chunk must be between 1 and 4096" if isinstance(chunk, int) else None):
        CLASSES[name]().update([1], chunk=chunk)


def test_a_generator_sees_the_items_before_it():
    """Removes duplicates of a stream."""
    seen = roughly.BloomFilter(1000, 1e-6)
    stream = [f"item {number % 100}" for number in range(1000)]
    unique = []
    seen.update((unique.append(item) or item for item in stream if item not in seen), chunk=1)
    assert unique == stream[:100]


def test_samples_of_a_generator_are_added_before_one_that_is_not_finite():
    for bad in (NAN, float("inf")):
        digest = roughly.TDigest()
        with pytest.raises(ValueError, match="finite number"):
            digest.update((bad if number == 5000 else number for number in range(9000)), chunk=100)
        assert digest.count == 5000
        for sized in ([1.0, 2.0, bad], (1.0, bad), np.array([1.0, bad]), pl.Series([1.0, bad]), pd.Series([1.0, bad]), {1.0: 1, bad: 2}):
            with pytest.raises(ValueError, match="finite number"):
                digest.update(sized, chunk=1)
        assert digest.count == 5000
    digest = roughly.TDigest()
    with pytest.raises(TypeError):
        digest.update(iter([*[1.0] * 10, "text"]))
    assert digest.count == 10


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


#: Filters, also with more items than their capacity.
FILTERS = {
    "bloom": lambda: roughly.BloomFilter(20_000, 1e-6),
    "bloom of several sub-filters": lambda: roughly.BloomFilter(100, 1e-6),
    "bloom window": lambda: roughly.BloomFilter(20_000, 1e-6, **MINUTE),
    "bloom valkey": lambda: roughly.BloomFilter(500, 1e-6, valkey=True),
    "cuckoo": lambda: roughly.CuckooFilter(40_000),
    "cuckoo window": lambda: roughly.CuckooFilter(20_000, error_rate=1e-6, **MINUTE),
}
#: Items with repeats, in a batch and in several.
REPEATED = {
    "list": [f"user:{number % 700}" for number in range(1000)],
    "several batches": [f"user:{number * number % 5003}" for number in range(12_000)],
    "generator": [number % 30 for number in range(100)],
    "array": np.arange(9000) % 5000,
    "polars": pl.Series(["a", "b", "a", "c", "c"]),
    "pandas": pd.Series([5, 5, 6]),
    "pyarrow chunks": pa.chunked_array([["a", "b"], ["b", "c"]]),
    "stream": pa.array(["a", "b", "a"]),
    "mixed": ["a", b"a", 1, "1", 1.5],
    "none": [],
}


@pytest.mark.parametrize("items", REPEATED, ids=str)
@pytest.mark.parametrize("create", FILTERS.values(), ids=FILTERS)
def test_add_new_returns_what_add_does(create, items):
    """Also for items that occur several times. The filter is that of `update`, or of one addition after the other."""
    is_generator, items = items == "generator", REPEATED[items]
    one, other = create(), create()
    if one.window or getattr(one, "valkey", False):
        other = one.copy()
    other_items = items.to_pylist() if hasattr(items, "to_pylist") else items.tolist() if isinstance(items, np.ndarray) else [*items]
    add = other.add if isinstance(other, roughly.BloomFilter) else other.add_new
    expected = [add(item, **({"at": time.time()} if other.window else {})) for item in other_items]
    new = one.add_new(iter(items) if is_generator else items)
    assert new.dtype == np.bool_ and new.tolist() == expected
    assert len(one) == len(other) == sum(expected) and one.contains(items).all()
    if not one.window:
        assert one == other
    assert not one.add_new(items).any()


@pytest.mark.parametrize("create", FILTERS.values(), ids=FILTERS)
def test_add_new_of_a_stream_adds_the_items_before_an_error(create):
    filter = create()
    with pytest.raises(ValueError, match="^the item at position 5000 is NaN"):
        filter.add_new(each for each in [*range(5000), NAN])
    # Without the false positives.
    assert 4900 < len(filter) <= 5000 and filter.contains(range(5000)).all()
    for invalid in ("chunk", None):
        with pytest.raises(TypeError):
            filter.add_new([1], chunk=invalid)
    if isinstance(filter, roughly.BloomFilter):
        with pytest.raises(TypeError, match="^items must be an iterable of items, not a single item$"):
            filter.add_new("item")
    else:
        assert filter.add_new("item") is True and filter.add_new(b"item") is False and filter.add_new(np.int64(7)) is False


def test_add_new_of_a_full_filter():
    bloom = roughly.BloomFilter(10, nonscaling=True)
    with pytest.raises(ValueError, match="^non scaling filter is full$"):
        bloom.add_new(range(100))
    assert len(bloom) == 10
    cuckoo = roughly.CuckooFilter(8, expansion=0, max_iterations=1)
    with pytest.raises(ValueError, match="^Filter is full$"):
        cuckoo.add_new(range(100))
    # As `update`, it adds the others.
    assert not cuckoo.add_new([item for item in range(100) if item in cuckoo]).any()


def test_add_new_takes_times():
    for name in ("BloomFilter", "CuckooFilter"):
        filter = CLASSES[name](**MINUTE)
        times = [1_700_000_000, 1_700_000_045, 1_700_000_055, 1_700_000_070]
        # The first pane has expired at the time of the last item.
        assert filter.add_new(["a", "b", "a", "b"], at=times).tolist() == [True, True, False, False]
        assert filter.add_new(["c"], at=1_700_000_300).tolist() == [True]
        assert filter.add_new(["a"], at=[1_700_000_300]).tolist() == [True]
        with pytest.raises(ValueError, match="different lengths$"):
            filter.add_new(["a", "b"], at=[1_700_000_300])
