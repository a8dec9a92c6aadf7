"""Filters of valkey-bloom's type that the package creates."""

import base64
import json

import pytest
import redis
import roughly
from conftest import ROOT

GOLDEN = ROOT / "tests/golden/valkey-bloom"
FIXED_SEED = "590ff522ea7811daa714d8093b3e7bd91d898a733e988887307f97cd28073383"


class Unsupported(Exception):
    """A command, option or setting without a counterpart in the package."""


def argument(recorded):
    if isinstance(recorded, str):
        return recorded.encode()
    if "b64" in recorded:
        return base64.b64decode(recorded["b64"])
    unit, length = recorded["rep"]
    unit = argument(unit)
    return (unit * (length // len(unit) + 1))[:length]


def created(options):
    """The parameters of the options of BF.RESERVE and BF.INSERT, and the items."""
    parameters = {}
    while options:
        name, *options = options
        name = name.upper()
        if name == b"ITEMS":
            return parameters, options
        if name == b"NONSCALING":
            parameters["nonscaling"] = True
            continue
        value, *options = options
        if name == b"EXPANSION":
            parameters["expansion"] = int(value)
        elif name == b"CAPACITY":
            parameters["capacity"] = int(value)
        elif name == b"ERROR":
            parameters["error_rate"] = float(value)
        elif name == b"SEED":
            parameters["seed"] = value
        elif name != b"TIGHTENING" or float(value) != 0.5:
            raise Unsupported
    return parameters, []


def replayed(name):
    """The filter that the recorded commands create."""
    sketch = None
    for line in (GOLDEN / f"{name}.cmds.jsonl").read_text().splitlines():
        command, *arguments = map(argument, json.loads(line)["cmd"])
        if command == b"CONFIG":
            if arguments[1:] != [b"bf.bloom-use-random-seed", b"no"]:
                raise Unsupported
            continue
        items, parameters = [], {}
        if command == b"BF.RESERVE":
            parameters, _ = created([b"ERROR", arguments[1], b"CAPACITY", *arguments[2:]])
        elif command == b"BF.INSERT":
            parameters, items = created(arguments[1:])
        elif command in (b"BF.ADD", b"BF.MADD"):
            items = arguments[1:]
        elif command != b"BF.EXISTS":
            raise Unsupported
        if sketch is None:
            sketch = roughly.BloomFilter(valkey=True, **{"seed": FIXED_SEED} | parameters)
        try:
            sketch.update(items)
        except ValueError as error:
            # As the recorded reply.
            assert str(error) in line
    return sketch


def test_recorded_commands_create_the_recorded_payloads():
    compared = set()
    for path in GOLDEN.glob("*.cmds.jsonl"):
        name = path.name.removesuffix(".cmds.jsonl")
        if name.startswith("rnd-") or name == "fx-1mb-lzf":
            continue
        try:
            sketch = replayed(name)
        except Unsupported:
            continue
        assert sketch.dump(11) == (GOLDEN / f"{name}.dump").read_bytes(), name
        compared.add(name)
    assert len(compared) >= 15, compared


@pytest.fixture
def valkey_client(client):
    # All servers accept the name with the prefix.
    client.config_set("bf.bf-new-keys", "valkey-bloom")
    yield client
    client.config_set("bf.bf-new-keys", "redisbloom")


@pytest.mark.parametrize(
    "parameters, options",
    [
        ({}, []),
        ({"capacity": 1000, "error_rate": 0.3}, ["CAPACITY", 1000, "ERROR", 0.3]),
        ({"capacity": 77, "expansion": 5}, ["CAPACITY", 77, "EXPANSION", 5]),
        ({"capacity": 5000, "nonscaling": True}, ["CAPACITY", 5000, "NONSCALING"]),
    ],
)
def test_filters_are_those_of_the_server(valkey_client, parameters, options):
    seed = bytes(range(32))
    items = range(1000)
    valkey_client.execute_command("BF.INSERT", "k", *options, "SEED", seed, "ITEMS", *items)
    sketch = roughly.BloomFilter(valkey=True, seed=seed, **parameters)
    sketch.update(items)
    assert sketch.valkey and "valkey=True" in repr(sketch)
    assert sketch == roughly.load(valkey_client.dump("k"))
    assert sketch.dump() == roughly.load(valkey_client.dump("k")).dump()
    same = roughly.BloomFilter(valkey=True, seed=seed.hex(), **parameters)
    same.update(items)
    assert same == sketch
    valkey_client.restore("copy", 0, sketch.dump())
    assert valkey_client.execute_command("BF.CARD", "copy") == len(sketch)
    # The parameters have the defaults of BF.RESERVE.
    valkey_client.execute_command("BF.RESERVE", "reserved", 0.01, 100)
    ours, theirs = roughly.BloomFilter(valkey=True), roughly.load(valkey_client.dump("reserved"))
    assert ours.info() == theirs.info() and repr(ours) == repr(theirs)
    assert ours != theirs and ours != roughly.BloomFilter(valkey=True), "the seed is random"


@pytest.mark.parametrize(
    "parameters, arguments",
    [
        ({"capacity": 0}, [0.01, 0]),
        ({"capacity": -1}, [0.01, -1]),
        ({"error_rate": 0.0}, [0, 100]),
        ({"error_rate": 1.0}, [1, 100]),
        ({"error_rate": -0.5}, [-0.5, 100]),
        ({"expansion": 0}, [0.01, 100, "EXPANSION", 0]),
        ({"expansion": 2**32}, [0.01, 100, "EXPANSION", 2**32]),
        ({"capacity": 10**12}, [0.01, 10**12]),
    ],
)
def test_parameters_out_of_range_have_the_texts_of_the_server(valkey_client, parameters, arguments):
    valkey_client.config_set("bf.bf-replies", "valkey-bloom")
    try:
        with pytest.raises(redis.ResponseError) as theirs:
            valkey_client.execute_command("BF.RESERVE", "k", *arguments)
    finally:
        valkey_client.config_set("bf.bf-replies", "redisbloom")
    with pytest.raises(ValueError) as ours:
        roughly.BloomFilter(valkey=True, **parameters)
    assert str(ours.value) == str(theirs.value).removeprefix("ERR ")


def test_invalid_combinations_are_refused():
    for seed in (bytes(16), "ab", "x" * 64, ""):
        with pytest.raises(ValueError, match="^invalid seed$"):
            roughly.BloomFilter(valkey=True, seed=seed)
    for kwargs in ({"seed": 5}, {"window": 1000}, {"panes": 5}):
        with pytest.raises(TypeError):
            roughly.BloomFilter(valkey=True, **kwargs)
    with pytest.raises(ValueError, match="^Nonscaling filters cannot expand$"):
        roughly.BloomFilter(valkey=True, nonscaling=True, expansion=2)
    assert not roughly.BloomFilter().valkey
