"""Calls every TDIGEST.* command."""

import math

from session import field, same


async def walk(s):
    same(await s.tdigest.create("td", compression=200), True)
    same(await s.tdigest.min("td"), math.nan)
    same(await s.tdigest.quantile("td", 0.5), [math.nan])
    same(await s.tdigest.add("td", [1, 2.5, 4, -3]), s.text("OK"))
    same(await s.tdigest.min("td"), -3.0)
    same(await s.tdigest.max("td"), 4.0)
    same(await s.tdigest.quantile("td", 0, 0.5, 1), [-3.0, 2.5, 4.0])
    same(await s.tdigest.cdf("td", -4, 2, 9), [0.0, 0.5, 1.0])
    same(await s.tdigest.rank("td", -3, 3, 9), [0, 3, 4])
    same(await s.tdigest.revrank("td", -3, 3, 9), [3, 1, -1])
    same(await s.tdigest.byrank("td", 0, 3, 9), [-3.0, 4.0, math.inf])
    same(await s.tdigest.byrevrank("td", 0, 3, 9), [4.0, -3.0, -math.inf])
    same(await s.tdigest.trimmed_mean("td", 0, 1), 1.125)
    info = await s.tdigest.info("td")
    same(field(info, "compression", "Compression"), 200)
    weights = [field(info, f"{kind}_weight", f"{kind.title()} weight") for kind in ("merged", "unmerged")]
    same(sum(weights), 4)
    nodes = [field(info, f"{kind}_nodes", f"{kind.title()} nodes") for kind in ("merged", "unmerged")]
    same(sum(nodes), 4)
    same(field(info, "total_compressions", "Total compressions"), 0)
    assert field(info, "capacity", "Capacity") > 200
    assert field(info, "memory_usage", "Memory usage") > 100

    same(await s.tdigest.create("td:b"), True)
    same(await s.tdigest.add("td:b", [100]), s.text("OK"))
    same(await s.tdigest.merge("td:sum", 2, "td", "td:b"), s.text("OK"))
    same(await s.tdigest.max("td:sum"), 100.0)
    same(await s.tdigest.merge("td:sum", 1, "td", compression=50, override=True), s.text("OK"))
    same(await s.tdigest.max("td:sum"), 4.0)
    same(field(await s.tdigest.info("td:sum"), "compression", "Compression"), 50)
    same(await s.tdigest.reset("td:b"), s.text("OK"))
    same(await s.tdigest.max("td:b"), math.nan)
    await s.refused(s.tdigest.min("td:none"), "T-Digest: key does not exist")

    position = 0
    while True:
        position, chunk = await s.raw("TDIGEST.SCANDUMP", "td", position)
        if position == 0:
            break
        same(await s.raw("TDIGEST.LOADCHUNK", "td:copy", position, chunk), s.text("OK"))
    same(await s.tdigest.quantile("td:copy", 0, 0.5, 1), [-3.0, 2.5, 4.0])
