"""Calls every BF.* command."""

import struct

from session import field, same

# An empty filter for five items: version, expansion, error rate, tightening ratio, whether the seed is random, number of
# sub-filters; length of the stored sub-filter, its version, bytes, hashes, seed and bits; items and capacity.
VALKEY_PAYLOAD = struct.pack("<BIddBQ", 1, 2, 0.1, 0.5, 1, 1) + struct.pack(
    "<QBQI32s3sqq", 48, 1, 3, 3, b"0123456789abcdef" * 2, bytes(3), 0, 5
)


async def walk(s):
    same(await s.bf.create("bf", 0.01, 1000, expansion=4), True)
    same(await s.bf.add("bf", "a"), s.flag(1))
    same(await s.bf.add("bf", "a"), s.flag(0))
    same(await s.bf.madd("bf", "a", "b", b"\x00\xff"), s.flag(0, 1, 1))
    same(await s.bf.exists("bf", b"\x00\xff"), s.flag(1))
    same(await s.bf.mexists("bf", "a", "z"), s.flag(1, 0))
    same(await s.bf.card("bf"), 3)
    info = await s.bf.info("bf")
    same(field(info, "capacity", "Capacity"), 1000)
    same(field(info, "filterNum", "Number of filters"), 1)
    same(field(info, "insertedNum", "Number of items inserted"), 3)
    same(field(info, "expansionRate", "Expansion rate"), 4)
    assert field(info, "size", "Size") > 1000

    same(await s.bf.insert("bf:i", ["x", "y"], capacity=50, error=0.001, expansion=2), s.flag(1, 1))
    same(await s.bf.insert("bf:n", ["x"], capacity=2, error=0.01, noScale=True), [s.flag(1)])
    same(field(await s.bf.info("bf:n"), "expansionRate", "Expansion rate"), None)
    refused = (await s.bf.insert("bf:n", ["y", "z"]))[1]
    assert str(refused) == "non scaling filter is full", refused
    await s.refused(s.bf.insert("bf:none", ["x"], noCreate=True), "not found")
    await s.refused(s.bf.create("bf", 0.01, 10), "item exists")
    await s.refused(s.bf.info("bf:none"), "not found")
    # Makes the filter grow, so that it has more than one sub-filter and chunk.
    for start in range(0, 3000, 500):
        await s.bf.madd("bf", *range(start, start + 500))
    same(field(await s.bf.info("bf"), "filterNum", "Number of filters"), 2)

    position = 0
    while True:
        position, chunk = await s.bf.scandump("bf", position)
        assert type(position) is int and type(chunk) is bytes
        if position == 0:
            same(chunk, b"")
            break
        same(await s.bf.loadchunk("bf:copy", position, chunk), s.text("OK"))
    same(await s.bf.card("bf:copy"), await s.bf.card("bf"))
    same(await s.bf.mexists("bf:copy", *range(3000)), s.flag(*[1] * 3000))

    debug = await s.raw("BF.DEBUG", "bf")
    assert debug[0].startswith(s.text("size:")) and len(debug) == 3, debug
    # Creates a filter of valkey-bloom's type from the payload of an empty filter. The clients lack the command.
    same(await s.raw("BF.LOAD", "bf:load", VALKEY_PAYLOAD), s.text("OK"))
    same(await s.bf.add("bf:load", "a"), s.flag(1))
    same(await s.bf.exists("bf:load", "a"), s.flag(1))
    same(field(await s.bf.info("bf:load"), "capacity", "Capacity"), 5)
    # Commands that RedisBloom and the clients lack.
    same(await s.raw("BF.MERGE", "bf:union", 1, "bf"), s.text("OK"))
    same(await s.bf.mexists("bf:union", "a", 2999), s.flag(1, 1))
    same(await s.raw("BF.ADDNX", "bf:union", "a", "new"), s.flag(0, 1))
    await s.refused(s.raw("BF.ADDNX", "bf:none", "a"), "not found")
