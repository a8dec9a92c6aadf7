"""Calls every TOPK.* command."""

import warnings

from session import field, same


async def walk(s):
    same(await s.topk.reserve("topk", 2, 50, 4, 0.9), True)
    info = await s.topk.info("topk")
    same([field(info, name, name) for name in ("k", "width", "depth")], [2, 50, 4])
    # The clients return a float in RESP3 and text in RESP2.
    same(float(field(info, "decay", "decay")), 0.9)
    same(await s.topk.add("topk", "a", "b"), [None, None])
    same(await s.topk.incrby("topk", ["a", "b"], [10, 5]), [None, None])
    # The reply has the item that leaves the list.
    dropped = await s.topk.incrby("topk", ["c"], [7])
    assert dropped in (["b"], [b"b"]), dropped
    same(await s.topk.query("topk", "a", "b", "c"), s.flag(1, 0, 1))
    with warnings.catch_warnings():
        # The clients warn that this command is deprecated.
        warnings.simplefilter("ignore", DeprecationWarning)
        same(await s.topk.count("topk", "a", "z"), [11, 0])
    assert await s.topk.list("topk") in (["a", "c"], [b"a", b"c"])
    assert await s.topk.list("topk", withcount=True) in (["a", 11, "c", 7], [b"a", 11, b"c", 7])
    await s.refused(s.topk.list("topk:none"), "TopK: key does not exist")

    position = 0
    while True:
        position, chunk = await s.raw("TOPK.SCANDUMP", "topk", position)
        if position == 0:
            break
        same(await s.raw("TOPK.LOADCHUNK", "topk:copy", position, chunk), s.text("OK"))
    assert await s.topk.list("topk:copy") in (["a", "c"], [b"a", b"c"])
