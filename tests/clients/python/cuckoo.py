"""Calls every CF.* command."""

from session import field, same


async def walk(s):
    same(await s.cf.create("cf", 64, expansion=2, bucket_size=4, max_iterations=30), True)
    same(await s.cf.add("cf", "a"), s.flag(1))
    same(await s.cf.addnx("cf", "a"), s.flag(0))
    same(await s.cf.addnx("cf", "b"), s.flag(1))
    same(await s.cf.add("cf", "a"), s.flag(1))
    same(await s.cf.count("cf", "a"), 2)
    same(await s.cf.count("cf", "z"), 0)
    same(await s.cf.exists("cf", "b"), s.flag(1))
    same(await s.cf.mexists("cf", "a", "z"), s.flag(1, 0))
    same(await s.cf.delete("cf", "a"), s.flag(1))
    same(await s.cf.delete("cf", "z"), s.flag(0))
    info = await s.cf.info("cf")
    same(field(info, "bucketNum", "Number of buckets"), 16)
    same(field(info, "filterNum", "Number of filters"), 1)
    same(field(info, "insertedNum", "Number of items inserted"), 2)
    same(field(info, "deletedNum", "Number of items deleted"), 1)
    same(field(info, "bucketSize", "Bucket size"), 4)
    same(field(info, "expansionRate", "Expansion rate"), 2)
    same(field(info, "maxIteration", "Max iterations"), 30)
    assert field(info, "size", "Size") > 64

    same(await s.cf.insert("cf:i", ["x", "y"], capacity=100), s.flag(1, 1))
    # The reply has numbers in RESP3 too, because -1 means that the filter is full.
    same(await s.cf.insertnx("cf:i", ["x", "z"], capacity=100), [0, 1])
    await s.refused(s.cf.insert("cf:none", ["x"], nocreate=True), "not found")
    await s.refused(s.cf.insertnx("cf:none", ["x"], nocreate=True), "not found")
    await s.refused(s.cf.create("cf", 64), "item exists")
    # Makes the filter grow, so that it has more than one chunk. The deletions make compaction possible.
    await s.cf.insert("cf", [f"item {i}" for i in range(200)])
    for i in range(0, 200, 2):
        same(await s.cf.delete("cf", f"item {i}"), s.flag(1))

    same(await s.cf.create("cf:empty", 64), True)
    same(await s.cf.scandump("cf:empty", 0), [0, None])
    position = 0
    while True:
        # If the client decodes replies, its typed method decodes chunks too, but chunks are not text.
        command = "CF.SCANDUMP", "cf", position
        position, chunk = await (s.raw(*command) if s.decoded else s.cf.scandump("cf", position))
        assert type(position) is int
        if position == 0:
            same(chunk, None)
            break
        assert type(chunk) is bytes
        same(await s.cf.loadchunk("cf:copy", position, chunk), s.text("OK"))
    same(await s.cf.mexists("cf:copy", *[f"item {i}" for i in range(1, 200, 2)]), s.flag(*[1] * 100))

    same(await s.raw("CF.COMPACT", "cf"), s.text("OK"))
    same(await s.cf.mexists("cf", *[f"item {i}" for i in range(1, 200, 2)]), s.flag(*[1] * 100))
    debug = await s.raw("CF.DEBUG", "cf")
    assert debug.startswith(s.text("bktsize:4 buckets:16 items:102 deletes:0 ")), debug
