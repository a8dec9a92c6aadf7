"""Columns with the Arrow PyCapsule interface."""

import datetime
import decimal
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import roughly
from test_every_method import CLASSES, SEVERAL, methods
from test_storage import address_space

STRINGS = ["alice", "é€😀", "", "a\0b", "x" * 50, "12 bytes long", "alice"] * 1000
BYTES = [text.encode() for text in STRINGS]
INTEGERS = [0, 5, 127, 3, 100] * 1000


def chunked(array):
    """An array in three chunks, one of which is empty. The others have an offset."""
    return pa.chunked_array([array[1:3000], array[:0], array[3000:]])


def table(items):
    return duckdb.connect().from_arrow(pa.table({"items": items}))


COLUMNS = {
    **{
        f"pyarrow {kind}": (pa.array(STRINGS, kind), STRINGS)
        for kind in (pa.string(), pa.large_string(), pa.string_view())
    },
    **{
        f"pyarrow {kind}": (pa.array(BYTES, kind), BYTES)
        for kind in (pa.binary(), pa.large_binary(), pa.binary_view())
    },
    **{
        f"pyarrow {kind}": (pa.array(INTEGERS, kind), INTEGERS)
        for kind in map(pa.type_for_alias, ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"))
    },
    "pyarrow fixed": (pa.array([b"ab\0", b"cde"], pa.binary(3)), [b"ab\0", b"cde"]),
    "pyarrow floats": (pa.array([1.5, -0.0, 0.1 + 0.2]), [1.5, -0.0, 0.1 + 0.2]),
    "pyarrow dictionary": (pa.array(STRINGS).dictionary_encode(), STRINGS),
    "pyarrow dictionary of integers": (pa.array(INTEGERS).dictionary_encode(), INTEGERS),
    "pyarrow limits": (pa.array([2**63 - 1, -(2**63)]), [2**63 - 1, -(2**63)]),
    "pyarrow chunks": (chunked(pa.array(STRINGS)), STRINGS[1:]),
    "pyarrow chunks of views": (chunked(pa.array(STRINGS, pa.string_view())), STRINGS[1:]),
    "pyarrow empty": (pa.array([], pa.string()), []),
    "pyarrow batch": (pa.record_batch({"items": STRINGS}), STRINGS),
    "polars strings": (pl.Series(STRINGS), STRINGS),
    "polars bytes": (pl.Series(BYTES), BYTES),
    "polars integers": (pl.Series(INTEGERS), INTEGERS),
    "polars categories": (pl.Series(STRINGS, dtype=pl.Categorical), STRINGS),
    "polars chunks": (pl.concat([pl.Series(STRINGS), pl.Series(STRINGS)], rechunk=False), STRINGS * 2),
    "polars frame": (pl.DataFrame({"items": STRINGS}), STRINGS),
    "pandas strings": (pd.Series(STRINGS), STRINGS),
    "pandas objects": (pd.Series(STRINGS, dtype=object), STRINGS),
    "pandas integers": (pd.Series(INTEGERS), INTEGERS),
    "pandas nullable integers": (pd.Series(INTEGERS, dtype="Int64"), INTEGERS),
    "pandas categories": (pd.Series(STRINGS, dtype="category"), STRINGS),
    "duckdb strings": (table(STRINGS), STRINGS),
    "duckdb integers": (table(INTEGERS), INTEGERS),
}


@pytest.mark.parametrize("column, items", COLUMNS.values(), ids=COLUMNS)
def test_columns_have_the_items_of_their_lists(column, items):
    for create in (lambda: roughly.BloomFilter(9000, 0.001), lambda: roughly.TopK(5, 100, 4)):
        one, other = create(), create()
        one.update(column)
        other.update(items)
        assert one.dump() == other.dump()


RANDOM = random.Random(5)
OF_TYPES = {
    **{str(kind): (kind, STRINGS) for kind in (pa.string(), pa.large_string(), pa.string_view())},
    **{str(kind): (kind, BYTES) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())},
    **{str(kind): (kind, INTEGERS) for kind in map(pa.type_for_alias, ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"))},
    "fixed": (pa.binary(3), [b"ab\0", b"cde", b"fgh"] * 500),
    **{
        f"dictionary of {key}": (pa.dictionary(key, pa.string()), STRINGS)
        for key in map(pa.type_for_alias, ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"))
    },
}


def parts(array):
    """Parts of an array, as chunks, tables and columns of tables, with their elements."""
    for _ in range(8):
        start = RANDOM.randrange(len(array))
        part = array[start : RANDOM.randrange(start, len(array))]
        yield part, part
        middle = len(part) // 2
        yield pa.chunked_array([part[:middle], part[middle:]], part.type), part
        batch = pa.record_batch({"a": array})
        yield batch[start : start + len(part)], part
        yield pa.table({"a": array})[start : start + len(part)], part


@pytest.mark.parametrize("kind, items", OF_TYPES.values(), ids=OF_TYPES)
def test_parts_of_columns_have_their_elements(kind, items):
    for column, part in parts(pa.array(items, kind)):
        one, other = roughly.CountMinSketch(500, 3), roughly.CountMinSketch(500, 3)
        one.update(column)
        other.update(part.to_pylist())
        assert one == other


@pytest.mark.parametrize("kind, items", OF_TYPES.values(), ids=OF_TYPES)
def test_parts_of_columns_have_their_nulls(kind, items):
    nulls = [item if RANDOM.random() < 0.99 else None for item in items]
    for column, part in parts(pa.array(nulls, kind)):
        sketch = roughly.CountMinSketch(500, 3)
        if part.null_count:
            position = part.is_null().index(True).as_py()
            with pytest.raises(ValueError, match=f"^the item at position {position} is null$"):
                sketch.update(column)
            assert sketch.count == position
        else:
            sketch.update(column)
            assert sketch.count == len(part)


@pytest.mark.parametrize("kind", [*map(pa.type_for_alias, ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"))], ids=str)
def test_parts_of_columns_have_their_numbers(kind):
    for column, part in parts(pa.array(INTEGERS[:500], kind)):
        one, other = roughly.TDigest(), roughly.TDigest()
        one.update(column)
        other.update(part.to_pylist())
        assert one == other
        if pa.types.is_integer(kind):
            one, other = roughly.CountMinSketch(500, 3), roughly.CountMinSketch(500, 3)
            one.update(range(len(part)), column)
            other.update(range(len(part)), part.to_pylist())
            assert one == other


def shifted(array):
    """The array with buffers that are not aligned."""
    buffers = [buffer and pa.py_buffer(b"x" + buffer.to_pybytes()).slice(1) for buffer in array.buffers()]
    return pa.Array.from_buffers(array.type, len(array), buffers)


@pytest.mark.parametrize("kind, items", list(OF_TYPES.values())[:15], ids=list(OF_TYPES)[:15])
def test_buffers_need_no_alignment(kind, items):
    array = pa.array(items, kind)
    one, other = roughly.CountMinSketch(500, 3), roughly.CountMinSketch(500, 3)
    one.update(shifted(array))
    other.update(items)
    assert one == other
    for numbers in (pa.array([1.5, 2.5, 3.5]), pa.array([1, 2, 3])):
        digest = roughly.TDigest()
        digest.update(shifted(numbers))
        assert (digest.min(), digest.max()) == (numbers[0].as_py(), numbers[2].as_py())
    assert one.query(shifted(pa.array(["alice"])))[0] == other.query(["alice"])[0]


def test_arrays_with_wrong_contents_are_errors():
    def of(kind, *buffers, length=2):
        return pa.Array.from_buffers(kind, length, [None, *(pa.py_buffer(np.array(each).tobytes()) for each in buffers)])

    text = np.frombuffer(b"x" * 20, "u1")
    view = np.frombuffer(np.array([20, 0, 5, 0], "i4").tobytes(), "u1")
    other_start = np.frombuffer(np.array([20, 0, 0, 2**31 - 1], "i4").tobytes(), "u1")
    for array in (
        of(pa.string(), np.array([0, 20, 5], "i4"), text),
        of(pa.large_string(), np.array([0, 2**62, 5], "i8"), text),
        of(pa.string_view(), view, text, length=1),
        of(pa.string_view(), other_start, text, length=1),
        pa.DictionaryArray.from_arrays(pa.array([0, 5]), pa.array(["a"]), safe=False),
        pa.DictionaryArray.from_arrays(pa.array([0, -5]), pa.array(["a"]), safe=False),
    ):
        with pytest.raises(ValueError, match="^the Arrow array is invalid$|is null$"):
            roughly.BloomFilter().update(array)


def test_queries_take_columns():
    sketch = roughly.CountMinSketch(2000, 5)
    sketch.update(pa.array(["a", "b"]), pa.array([5, 7], pa.int8()))
    sketch.update(pl.Series(["a"]), pl.Series([2]))
    assert sketch.query(pl.Series(["a", "b", "c"])).tolist() == [7, 7, 0]
    seen = roughly.BloomFilter()
    seen.update(pa.array(STRINGS))
    assert seen.contains(chunked(pa.array(STRINGS))).all()


@pytest.mark.parametrize("column", [pl.Series([]), pa.nulls(0), pa.chunked_array([pa.nulls(0)]), pa.chunked_array([], pa.null()), pd.Series([])])
@pytest.mark.parametrize("items", [[], pl.Series([], dtype=pl.String)], ids=["list", "column"])
def test_empty_columns_have_any_type(column, items):
    digest, window, counts = roughly.TDigest(), roughly.TDigest(window=60_000), roughly.CountMinSketch(9, 3)
    before = window.copy()
    digest.update(column)
    digest.update(column, column)
    window.update([], at=column)
    counts.update(items, column)
    counts.update(column, column)
    assert (digest, window, counts) == (roughly.TDigest(), before, roughly.CountMinSketch(9, 3))
    for query in (digest.quantile, digest.cdf, digest.rank, digest.byrank, counts.query):
        assert len(query(column)) == 0
    assert roughly.TDigest.from_centroids(column, column) == digest


@pytest.mark.parametrize(
    "values",
    [
        pa.array(np.arange(100_000) / 7),
        chunked(pa.array(np.arange(100_001) / 7)),
        pa.array(np.arange(1000), pa.int16()),
        pa.array(np.arange(1000), pa.float32()),
        pl.Series(np.arange(1000) / 7),
    ],
    ids=lambda values: f"{type(values).__name__} {getattr(values, 'type', '')}",
)
def test_samples_and_points_of_columns(values):
    one, other = roughly.TDigest(), roughly.TDigest()
    one.update(values)
    other.update(values.to_pylist() if hasattr(values, "to_pylist") else values.to_list())
    assert one.dump() == other.dump()
    assert one.quantile(pa.array([0.5, 0.9])).tolist() == other.quantile([0.5, 0.9]).tolist()


@pytest.mark.parametrize(
    "column, position",
    [
        (pa.array(["a", None]), 1),
        (pa.array([b"a", None], pa.binary_view()), 1),
        (pa.array([1, 2, None]), 2),
        (pa.array([1.5, None]), 1),
        (pa.array(["a", None]).dictionary_encode(), 1),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None])), 1),
        (pa.chunked_array([["a"] * 5000, ["a", None]]), 5001),
        (pl.Series(["a"] * 5000 + [None]), 5000),
        (pa.array([None, None]), 0),
        (pa.array([None, None], pa.dictionary(pa.int8(), pa.string())), 0),
        (pl.Series([None, None], dtype=pl.Categorical), 0),
        (pa.array([None, None], pa.binary(3)), 0),
        (pa.array([None, None], pa.int64()), 0),
        (pa.table({"a": pa.array(["a", None])}), 1),
        (pl.Series([None, None]), 0),
    ],
    ids=lambda argument: str(getattr(argument, "type", argument))[:40],
)
def test_nulls_are_errors_with_their_position(column, position):
    sketch = roughly.CountMinSketch(1000, 5)
    with pytest.raises(ValueError, match=f"^the item at position {position} is null$"):
        sketch.update(column)
    # The items before it were added. Floats are checked first.
    is_float = getattr(column, "type", None) == pa.float64()
    assert sketch.info()["count"] == (0 if is_float else position)
    digest = roughly.TDigest()
    with pytest.raises(ValueError, match="^the item at position 1 is null$"):
        digest.update(pa.array([1.5, None]))
    for nulls in (pa.array([None]), pl.Series([None])):
        with pytest.raises(ValueError, match="^the item at position 0 is null$"):
            digest.update(nulls)
    assert digest.info()["Observations"] == 0


@pytest.mark.parametrize(
    "column",
    [
        pa.array([True]),
        pa.array([1.5], pa.float32()),
        pa.array([["a"]]),
    ],
    ids=lambda column: str(column.type),
)
def test_columns_of_other_types_are_type_errors(column):
    with pytest.raises(TypeError, match="strings, binaries or integers, not"):
        roughly.BloomFilter().update(column)
    with pytest.raises(TypeError, match="integers, not"):
        roughly.TopK(3).update(["a"], pa.array(["b"]))


UUIDS = [uuid.UUID(int=number) for number in range(1, 4)]
DATES = [datetime.date(2026, 1, day) for day in (1, 2, 3)]
TIMES = [datetime.datetime(2026, 1, day) for day in (1, 2, 3)]
DECIMALS = [decimal.Decimal(number) for number in ("1.5", "2.5", "3.5")]
OF_DECIMALS = {
    "polars": pl.Series(DECIMALS),
    "pyarrow": pa.array(DECIMALS),
    "pyarrow 32 bits": pa.array(DECIMALS, pa.decimal32(9, 2)),
    "pyarrow 64 bits": pa.array(DECIMALS, pa.decimal64(18, 3)),
    "duckdb": duckdb.sql("select unnest([1.5, 2.5, 3.5]) as x"),
}
lossless = duckdb.connect(config={"arrow_lossless_conversion": True})

#: Columns whose elements clients do not send. Their storage has other items: addresses, days, bits.
OTHERS = {
    "polars UUID": pl.Series(UUIDS),
    "polars objects": pl.Series(["a", "b", "c"], dtype=pl.Object),
    "polars frame of objects": pl.DataFrame({"a": pl.Series(UUIDS)}),
    "polars 128 bits": pl.Series([1, 2, 3], dtype=pl.Int128),
    "polars dates": pl.Series(DATES),
    "polars times": pl.Series(TIMES).dt.time(),
    "polars durations": pl.Series([datetime.timedelta(1)] * 3),
    "polars bool": pl.Series([True, False, True]),
    "polars lists": pl.Series([[1], [2], [3]]),
    "pyarrow UUID": pa.array([each.bytes for each in UUIDS], pa.uuid()),
    "pyarrow table of UUID": pa.table({"a": pa.array([each.bytes for each in UUIDS], pa.uuid())}),
    "pyarrow bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, 1], pa.int8())),
    "pyarrow opaque": pa.ExtensionArray.from_storage(pa.opaque(pa.string(), "type", "vendor"), pa.array(["a", "b", "c"])),
    "pyarrow dates": pa.array(DATES),
    "pyarrow times": pa.array([datetime.time(1)] * 3),
    "pyarrow durations": pa.array([datetime.timedelta(1)] * 3),
    "pyarrow bool": pa.array([True, False, True]),
    "pyarrow dictionary of decimals": pa.array(DECIMALS).dictionary_encode(),
    "pyarrow dictionary of dates": pa.array(DATES).dictionary_encode(),
    "pandas UUID": pd.Series(UUIDS),
    "pandas UUID of pyarrow": pd.Series([each.bytes for each in UUIDS], dtype=pd.ArrowDtype(pa.uuid())),
    "pandas dates": pd.Series(DATES),
    "pandas categories of dates": pd.Series(DATES, dtype="category"),
    "pandas periods": pd.Series(pd.period_range("2026", periods=3, freq="D")),
    "pandas intervals": pd.Series(pd.interval_range(0, 3)),
    "pandas durations": pd.Series(pd.to_timedelta([1, 2, 3], unit="s")),
    "pandas bool": pd.Series([True, False, True]),
    "pandas nullable bool": pd.Series([True, False, True], dtype="boolean"),
    "pandas bool of pyarrow": pd.Series([True, False, True], dtype=pd.ArrowDtype(pa.bool_())),
    "duckdb dates": duckdb.sql("select unnest([date '2026-01-01', date '2026-01-02', date '2026-01-03']) as x"),
    "duckdb UUID": lossless.sql("select uuid() as x from range(3)"),
    "duckdb 128 bits": lossless.sql("select 1::HUGEINT as x from range(3)"),
    "duckdb bits": lossless.sql("select '101'::BIT as x from range(3)"),
    "duckdb bool": duckdb.sql("select true as x from range(3)"),
    "NumPy objects": np.array(UUIDS, dtype=object),
    "NumPy durations": np.array([1, 2, 3], dtype="m8[s]"),
    "NumPy durations without a unit": np.array([1, 2, 3], dtype="m8"),
    "NumPy bool": np.array([True, False, True]),
}

#: Columns of times, which are no items and no numbers.
OF_TIMES = {
    "polars": pl.Series(TIMES),
    "polars, UTC": pl.Series(TIMES).dt.replace_time_zone("UTC"),
    "pyarrow": pa.array(TIMES),
    "pyarrow, UTC": pa.array(TIMES, pa.timestamp("ms", "UTC")),
    "pandas": pd.Series(TIMES),
    "pandas, UTC": pd.Series(TIMES).dt.tz_localize("UTC"),
    "pandas of pyarrow": pd.Series(TIMES).astype(pd.ArrowDtype(pa.timestamp("ms"))),
    "NumPy": np.array(TIMES, dtype="M8[ms]"),
    "duckdb": duckdb.sql("select timestamp '2026-01-01' as x from range(3)"),
}


@pytest.mark.parametrize("column", (OTHERS | OF_TIMES).values(), ids=OTHERS | OF_TIMES)
@pytest.mark.parametrize("name", CLASSES)
def test_columns_that_are_neither_items_nor_numbers_are_type_errors(name, column):
    """As items, counts, samples and points. The sketch does not change."""
    if isinstance(column, duckdb.DuckDBPyRelation):
        column = column.to_arrow_table()
    sketch = CLASSES[name]()
    before = sketch.copy()
    for method, parameters in methods(name):
        for parameter in {*parameters} & {*SEVERAL, "counts"}:
            if method == "add":
                continue
            arguments = {"items": ["a", "b", "c"]} if parameter == "counts" else {}
            with pytest.raises(TypeError):
                getattr(sketch, method)(**arguments | {parameter: column})
    assert sketch == before


@pytest.mark.parametrize("column", OTHERS.values(), ids=OTHERS)
def test_columns_that_are_no_times_are_type_errors(column):
    sketch = roughly.CountMinSketch(100, 4, window=60_000)
    with pytest.raises(TypeError):
        sketch.update(["a", "b", "c"], at=column)
    assert sketch.count == 0


@pytest.mark.parametrize("name", CLASSES)
def test_extension_types_of_text_are_columns(name):
    if name != "TDigest":
        one, other = CLASSES[name](), CLASSES[name]()
        one.update(pa.array(['{"a": 1}', "[]"], pa.json_()))
        other.update(['{"a": 1}', "[]"])
        assert one == other


def test_a_row_that_is_null_is_an_error_with_its_position():
    sketch = roughly.BloomFilter()
    with pytest.raises(ValueError, match="^the item at position 1 is null$"):
        sketch.update(pa.table({"a": ["a", None]}))
    sketch.update(pa.table({"a": ["a", None]})[:1])
    assert "a" in sketch


@pytest.mark.parametrize("name", CLASSES)
def test_structures_are_no_tables(name):
    structures = pa.array([{"a": 1}])
    for column in (structures, pa.chunked_array([structures]), pl.Series([{"a": 1}]), pd.Series([{"a": 1}], dtype=pd.ArrowDtype(structures.type))):
        with pytest.raises(TypeError, match="not Struct"):
            CLASSES[name]().update(column)


@pytest.mark.parametrize("column", OF_DECIMALS.values(), ids=OF_DECIMALS)
def test_decimals_are_numbers_and_no_items(column):
    one, other = roughly.TDigest(), roughly.TDigest()
    one.update(column)
    other.update(DECIMALS)
    assert one == other and one.rank(column).tolist() == other.rank([1.5, 2.5, 3.5]).tolist()
    for name in CLASSES:
        if name != "TDigest":
            with pytest.raises(TypeError, match="strings, binaries or integers, not Decimal"):
                CLASSES[name]().update(column)
    with pytest.raises(TypeError, match="integers, not Decimal"):
        roughly.CountMinSketch(100, 3).update(["a", "b", "c"], column)


def test_decimals_are_rounded_to_the_nearest_double():
    numbers = random.Random(4)
    texts = ["0.1", "-0.3", "9007199254740993", "123456789012345678901234567890.12345678", f"{10**37}", "1e-30", "0"]
    texts += [f"{numbers.randrange(-(10**30), 10**30)}e-{numbers.randrange(30)}" for _ in range(200)]
    for text in texts:
        number = decimal.Decimal(text)
        digest = roughly.TDigest()
        digest.update(pa.array([number]))
        assert digest.min() == float(number), text
    # Also of a negative scale, and sums and literals of DuckDB, which are HUGEINT and DECIMAL.
    digest = roughly.TDigest()
    digest.update(pa.array([12_300], pa.decimal128(5, -2)))
    for query in ("select sum(range) as x from range(100000)", "select 1::HUGEINT as x", "select 0.1 as x"):
        digest.update(duckdb.sql(query))
    assert list(digest.centroids()[0]) == [0.1, 1, 12_300, 4_999_950_000]


def test_sums_are_counts():
    sketch = roughly.CountMinSketch(100, 3)
    sums = duckdb.sql("select sum(range) as x from range(10) group by range % 2 order by x")
    sketch.update(["a", "b"], sums)
    sketch.update(["a"], pa.array([decimal.Decimal("3.00")]))
    assert sketch.query(["a", "b"]).tolist() == [23, 25]
    with pytest.raises(ValueError, match="out of range"):
        sketch.update(["a"], pa.array([decimal.Decimal(2**64)]))


def test_tables_have_one_column():
    with pytest.raises(ValueError, match="^a table of items must have one column, not 2$"):
        roughly.BloomFilter().update(pl.DataFrame({"a": [1], "b": [2]}))
    with pytest.raises(ValueError, match="out of range"):
        roughly.TopK(3).update(["a"], pa.array([2**63], pa.uint64()))


def export(method, capsules):
    """An object whose method returns the same capsules at every call."""
    return type("Export", (), {method: lambda self: capsules})()


def test_columns_that_were_consumed_are_errors():
    array = export("__arrow_c_array__", pa.array(["a", "b"]).__arrow_c_array__())
    stream = export("__arrow_c_stream__", pa.chunked_array([["c"], ["d"]]).__arrow_c_stream__())
    sketch = roughly.BloomFilter()
    for column in array, stream:
        sketch.update(column)
        with pytest.raises(ValueError, match="has been released"):
            sketch.update(column)
    assert list(sketch.contains(["a", "b", "c", "d", "e"])) == [True] * 4 + [False]


def test_capsules_of_other_structures_are_errors():
    schema, array = pa.array(["a"]).__arrow_c_array__()
    sketch = roughly.BloomFilter()
    for method, capsules, error in [
        ("__arrow_c_array__", (array, schema), ValueError),
        ("__arrow_c_array__", (schema, datetime.datetime_CAPI), ValueError),
        ("__arrow_c_array__", (schema,), ValueError),
        ("__arrow_c_array__", 5, TypeError),
        ("__arrow_c_stream__", array, ValueError),
        ("__arrow_c_stream__", None, TypeError),
    ]:
        with pytest.raises(error):
            sketch.update(export(method, capsules))
    assert len(sketch) == 0
    sketch.update(export("__arrow_c_array__", (schema, array)))
    assert len(sketch) == 1


def test_an_error_of_the_producer_has_its_text():
    def batches():
        yield pa.record_batch({"item": ["a", "b"]})
        raise RuntimeError("the producer failed")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"item": pa.string()}), batches())
    sketch = roughly.BloomFilter()
    with pytest.raises(ValueError, match="the producer failed"):
        sketch.update(reader)
    assert list(sketch.contains(["a", "b"])) == [True, True]


