"""from_redis and to_redis with redis-py and valkey-py, their asyncio clients and their cluster clients."""

import asyncio
import secrets
import threading

import glide
import pytest
import redis
import redis.asyncio
import roughly
import valkey
import valkey.asyncio
from roughly import _clients

LIBRARIES = pytest.mark.parametrize("library", [redis, valkey], ids=lambda each: each.__name__)


def client_of(library, server, **options):
    name = "Redis" if library.__name__.startswith("redis") else "Valkey"
    return getattr(library, name)(port=server.get_connection_kwargs()["port"], **options)


def sketches():
    """A sketch of each class, with payloads of more than 3 MB where the type allows it."""
    bloom = roughly.BloomFilter(3_000_000)
    grown = roughly.BloomFilter(500_000, expansion=4)
    cuckoo = roughly.CuckooFilter(1 << 20)
    counts = roughly.CountMinSketch(200_000, 5)
    top, digest = roughly.TopK(10, 50_000, 7), roughly.TDigest(1000)
    for sketch in (bloom, grown, cuckoo, counts, top):
        sketch.update(range(600_000 if sketch is grown else 1000))
    digest.update(list(range(10_000)))
    return {"bloom": bloom, "grown": grown, "cuckoo": cuckoo, "cms": counts, "topk": top, "tdigest": digest}


SKETCHES = sketches()


@pytest.fixture
def small_limit(client):
    """A server that accepts arguments of at most 1 MB, below the size of a chunk."""
    limit = client.config_get("proto-max-bulk-len")["proto-max-bulk-len"]
    client.config_set("proto-max-bulk-len", 1 << 20)
    yield client
    client.config_set("proto-max-bulk-len", limit)


@LIBRARIES
@pytest.mark.parametrize("name", SKETCHES)
@pytest.mark.parametrize("decoded", [False, True])
def test_keys_and_objects_are_equal(client, library, name, decoded):
    sketch = SKETCHES[name]
    other = client_of(library, client, decode_responses=decoded)
    assert roughly.to_redis(other, "key", sketch) is None
    assert client.pttl("key") == -1
    assert client.dump("key")[:-10] == sketch.dump()[:-10]
    loaded = roughly.from_redis(other, b"key")
    assert type(loaded) is type(sketch) and loaded.dump() == sketch.dump()


@LIBRARIES
@pytest.mark.parametrize("name", SKETCHES)
def test_large_sketches_are_sent_in_chunks(small_limit, library, name):
    sketch = SKETCHES[name]
    other = client_of(library, small_limit)
    small_limit.config_resetstat()
    roughly.to_redis(other, "key", sketch, ttl_ms=60_000)
    commands = set(small_limit.info("commandstats"))
    in_chunks = len(sketch.dump()) > 1 << 20
    assert in_chunks == (name != "tdigest")
    assert ("cmdstat_restore" in commands) != in_chunks
    assert 50_000 < small_limit.pttl("key") <= 60_000
    assert roughly.from_redis(other, "key").dump() == sketch.dump()
    assert small_limit.keys() == [b"key"]
    roughly.to_redis(other, "key", sketch, replace=True)
    assert small_limit.pttl("key") == -1 and small_limit.keys() == [b"key"]


def test_a_sketch_without_chunks_above_the_limit_is_an_error_that_names_the_setting(small_limit):
    digest = roughly.TDigest(200_000)
    digest.update(list(range(200_000)))
    assert len(digest.dump()) > 1 << 20
    with pytest.raises(ValueError, match="proto-max-bulk-len is 1048576$"):
        roughly.to_redis(small_limit, "key", digest)
    assert small_limit.keys() == []


@LIBRARIES
@pytest.mark.parametrize("name", ["bloom", "tdigest"])
def test_an_existing_key_is_replaced_only_on_request(small_limit, library, name):
    other = client_of(library, small_limit)
    small_limit.set("key", "text")
    with pytest.raises(library.ResponseError, match="^BUSYKEY Target key name already exists.$"):
        roughly.to_redis(other, "key", SKETCHES[name])
    assert small_limit.keys() == [b"key"] and small_limit.get("key") == b"text"
    roughly.to_redis(other, "key", SKETCHES[name], replace=True, ttl_ms=90_000)
    assert small_limit.pttl("key") > 80_000


def test_a_key_that_is_created_meanwhile_is_kept(small_limit, monkeypatch):
    renamenx = redis.Redis.renamenx

    def late(client, *arguments):
        small_limit.set("key", "text")
        return renamenx(client, *arguments)

    monkeypatch.setattr(redis.Redis, "renamenx", late)
    with pytest.raises(redis.ResponseError, match="^BUSYKEY"):
        roughly.to_redis(client_of(redis, small_limit), "key", SKETCHES["bloom"])
    assert small_limit.keys() == [b"key"] and small_limit.get("key") == b"text"


