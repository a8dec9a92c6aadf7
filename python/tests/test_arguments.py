"""Items and numbers as arguments, and errors, which are those of the server."""

import datetime
import decimal
import enum
import gc
import math
import random
import struct
import sys
import uuid

import numpy as np
import pytest
import redis
import roughly


def test_items_have_the_bytes_that_clients_send(client):
    items = ["alice", "", "é€😀", b"\x00\xff\x00", b"", 0, -5, 2**63 - 1, 2**64, -(2**80)]
    sketch = roughly.BloomFilter(1000, 0.001)
    for item in items:
        assert sketch.add(item) == client.execute_command("BF.ADD", "k", item)
    assert all(sketch.contains([np.int32(-5), np.uint64(2**64 - 1)]) == [True, False])
    assert "-5" in sketch and 5 not in sketch
    client.delete("k")
    client.execute_command("BF.RESERVE", "k", 0.001, 1000)
    client.execute_command("BF.MADD", "k", *items)
    assert sketch.dump() == roughly.load(client.dump("k")).dump()
    bulk = roughly.BloomFilter(1000, 0.001)
    bulk.update(item for item in items)
    assert bulk.dump() == sketch.dump()


@pytest.mark.parametrize(
    "array",
    [
        *(np.arange(-300, 300).astype(kind) for kind in ("i1", "i2", "i4", "i8", ">i4")),
        *(np.arange(600).astype(kind) for kind in ("u1", "u2", "u4", "u8", ">u8")),
        np.arange(10_000)[::3],
        np.array([-(2**63), 2**63 - 1, 0]),
        np.array([2**64 - 1, 0], dtype="u8"),
        np.array(["alice", "é€😀", "", "a\x00b", "x" * 50]),
        np.array(["alice", "é"]).astype(">U9"),
        np.array([b"alice", b"a\x00b", b"", b"\xff" * 40]),
        np.array(["", ""]),
        np.frombuffer(b"\0" + np.arange(600).tobytes(), dtype="i8", offset=1),
        np.frombuffer(b"\0" + np.array(["alice", "é"]).tobytes(), dtype="U5", offset=1),
        np.array(["a", b"b", 3], dtype=object),
        np.array([], dtype="i8"),
        np.arange(1_100_000),
    ],
    ids=lambda array: f"{array.dtype}-{len(array)}",
)
def test_arrays_have_the_items_of_their_lists(array):
    one, other = roughly.BloomFilter(2_000_000), roughly.BloomFilter(2_000_000)
    one.update(array)
    other.update(array.tolist())
    assert one.dump() == other.dump()
    found = one.contains(array)
    assert isinstance(found, np.ndarray) and found.dtype == bool and len(found) == len(array)
    assert found.all()


def test_buffers_and_floats_are_the_items_that_clients_send(client):
    items = [bytearray(b"ab"), memoryview(b"a\0b")[::2], 1.5, -0.0, 1e300, 0.1 + 0.2, float("inf")]
    sketch = roughly.BloomFilter(1000, 0.001)
    sketch.update(items)
    client.execute_command("BF.RESERVE", "k", 0.001, 1000)
    sent = [bytes(item) if isinstance(item, (bytearray, memoryview)) else item for item in items]
    client.execute_command("BF.MADD", "k", *sent)
    assert sketch.dump() == roughly.load(client.dump("k")).dump()
    floats = np.array([1.5, -0.0, 1e300, 0.1 + 0.2, np.inf])
    assert sketch.contains(floats).all() and np.float64(1.5) in sketch


