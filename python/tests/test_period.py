"""Reads of periods of the past: the methods `between` and `series`, and the chart of docs/recipes/now-and-then.md."""

import contextlib
import datetime
import io
import random
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import redis
import roughly
from conftest import ROOT, START, write_or_compare
from test_documents import blocks
from test_window import ACCURACY, KINDS, MINUTE, READS, TIMES, items_at, of, same, seconds

#: The times that are in the window at once.
LIVE = [ms for ms in TIMES if ms <= 75_000]
SKETCHES = [name for name in KINDS if not name.startswith(("bloom", "cuckoo"))]
CREATE = {name: KINDS[name][1] for name in ("count_min", "top_k", "t_digest")}


def live(name):
    """A sketch that was loaded from a server's format, and has items of all these times."""
    sketch = KINDS[name][1]()
    for number, ms in enumerate(LIVE):
        sketch.update(of(KINDS[name], items_at(number)), at=seconds(ms))
    return roughly.load(sketch.dump())


def reply(server, *command):
    """The reply of the server, or the text of its error without the code."""
    try:
        return server.client.execute_command(*command)
    except redis.ResponseError as error:
        return str(error)


def ours(read):
    """What the package returns, or the text of its error."""
    try:
        return read()
    except ValueError as error:
        return str(error)


@pytest.fixture
def server(clocked_server):
    clocked_server.client.flushall()
    return clocked_server


@pytest.mark.parametrize("name", SKETCHES)
def test_reads_of_periods_are_those_of_the_server(server, name):
    sketch = live(name)
    server.client.restore("k", 0, sketch.dump())
    numbers, read, refused = random.Random(77), 0, 0
    for now in (75_000, 83_456, 130_000):
        server.set_clock(START + now)
        for _ in range(12):
            start, end = sorted(START + numbers.randrange(-5_000, now + 5_000) for _ in range(2))
            for command, ours_of, arguments in [*READS[name.split(" ")[0]], ACCURACY]:
                theirs = reply(server, "SKETCH.BETWEEN", start, end, command, "k", *arguments)
                found = ours(lambda: ours_of(sketch.between(start, end, at=seconds(now))))
                if isinstance(theirs, str):
                    assert found == theirs or (theirs, found) == EMPTY, (start, end)
                    refused += 1
                else:
                    assert same(found, theirs), (command, start, end, found, theirs)
                    read += 1
    assert read > 40 and refused > 5


#: The names of the arguments differ.
EMPTY = ("SKETCH.BETWEEN needs a period: from before to", "a period needs a start that is before its end")
SERIES = {
    "count_min": (["CMS.QUERY", "k", "alice", 7], {"items": ["alice", 7]}, list),
    "top_k": (["TOPK.LIST", "k", "WITHCOUNT"], {}, lambda pairs: [[each for pair in pairs[0] for each in pair]]),
    "t_digest": (["TDIGEST.QUANTILE", "k", 0.5, 1], {"q": (0.5, 1)}, list),
}


@pytest.mark.parametrize("name", SKETCHES)
def test_series_are_those_of_the_server(server, name):
    sketch = live(name)
    server.client.restore("k", 0, sketch.dump())
    [command, *arguments], options, values = SERIES[name.split(" ")[0]]
    lengths = set()
    for now in (75_000, 83_456, 130_000, 1_000_000):
        server.set_clock(START + now)
        for step in (1, 1000, 7000, 60_000, 315_360_000_000):
            for start, end in ((0, 2**60), (START + 12_345, START + now - 2345)):
                theirs = reply(server, "SKETCH.SERIES", start, end, step, command, *arguments)
                found = ours(lambda: sketch.series(step, start, end, at=seconds(now), **options))
                if isinstance(theirs, str):
                    assert found == theirs or "needs a period" in theirs and found == EMPTY[1]
                    continue
                assert [row[:2] for row in found] == [row[:2] for row in theirs]
                for row, expected in zip(found, theirs):
                    answers = values(row[2:])
                    assert same(answers[0] if "LIST" in command else answers, expected[2])
                lengths.add(len(found))
    assert {0, 1} < lengths and max(lengths) >= 6


