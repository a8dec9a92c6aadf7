"""Values with a window that are built offline: the server has the same after the same commands at the same times."""

import datetime
import math
import threading
import time

import numpy as np
import pytest
import redis
import roughly
from conftest import START

SEED = "000102030405060708090a0b0c0d0e0f"
# In milliseconds after START, for windows of a minute with 6 panes: in one pane, in the next, after a gap, after the window.
TIMES = [0, 1, 999, 1000, 9000, 10_000, 10_000, 30_500, 59_000, 60_001, 75_000, 200_000, 3_600_000]


@pytest.fixture
def server(clocked_server):
    clocked_server.client.flushall()
    return clocked_server


def seconds(ms):
    return (START + ms) / 1000


def items_at(number):
    """The items of the time with this number: some of them occur at several times."""
    return [*range(number * 3, number * 3 + 40), "alice", f"time {number}"]


MINUTE = {"window": 60_000, "panes": 6}
MINUTE_OPTION = ["WINDOW", 60_000, "PANES", 6]
FINE = {**MINUTE, "finest": 1000}
FINE_OPTION = [*MINUTE_OPTION, "FINEST", 1000]
KINDS = {
    "bloom": (
        ["BF.RESERVE", "k", 0.001, 50, *MINUTE_OPTION, "SEED", SEED],
        lambda: roughly.BloomFilter(50, 0.001, **MINUTE, seed=SEED),
        lambda items: ["BF.MADD", "k", *items],
    ),
    "bloom that is full": (
        ["BF.RESERVE", "k", 0.001, 5000, "NONSCALING", *MINUTE_OPTION, "SEED", SEED],
        lambda: roughly.BloomFilter(5000, 0.001, nonscaling=True, **MINUTE, seed=bytes(range(16))),
        lambda items: ["BF.MADD", "k", *items],
    ),
    "cuckoo": (
        ["CF.RESERVE", "k", 50, *MINUTE_OPTION, "SEED", SEED],
        lambda: roughly.CuckooFilter(50, **MINUTE, seed=SEED),
        lambda items: ["CF.INSERT", "k", "ITEMS", *items],
    ),
    "cuckoo with an error rate": (
        ["CF.RESERVE", "k", 50, *MINUTE_OPTION, "ERROR", 0.0001, "SEED", SEED],
        lambda: roughly.CuckooFilter(50, **MINUTE, error_rate=0.0001, seed=SEED),
        lambda items: ["CF.INSERT", "k", "ITEMS", *items],
    ),
    **{
        name: (
            ["CMS.INITBYDIM", "k", 100, 4, *option, "SEED", SEED],
            lambda window=window: roughly.CountMinSketch(100, 4, **window, seed=SEED),
            lambda items: ["CMS.INCRBY", "k", *(each for item in items for each in (item, 1))],
        )
        for name, window, option in [
            ("count_min", MINUTE, MINUTE_OPTION),
            ("count_min with levels", FINE, FINE_OPTION),
        ]
    },
    **{
        name: (
            ["TOPK.RESERVE", "k", 5, 60, 4, 0.9, *option, "SEED", SEED],
            lambda window=window: roughly.TopK(5, 60, 4, **window, seed=SEED),
            lambda items: ["TOPK.ADD", "k", *items],
        )
        for name, window, option in [
            ("top_k", MINUTE, MINUTE_OPTION),
            ("top_k with levels", FINE, FINE_OPTION),
        ]
    },
    **{
        name: (
            ["TDIGEST.CREATE", "k", "COMPRESSION", 20, *option],
            lambda window=window: roughly.TDigest(20, **window),
            lambda items: ["TDIGEST.ADD", "k", *items],
        )
        for name, window, option in [
            ("t_digest", MINUTE, MINUTE_OPTION),
            ("t_digest with levels", FINE, FINE_OPTION),
        ]
    },
}


@pytest.fixture(params=KINDS.values(), ids=KINDS, name="kind")
def one_of_the_kinds(request):
    return request.param


def of(kind, items):
    """The items that a command of this kind accepts."""
    return [each for each in items if isinstance(each, int)] if "TDIGEST" in kind[0][0] else items


def filled(kind):
    """An object with the items of all times, and the items with their times in milliseconds after START."""
    pairs = [(item, ms) for number, ms in enumerate(TIMES) for item in of(kind, items_at(number))]
    sketch = kind[1]()
    sketch.update([item for item, _ in pairs], at=[seconds(ms) for _, ms in pairs])
    return sketch, pairs


