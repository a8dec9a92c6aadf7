"""roughly.shards on a cluster of three nodes and on one server, with redis-py and valkey-py."""

import asyncio
import enum
import itertools
import sys
import threading
import zlib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import redis
import redis.asyncio
import roughly
import valkey
import valkey.asyncio
from conftest import running_cluster
from redis.crc import key_slot
from roughly.shards import ShardedBloomFilter, capacity_of, keys, shard_of, shards_of
from test_arrow import COLUMNS

LIBRARIES = pytest.mark.parametrize("library", [redis, valkey], ids=lambda each: each.__name__)


def port_of(server):
    return server.get_connection_kwargs()["port"]


def client_of(library, server, **options):
    name = "Redis" if library in (redis, redis.asyncio) else "Valkey"
    return getattr(library, name)(port=port_of(server), **options)


def cluster_client(library, node, **options):
    name = "RedisCluster" if library in (redis, redis.asyncio) else "ValkeyCluster"
    return getattr(library.cluster, name)(host="127.0.0.1", port=port_of(node), **options)


def distinct(count, start=0):
    """Items of three types. No two are equal on a server."""
    kinds = [str, lambda number: b"b%d" % number, int]
    return [kinds[number % 3](number) for number in range(start, start + count)]


# Names and numbers.


def test_the_names_are_the_same_in_every_version():
    assert keys("visits", 1) == ["visits:{8209}:0/1"]
    assert keys("visits", 3) == ["visits:{21418}:0/3", "visits:{8209}:1/3", "visits:{16418}:2/3"]
    assert keys("é visits:", 2)[1] == "é visits::{356}:1/2"
    assert keys("visits", 12)[::11] == ["visits:{4944}:0/12", "visits:{506}:11/12"]
    assert [shard_of(item, 12) for item in ("alice", b"alice", "42", b"42", 42, "", 1.5)] == [11, 11, 8, 8, 8, 0, 10]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 12, 64, 100, 1000, 16384])
