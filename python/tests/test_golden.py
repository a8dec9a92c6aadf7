"""Compares the objects with the recordings of RedisBloom and valkey-bloom, and with the server: the same commands create the
same payloads, and recorded payloads give the same replies."""

import base64
import gzip
import json

import pytest
import redis
import roughly
from commands import Failed, Keys, Unsupported, is_same
from conftest import ROOT, sampled

GOLDEN = ROOT / "tests/golden"
VERSIONS = ["8.10", "2.8"]


def argument(recorded, replies=()):
    """The bytes of a recorded argument (tests/golden/README.md)."""
    if isinstance(recorded, str):
        return recorded.encode()
    if "b64" in recorded:
        return base64.b64decode(recorded["b64"])
    if "rep" in recorded:
        unit, length = recorded["rep"]
        unit = argument(unit)
        return (unit * (length // len(unit) + 1))[:length]
    index, *path = recorded["ref"]
    reply = replies[index]
    for step in path:
        reply = reply[step] if isinstance(reply, list) and step < len(reply) else b""
    return reply if isinstance(reply, bytes) else str(reply).encode() if isinstance(reply, int) else b""


def reply_of(recorded):
    """A recorded reply as redis-py returns it."""
    kind, value = recorded
    if kind in ("str", "bulk", "verb", "err"):
        value = argument(value)
        if kind == "err":
            return redis.ResponseError(value.decode().removeprefix("ERR "))
        return value
    if kind in ("int", "dbl"):
        return value if kind == "int" else value.encode()
    if kind == "null":
        return None
    if kind in ("arr", "set"):
        return [reply_of(each) for each in value]
    return ...


def keys_of(version):
    manifest = json.loads((GOLDEN / "dumps" / version / "manifest.json").read_text())
    return [(version, name, key) for name, key in manifest["keys"].items()]


def version_of(payload):
    return int.from_bytes(payload[-10:-8], "little")


def call(client, command):
    """The reply to a command, also if it is an error."""
    try:
        return client.execute_command(*command)
    except redis.ResponseError as error:
        return error


def assert_dump(client, key, sketch):
    payload = client.dump(key)
    assert sketch.dump(rdb_version=version_of(payload)) == payload, key


@pytest.mark.parametrize("version, name, key", [each for v in VERSIONS for each in keys_of(v)])
def test_the_same_commands_create_the_payload_of_the_server(client, version, name, key):
    keys = Keys()
    for command in key["built"]:
        command = [argument(each) for each in command]
        reply = call(client, command)
        try:
            ours = keys.run(command)
        except Failed as error:
            ours = redis.ResponseError(str(error))
        except Unsupported:
            # The other commands that created these keys.
            names = [each for each in command if client.exists(each)]
            assert command[0] in (b"DEL", b"CMS.MERGE", b"TDIGEST.MERGE"), command
            for each in command[1:]:
                keys.sketches.pop(each, None)
            for each in names:
                keys.sketches[each] = roughly.load(client.dump(each))
            continue
        assert is_same(ours, reply), (command, ours, reply)
    assert_dump(client, name, keys.sketches[name.encode()])


@pytest.mark.parametrize("version, name, key", [each for v in VERSIONS for each in keys_of(v)])
def test_recorded_payloads_give_the_recorded_replies(client, version, name, key):
    payload = (GOLDEN / "dumps" / version / key["dump"]).read_bytes()
    sketch = roughly.load(payload)
    keys = Keys()
    keys.sketches[name.encode()] = sketch
    client.restore(name, 0, sketch.dump())
    recorded = 0
    for step in key["reads"]:
        command = [argument(each) for each in step["cmd"]]
        reply = call(client, command)
        try:
            ours = keys.run(command)
        except Unsupported:
            keys.sketches[name.encode()] = roughly.load(client.dump(name))
            continue
        except Failed as error:
            ours = redis.ResponseError(str(error))
        # tests/server/golden_dumps.rs compares the replies of the server with the recordings.
        assert is_same(ours, reply), (command, ours, reply)
        expected = reply_of(step["r2"])
        recorded += is_same(ours, expected) if expected is not ... else 0
    assert recorded > 0
    assert_dump(client, name, keys.sketches[name.encode()])


@pytest.mark.parametrize("version, name, key", [each for v in VERSIONS for each in keys_of(v)])
def test_recorded_chunks_load(version, name, key):
    if not key.get("chunks"):
        return
    lines = (GOLDEN / "dumps" / version / key["chunks"]).read_text().splitlines()
    lines = [json.loads(line) for line in lines]
    pairs = [(line["pos"], base64.b64decode(line["data"] or "")) for line in lines]
    sketch = roughly.load_chunks(pairs)
    payload = (GOLDEN / "dumps" / version / key["dump"]).read_bytes()
    assert sketch.dump() == roughly.load(payload).dump()
    end = [pair for pair in pairs if pair[0] == 0]
    assert [*sketch.to_chunks(), *end] == pairs


def settings_of(client):
    """The settings of the module that affect new filters."""
    return {**client.config_get("*bf-*"), **client.config_get("*cf-*")}


@pytest.mark.parametrize(
    "path", sampled(sorted((GOLDEN / "transcripts").glob("*/*.jsonl.gz")), 4), ids=lambda path: path.stem
)
def test_the_commands_of_transcripts_have_the_effects_of_the_server(client, path):
    keys, replies, compared = Keys(), [], 0

    def load(name):
        if name not in keys.sketches and client.exists(name):
            try:
                keys.sketches[name] = roughly.load(client.dump(name))
            except ValueError:
                keys.sketches[name] = None

    with gzip.open(path, "rt") as lines:
        steps = [json.loads(line) for line in lines]
    settings = settings_of(client)
    for step in steps:
        if "cmd" not in step:
            continue
        command = [argument(each, replies) for each in step["cmd"]]
        supported = hasattr(keys, command[0].decode("latin-1").lower().replace(".", "_"))
        # The package has no settings.
        supported = supported and settings_of(client) == settings
        if command[0].upper() in (b"CONFIG", b"MULTI", b"EXEC", b"DISCARD", b"DUMP", b"RESTORE"):
            supported = False
        if supported:
            for each in command[1:]:
                load(each)
        before = dict(keys.sketches)
        reply = call(client, command)
        replies.append(reply)
        try:
            if not supported:
                raise Unsupported
            ours = keys.run(command)
        except Failed as error:
            ours = redis.ResponseError(str(error))
        except Unsupported:
            # Loaded again when they are used.
            keys.sketches.clear()
            continue
        if isinstance(reply, redis.ResponseError) and not isinstance(ours, redis.ResponseError):
            pytest.fail(f"{command}: {reply}, not {ours}")
        assert is_same(ours, reply), (command, ours, reply)
        compared += 1
        for name, sketch in keys.sketches.items():
            if sketch is not None and name in command and name not in before:
                assert_dump(client, name, sketch)
    for name, sketch in keys.sketches.items():
        if sketch is not None:
            assert_dump(client, name, sketch)
    for name, value in settings.items():
        client.config_set(name, value)


def test_payloads_of_valkey_bloom_load_and_grow_as_on_the_server(client):
    paths = sorted((GOLDEN / "valkey-bloom").glob("*.dump"))
    assert len(paths) > 5
    for path in paths:
        sketch = roughly.load(path.read_bytes())
        assert isinstance(sketch, roughly.BloomFilter)
        client.restore("k", 0, sketch.dump(), replace=True)
        items = [f"item {n}" for n in range(300)]
        before = client.execute_command("BF.MEXISTS", "k", *items)
        assert sketch.contains(items).tolist() == [bool(each) for each in before]
        assert len(sketch) == client.execute_command("BF.CARD", "k")
        reply = call(client, ["BF.MADD", "k", *items])
        try:
            sketch.update(items)
        except ValueError as error:
            assert str(error) == str(reply if isinstance(reply, Exception) else reply[-1])
        assert_dump(client, "k", sketch)
        assert roughly.load_chunks(sketch.to_chunks()).dump() == sketch.dump()


@pytest.mark.parametrize("path", sorted((GOLDEN / "roughly").glob("*.json")), ids=lambda p: p.stem)
def test_stored_keys_of_all_types_load_from_payloads_and_chunks(client, path):
    for key in json.loads(path.read_text())["keys"].values():
        values = base64.b64decode(key["dump"])
        client.flushall()
        chunks = [(pos, base64.b64decode(data or "")) for pos, data in key["chunks"] or []]
        if not chunks:
            continue
        sketch = roughly.load_chunks(chunks)
        assert sketch.dump()[:-10] == values
        client.restore("k", 0, sketch.dump())
        assert roughly.load(client.dump("k")).dump()[:-10] == values