@pytest.mark.parametrize("created", [0, -45_000, -7_200_000])
def test_the_server_has_the_same_value_after_each_time(server, kind, created):
    reserve, create, add = kind
    server.at(created, *reserve)
    sketch = create()
    for number, ms in enumerate(TIMES):
        items = of(kind, items_at(number))
        server.at(ms, *add(items))
        sketch.update(items, at=seconds(ms))
        assert sketch.dump() == roughly.load(server.client.dump("k")).dump(), ms
    assert filled(kind)[0] == sketch


def test_single_additions_are_those_of_the_server(server, kind):
    reserve, create, add = kind
    server.at(0, *reserve)
    sketch = create()
    for number, ms in enumerate(TIMES):
        for item in of(kind, items_at(number))[:3]:
            reply = server.at(ms, *add([item]))
            ours = sketch.add(item, at=seconds(ms))
            if isinstance(reply, list) and ours is not None:
                assert ours == reply[0]
    assert sketch.dump() == roughly.load(server.client.dump("k")).dump()


def test_loaded_values_continue(server, kind):
    reserve, create, add = kind
    server.at(0, *reserve)
    for number, ms in enumerate(TIMES):
        items = of(kind, items_at(number))
        loaded = roughly.load(server.client.dump("k"))
        server.at(ms, *add(items))
        loaded.update(items, at=seconds(ms))
        assert loaded.dump() == roughly.load(server.client.dump("k")).dump(), ms
        server.client.restore("copy", 0, loaded.dump(), replace=True)
        assert roughly.load(server.client.dump("copy")) == loaded