def test_each_node_has_equally_many_keys(count):
    slots = [key_slot(key.encode()) for key in keys("visits", count)]
    assert slots == [(2 * number + 1) * 8192 // count for number in range(count)]
    assert len({*slots}) == count
    for nodes in range(1, 12):
        of_nodes = [0] * nodes
        for slot in slots:
            of_nodes[slot * nodes // 16384] += 1
        assert max(of_nodes) - min(of_nodes) <= 1


def test_the_keys_of_other_numbers_of_shards_are_others():
    names = [key for count in range(1, 16) for key in keys("visits", count)]
    assert len({*names}) == len(names)


def test_invalid_names_and_numbers():
    for count in (0, -1, 16385):
        for call in (lambda: keys("visits", count), lambda: shard_of("a", count), lambda: shards_of(["a"], count), lambda: capacity_of(9, count)):
            with pytest.raises(ValueError, match="^the number of shards must be between 1 and 16384$"):
                call()
    with pytest.raises(ValueError, match="^the name must not contain '{': the keys have hash tags$"):
        keys("visits:{a}", 3)


@pytest.mark.parametrize("capacity, count", [(1000, 1), (1000, 12), (100_000, 100)])
def test_no_shard_is_filled_above_its_capacity(capacity, count):
    largest = np.bincount(shards_of(np.arange(capacity), count)).max()
    assert capacity / count <= largest <= capacity_of(capacity, count)
    assert capacity_of(capacity, count) <= capacity / count * 1.2 + 50


class Color(enum.IntEnum):
    RED = 1


class Text(str):
    pass


class Number(float):
    def __repr__(self):
        return "a number"


class Index:
    def __index__(self):
        return 7


ITEMS = [
    *("alice", "é€😀", "", "a\0b", Text("x"), b"\xff", bytearray(b"ab"), memoryview(b"abcd")[::2]),
    *(0, -5, 2**63 - 1, -(2**63), 2**64 - 1, 10**30, Color.RED, Index(), np.int8(-3), np.uint64(2**64 - 1)),
    *(1.0, -0.0, 0.1 + 0.2, 1e300, float("inf"), Number(2.5), np.float64(1.5)),
]


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: f"{type(item).__name__} {item!r}")
def test_the_shard_is_that_of_the_bytes_that_the_package_adds(item):
    top = roughly.TopK(1)
    top.add(item)
    [(added, _)] = top.items()
    assert shard_of(item, 16384) == shards_of([item], 16384)[0] == zlib.crc32(added) % 16384
    # Beside items of other types.
    assert shards_of([item, "x"], 16384).tolist() == [shard_of(item, 16384), shard_of("x", 16384)]


@pytest.mark.parametrize("column, items", COLUMNS.values(), ids=COLUMNS)
def test_columns_have_the_shards_of_their_items(column, items):
    numbers = shards_of(column, 16384)
    assert numbers.dtype == "uint16"
    assert numbers.tolist() == [zlib.crc32(str(item).encode() if not isinstance(item, bytes) else item) % 16384 for item in items]


ARRAYS = {
    "int64": np.arange(20_000),
    "strided": np.arange(40_000)[::2],
    "uint8": np.arange(256, dtype="u1"),
    "U": np.array(["a", "é", ""] * 9000),
    "S": np.array([b"a", b"bc", b""] * 9000),
    "object": np.array(["a", 5, b"b"] * 9000, object),
    "float64": np.arange(20_000) / 8,
    "empty": np.arange(0),
    "pandas index": pd.Index([3, 4]),
    "pandas with labels": pd.Series([7, 8, 9], index=[2.5, 0.5, 1.5]),
    "range": range(20_000),
    "set": {"a", "b", 5},
    "dictionary": {"a": 1, 7: 2},
    "tuple": ("a", 7),
}


@pytest.mark.parametrize("items", ARRAYS.values(), ids=ARRAYS)
def test_arrays_and_iterables_have_the_shards_of_their_items(items):
    expected = [shard_of(item, 1000) for item in items]
    assert shards_of(items, 1000).tolist() == expected
    assert shards_of(iter([*items]), 1000).tolist() == expected


REFUSED = {
    "one str": "alice",
    "one bytes": b"alice",
    "None": ["a", None],
    "bool": [True],
    "NaN": ["a", float("nan")],
    "late NaN": [*range(20_000), float("nan")],
    "float32": np.arange(3, dtype="f4") / 8,
    "null": pa.array(["a", None]),
    "late null": pa.array([*range(20_000), None]),
    "polars float32": pl.Series([0.5], dtype=pl.Float32),
    "pandas NA": pd.Series([1, None], dtype="Int64"),
    "dates": pl.Series(["2026-01-01"]).str.to_date(),
    "two columns": pa.table({"a": [1], "b": [2]}),
    "no iterable": 5,
}


@pytest.mark.parametrize("items", REFUSED.values(), ids=REFUSED)
def test_refused_items_are_the_errors_of_filters(items):
    with pytest.raises((TypeError, ValueError)) as expected:
        roughly.BloomFilter().update(items)
    with pytest.raises(type(expected.value)) as error:
        shards_of(items, 12)
    if len(items if isinstance(items, list) else []) < 16384 and not (hasattr(items, "null_count") and len(items) > 16384):
        assert str(error.value) == str(expected.value)
    else:
        assert str(error.value).endswith(" (positions begin at item 16384)")


def test_without_numpy_the_results_are_lists(client, monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    visits = ShardedBloomFilter(client, "visits", 3)
    visits.create(1000)
    visits.update(["a"])
    assert visits.contains(["a", "b"]) == [True, False]
    assert visits.contains([]) == []
    assert shards_of(["alice"], 12) == [shard_of("alice", 12)]


# On servers.


@LIBRARIES
@pytest.mark.parametrize("options", [{}, {"decode_responses": True, "protocol": 3}], ids=str)
def test_a_cluster(nodes, library, options):
    visits = ShardedBloomFilter(cluster_client(library, nodes[0], **options), "visits", 12)
    assert visits.create(20_000, 0.001) is None
    assert [len(node.keys()) for node in nodes] == [4, 4, 4]
    items = distinct(20_000)
    assert visits.update(items) is None
    found = visits.contains(items)
    assert found.dtype == bool and found.all()
    assert visits.contains(distinct(20_000, start=20_000)).mean() < 0.003
    assert visits.add("new") is True and visits.add("new") is False
    info = visits.info()
    assert info["Capacity"] == 12 * capacity_of(20_000, 12) and info["Number of filters"] == 12
    assert 19_950 < info["Number of items inserted"] <= 50_001 and info["Expansion rate"] == 2
    accuracy = visits.accuracy()
    assert accuracy["specified rate"] == pytest.approx(0.001)
    assert 0.0001 < accuracy["false positive rate"] < 0.001


@LIBRARIES
def test_one_pipeline_per_node(nodes, library, monkeypatch):
    visits = ShardedBloomFilter(cluster_client(library, nodes[0]), "visits", 12)
    visits.create(50_000)
    written, write = [], library.cluster.NodeCommands.write

    def recorded(commands):
        written.append(len(commands.commands))
        write(commands)

    monkeypatch.setattr(library.cluster.NodeCommands, "write", recorded)
    visits.update(range(20_000))
    # Two parts of the items, each for four shards of three nodes: EXISTS and BF.INSERT.
    assert written == [8] * 6


@LIBRARIES
def test_the_shards_are_filters_that_other_programs_build(nodes, library):
    """As on the page of large data: numbers of shards, a filter for each of them, to_redis."""
    client = cluster_client(library, nodes[0])
    sent, built = ShardedBloomFilter(client, "sent", 6), ShardedBloomFilter(client, "built", 6)
    items = np.arange(30_000)
    sent.create(30_000, 0.001)
    sent.update(items)
    numbers = shards_of(items, 6)
    for number, key in enumerate(built.keys):
        shard = roughly.BloomFilter(capacity_of(30_000, 6), 0.001)
        shard.update(items[numbers == number])
        roughly.to_redis(client, key, shard)
    for one, other in zip(sent.keys, built.keys):
        assert roughly.from_redis(client, one) == roughly.from_redis(client, other)
    assert built.contains(items).all()


def move(nodes, slot, source, target):
    """Moves a slot with its keys, as redis-cli does."""
    source, target = nodes[source], nodes[target]
    ids = [node.execute_command("CLUSTER", "MYID") for node in (source, target)]
    target.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0])
    source.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1])
    while found := source.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 10):
        for key in found:
            source.execute_command("MIGRATE", "127.0.0.1", port_of(target), key, 0, 60_000)
    for node in (target, source, *nodes):
        node.execute_command("CLUSTER", "SETSLOT", slot, "NODE", ids[1])