@pytest.mark.parametrize("name", CREATE)
def test_times_of_a_period(name):
    sketch, now = live(name), seconds(80_000)
    options = SERIES[name][1]
    utc = datetime.timezone.utc
    start, end = START + 30_000, START + 70_000
    expected = sketch.between(start, end, at=now).accuracy()
    rows = sketch.series(10_000, start, end, at=now, **options)
    assert expected != sketch.between(end, at=now).accuracy()
    for times in (
        (-50_000, -10_000),
        (datetime.timedelta(seconds=-50), datetime.timedelta(seconds=-10)),
        (pd.Timedelta(-50, "s"), pd.Timedelta(-10, "s")),
        tuple(datetime.datetime.fromtimestamp(each / 1000, utc) for each in (start, end)),
        tuple(pd.Timestamp(each, unit="ms", tz="UTC") for each in (start, end)),
        *((np.datetime64(start, "ms").astype(kind), np.datetime64(end, "ms").astype(kind)) for kind in ("M8[s]", "M8[ms]", "M8[us]", "M8[ns]")),
        (np.int64(start), np.int64(end)),
    ):
        assert sketch.between(*times, at=now).accuracy() == expected, times
        for step in (10_000, datetime.timedelta(seconds=10), pd.Timedelta(10, "s")):
            # Also NaN.
            assert repr(sketch.series(step, *times, at=now, **options)) == repr(rows)
    # Until now, as `within`; by default, the whole window.
    assert sketch.between(-20_000, at=now).accuracy() == sketch.accuracy(at=now, within=20_000)
    whole = sketch.series(10_000, 0, 2**62, at=now, **options)
    assert repr(sketch.series(10_000, at=now, **options)) == repr(whole)
    naive = datetime.datetime(2026, 1, 1)
    for bad in (naive, pd.Timestamp(naive)):
        for times in ((bad, end), (start, bad)):
            for read in (sketch.between, lambda *times: sketch.series(1000, *times, **options)):
                with pytest.raises(ValueError, match="^the time has no time zone: use "):
                    read(*times)
    # Other methods take seconds as floats.
    for bad in (1.5, np.float64(1), "now", b"0", [1], 1j, datetime.date(2026, 1, 1)):
        with pytest.raises(TypeError):
            sketch.between(bad)
        with pytest.raises(TypeError):
            sketch.series(bad, **options)
    for step in (0, -1, 315_360_000_001, 2**70, datetime.timedelta(0), -datetime.timedelta(1)):
        with pytest.raises(ValueError, match="^step must be between 1 and 315360000000 milliseconds"):
            sketch.series(step, **options)
    with pytest.raises(ValueError, match="^at is before the newest pane of the sketch$"):
        sketch.between(0, at=seconds(0))


@pytest.mark.parametrize("unit", ["D", "h", "m", "s", "ms", "us", "ns"])
def test_times_of_numpy_have_any_unit(unit):
    day = np.datetime64("2026-01-02")
    at, time = day.astype(f"M8[{unit}]"), datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)
    reads = []
    for now in (at, time):
        sketch = roughly.TDigest(window=864_000_000, panes=10)
        sketch.add(5, at=now)
        sketch.update([6, 7], at=now)
        sketch.update([7, 8], at=np.array([now, now]) if now is at else [now, now])
        start = at - np.timedelta64(1, "D") if now is at else now - datetime.timedelta(1)
        reads.append((sketch.dump(), sketch.between(start, now, at=now).accuracy(), repr(sketch.series(86_400_000, start, now, q=0.5, at=now))))
        reads[-1] += (sketch.max(at=now),)
    assert reads[0] == reads[1]
    for read in (sketch.between, lambda each: sketch.between(0, each), lambda each: sketch.series(each, q=0.5), lambda each: sketch.max(within=each)):
        with pytest.raises(TypeError):
            read(np.timedelta64(1, "D").astype(f"m8[{unit}]"))


MISSING = [pd.NaT, np.datetime64("NaT"), np.datetime64("NaT", "ns"), np.timedelta64("NaT"), np.timedelta64("NaT", "ns"), float("nan"), np.float64("nan")]


@pytest.mark.parametrize("missing", MISSING, ids=lambda missing: f"{type(missing).__name__} {missing!r}")
def test_a_missing_time_is_an_error(missing):
    sketch, now = live("t_digest"), seconds(80_000)
    before = sketch.dump()
    for call in (
        *(lambda position=position: sketch.between(*[-1000, -1, now][:position], missing, at=now) for position in (0, 1)),
        lambda: sketch.between(-1000, at=missing),
        lambda: sketch.series(missing, q=0.5, at=now),
        lambda: sketch.series(1000, missing, q=0.5, at=now),
        lambda: sketch.series(1000, None, missing, q=0.5, at=now),
        lambda: sketch.series(1000, q=0.5, at=missing),
        lambda: sketch.max(at=missing),
        lambda: sketch.max(within=missing, at=now),
        lambda: sketch.add(1, at=missing),
        lambda: sketch.update([1], at=missing),
        lambda: sketch.update([1, 2], at=[now, missing]),
        lambda: sketch.update([1, 2], at=np.array([now, missing], dtype=object)),
        lambda: sketch.update([1, 2], at=pd.Series([pd.Timestamp(now, unit="s", tz="UTC"), missing], dtype=object)),
        lambda: roughly.TDigest().merge(sketch, at=missing),
    ):
        with pytest.raises((TypeError, ValueError)) as error:
            call()
        assert "support" not in str(error.value)
    if missing is pd.NaT:
        with pytest.raises(ValueError, match="^NaT is neither a time nor a duration"):
            sketch.between(-1000, missing)
        with pytest.raises(ValueError, match="^NaT is neither a time nor a duration"):
            sketch.max(at=missing)
    assert sketch.dump() == before