def test_cuckoo_filters_remove_and_skip_as_the_server(server):
    reserve, create, _ = KINDS["cuckoo"]
    server.at(0, *reserve)
    sketch = create()
    for number, ms in enumerate(TIMES):
        for item in (number, number // 2, "alice"):
            at = seconds(ms)
            assert sketch.add_new(item, at=at) == server.at(ms, "CF.ADDNX", "k", item)
            assert sketch.add(item, at=at) is None and server.at(ms, "CF.ADD", "k", item)
            assert sketch.remove(item, at=at) == server.at(ms, "CF.DEL", "k", item)
    assert sketch.dump() == roughly.load(server.client.dump("k")).dump()


def test_errors_are_those_of_the_server(server):
    server.at(0, "BF.RESERVE", "bf", 0.01, 10, "NONSCALING", *MINUTE_OPTION, "SEED", SEED)
    reply = server.at(0, "BF.MADD", "bf", *range(1000))
    bloom = roughly.BloomFilter(10, nonscaling=True, **MINUTE, seed=SEED)
    with pytest.raises(ValueError) as ours:
        bloom.update(range(1000), at=seconds(0))
    assert str(ours.value) == str(reply[-1])
    assert bloom.dump() == roughly.load(server.client.dump("bf")).dump()
    server.at(0, "CF.RESERVE", "cf", 10, "EXPANSION", 0, *MINUTE_OPTION, "SEED", SEED)
    server.at(0, "CF.INSERT", "cf", "ITEMS", *range(1000))
    cuckoo = roughly.CuckooFilter(10, expansion=0, **MINUTE, seed=SEED)
    with pytest.raises(ValueError, match="^Filter is full$"):
        cuckoo.update(range(1000), at=seconds(0))
    assert cuckoo.dump() == roughly.load(server.client.dump("cf")).dump()
    server.at(0, "CMS.INITBYDIM", "cms", 10, 2, *MINUTE_OPTION)
    with pytest.raises(redis.ResponseError) as theirs:
        server.at(0, "CMS.INCRBY", "cms", "a", -1)
    with pytest.raises(ValueError) as ours:
        roughly.CountMinSketch(10, 2, **MINUTE).add("a", -1)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize(
    "command, create",
    [
        ("BF.RESERVE k 0.1 9 WINDOW 0", lambda: roughly.BloomFilter(window=0)),
        ("BF.RESERVE k 0.1 9 WINDOW 9 PANES 10", lambda: roughly.BloomFilter(window=9, panes=10)),
        ("CF.RESERVE k 9 WINDOW 315360000001", lambda: roughly.CuckooFilter(window=315360000001)),
        ("CF.RESERVE k 9 WINDOW 60 ERROR 1", lambda: roughly.CuckooFilter(9, window=60, error_rate=1)),
        ("CF.RESERVE k 9 WINDOW 60 PANES 0 ERROR 1", lambda: roughly.CuckooFilter(9, window=60, panes=0, error_rate=1)),
        (
            "CF.RESERVE k 9 WINDOW 60 SEED x ERROR 0",
            lambda: roughly.CuckooFilter(9, window=60, seed="x", error_rate=0.0),
        ),
        ("TDIGEST.CREATE k WINDOW 9999 PANES 101", lambda: roughly.TDigest(window=9999, panes=101)),
        ("TDIGEST.CREATE k WINDOW 60 FINEST 0", lambda: roughly.TDigest(window=60, finest=0)),
        (
            "TDIGEST.CREATE k WINDOW 315360000000 PANES 100 FINEST 1",
            lambda: roughly.TDigest(window=315360000000, panes=100, finest=1),
        ),
        (
            "TDIGEST.CREATE k COMPRESSION 200001 WINDOW 60",
            lambda: roughly.TDigest(200_001, window=60),
        ),
        (
            "CMS.INITBYDIM k 9 33 WINDOW 60",
            lambda: roughly.CountMinSketch(9, 33, window=60),
        ),
        (
            "CMS.INITBYDIM k 9 3 WINDOW 60 SEED abc",
            lambda: roughly.CountMinSketch(9, 3, window=60, seed="abc"),
        ),
        (
            "TOPK.RESERVE k 9 9 33 0.9 WINDOW 60",
            lambda: roughly.TopK(9, 9, 33, window=60),
        ),
        (
            "TOPK.RESERVE k 0 9 3 0.9 WINDOW 0",
            lambda: roughly.TopK(0, 9, 3, window=0),
        ),
    ],
)
def test_invalid_windows_have_the_text_of_the_server(server, command, create):
    with pytest.raises(redis.ResponseError) as theirs:
        server.at(0, *command.split())
    with pytest.raises(ValueError) as ours:
        create()
    assert str(ours.value) == str(theirs.value)


def test_arguments_of_a_window_are_required_together():
    for create in (
        lambda: roughly.BloomFilter(panes=3),
        lambda: roughly.CuckooFilter(seed=SEED),
        lambda: roughly.CuckooFilter(error_rate=0.1),
        lambda: roughly.CountMinSketch(9, 3, finest=3),
        lambda: roughly.TopK(9, seed=bytes(16)),
        lambda: roughly.TDigest(panes=3),
        lambda: roughly.BloomFilter(window=60, seed=5),
    ):
        with pytest.raises(TypeError):
            create()
    for seed in (bytes(15), "g" * 32, "0" * 31 + " "):
        with pytest.raises(ValueError, match="^SEED must be 32 hexadecimal digits$"):
            roughly.BloomFilter(window=60, seed=seed)
    assert roughly.BloomFilter(window=60).seed != roughly.BloomFilter(window=60).seed


@pytest.mark.parametrize("kind_of_times", ["list", "float64", "int64", "M8[ms]", "M8[us]", "M8[ns]", "datetime"])
def test_times_may_be_arrays(kind_of_times):
    times = [START + 7777 * number for number in range(6000)]
    at = [ms / 1000 for ms in times]
    if kind_of_times == "datetime":
        at = [datetime.datetime.fromtimestamp(each, datetime.timezone.utc) for each in at]
    elif kind_of_times == "int64":
        at = np.array(at, dtype="i8")
    elif kind_of_times == "float64":
        at = np.array(at)
    elif kind_of_times != "list":
        at = np.array(times, dtype="M8[ms]").astype(kind_of_times)
    sketch = roughly.CountMinSketch(100, 4, window=40_000_000, finest=1000, seed=SEED)
    sketch.update(range(6000), range(6000), at=at)
    same = roughly.CountMinSketch(100, 4, window=40_000_000, finest=1000, seed=SEED)
    for number, ms in enumerate(times):
        same.add(number, number, at=datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc))
    assert sketch == same


def test_a_time_belongs_to_the_pane_of_its_millisecond():
    sketch = roughly.CountMinSketch(100, 4, window=60_000, panes=6, seed=SEED)
    sketch.update(["a", "a"], at=np.array([1_699_999_999_999_900, 1_700_000_000_000_000], dtype="M8[us]"))
    other = roughly.CountMinSketch(100, 4, window=60_000, panes=6, seed=SEED)
    other.add("a", at=1_699_999_999.9999)
    other.add("a", at=1_700_000_000)
    assert sketch == other
    assert sketch.query(["a"], at=1_700_000_059.999)[0] == 2


