"""What the server itself counted: which commands of the module were called."""


def text(value):
    """Of names that come as bytes or as text."""
    return value.decode() if isinstance(value, bytes) else value


async def forget(raw):
    """Empties the server and its counters."""
    await raw("FLUSHALL")
    await raw("CONFIG RESETSTAT")


async def all_called(raw):
    """Every command of the module was called since, whatever the client's API has; returns how many
    there are."""
    names = {text(name) for name in await raw("COMMAND LIST", "FILTERBY", "MODULE", "bf")}
    stats = await raw("INFO", "commandstats")
    # The clients parse INFO into a dict, or leave it text.
    lines = stats if isinstance(stats, dict) else text(stats).split()
    called = {line.split(":")[0].removeprefix("cmdstat_") for line in lines}
    assert len(names) > 50, names
    assert names <= called, f"not called: {sorted(names - called)}"
    return len(names)