def redirections(nodes):
    stats = [node.info("errorstats") for node in nodes]
    return sum(each.get(f"errorstat_{name}", {"count": 0})["count"] for each in stats for name in ("MOVED", "ASK"))


@LIBRARIES
def test_no_false_negatives_while_slots_move(nodes, library):
    visits = ShardedBloomFilter(cluster_client(library, nodes[0]), "visits", 6)
    visits.create(500_000)
    slots = [key_slot(key.encode()) for key in visits.keys]
    home = [slot * 3 // 16384 for slot in slots]
    moves = [(slot, node, (node + 1) % 3) for slot, node in zip(slots, home)]
    moves += [(slot, target, source) for slot, source, target in moves]
    before, failed = redirections(nodes), []

    def run():
        try:
            for slot, source, target in moves:
                started.wait()
                started.clear()
                move(nodes, slot, source, target)
        except Exception as error:
            failed.append(error)

    started = threading.Event()
    mover = threading.Thread(target=run)
    mover.start()
    count = 0
    try:
        while mover.is_alive():
            started.set()
            visits.update(range(count, count + 1000))
            count += 1000
            assert visits.contains(range(count)).all()
            assert not visits.add(count - 1)
    finally:
        while mover.is_alive():
            started.set()
            mover.join(0.02)
    assert not failed
    assert visits.contains(range(count)).all()
    assert visits.info()["Number of items inserted"] > 0.99 * count
    assert redirections(nodes) > before
    assert [len(node.keys()) for node in nodes] == [2, 2, 2]


def test_a_node_that_is_down(tmp_path):
    """The items of the other node are added and found, and calls can be repeated."""
    with running_cluster(tmp_path, 2) as nodes:
        once = redis.retry.Retry(redis.backoff.NoBackoff(), 0)
        clients = [
            cluster_client(redis, nodes[0], retry=once),
            cluster_client(valkey, nodes[0], cluster_error_retry_attempts=0),
        ]
        filters = [ShardedBloomFilter(client, client.__module__, 4) for client in clients]
        numbers = shards_of(range(10_000), 4)
        here = [item for item in range(10_000) if numbers[item] < 2]
        for visits in filters:
            visits.create(10_000)
            visits.update(range(5000))
        client_of(redis, nodes[1], retry=once).shutdown(nosave=True)
        for visits, library in zip(filters, (redis, valkey)):
            for call in (lambda: visits.update(range(10_000)), lambda: visits.contains(range(5000)), visits.info, visits.accuracy):
                with pytest.raises((library.ConnectionError, library.TimeoutError)):
                    call()
            visits.update(here)
            assert visits.contains(here).all()


@LIBRARIES
def test_a_missing_shard_is_an_error(nodes, library):
    """And not an absent item, or a new filter with the default capacity."""
    client = cluster_client(library, nodes[0])
    visits = ShardedBloomFilter(client, "visits", 6)
    with pytest.raises(KeyError, match="visits:{.*}:0/6"):
        visits.info()
    visits.create(30_000)
    visits.update(range(10_000))
    missing = visits.keys[2]
    client.delete(missing)
    for call in (
        lambda: visits.update(range(10_000, 20_000)),
        lambda: visits.contains(range(100)),
        lambda: visits.add(next(item for item in itertools.count() if shard_of(item, 6) == 2)),
        visits.info,
        visits.accuracy,
    ):
        with pytest.raises(KeyError) as error:
            call()
        assert error.value.args == (missing,)
    assert not client.exists(missing)
    # The other shards of the batch have their items. After the missing key is created, the call is repeated.
    others = [item for item in range(20_000) if shard_of(item, 6) != 2]
    assert visits.contains(others).all()
    visits.create(30_000, exist_ok=True)
    visits.update(range(20_000))
    assert visits.contains(range(20_000)).all()


@LIBRARIES
def test_creation_can_be_repeated(nodes, library):
    client = cluster_client(library, nodes[0])
    visits = ShardedBloomFilter(client, "visits", 3)
    client.execute_command("BF.RESERVE", visits.keys[1], 0.5, 7)
    with pytest.raises(library.ResponseError, match="item exists"):
        visits.create(300)
    assert client.exists(*visits.keys) == 3
    visits.create(300, exist_ok=True)
    assert visits.info()["Capacity"] == 7 + 2 * capacity_of(300, 3)
    client.delete(*visits.keys)
    with pytest.raises(library.ResponseError):
        visits.create(300, 2)
    assert client.exists(*visits.keys) == 0
    with pytest.raises(library.ResponseError):
        visits.create(300, 2, exist_ok=True)


@LIBRARIES
def test_options_of_the_command(client, library):
    visits = ShardedBloomFilter(client_of(library, client), "visits", 2)
    visits.create(10, 0.01, "NONSCALING")
    assert visits.info()["Expansion rate"] is None
    with pytest.raises(library.ResponseError, match="(?i)non scaling filter is full"):
        visits.update(range(1000))
    assert visits.info()["Number of items inserted"] == visits.info()["Capacity"]
    recent = ShardedBloomFilter(client_of(library, client), "recent", 2)
    recent.create(1000, 0.01, "WINDOW", 3_600_000)
    recent.update(["a", "b"])
    assert recent.contains(["a", "b"]).all()
    assert client.execute_command("SKETCH.WINDOW", recent.keys[0])


@LIBRARIES
@pytest.mark.parametrize("count", [1, 5])
def test_one_server(client, library, count):
    visits = ShardedBloomFilter(client_of(library, client), "visits", count)
    visits.create(20_000)
    for empty in ([], (), iter(()), np.arange(0), pl.Series([], dtype=pl.String), pa.chunked_array([], pa.string()), {}):
        assert visits.update(empty) is None
        found = visits.contains(empty)
        assert found.dtype == bool and found.size == 0
    assert visits.info()["Number of items inserted"] == 0
    assert visits.accuracy()["false positive rate"] == 0
    visits.update(pl.Series(range(20_000)))
    assert visits.contains(np.arange(20_000)).all() and len(client.keys()) == count


@LIBRARIES
def test_asyncio_clients(nodes, client, library):
    async def run():
        for other in (cluster_client(library.asyncio, nodes[0]), client_of(library.asyncio, client)):
            visits = ShardedBloomFilter(other, "visits", 6)
            await visits.create(40_000)
            assert await visits.add("alice") is True
            await visits.update(range(40_000))
            assert (await visits.contains(range(40_000))).all()
            await visits.update([])
            assert (await visits.contains([])).size == 0
            assert (await visits.info())["Number of filters"] == 6
            assert (await visits.accuracy())["fill"] > 0
            with pytest.raises(KeyError):
                await ShardedBloomFilter(other, "visits", 5).contains(["a"])
            await other.aclose()

    asyncio.run(run())


@LIBRARIES
def test_pipelines_are_refused(client, nodes, library):
    for pipeline in (client_of(library, client).pipeline(), cluster_client(library, nodes[0]).pipeline()):
        for call in (lambda visits: visits.create(9), lambda visits: visits.update(["a"]), lambda visits: visits.info()):
            with pytest.raises(TypeError, match="^a pipeline has no replies"):
                call(ShardedBloomFilter(pipeline, "visits", 3))
