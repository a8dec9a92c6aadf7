"""Calls every command with valkey-glide, in RESP2 and RESP3. The client has no methods for the commands, so
they are sent with custom_command.

    python tests/clients/python/glide_walk.py

Environment: ROUGHLY_PORT is the port of the server on this machine (required). The program deletes all keys.
"""

import asyncio
import importlib.metadata
import math
import os

from glide import (
    GlideClient,
    GlideClientConfiguration,
    NodeAddress,
    ProtocolVersion,
    RequestError,
)

import coverage
from bloom import VALKEY_PAYLOAD
from session import same

PORT = int(os.environ["ROUGHLY_PORT"])
ANY = object()
"""Stands for a reply that is not compared."""

# Commands and their parsed replies in RESP3. glide returns booleans in RESP3 and integers in RESP2, maps as
# dicts, and strings as bytes.
STEPS = [
    ("BF.RESERVE bf 0.01 1000 EXPANSION 4", "OK"),
    ("BF.ADD bf a", True),
    ("BF.MADD bf a b", [False, True]),
    ("BF.INSERT bf ITEMS b c", [False, True]),
    ("BF.EXISTS bf a", True),
    ("BF.MEXISTS bf a z", [True, False]),
    ("BF.CARD bf", 3),
    ("BF.MERGE bf:union 1 bf", "OK"),
    ("BF.ADDNX bf a new", [False, True]),
    ("BF.CARD bf", 4),
    ("BF.INFO bf CAPACITY", ANY),
    ("BF.DEBUG bf", ANY),
    ("CF.RESERVE cf 1000 BUCKETSIZE 4", "OK"),
    ("CF.ADD cf a", True),
    ("CF.ADDNX cf a", False),
    ("CF.INSERT cf ITEMS b c", [True, True]),
    ("CF.INSERTNX cf ITEMS b d", [0, 1]),
    ("CF.EXISTS cf a", True),
    ("CF.MEXISTS cf a z", [True, False]),
    ("CF.COUNT cf a", 1),
    ("CF.DEL cf a", True),
    ("CF.COMPACT cf", "OK"),
    ("CF.INFO cf", ANY),
    ("CF.DEBUG cf", ANY),
    ("CMS.INITBYDIM cms 1000 5", "OK"),
    ("CMS.INITBYPROB cms:p 0.001 0.01", "OK"),
    ("CMS.INCRBY cms a 5 b 2", [5, 2]),
    ("CMS.INCRBYLIMIT cms 3 y 2 y 2", [[1, 2], [0, 2]]),
    ("CMS.QUERY cms a z", [5, 0]),
    ("CMS.INITBYDIM cms:sum 1000 5", "OK"),
    ("CMS.MERGE cms:sum 1 cms WEIGHTS 10", "OK"),
    ("CMS.QUERY cms:sum b", [20]),
    ("CMS.INFO cms", ANY),
    ("TOPK.RESERVE topk 2 50 4 0.9", "OK"),
    ("TOPK.ADD topk a b", [None, None]),
    ("TOPK.INCRBY topk a 10 c 7", [None, b"b"]),
    ("TOPK.QUERY topk a b", [True, False]),
    ("TOPK.COUNT topk a z", [11, 0]),
    ("TOPK.LIST topk WITHCOUNT", [b"a", 11, b"c", 7]),
    ("TOPK.INFO topk", ANY),
    ("TDIGEST.CREATE td COMPRESSION 200", "OK"),
    ("TDIGEST.MIN td", math.nan),
    ("TDIGEST.ADD td 1 2.5 4 -3", "OK"),
    ("TDIGEST.MIN td", -3.0),
    ("TDIGEST.MAX td", 4.0),
    ("TDIGEST.QUANTILE td 0 0.5 1", [-3.0, 2.5, 4.0]),
    ("TDIGEST.CDF td -4 2 9", [0.0, 0.5, 1.0]),
    ("TDIGEST.RANK td -3 3 9", [0, 3, 4]),
    ("TDIGEST.REVRANK td -3 3 9", [3, 1, -1]),
    ("TDIGEST.BYRANK td 0 9", [-3.0, math.inf]),
    ("TDIGEST.BYREVRANK td 0 9", [4.0, -math.inf]),
    ("TDIGEST.TRIMMED_MEAN td 0 1", 1.125),
    ("TDIGEST.MERGE td:sum 1 td", "OK"),
    ("TDIGEST.RESET td:sum", "OK"),
    ("TDIGEST.INFO td", ANY),
    ("CMS.INITBYDIM cms:w 1000 5 WINDOW 315360000000 PANES 4 SEED 00112233445566778899aabbccddeeff", "OK"),
    ("CMS.INCRBY cms:w a 5 b 2", [5, 2]),
    ("CMS.QUERY cms:w a z", [5, 0]),
    ("TOPK.RESERVE topk:w 2 50 4 0.9 WINDOW 315360000000 PANES 4 SEED 00112233445566778899aabbccddeeff", "OK"),
    ("TOPK.INCRBY topk:w a 10 b 5 c 7", [None, None, b"b"]),
    ("TOPK.LIST topk:w WITHCOUNT", [b"a", 10, b"c", 7]),
    ("TDIGEST.CREATE td:w WINDOW 315360000000 PANES 4", "OK"),
    ("TDIGEST.ADD td:w 1 2.5 4 -3", "OK"),
    ("TDIGEST.QUANTILE td:w 0 0.5 1", [-3.0, 2.5, 4.0]),
    ("SKETCH.WITHIN 80000000000 CMS.QUERY cms:w a z", [5, 0]),
    ("SKETCH.BETWEEN -80000000000 + CMS.QUERY cms:w a z", [5, 0]),
    ("SKETCH.SERIES - + 80000000000 CMS.QUERY none a", []),
    ("SKETCH.AGE none a b", [None, None]),
    ("SKETCH.WINDOW cms", None),
    ("SKETCH.ACCURACY td", ANY),
    ("SKETCH.ADVANCE cms:w 0", 0),
]
# The sketches with a window, and the number of their items.
WINDOWS = [("cms:w", 7), ("topk:w", 22), ("td:w", 4)]
REFUSED = [
    ("BF.RESERVE bf 0.01 10", "item exists"),
    ("BF.INFO none", "not found"),
    ("CMS.QUERY none a", "key does not exist"),
    ("TDIGEST.MIN none", "key does not exist"),
]
COPIED = ["BF bf", "CF cf", "CMS cms", "TOPK topk", "TDIGEST td", "CMS cms:w", "TOPK topk:w", "TDIGEST td:w"]