def test_the_column_is_not_copied():
    """A process that may allocate half of what a copy of the column takes adds it."""
    code = """
import resource
import polars as pl
import roughly

column = pl.Series(range(2_000_000)).cast(pl.String) + "x" * 50
sketch = roughly.BloomFilter(2_000_000)
sketch.update(column[:10_000])
with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (16 << 20), used + (16 << 20)))
sketch.update(column)
print(len(sketch) > 1_900_000)
"""
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout == "True\n"


@pytest.mark.parametrize("create", [lambda: roughly.TDigest(), lambda: roughly.BloomFilter(4_000_000)], ids=["samples", "items"])
def test_memory_for_a_stream_is_that_of_a_part(create):
    """Without a length, chunks are added one by one. A stream of 2 million doubles has 16 MB, and 94 MB as objects."""
    chunk = pa.array(np.random.default_rng(1).random(20_000))

    def batches():
        for number in range(100):
            if number > 10:
                peaks.append(address_space())
            yield pa.record_batch({"x": chunk})

    peaks = []
    sketch = create()
    sketch.update(pa.RecordBatchReader.from_batches(pa.schema({"x": pa.float64()}), batches()))
    assert max(peaks) - peaks[0] < 8 << 20
    assert sketch.count == 2_000_000 if isinstance(sketch, roughly.TDigest) else len(sketch) > 19_000