def test_an_error_deletes_the_temporary_key(small_limit, monkeypatch):
    execute, sent = redis.Redis.execute_command, []

    def fails(client, *arguments, **options):
        if arguments[0] == "BF.LOADCHUNK":
            sent.append(arguments)
            # No filter has such an array.
            arguments = arguments if len(sent) < 4 else (*arguments[:2], 1 << 40, b"x")
        return execute(client, *arguments, **options)

    monkeypatch.setattr(redis.Redis, "execute_command", fails)
    with pytest.raises(redis.ResponseError, match="invalid offset - no link found"):
        roughly.to_redis(client_of(redis, small_limit), "key", SKETCHES["bloom"])
    assert len(sent) == 4 and small_limit.keys() == []


def test_the_temporary_key_expires(small_limit, monkeypatch):
    """A program that ends between two chunks cannot delete it."""

    class Killed(BaseException):
        pass

    times, pexpire = [], redis.Redis.pexpire

    def killed(client, key, *arguments):
        if len(times) == 2:
            raise Killed
        pexpire(client, key, *arguments)
        times.append(client.pttl(key))

    monkeypatch.setattr(redis.Redis, "pexpire", killed)
    monkeypatch.setattr(redis.Redis, "delete", lambda *_: None)
    with pytest.raises(Killed):
        roughly.to_redis(client_of(redis, small_limit), "key", SKETCHES["bloom"])
    assert len(times) == 2 and all(50_000 < time <= 60_000 for time in times)
    assert len(small_limit.keys()) == 1


def test_sketches_with_a_window(small_limit):
    small_limit.execute_command("BF.RESERVE", "recent", 0.01, 1_000_000, "WINDOW", 60_000)
    for item in range(100):
        small_limit.execute_command("BF.ADD", "recent", item)
    recent = roughly.from_redis(small_limit, "recent")
    roughly.to_redis(small_limit, "copy", recent)
    assert small_limit.dump("copy") == small_limit.dump("recent")
    assert len(recent.dump()) > 1 << 20


def test_missing_keys_and_other_types(client):
    with pytest.raises(KeyError, match="missing"):
        roughly.from_redis(client, "missing")
    client.set("text", "x")
    with pytest.raises(ValueError, match="Bad data format"):
        roughly.from_redis(client, "text")
    with pytest.raises(TypeError, match="not a sketch of this package"):
        roughly.to_redis(client, "key", b"bytes")
    with pytest.raises(ValueError, match="ttl_ms must not be negative"):
        roughly.to_redis(client, "key", SKETCHES["bloom"], ttl_ms=-1)


def test_without_the_permission_for_config_the_limit_is_the_default(client):
    client.execute_command("ACL", "SETUSER", "plain", "on", ">secret", "~*", "+@all", "-config")
    try:
        other = client_of(redis, client, username="plain", password="secret")
        roughly.to_redis(other, "key", SKETCHES["bloom"])
        assert roughly.from_redis(client, "key").dump() == SKETCHES["bloom"].dump()
    finally:
        client.execute_command("ACL", "DELUSER", "plain")


@LIBRARIES
def test_asyncio_clients(small_limit, library):
    async def run():
        other = client_of(library.asyncio, small_limit)
        try:
            for name, sketch in SKETCHES.items():
                await roughly.to_redis(other, name, sketch, ttl_ms=60_000)
                loaded = await roughly.from_redis(other, name)
                assert loaded.dump() == sketch.dump()
            with pytest.raises(KeyError):
                await roughly.from_redis(other, "missing")
            with pytest.raises(library.ResponseError, match="^BUSYKEY"):
                await roughly.to_redis(other, "bloom", SKETCHES["cms"])
            await roughly.to_redis(other, "bloom", SKETCHES["cms"], replace=True)
        finally:
            await other.aclose()

    asyncio.run(run())
    assert sorted(small_limit.keys()) == sorted(name.encode() for name in SKETCHES)


def test_the_asyncio_client_of_valkey_glide(small_limit):
    """For values below the limit: it has no commands for chunks."""

    async def run():
        address = glide.NodeAddress("127.0.0.1", small_limit.get_connection_kwargs()["port"])
        other = await glide.GlideClient.create(glide.GlideClientConfiguration([address]))
        sketch = SKETCHES["tdigest"]
        await roughly.to_redis(other, "key", sketch, ttl_ms=60_000)
        assert (await roughly.from_redis(other, "key")) == sketch
        assert 50_000 < small_limit.pttl("key") <= 60_000
        with pytest.raises(glide.RequestError, match="BUSYKEY"):
            await roughly.to_redis(other, "key", sketch)
        await roughly.to_redis(other, "key", sketch, replace=True)
        assert small_limit.pttl("key") == -1
        with pytest.raises(KeyError):
            await roughly.from_redis(other, "missing")
        await other.close()

    asyncio.run(run())