@pytest.mark.parametrize("name", ["bloom", "cuckoo", "count_min", "top_k", "t_digest"])
def test_items_that_are_too_old_are_errors_with_their_position(name):
    create = KINDS[name][1]
    sketch = create()
    sketch.update([1, 2, 3], at=[seconds(20_000), seconds(29_999), seconds(20_000)])
    before = sketch.dump()
    for at, position in [
        ([seconds(19_999)] * 3, 0),
        ([seconds(20_000), seconds(31_000), seconds(29_000)], 2),
    ]:
        with pytest.raises(ValueError, match=f"^the item at position {position} is older than"):
            sketch.update([1, 2, 3], at=at)
    with pytest.raises(ValueError, match="^at is before the newest pane of the sketch$"):
        sketch.update([1, 2, 3], at=seconds(19_999))
    with pytest.raises(ValueError, match="^at is before the newest pane of the sketch$"):
        sketch.add(1, at=seconds(19_999))
    for at in ([seconds(20_000)] * 2, np.array([seconds(20_000)] * 2)):
        with pytest.raises(ValueError, match="^items and at have different lengths$"):
            sketch.update([1, 2, 3], at=at)
    assert sketch.dump() == before
    with pytest.raises(ValueError, match="^items and at have different lengths$"):
        sketch.update([1, 2, 3], at=[seconds(20_000)] * 4)
    for at in ([START], np.array([START]), np.array(["NaT"], dtype="M8[s]"), [-1.0], [np.nan]):
        with pytest.raises(ValueError, match="between the years 1970 and 9999"):
            sketch.update([1], at=at)
    for at in ("now", ["now"], [None], np.array(["now"])):
        with pytest.raises(TypeError):
            sketch.update([1], at=at)
    with pytest.raises(ValueError, match="^the sketch has no window$"):
        roughly.TopK(3).update([1], at=seconds(0))
    with pytest.raises(ValueError, match="^the sketch has no window$"):
        roughly.TDigest().add(1, at=seconds(0))


def test_additions_are_now_by_default():
    sketch = roughly.BloomFilter(window=3_600_000)
    sketch.add("a")
    sketch.update(["b"])
    assert list(sketch.contains(["a", "b"])) == [True, True]
    assert list(sketch.contains(["a", "b"], at=time.time() + 7200)) == [False, False]


READS = {
    "bloom": [("BF.MEXISTS", lambda s, **w: [int(each) for each in s.contains(range(60), **w)], range(60))],
    "cuckoo": [
        ("CF.MEXISTS", lambda s, **w: [int(each) for each in s.contains(range(60), **w)], range(60)),
        ("CF.COUNT", lambda s, **w: s.count("alice", **w), ["alice"]),
    ],
    "count_min": [("CMS.QUERY", lambda s, **w: list(s.query(["alice", 7, 30], **w)), ["alice", 7, 30])],
    "top_k": [
        ("TOPK.LIST", lambda s, **w: [each for pair in s.items(**w) for each in pair], ["WITHCOUNT"]),
        ("TOPK.COUNT", lambda s, **w: [s.count("alice", **w)], ["alice"]),
    ],
    "t_digest": [
        ("TDIGEST.QUANTILE", lambda s, **w: [float(q) for q in s.quantile([0, 0.3, 1], **w)], [0, 0.3, 1]),
        ("TDIGEST.MIN", lambda s, **w: s.min(**w), []),
    ],
}

ACCURACY = ("SKETCH.ACCURACY", lambda s, **w: [x for name, value in s.accuracy(**w).items() for x in (name.encode(), value)], [])


def same(ours, theirs):
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, bytes) and not isinstance(ours, bytes):
        return ours == float(theirs) or str(ours) == theirs.decode()
    return ours == theirs