def test_the_numbers_of_a_stream_before_an_error_are_added():
    def stream(*batches):
        table = pa.Table.from_batches([pa.record_batch({"x": pa.array(each, pa.float64())}) for each in batches])
        return table, table.to_reader()

    for bad, text in ((float("nan"), "finite number"), (None, "^the item at position 3 is null$")):
        table, reader = stream([1.0, 2.0], [3.0, bad, 4.0])
        digest = roughly.TDigest()
        with pytest.raises(ValueError, match=text):
            digest.update(table)
        assert digest.count == 0
        with pytest.raises(ValueError, match=text):
            digest.update(reader)
        assert digest.count == 3
    window = roughly.TDigest(window=60_000)
    table, reader = stream([1.0, 2.0])
    for column in (table, reader):
        with pytest.raises(ValueError, match="different lengths$"):
            window.update(column, at=[1_700_000_000] * 3)


@pytest.mark.parametrize("name", CLASSES)
def test_a_column_is_interrupted(name):
    """A stream of seconds, whose chunks have few elements or many."""
    for size, chunks in ((1, 10_000_000), (100_000, 1000)):
        chunk = pa.record_batch({"x": np.random.default_rng(1).random(size) if name == "TDigest" else np.arange(size)})
        reader = pa.RecordBatchReader.from_batches(chunk.schema, itertools.repeat(chunk, chunks))
        signal.signal(signal.SIGVTALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            CLASSES[name]().update(reader)


def test_a_column_of_many_chunks_is_as_fast_as_one():
    """A batch has the elements of several chunks. With a batch per chunk, the ratio of the CPU times would be above 10; it is 1.4."""
    texts = pa.array([f"item {number}" for number in range(200_000)])
    many = pa.chunked_array([texts[start : start + 20] for start in range(0, 200_000, 20)])

    def seconds(column):
        times = []
        for _ in range(5):
            sketch = roughly.BloomFilter(200_000)
            start = time.process_time()
            sketch.update(column)
            times.append(time.process_time() - start)
        return min(times)

    assert seconds(many) < 4 * seconds(texts)


def test_columns_need_neither_numpy_nor_pyarrow():
    code = """
import sys
sys.modules["numpy"] = sys.modules["pyarrow"] = None
import polars as pl
import roughly

sketch = roughly.BloomFilter()
sketch.update(pl.Series(["alice", "bob"]))
print(sketch.contains(pl.Series(["alice", "carol"])))
"""
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout == "[True, False]\n"


@pytest.mark.parametrize(
    "times",
    [
        pl.Series([1.5, 2.5, 70.0]),
        pa.array([1500, 2500, 70_000], pa.timestamp("ms", "UTC")),
        pa.array([1_500_000_999, 2_500_000_000, 70_000_000_000], pa.timestamp("ns", "Asia/Tokyo")),
        pa.chunked_array([[1500], [2500, 70_000]], pa.timestamp("ms", "UTC")),
        pa.table({"at": pa.array([1_500_000, 2_500_000, 70_000_000], pa.timestamp("us", "UTC"))}),
        pl.Series([1500, 2500, 70_000]).cast(pl.Datetime("ms", "America/New_York")),
        pd.Series(pd.to_datetime([1500, 2500, 70_000], unit="ms", utc=True)),
        pd.Series(pd.to_datetime([1500, 2500, 70_000], unit="ms", utc=True)).astype(pd.ArrowDtype(pa.timestamp("us", "UTC"))),
        pd.Series([1.5, 2.5, 70.0], dtype="Float64"),
    ],
    ids=lambda times: f"{type(times).__module__} {getattr(times, 'dtype', '')}",
)
def test_times_of_additions_may_be_columns(times):
    one, other = (roughly.CountMinSketch(100, 4, window=60_000, seed=bytes(16)) for _ in "ab")
    one.update(pa.array(["a", "b", "c"]), at=times)
    other.update(["a", "b", "c"], at=[1.5, 2.5, 70])
    assert one == other


@pytest.mark.parametrize("name", ["timestamp", "total_seconds", "utcoffset", "dtype", "at"])
def test_a_column_of_times_has_any_name(name):
    times = pd.to_datetime([1500, 70_000], unit="ms", utc=True)
    frame = pd.DataFrame({name: times})
    relation = duckdb.sql(f"select to_timestamp(unnest([1.5, 70])) as {name}")
    expected = roughly.CountMinSketch(100, 4, window=60_000, seed=bytes(16))
    expected.update(["a", "b"], at=[1.5, 70])
    for at in (frame, relation, pl.DataFrame(frame), pa.Table.from_pandas(frame)):
        sketch = roughly.CountMinSketch(100, 4, window=60_000, seed=bytes(16))
        sketch.update(["a", "b"], at=at)
        assert sketch == expected
        with pytest.raises(TypeError, match="^the time must be Unix seconds or a datetime"):
            sketch.add("a", at=at)


def test_threads_share_columns():
    column = chunked(pa.array([f"item {number}" for number in range(100_000)]))
    sketch = roughly.CountMinSketch(50_000, 5)
    errors = []

    def update():
        try:
            for _ in range(5):
                sketch.update(column)
                sketch.query(column)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=update) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not errors
    assert sketch.count == 20 * len(column)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
def test_a_fork_during_updates_from_columns_leaves_a_usable_object():
    column = pa.array([f"item {number}" for number in range(100_000)])
    sketch = roughly.BloomFilter(100_000)
    stop = threading.Event()

    def update():
        while not stop.is_set():
            sketch.update(column)

    threads = [threading.Thread(target=update) for _ in range(2)]
    [thread.start() for thread in threads]
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                # A child that hangs is ended by the signal.
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(60)
                sketch.update(column[:100])
                os._exit(0 if sketch.contains(column[:100]).all() else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        [thread.join() for thread in threads]
