"""Checks which commands of the module were called, with the counters of the server."""


def text(value):
    """Decodes a name, which some clients return as bytes."""
    return value.decode() if isinstance(value, bytes) else value


async def forget(raw):
    """Deletes all keys and resets the counters of the server."""
    await raw("FLUSHALL")
    await raw("CONFIG RESETSTAT")


async def all_called(raw):
    """Checks that every command of the module was called since forget(); returns their number."""
    names = {text(name) for name in await raw("COMMAND LIST", "FILTERBY", "MODULE", "bf")}
    stats = await raw("INFO", "commandstats")
    # Some clients parse INFO into a dict, others return text.
    lines = stats if isinstance(stats, dict) else text(stats).split()
    called = {line.split(":")[0].removeprefix("cmdstat_") for line in lines}
    assert len(names) > 50, names
    assert names <= called, f"not called: {sorted(names - called)}"
    return len(names)