def test_reads_at_a_time_and_within_are_those_of_the_server(server, request):
    compared = 0
    for name, kind in KINDS.items():
        server.client.flushall()
        sketch, _ = filled(kind)
        # The last time has expired all others.
        pairs = [(number, ms) for number, ms in enumerate(TIMES[:-2])]
        sketch = kind[1]()
        for number, ms in pairs:
            sketch.update(of(kind, items_at(number)), at=seconds(ms))
        server.client.restore("k", 0, sketch.dump())
        pane_ms = sketch.finest
        for command, read, arguments in [*READS[name.split(" ")[0]], ACCURACY]:
            if pane_ms > 1:
                with pytest.raises(ValueError, match=f"^WITHIN must be at least the pane length of the sketch, {pane_ms} mill"):
                    read(sketch, at=seconds(75_000), within=pane_ms - 1)
            for ms in (75_000, 75_999, 90_000, 134_999, 136_000, 500_000):
                ours = read(sketch, at=seconds(ms))
                assert same(ours, server.at(ms, command, "k", *arguments)), (name, command, ms)
                for within in (pane_ms, pane_ms + 1, 14_000, 45_000, 60_000, 10**9):
                    ours = read(sketch, at=seconds(ms), within=within)
                    theirs = server.at(ms, "SKETCH.WITHIN", within, command, "k", *arguments)
                    assert same(ours, theirs), (name, command, ms, within)
                    compared += 1
        with pytest.raises(ValueError, match="^at is before the newest pane"):
            READS[name.split(" ")[0]][0][1](sketch, at=seconds(60_000))
    assert compared >= 400
    for within in (0, -1, 2**64):
        with pytest.raises(ValueError, match="^WITHIN must be between 1 and 315360000000"):
            sketch.quantile(0.5, within=within)
    with pytest.raises(ValueError, match="^the sketch has no window$"):
        roughly.BloomFilter().contains([1], within=1000)


#: For each sketch the command that creates it, the object, what is added at once, and the commands and calls that change nothing two panes later.
UNCHANGED = [
    (
        ["BF.RESERVE", "k", 0.01, 10, "NONSCALING", *MINUTE_OPTION, "SEED", SEED],
        lambda: roughly.BloomFilter(10, nonscaling=True, **MINUTE, seed=SEED),
        ["BF.MADD", "k", *range(1000)],
        lambda sketch, at: sketch.update(range(1000), at=at),
        [
            (["BF.ADD", "k", "new"], lambda sketch, at: sketch.add("new", at=at)),
            (["BF.MADD", "k", "new"], lambda sketch, at: sketch.update(["new"], at=at)),
        ],
    ),
    (
        ["CF.RESERVE", "k", 10, "EXPANSION", 0, *MINUTE_OPTION, "SEED", SEED],
        lambda: roughly.CuckooFilter(10, expansion=0, **MINUTE, seed=SEED),
        ["CF.INSERT", "k", "ITEMS", *range(1000)],
        lambda sketch, at: sketch.update(range(1000), at=at),
        [
            (["CF.ADD", "k", "new"], lambda sketch, at: sketch.add("new", at=at)),
            (["CF.ADDNX", "k", 0], lambda sketch, at: sketch.add_new(0, at=at)),
            (["CF.INSERT", "k", "ITEMS", "new"], lambda sketch, at: sketch.update(["new"], at=at)),
            (["CF.INSERTNX", "k", "ITEMS", 0, 1], lambda sketch, at: sketch.add_new([0, 1], at=at)),
            (["CF.DEL", "k", "missing"], lambda sketch, at: sketch.remove("missing", at=at)),
        ],
    ),
    (
        ["CMS.INITBYDIM", "k", 100, 4, "CELL_SIZE", 1, *MINUTE_OPTION, "SEED", SEED],
        lambda: roughly.CountMinSketch(100, 4, cell_size=1, **MINUTE, seed=SEED),
        ["CMS.INCRBY", "k", "a", 200],
        lambda sketch, at: sketch.add("a", 200, at=at),
        [
            (["CMS.INCRBY", "k", "a", 56], lambda sketch, at: sketch.add("a", 56, at=at)),
            (["CMS.INCRBY", "k", "a", 0], lambda sketch, at: sketch.add("a", 0, at=at)),
            (["CMS.INCRBY", "k", "a", 56, "b", 0], lambda sketch, at: sketch.update({"a": 56, "b": 0}, at=at)),
            (["CMS.MERGE", "k", 1, "k", "WEIGHTS", 2], lambda sketch, at: sketch.merge(sketch.copy(), at=at)),
        ],
    ),
]


