"""Calls every CMS.* command."""

from session import field, same


async def walk(s):
    same(await s.cms.initbydim("cms", 1000, 5), True)
    same(await s.cms.initbyprob("cms:p", 0.001, 0.01), True)
    info = await s.cms.info("cms:p")
    same([field(info, name, name) for name in ("width", "depth", "count")], [2000, 7, 0])
    same(await s.cms.incrby("cms", ["a", "b"], [5, 2]), [5, 2])
    same(await s.cms.incrby("cms", ["a"], [1]), [6])
    same(await s.cms.query("cms", "a", "b", "z"), [6, 2, 0])
    info = await s.cms.info("cms")
    same([field(info, name, name) for name in ("width", "depth", "count")], [1000, 5, 8])
    limited = await s.raw("CMS.INCRBYLIMIT", "cms", 3, "y", 2, "y", 2, "y", 0)
    same(limited, [[1, 2], [0, 2], [1, 2]])

    same(await s.cms.initbydim("cms:sum", 1000, 5), True)
    same(await s.cms.merge("cms:sum", 1, ["cms"]), True)
    same(await s.cms.query("cms:sum", "a", "b"), [6, 2])
    same(await s.cms.merge("cms:sum", 2, ["cms", "cms:sum"], weights=[10, 1]), True)
    same(await s.cms.query("cms:sum", "a", "b"), [66, 22])
    await s.refused(s.cms.query("cms:none", "a"), "CMS: key does not exist")
    await s.refused(s.cms.merge("cms:sum", 1, ["cms:p"]), "CMS: width/depth is not equal")

    position = 0
    while True:
        position, chunk = await s.raw("CMS.SCANDUMP", "cms", position)
        if position == 0:
            break
        same(await s.raw("CMS.LOADCHUNK", "cms:copy", position, chunk), s.text("OK"))
    same(await s.cms.query("cms:copy", "a", "b", "z"), [6, 2, 0])