def as_sent(want, protocol):
    """Converts an expected reply of RESP3 to the types of the protocol."""
    if isinstance(want, list):
        return [as_sent(one, protocol) for one in want]
    if protocol == ProtocolVersion.RESP2:
        if isinstance(want, bool):
            return int(want)
        if isinstance(want, float):
            return f"{want:g}".encode()
    return want


async def walk(protocol):
    """Calls every command; returns the number of commands of the module."""
    client = await GlideClient.create(
        # The client's default of 250 ms is too short on a busy machine.
        GlideClientConfiguration(
            [NodeAddress("127.0.0.1", PORT)], protocol=protocol, request_timeout=10_000
        )
    )

    async def raw(name, *arguments):
        return await client.custom_command([*name.split(), *map(str, arguments)])

    await coverage.forget(raw)
    for command, want in STEPS:
        got = await raw(command)
        if want is not ANY:
            same(got, as_sent(want, protocol))
    for command, message in REFUSED:
        try:
            answer = await raw(command)
        except RequestError as error:
            assert message in str(error), error
        else:
            raise AssertionError(f"{command}: {answer!r}")
    same(await client.custom_command(["BF.LOAD", "bf:load", VALKEY_PAYLOAD]), "OK")
    same(await raw("BF.ADD bf:load a"), as_sent(True, protocol))
    for key, total in WINDOWS:
        info = await raw("SKETCH.WINDOW", key)
        if isinstance(info, list):
            info = dict(zip(info[::2], info[1::2]))
        same([info[b"panes"], info[b"items per pane"]], [4, [0, 0, 0, 0, total]])
    for family, key in map(str.split, COPIED):
        position = 0
        while True:
            position, chunk = await raw(f"{family}.SCANDUMP", key, position)
            if position == 0:
                break
            load = [f"{family}.LOADCHUNK", f"{key}:copy", str(position), chunk]
            same(await client.custom_command(load), "OK")
    same(await raw("BF.CARD bf:copy"), 4)
    same(await raw("TOPK.COUNT topk:copy a"), [11])
    same(await raw("TOPK.COUNT topk:w:copy a"), [10])
    commands = await coverage.all_called(raw)
    await client.close()
    return commands


def main():
    for protocol in (ProtocolVersion.RESP2, ProtocolVersion.RESP3):
        commands = asyncio.run(walk(protocol))
    version = importlib.metadata.version("valkey-glide")
    print(f"  valkey-glide {version}, asyncio: {commands} commands, RESP2 and RESP3")


if __name__ == "__main__":
    main()