def test_floats_have_the_text_of_their_representation():
    """Floats of any bits, of few digits, halfway between two texts, and beside the powers of ten at which there is an exponent."""
    rng = random.Random(78)
    of_bits = struct.unpack("<20000d", rng.randbytes(160_000))
    short = [round(rng.uniform(-1, 1) * 10 ** rng.randrange(-6, 18), rng.randrange(8)) for _ in range(20_000)]
    dyadic = [rng.randrange(2**51) / 2 ** rng.randrange(52) for _ in range(20_000)] + [1 + 2**-17, 2245821033853878.25]
    powers = [10.0**exponent for exponent in range(-8, 20)]
    beside = [math.nextafter(power, towards) for power in powers for towards in (0, math.inf)]
    floats = [value for value in (*of_bits, *short, *dyadic, *powers, *beside) if not math.isnan(value)]
    for part in (floats[start : start + 64] for start in range(0, len(floats), 64)):
        texts = roughly.BloomFilter(64, 1e-9)
        texts.update([repr(value) for value in part])
        for found in (part, np.array(part), [np.float64(value) for value in part]):
            sketch = roughly.BloomFilter(64, 1e-9)
            sketch.update(found)
            assert sketch.dump() == texts.dump(), part


class Number(enum.IntEnum):
    ONE = 1


class Flag(enum.IntFlag):
    FOUR = 4


class Text(str, enum.Enum):
    A = "a"


class Bytes(bytes, enum.Enum):
    B = b"b"


class Fraction(float, enum.Enum):
    HALF = 0.5


class OtherInteger(int):
    def __repr__(self):
        return "é"


class OtherFloat(float):
    def __repr__(self):
        return "another text"


class OtherString(str):
    def __str__(self):
        return "not this"


ENCODED = [
    *("é€😀", "", b"\xff", bytearray(b"ab"), memoryview(b"abc"), 0, -5, 2**63, 2**64, -(2**80), 1.5, -0.0, 1e300, float("inf")),
    *(Number.ONE, Flag.FOUR, Text.A, Bytes.B, Fraction.HALF, OtherInteger(3), OtherFloat(2.5), OtherString("text")),
    *(np.str_("text"), np.bytes_(b"bytes")),
]
REFUSED = [None, True, np.True_, 1j, (1,), datetime.date(2026, 1, 1), decimal.Decimal(1), uuid.UUID(int=1), enum.Enum("Other", "A").A]


@pytest.mark.parametrize("item", ENCODED, ids=lambda item: f"{type(item).__name__} {item!r:.20}")
def test_items_are_encoded_as_by_the_client(item):
    sent = bytes(redis._parsers.encoders.Encoder("utf-8", "strict", False).encode(item))
    for update in (lambda top: top.add(item), lambda top: top.update([item]), lambda top: top.update(iter([item, item]), [1, 0])):
        top = roughly.TopK(3)
        update(top)
        assert top.items() == [(sent, 1)]
        assert item in top and sent in top


@pytest.mark.parametrize("item", REFUSED, ids=repr)
def test_items_that_the_client_refuses_are_type_errors(item):
    with pytest.raises(redis.DataError):
        redis._parsers.encoders.Encoder("utf-8", "strict", False).encode(item)
    for sketch in (roughly.BloomFilter(), roughly.CuckooFilter(), roughly.CountMinSketch(10, 2), roughly.TopK(2)):
        for call in (lambda: sketch.add(item), lambda: sketch.update([item]), lambda: sketch.update(np.array([item, 1], dtype=object))):
            with pytest.raises(TypeError):
                call()


def test_scalars_of_numpy_are_the_items_of_their_arrays():
    """redis-py refuses most of them, and sends the representation of a float64, which depends on the version of NumPy."""
    for array in (np.array([1.5, 0.1]), np.array([1, 2]), np.array([3], dtype="u1"), np.array(["a"]), np.array([b"a"])):
        top = roughly.TopK(3)
        top.update(array)
        for item in array:
            assert item in top and top.count(item) == top.count(item.item()) == 1


@pytest.mark.parametrize("values", [np.array([1 + 2j]), [1j], [np.complex64(1)], [np.complex128(1)]])
def test_complex_numbers_are_type_errors(values):
    with pytest.raises(TypeError, match="real"):
        roughly.TDigest().update(values)
    with pytest.raises(TypeError):
        roughly.TDigest().quantile(values)