@pytest.mark.parametrize("reserve, create, fill, filled, unchanged", UNCHANGED, ids=["bloom", "cuckoo", "count_min"])
def test_what_changes_nothing_does_not_advance_the_sketch(server, reserve, create, fill, filled, unchanged):
    """Nor at the server. A later addition at a time in between is accepted."""

    def result(call):
        """The result, or None for an error."""
        try:
            return call()
        except (ValueError, redis.ResponseError):
            return None

    server.at(0, *reserve)
    server.at(0, *fill)
    sketch = create()
    result(lambda: filled(sketch, seconds(0)))
    before = sketch.dump()
    assert before == roughly.load(server.client.dump("k")).dump()
    for number, (command, call) in enumerate(unchanged):
        reply = result(lambda: server.at(20_000 + number, *command))
        ours = result(lambda: call(sketch, seconds(20_000 + number)))
        assert sketch.dump() == before == roughly.load(server.client.dump("k")).dump(), command
        if command[0] in ("CF.ADDNX", "CF.DEL"):
            assert ours is False and reply == 0
    # After the pane has expired, the same changes the sketch.
    command, call = unchanged[0]
    server.at(75_000, *command)
    call(sketch, seconds(75_000))
    assert sketch.dump() != before and sketch.dump() == roughly.load(server.client.dump("k")).dump()


REFUSED = [
    lambda top, at: top.add("a", -1, at=at),
    lambda top, at: top.update(["a", "b"], [-1, 1], at=at),
    lambda top, at: top.update(["a", "b"], [2**32 - 1, 1], at=at),
    lambda top, at: top.update(["a"], 2**32, at=at),
    lambda digest, at: digest.add(math.nan, at=at),
    lambda digest, at: digest.update([math.inf, 1], at=at),
    lambda digest, at: digest.update(iter([math.nan, 1]), at=at),
]


@pytest.mark.parametrize("call", REFUSED)
def test_what_is_refused_does_not_advance_the_sketch(call):
    top, digest = roughly.TopK(2, **MINUTE, seed=SEED), roughly.TDigest(**MINUTE)
    top.add("a", at=seconds(0))
    digest.add(1, at=seconds(0))
    sketch = {"top": top, "digest": digest}[call.__code__.co_varnames[0]]
    before = sketch.dump()
    with pytest.raises((ValueError, OverflowError)):
        call(sketch, seconds(20_000))
    assert sketch.dump() == before


def test_merges_of_count_min_sketches_are_those_of_the_server(server):
    for name in ("count_min", "count_min with levels"):
        server.client.flushall()
        reserve, create, _ = KINDS[name]
        sketches = {}
        for key, first in (("a", 0), ("b", 3), ("c", 5)):
            server.at(TIMES[first], reserve[0], key, *reserve[2:])
            sketches[key] = create()
            for number in range(first, 9):
                server.at(TIMES[number], "CMS.INCRBY", key, "x", number + 1)
                sketches[key].add("x", number + 1, at=seconds(TIMES[number]))
        a, b, c = sketches.values()
        server.at(65_000, "CMS.MERGE", "a", 3, "a", "b", "c", "WEIGHTS", 1, 2, 2)
        a.merge(b, c, weight=2, at=seconds(65_000))
        assert a.dump() == roughly.load(server.client.dump("a")).dump()
        server.client.restore("c", 0, c.dump(), replace=True)
        with pytest.raises(ValueError, match="window/panes"):
            a.merge(roughly.CountMinSketch(100, 4))
        with pytest.raises(ValueError, match="seeds are not equal"):
            a.merge(roughly.CountMinSketch(100, 4, **(MINUTE if name == "count_min" else FINE)))
        with pytest.raises(ValueError, match="cannot be decremented"):
            a.merge(b, weight=-1, at=seconds(65_000))


def test_values_with_a_window_are_no_destinations_of_other_merges():
    with pytest.raises(ValueError, match="^T-Digest: cannot merge into a digest with a window$"):
        roughly.TDigest(window=60_000).merge(roughly.TDigest())
    with pytest.raises(ValueError, match="^filters with a window cannot be merged$"):
        roughly.BloomFilter(window=60_000).merge(roughly.BloomFilter())
    with pytest.raises(ValueError, match="^filters with a window cannot be merged$"):
        roughly.BloomFilter().merge(roughly.BloomFilter(window=60_000))
    with pytest.raises(ValueError, match="^the sketch has no window$"):
        roughly.TDigest().merge(roughly.TDigest(), at=5)


def test_threads_add_to_values_with_a_window():
    sketch = roughly.CountMinSketch(2000, 4, window=60_000, panes=6, seed=SEED)
    errors = []

    def add(number):
        try:
            for step in range(200):
                sketch.update([number] * 50, at=seconds(step))
                sketch.query([number])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not errors
    assert list(sketch.query(range(4), at=seconds(200))) == [10_000] * 4
