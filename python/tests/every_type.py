"""Keys of every type that a server has."""

import random

import redis
import roughly
from conftest import ROOT

VALKEY_BLOOM = ROOT / "tests/golden/valkey-bloom/fx-auto.dump"
WINDOW = ["WINDOW", 3_600_000]

SKETCHES = {
    "bloom": (["BF.RESERVE", 0.01, 100], "BF.ADD"),
    "bloom:window": (["BF.RESERVE", 0.01, 100, *WINDOW], "BF.ADD"),
    "cuckoo": (["CF.RESERVE", 256], "CF.ADD"),
    "cuckoo:window": (["CF.RESERVE", 256, *WINDOW], "CF.ADD"),
    "cms": (["CMS.INITBYDIM", 200, 3], "CMS.INCRBY"),
    "cms:window": (["CMS.INITBYDIM", 200, 3, *WINDOW], "CMS.INCRBY"),
    "topk": (["TOPK.RESERVE", 5, 20, 3, 0.9], "TOPK.ADD"),
    "topk:window": (["TOPK.RESERVE", 5, 20, 3, 1, *WINDOW], "TOPK.ADD"),
    "tdigest": (["TDIGEST.CREATE"], "TDIGEST.ADD"),
    "tdigest:window": (["TDIGEST.CREATE", "COMPRESSION", 100, *WINDOW], "TDIGEST.ADD"),
}


def add_sketches(client, prefix="", items=300):
    """Keys of all eleven types with a sketch."""
    for name, ([command, *arguments], add) in SKETCHES.items():
        key = prefix + name
        client.execute_command(command, key, *arguments)
        counted = [1] if add == "CMS.INCRBY" else []
        for item in range(items):
            client.execute_command(add, key, item, *counted)
    # With the lowest RDB version.
    client.restore(prefix + "valkey", 0, roughly.load(VALKEY_BLOOM.read_bytes()).dump())


def supports(client, *command):
    """Runs a command. False if the server does not have it."""
    try:
        client.execute_command(*command)
        return True
    except redis.ResponseError as error:
        known = ("unknown command", "syntax error", "Invalid stream ID")
        if any(text in str(error) for text in known):
            return False
        raise


def add_others(client, elements=1000):
    """Keys of all other types, in each of their encodings: small and with this number of elements."""
    numbers = random.Random(1)
    noise = [numbers.randbytes(70) for _ in range(elements)]
    client.set("text", "word")
    client.set("12345", -100)
    for bits in (8, 16, 32, 64):
        client.set(f"int:{bits}", 1 << (bits - 2))
    client.set("k" * 300, "compressible " * elements)
    client.set("noise", numbers.randbytes(20 * elements))
    client.set("temporary", "x", px=3_600_000)
    for name, values in {"small": [b"a", b"bc", 17], "large": noise}.items():
        client.rpush(f"list:{name}", *values)
        client.sadd(f"set:{name}", *values)
        client.zadd(f"zset:{name}", {value: index / 3 for index, value in enumerate(values)})
        client.hset(f"hash:{name}", mapping={value: value for value in values})
        client.hset(f"hash:{name}:expires", mapping={value: value for value in values})
        supports(client, "HPEXPIRE", f"hash:{name}:expires", 3_600_000, "FIELDS", 1, values[0])
    client.zadd("zset:infinite", {"low": "-inf", "high": "inf"})
    client.rpush("list:element", numbers.randbytes(50 * elements), "b")
    client.sadd("set:integers", *range(100))
    client.pfadd("hll", *range(elements))
    client.geoadd("geo", [1.5, 2.5, "place"])
    client.setbit("bits", 10_000, 1)
    add_streams(client, elements)
    client.function_load("#!lua name=lib\nredis.register_function('f', function() return 1 end)")
    for element in range(50):
        if not supports(client, "VADD", "vectors", "VALUES", 3, 1, 2, element, f"e{element}"):
            break
    client.select(3)
    client.set("other database", "x")
    client.select(0)


def add_streams(client, elements):
    client.execute_command("XGROUP", "CREATE", "stream:empty", "g", "$", "MKSTREAM")
    for index in range(elements):
        client.xadd("stream", {"field": index, "text": "x" * (index % 50)})
    client.xdel("stream", client.xrange("stream", count=1)[0][0])
    for group in ("first", "second"):
        client.xgroup_create("stream", group, 0)
        for consumer in ("a", "b"):
            client.xreadgroup(group, consumer, {"stream": ">"}, count=elements // 4)
        client.xgroup_createconsumer("stream", group, "idle")
    for index in range(5):
        if supports(client, "XADD", "stream:ids", "IDMP", "producer", f"i{index}", "*", "f", "v"):
            client.execute_command("XADD", "stream:ids", "IDMPAUTO", "other", "*", "f", index)


def save(client):
    """Writes an RDB file with compressed strings, and returns its path."""
    client.config_set("rdbcompression", "yes")
    client.save()
    client.config_set("rdbcompression", "no")
    return f"{client.config_get('dir')['dir']}/{client.config_get('dbfilename')['dbfilename']}"