@LIBRARIES
def test_a_canceled_task_deletes_the_temporary_key(small_limit, library):
    """The clients themselves can ignore that a task is canceled while they wait for a reply."""

    async def run():
        other = client_of(library.asyncio, small_limit)
        execute, sent = other.execute_command, []

        async def execute_command(*arguments, **options):
            sent.append(arguments[0])
            if sent.count("BF.LOADCHUNK") == 3 and sent[-1] == "BF.LOADCHUNK":
                raise asyncio.CancelledError
            return await execute(*arguments, **options)

        other.execute_command = execute_command
        task = asyncio.create_task(roughly.to_redis(other, "key", SKETCHES["bloom"]))
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sent[-1] == "DEL"
        await other.aclose()

    asyncio.run(run())
    assert small_limit.keys() == []


@LIBRARIES
def test_clusters(cluster, library):
    port = cluster.get_connection_kwargs()["port"]
    kind = library.cluster.RedisCluster if library is redis else library.cluster.ValkeyCluster
    client = kind(host="127.0.0.1", port=port)
    for key in ["key", "{tag}key", "{}key", "a}b"]:
        for name in ("bloom", "tdigest"):
            roughly.to_redis(client, key, SKETCHES[name], replace=True)
            assert roughly.from_redis(client, key).dump() == SKETCHES[name].dump()
    assert len(cluster.keys()) == 4


def test_temporary_keys_have_the_slot_of_the_key(cluster):
    names = [b"", b"key", b"{tag}key", b"a{tag}", b"{}key", b"a}b", b"}{", b"{a", b"{{a}}", b"\xff{\xfe}"]
    names += [secrets.token_bytes(3) + b"{" * index + b"}" * (index % 2) for index in range(20)]
    for name in names:
        slot = cluster.execute_command("CLUSTER", "KEYSLOT", name)
        for library in (redis.Redis, valkey.Valkey):
            temporary = _clients.temporary_key(library(), name)
            assert temporary != name
            assert slot == cluster.execute_command("CLUSTER", "KEYSLOT", temporary)
    assert _clients.temporary_key(cluster, "text") != _clients.temporary_key(cluster, "text")


def pipelines(library, server, cluster_port):
    """A pipeline of each kind of client."""
    options = {"host": "127.0.0.1", "port": cluster_port}
    kind, name = (redis, "RedisCluster") if library is redis else (valkey, "ValkeyCluster")
    yield client_of(library, server).pipeline()
    yield client_of(library, server).pipeline(transaction=False)
    yield client_of(library.asyncio, server).pipeline()
    yield getattr(kind.cluster, name)(**options).pipeline()
    yield getattr(kind.asyncio.cluster, name)(**options).pipeline()


@LIBRARIES
def test_pipelines_are_refused_at_once(client, cluster, library):
    """Their methods return no replies. Also for sketches above the smallest limit, and before a command is queued."""
    small = roughly.BloomFilter()
    for pipeline in pipelines(library, client, cluster.get_connection_kwargs()["port"]):
        for call in (
            lambda: roughly.from_redis(pipeline, "key"),
            lambda: roughly.to_redis(pipeline, "key", small),
            lambda: roughly.to_redis(pipeline, "key", SKETCHES["bloom"]),
        ):
            with pytest.raises(TypeError, match="^a pipeline has no replies before it is executed: pass a client$"):
                call()
        assert not getattr(pipeline, "command_stack", [])
    assert client.keys() == []


@LIBRARIES
def test_asyncio_clients_encode_and_decode_in_another_thread(small_limit, library, monkeypatch):
    """What takes long must not stop the event loop."""
    threads, to_thread, loop = [], asyncio.to_thread, threading.get_ident()

    async def recorded(function):
        def call():
            threads.append(threading.get_ident())
            return function()

        return await to_thread(call)

    def load(payload):
        loads.append(threading.get_ident())
        return roughly.load(payload)

    async def run():
        other = client_of(library.asyncio, small_limit)
        for sketch in (SKETCHES["bloom"], SKETCHES["tdigest"]):
            threads.clear()
            await roughly.to_redis(other, "key", sketch, replace=True)
            # dump(), and each chunk with the header and the end.
            assert len(threads) == (1 if sketch is SKETCHES["tdigest"] else 1 + len(list(sketch.to_chunks())) + 1)
            assert (await roughly.from_redis(other, "key")) == sketch
        await other.aclose()

    loads = []
    monkeypatch.setattr(asyncio, "to_thread", recorded)
    monkeypatch.setattr(_clients, "load", load)
    asyncio.run(run())
    assert len(loads) == 2 and loop not in threads + loads


def test_asyncio_clients_raise_the_errors_of_the_other_thread(client):
    client.set("text", "x")

    async def run():
        other = client_of(redis.asyncio, client)
        with pytest.raises(ValueError, match="Bad data format"):
            await roughly.from_redis(other, "text")
        await other.aclose()

    asyncio.run(run())
