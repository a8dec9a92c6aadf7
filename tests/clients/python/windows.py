"""Calls the typed methods of each family on a sketch with a window, and every SKETCH.* command. The sketches are created
with raw commands, since the clients do not have the option WINDOW."""

import warnings

from session import field, same

# Ten years: no pane expires.
WINDOW = ("WINDOW", 315360000000, "PANES", 4)
SEED = ("SEED", "00112233445566778899aabbccddeeff")
PANE_MS = 78840000000


async def walk(s):
    await count_min(s)
    await top_k(s)
    await t_digest(s)


async def window(s, key, total):
    """Checks the replies of SKETCH.WINDOW, SKETCH.ACCURACY and SKETCH.ADVANCE for a sketch with one live pane that has items."""
    info = await s.raw("SKETCH.WINDOW", key)
    if not isinstance(info, dict):
        info = dict(zip(info[::2], info[1::2]))
    same(list(info), [s.text(name) for name in ("window", "panes", "pane length", "newest pane", "covered", "items per pane", "pane starts")])
    length, panes, pane_ms, newest, covered, totals, starts = info.values()
    assert 4 * PANE_MS <= covered <= 5 * PANE_MS, covered
    same([length, panes, pane_ms, totals], [WINDOW[1], 4, PANE_MS, [0, 0, 0, 0, total]])
    same(newest % PANE_MS, 0)
    same(starts, [newest - pane * PANE_MS for pane in (4, 3, 2, 1, 0)])
    await recent(s, key, total)
    accuracy = await s.raw("SKETCH.ACCURACY", key)
    if not isinstance(accuracy, dict):
        accuracy = dict(zip(accuracy[::2], accuracy[1::2]))
    name = {"cms": "count", "topk": "smallest listed count", "td": "samples"}[key.split(":")[0]]
    assert min(1, total) <= accuracy[s.text(name)] <= total, accuracy
    same(await s.raw("SKETCH.ADVANCE", key, newest // PANE_MS), 0)
    await s.refused(s.raw("SKETCH.ADVANCE", key, newest // PANE_MS + 1), "pane is in the future")


async def recent(s, key, total):
    """Checks the replies of SKETCH.WITHIN, SKETCH.BETWEEN, SKETCH.SERIES and SKETCH.AGE for this sketch."""
    family = key.split(":")[0]
    command, arguments = {
        "cms": ("CMS.QUERY", ("a",)),
        "topk": ("TOPK.COUNT", ("a",)),
        "td": ("TDIGEST.RANK", (1.5,)),
    }[family]
    expected = await s.raw(command, key, *arguments)
    same(await s.raw("SKETCH.WITHIN", PANE_MS, command, key, *arguments), expected)
    same(await s.raw("SKETCH.BETWEEN", -PANE_MS, "+", command, key, *arguments), expected)
    series = await s.raw("SKETCH.SERIES", "-", "+", PANE_MS, command, key, *arguments)
    same([len(series), series[-1][2]], [5, expected])
    same(await s.raw("BF.RESERVE", "bf:age", 0.01, 100, *WINDOW, *SEED), True)
    assert await s.raw("BF.ADD", "bf:age", "a") == 1
    age, absent = await s.raw("SKETCH.AGE", "bf:age", "a", "b")
    assert 0 <= age <= 2 * PANE_MS and absent is None, (age, absent)
    await s.raw("DEL", "bf:age")


async def count_min(s):
    same(await s.raw("CMS.INITBYDIM", "cms:w", 1000, 5, *WINDOW, *SEED), True)
    same(await s.cms.incrby("cms:w", ["a", "b"], [5, 2]), [5, 2])
    same(await s.cms.query("cms:w", "a", "b", "z"), [5, 2, 0])
    info = await s.cms.info("cms:w")
    same([field(info, name, name) for name in ("width", "depth", "count")], [1000, 5, 7])
    same(await s.raw("CMS.INITBYPROB", "cms:w:sum", 0.002, 0.05, *WINDOW, *SEED), True)
    same(await s.cms.merge("cms:w:sum", 1, ["cms:w"], weights=[10]), True)
    same(await s.cms.query("cms:w:sum", "a", "b"), [50, 20])
    await s.refused(s.cms.incrby("cms:w", ["a"], [-1]), "CMS: a sketch with a window cannot be decremented")
    await window(s, "cms:w", 7)


async def top_k(s):
    same(await s.raw("TOPK.RESERVE", "topk:w", 2, 50, 4, 0.9, *WINDOW, *SEED), True)
    same(await s.topk.add("topk:w", "a", "b"), [None, None])
    same(await s.topk.incrby("topk:w", ["a", "b"], [10, 5]), [None, None])
    dropped = await s.topk.incrby("topk:w", ["c"], [7])
    assert dropped in (["b"], [b"b"]), dropped
    same(await s.topk.query("topk:w", "a", "b", "c"), s.flag(1, 0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        same(await s.topk.count("topk:w", "a", "z"), [11, 0])
    assert await s.topk.list("topk:w", withcount=True) in (["a", 11, "c", 7], [b"a", 11, b"c", 7])
    info = await s.topk.info("topk:w")
    same([field(info, name, name) for name in ("k", "width", "depth")], [2, 50, 4])
    await window(s, "topk:w", 24)


async def t_digest(s):
    same(await s.raw("TDIGEST.CREATE", "td:w", "COMPRESSION", 200, *WINDOW), True)
    same(await s.tdigest.add("td:w", [1, 2.5, 4, -3]), s.text("OK"))
    same(await s.tdigest.min("td:w"), -3.0)
    same(await s.tdigest.max("td:w"), 4.0)
    same(await s.tdigest.quantile("td:w", 0, 0.5, 1), [-3.0, 2.5, 4.0])
    same(await s.tdigest.cdf("td:w", -4, 2, 9), [0.0, 0.5, 1.0])
    same(await s.tdigest.rank("td:w", -3, 3, 9), [0, 3, 4])
    same(await s.tdigest.revrank("td:w", -3, 3, 9), [3, 1, -1])
    same(await s.tdigest.byrank("td:w", 0, 3), [-3.0, 4.0])
    same(await s.tdigest.byrevrank("td:w", 0, 3), [4.0, -3.0])
    same(await s.tdigest.trimmed_mean("td:w", 0, 1), 1.125)
    same(field(await s.tdigest.info("td:w"), "compression", "Compression"), 200)
    same(await s.tdigest.merge("td:w:sum", 1, "td:w"), s.text("OK"))
    same(await s.tdigest.max("td:w:sum"), 4.0)
    await window(s, "td:w", 4)
    same(await s.tdigest.reset("td:w"), s.text("OK"))
    await window(s, "td:w", 0)