def test_a_period_has_the_methods_that_read():
    sketch = roughly.TDigest(**MINUTE)
    period = sketch.between(-60_000)
    for name in ("add", "update", "merge", "count", "compression", "dump", "between", "series", "k"):
        with pytest.raises(AttributeError, match=f"^a period has no method '{name}'$"):
            getattr(period, name)
    with pytest.raises(TypeError):
        period.quantile()
    # The sketch stays the same one.
    sketch.add(7)
    assert period.quantile(0.5) == 7


@pytest.mark.parametrize("name", CREATE)
def test_reads_of_a_period_take_no_other_period(name):
    sketch = live(name)
    period = sketch.between(START + 10_000, START + 40_000, at=seconds(75_000))
    methods = [getattr(period, each) for each in dir(sketch) if not each.startswith("_") and hasattr(period, each)]
    assert len(methods) > 1
    for method in methods:
        for argument, value in (("within", 20_000), ("at", seconds(80_000)), ("within", None), ("at", None)):
            with pytest.raises(TypeError, match=f" got an unexpected keyword argument '{argument}'$"):
                method(**{argument: value})


def test_sketches_without_periods():
    for sketch in (roughly.CountMinSketch(10, 2), roughly.TopK(3), roughly.TDigest()):
        with pytest.raises(ValueError, match="^the sketch has no window$"):
            sketch.between(0)
    with pytest.raises(ValueError, match="^the sketch has no window$"):
        roughly.TopK(3).series(1000)
    for window in ({}, MINUTE):
        for sketch in (roughly.BloomFilter(**window), roughly.CuckooFilter(**window)):
            with pytest.raises(ValueError, match="^a filter stores only the last addition of an item: within= reads"):
                sketch.between(0)
            assert not hasattr(sketch, "series")


def test_empty_windows():
    digest, counts, top = roughly.TDigest(**MINUTE), roughly.CountMinSketch(10, 2, **MINUTE), roughly.TopK(3, **MINUTE)
    assert np.isnan(digest.between(-30_000).quantile(0.5))
    assert list(counts.between(-30_000).query(["a"])) == [0] and top.between(-30_000).items() == []
    assert digest.series(1000, q=0.5) == counts.series(1000, items=["a"]) == top.series(1000) == []


def test_series_are_rows_of_data_frames():
    sketch, now = live("count_min with levels"), seconds(80_000)
    names = ["start", "covered", "alice", "7"]
    rows = sketch.series(20_000, items=["alice", 7], at=now)
    for items in (iter(["alice", 7]), (each for each in ("alice", 7)), ("alice", 7), pl.Series(["alice", "7"])):
        assert sketch.series(20_000, items=items, at=now) == rows
    assert all(type(value) is int for row in rows for value in row)
    frame = pd.DataFrame(rows, columns=names)
    assert frame.equals(pl.DataFrame(rows, schema=names, orient="row").to_pandas())
    # The rows add up, of panes that are all live.
    assert frame["alice"].sum() == sketch.query(["alice"], at=now)[0] > 3
    digest = live("t_digest")
    [row] = digest.series(100_000, q=0.5, at=now)[-1:]
    assert row[2:] == digest.series(100_000, q=np.array([0.5]), at=now)[-1][2:] and type(row[2]) is float
    with pytest.raises(TypeError):
        digest.series(1000)


def test_the_chart_of_the_recipe(server, tmp_path):
    """From the samples of the page. ROUGHLY_WRITE=1 writes it (scripts/pages.sh chart)."""
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for _, block in blocks(ROOT / "docs/recipes/now-and-then.md"):
            exec(block, names)
    server.set_clock(int(names["now"].timestamp() * 1000))
    roughly.to_redis(server.client, "latency:days", names["latency"])
    url = f"redis://127.0.0.1:{server.client.get_connection_kwargs()['port']}"
    command = ["series", url, "latency:days", "TDIGEST.QUANTILE", "0.5", "0.99", "--step", "30m", "--last", "30h"]
    subprocess.run([sys.executable, "-m", "roughly", *command, "--plot", "series.svg"], cwd=tmp_path, check=True)
    write_or_compare(ROOT / "docs/plots/series.svg", (tmp_path / "series.svg").read_text())