def test_columns_of_data_frames_are_arrays():
    class Column:
        def to_numpy(self):
            return np.arange(100)

    sketch = roughly.BloomFilter(1000)
    sketch.update(Column())
    assert len(sketch) == 100
    digest = roughly.TDigest()
    digest.update(Column())
    assert digest.max() == 99


@pytest.mark.parametrize(
    "items",
    [
        *("abc", b"abc", bytearray(b"abc"), memoryview(b"abc"), 5, None),
        *([1j], [True], [None], [np.float32(1.5)], np.array([1.5], dtype="f4"), np.array([True])),
    ],
    ids=repr,
)
def test_other_items_are_type_errors(items):
    for sketch in [
        roughly.BloomFilter(),
        roughly.CuckooFilter(),
        roughly.CountMinSketch(10, 2),
        roughly.TopK(2),
    ]:
        with pytest.raises(TypeError):
            sketch.update(items)


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 2 has the type")
def test_arrays_of_strings_without_a_fixed_length_are_arrays_of_str():
    sketch = roughly.BloomFilter()
    sketch.update(np.array(["alice", "é€", "a\0"], dtype=np.dtypes.StringDType()))
    assert all(sketch.contains(["alice", "é€", "a\0"])) and len(sketch) == 3


def test_exceptions_of_items_are_not_replaced():
    class Item:
        def __index__(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        roughly.BloomFilter().add(Item())


def test_an_import_of_numpy_that_is_prevented_is_no_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    sketch = roughly.BloomFilter()
    sketch.update([1, 2])
    assert len(sketch) == 2


def test_items_after_a_refused_one_are_added_as_on_the_server(client):
    client.execute_command("CF.RESERVE", "cf", 2000, "EXPANSION", 0)
    client.execute_command("CF.INSERT", "cf", "ITEMS", *range(20_000))
    cuckoo = roughly.CuckooFilter(2000, expansion=0)
    with pytest.raises(ValueError, match="^Filter is full$"):
        cuckoo.update(range(20_000))
    assert cuckoo.dump() == roughly.load(client.dump("cf")).dump()
    increments = [2**63 - 1, *range(1, 10_000)]
    client.execute_command("CMS.INITBYDIM", "cms", 2000, 3)
    arguments = [argument for pair in enumerate(increments) for argument in pair]
    client.execute_command("CMS.INCRBY", "cms", *arguments)
    counts = roughly.CountMinSketch(2000, 3)
    with pytest.raises(ValueError, match="^CMS: INCRBY overflow$"):
        counts.update(range(10_000), increments)
    assert counts.dump() == roughly.load(client.dump("cms")).dump()


def test_numbers_out_of_range_are_value_errors(client):
    digest = roughly.TDigest()
    digest.update([1, 2, 3])
    client.execute_command("TDIGEST.CREATE", "td")
    client.execute_command("TDIGEST.ADD", "td", 1, 2, 3)
    for method in ("cdf", "rank", "revrank"):
        with pytest.raises(redis.ResponseError) as theirs:
            client.execute_command("TDIGEST." + method, "td", "nan")
        for value in (float("nan"), [1.0, float("nan")], np.array([np.nan])):
            with pytest.raises(ValueError) as ours:
                getattr(digest, method)(value)
            assert str(ours.value) == str(theirs.value)
    for call in (
        lambda: digest.byrank(2**70),
        lambda: digest.byrevrank([2**70]),
        lambda: digest.cdf(10**400),
        lambda: roughly.CountMinSketch(10, 2).update([1], 2**70),
        lambda: roughly.TopK(2).update([1], [-(2**70)]),
    ):
        with pytest.raises(ValueError, match="out of range"):
            call()


def test_arrays_have_one_dimension():
    with pytest.raises(ValueError, match="one dimension"):
        roughly.BloomFilter().update(np.zeros((2, 2), dtype=int))
    with pytest.raises(TypeError, match="masked"):
        roughly.BloomFilter().update(np.ma.array([1, 2], mask=[False, True]))
    with pytest.raises(UnicodeEncodeError):
        roughly.BloomFilter().add("\ud800")


@pytest.mark.parametrize("kind", [list, tuple, iter], ids=lambda kind: kind.__name__)
def test_iterables_of_any_items_have_the_items_one_by_one(kind):
    class Text(str):
        def __len__(self):
            return 1

    texts = ["ascii", "é", "€uro", "😀😀", "", "a\0b", "x" * 2_000_000, "é" * 1_500_000]
    items = [f"{text}{n}" for n in range(1500) for text in texts[:6]]
    items += [*texts, Text("a subclass"), b"\xff", 5, *texts, 2.5] * 2 + ["é"] * 5000
    one, other = roughly.CountMinSketch(500, 4), roughly.CountMinSketch(500, 4)
    one.update(kind(items))
    for item in items:
        other.add(item)
    assert one == other


def test_items_before_an_error_were_added():
    sketch = roughly.BloomFilter()
    with pytest.raises(ZeroDivisionError):
        sketch.update(1 // (5000 - n) for n in range(10_000))
    # The items are 0 and, for n = 4999, 1.
    assert len(sketch) == 2
    for bad, error in ((1j, TypeError), ("\ud800", UnicodeEncodeError)):
        sketch = roughly.BloomFilter(10_000, 0.0001)
        with pytest.raises(error):
            sketch.update([*(f"é {n}" for n in range(5000)), bad, "after"])
        assert sketch.contains([f"é {n}" for n in range(5000)]).all() and "after" not in sketch
    with pytest.raises(ValueError, match="^non scaling filter is full$"):
        full = roughly.BloomFilter(10, nonscaling=True)
        full.update(range(1000))
    assert len(full) == 10


@pytest.mark.parametrize("before", [0, 2, 4095, 4096, 5000])
@pytest.mark.parametrize("create", [roughly.BloomFilter, roughly.CuckooFilter, lambda: roughly.CountMinSketch(2000, 5), lambda: roughly.TopK(100)])
def test_strings_of_an_array_before_an_error_were_added(create, before):
    strings = [f"é {n}" for n in range(before)]
    expected = create()
    expected.update(strings)
    sketch = create()
    with pytest.raises(ValueError, match=f"^the string at position {before} is not valid Unicode$"):
        sketch.update(np.array([*strings, "a\ud800", "after"]))
    assert sketch == expected
    for array in (np.array([*strings, "a\ud800", "after"], dtype=object), np.array([*strings, None, "after"], dtype=object)):
        sketch = create()
        with pytest.raises((TypeError, UnicodeEncodeError)):
            sketch.update(array)
        assert sketch == expected


def test_counts_belong_to_items():
    one, other = roughly.CountMinSketch(2000, 5), roughly.CountMinSketch(2000, 5)
    one.update(np.arange(5000), np.arange(5000))
    for item in range(5000):
        other.add(item, item)
    assert one.dump() == other.dump()
    assert one.query(np.arange(5000)).tolist() == other.query(range(5000)).tolist()
    top, same = roughly.TopK(10, 50, 4), roughly.TopK(10, 50, 4)
    top.update(["a", "b", "c"] * 3000, list(range(9000)))
    for number in range(9000):
        same.add("abc"[number % 3], number)
    assert top.dump() == same.dump()
    for counts in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match="different lengths"):
            one.update(["a", "b"], counts)


def test_samples_may_be_arrays_of_any_numbers():
    samples = np.random.default_rng(1).random(10_000)
    digests = []
    for values in (samples, samples.tolist(), iter(samples.tolist()), np.repeat(samples, 2)[::2]):
        digests.append(roughly.TDigest())
        digests[-1].update(values)
    one_by_one = roughly.TDigest()
    for sample in samples:
        one_by_one.add(sample)
    assert len({digest.dump() for digest in [*digests, one_by_one]}) == 1
    before = one_by_one.dump()
    with pytest.raises(ValueError, match="finite number"):
        one_by_one.update([1.0, float("nan")])
    assert one_by_one.dump() == before
    integers = roughly.TDigest()
    integers.update(np.arange(10, dtype="u1"))
    assert integers.quantile(0.5) == integers.quantile([0.5])[0]
    assert isinstance(integers.quantile(0.5), float) and isinstance(integers.rank(3), int)


@pytest.mark.parametrize(
    "command, create",
    [
        ("BF.RESERVE k 0 10", lambda: roughly.BloomFilter(10, 0)),
        ("BF.RESERVE k 1 10", lambda: roughly.BloomFilter(10, 1)),
        ("BF.RESERVE k 0.1 0", lambda: roughly.BloomFilter(0, 0.1)),
        ("BF.RESERVE k 0.1 1073741825", lambda: roughly.BloomFilter(2**30 + 1, 0.1)),
        ("BF.RESERVE k 0.1 9 EXPANSION 32769", lambda: roughly.BloomFilter(9, expansion=32769)),
        ("BF.RESERVE k 0.1 9 EXPANSION -1", lambda: roughly.BloomFilter(9, expansion=-1)),
        (
            "BF.RESERVE k 0.1 9 EXPANSION 2 NONSCALING",
            lambda: roughly.BloomFilter(9, expansion=2, nonscaling=True),
        ),
        ("CF.RESERVE k 3", lambda: roughly.CuckooFilter(3)),
        ("CF.RESERVE k 1073741825", lambda: roughly.CuckooFilter(2**30 + 1)),
        ("CF.RESERVE k 99 BUCKETSIZE 0", lambda: roughly.CuckooFilter(99, bucket_size=0)),
        ("CF.RESERVE k 99 BUCKETSIZE 256", lambda: roughly.CuckooFilter(99, bucket_size=256)),
        (
            "CF.RESERVE k 99 MAXITERATIONS 0",
            lambda: roughly.CuckooFilter(99, max_iterations=0),
        ),
        ("CF.RESERVE k 99 EXPANSION -1", lambda: roughly.CuckooFilter(99, expansion=-1)),
        ("CMS.INITBYDIM k 0 1", lambda: roughly.CountMinSketch(0, 1)),
        ("CMS.INITBYDIM k 1 -1", lambda: roughly.CountMinSketch(1, -1)),
        ("CMS.INITBYDIM k 9 9 CELL_SIZE 3", lambda: roughly.CountMinSketch(9, 9, cell_size=3)),
        ("CMS.INITBYPROB k 1 0.1", lambda: roughly.CountMinSketch(error=1, probability=0.1)),
        ("CMS.INITBYPROB k 0.1 0", lambda: roughly.CountMinSketch(error=0.1, probability=0)),
        ("TOPK.RESERVE k 0", lambda: roughly.TopK(0)),
        ("TOPK.RESERVE k 2 0 1 0.5", lambda: roughly.TopK(2, 0, 1, 0.5)),
        ("TOPK.RESERVE k 2 1 -1 0.5", lambda: roughly.TopK(2, 1, -1, 0.5)),
        ("TOPK.RESERVE k 2 1 1 0", lambda: roughly.TopK(2, 1, 1, 0)),
        ("BF.RESERVE k 0.1 9223372036854775807", lambda: roughly.BloomFilter(2**80, 0.1)),
        ("TDIGEST.CREATE k COMPRESSION 0", lambda: roughly.TDigest(0)),
        ("TDIGEST.CREATE k COMPRESSION 999999999", lambda: roughly.TDigest(999999999)),
    ],
)
def test_parameters_are_refused_with_the_text_of_the_server(client, command, create):
    with pytest.raises(redis.ResponseError) as theirs:
        client.execute_command(*command.split())
    with pytest.raises(ValueError) as ours:
        create()
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize(
    "command, sketch",
    [
        ("BF.ADD k {item}", roughly.BloomFilter()),
        ("CF.ADD k {item}", roughly.CuckooFilter()),
    ],
)
def test_defaults_are_those_of_a_missing_key(client, command, sketch):
    for item in range(3000):
        client.execute_command(*command.format(item=item).split())
    sketch.update(range(3000))
    assert sketch.dump() == roughly.load(client.dump("k")).dump()


def test_items_of_digits_have_the_encoding_of_the_server(client):
    items = [0, -5, 127, -128, 300, -32768, 70_000, 2**31 - 1, -(2**31), 2**31, "01", "-0", "+1", "x"]
    client.execute_command("TOPK.RESERVE", "k", 20, "WINDOW", 3_600_000)
    client.execute_command("TOPK.ADD", "k", *items)
    payload = client.dump("k")
    sketch = roughly.load(payload)
    assert sorted(sketch.items()) == sorted((str(item).encode(), 1) for item in items)
    assert sketch.dump()[:-10] == payload[:-10]


def test_finalizers_may_read_the_object_whose_items_are_listed(client):
    client.execute_command("TOPK.RESERVE", "k", 1000, "WINDOW", 3_600_000)
    client.execute_command("TOPK.ADD", "k", *(f"item {n}" for n in range(1000)))
    sketch = roughly.load(client.dump("k"))
    lengths = []

    class Cycle:
        def __init__(self):
            self.cycle = self

        def __del__(self):
            lengths.append(len(sketch.items()))

    threshold = gc.get_threshold()
    gc.set_threshold(50)
    try:
        for _ in range(20):
            Cycle()
            sketch.items()
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    assert lengths == [len(sketch.items())] * 20


def test_values_with_a_window_are_read_at_a_time(client):
    window = ["WINDOW", 3_600_000, "PANES", 6]
    seed = ["SEED", "000102030405060708090a0b0c0d0e0f"]
    client.execute_command("BF.RESERVE", "bf", 0.0001, 100, *window, *seed)
    client.execute_command("BF.MADD", "bf", *range(50))
    client.execute_command("CF.RESERVE", "cf", 100, *window, *seed)
    client.execute_command("CF.INSERT", "cf", "ITEMS", *range(50))
    client.execute_command("CMS.INITBYDIM", "cms", 100, 4, *window)
    client.execute_command("CMS.INCRBY", "cms", "a", 3)
    client.execute_command("TOPK.RESERVE", "topk", 3, *window)
    client.execute_command("TOPK.INCRBY", "topk", "a", 3)
    client.execute_command("TDIGEST.CREATE", "td", *window)
    client.execute_command("TDIGEST.ADD", "td", *range(50))
    seconds, micros = client.time()
    now, later = seconds + micros / 1e6, seconds + 5400
    loaded = {key: roughly.load(client.dump(key)) for key in ("bf", "cf", "cms", "topk", "td")}
    for key, sketch in loaded.items():
        assert roughly.load(client.dump(key)).dump() == sketch.dump()
        assert roughly.load_chunks(sketch.to_chunks()).dump() == sketch.dump()
    bf, cf, cms, topk, td = loaded.values()
    assert 7 in bf and len(bf) == 50 and bf.info(at=later)["Number of items inserted"] == 0
    assert bf.contains([7, 99], at=now).tolist() == [True, False]
    assert bf.contains([7], at=datetime.datetime.fromtimestamp(later, datetime.timezone.utc)).tolist() == [False]
    assert (cf.count(7, at=now), cf.count(7, at=later), len(cf)) == (1, 0, 50)
    assert cms.query(["a"]).tolist() == [3] and cms.query(["a"], at=later).tolist() == [0]
    assert topk.items() == [(b"a", 3)] and topk.items(at=later) == [] and "a" in topk
    assert (topk.count("a"), topk.count("a", at=later)) == (3, 0)
    assert td.max() == 49 and np.isnan(td.max(at=later)) and td.quantile(0.5) == 24.5
    merged = roughly.TDigest()
    merged.merge(td)
    assert merged.info()["Observations"] == 50
    with pytest.raises(ValueError, match="no window"):
        roughly.BloomFilter().contains([1], at=0)
    for at in (-1, float("nan"), 1e300, 10**400, datetime.datetime.min):
        with pytest.raises(ValueError):
            bf.contains([1], at=at)
    with pytest.raises(TypeError):
        bf.contains([1], at="now")
