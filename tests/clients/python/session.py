"""A connection of a Python client with its typed API, synchronous or asyncio.

redis-py and valkey-py have the same methods in synchronous classes and in asyncio classes. The tests are written
once, for asyncio. Replies of synchronous methods are not awaited.
"""

import inspect
import math


class Family:
    """The typed API of a family, such as client.bf(); records the called methods."""

    def __init__(self, api):
        self._api = api
        self._called = set()

    def __getattr__(self, name):
        method = getattr(self._api, name)
        self._called.add(method.__func__)

        async def call(*args, **options):
            return await reply(method(*args, **options))

        return call

    def missed(self):
        """Returns the names of the methods that were not called. Calling an alias counts as calling its method."""
        methods = inspect.getmembers(self._api.commandmixin, inspect.isfunction)
        return [
            name
            for name, method in methods
            if not name.startswith("_") and method not in self._called
        ]


class Session:
    """The typed APIs of the families, raw commands, and the expected types of replies."""

    def __init__(self, client, protocol, decoded):
        self.client = client
        self.bf, self.cf, self.cms = Family(client.bf()), Family(client.cf()), Family(client.cms())
        self.topk, self.tdigest = Family(client.topk()), Family(client.tdigest())
        self._protocol = protocol
        self.decoded = decoded

    async def raw(self, *arguments):
        """Sends a command that has no method in the typed API. Returns chunks of SCANDUMP as bytes."""
        binary = {"NEVER_DECODE": []} if arguments[0].endswith(".SCANDUMP") else {}
        return await reply(self.client.execute_command(*arguments, **binary))

    async def refused(self, call, message):
        """Checks that the reply to the call is this error."""
        try:
            answer = await reply(call)
        except Exception as error:
            # The clients remove the prefix ERR.
            assert str(error) == message, f"{error!r} is not {message!r}"
            assert type(error).__name__ == "ResponseError", repr(error)
            return
        raise AssertionError(f"{answer!r} is not the error {message!r}")

    def flag(self, *values):
        """Returns the expected booleans: True and False in RESP3, 1 and 0 in RESP2."""
        flags = [bool(value) if self._protocol == 3 else value for value in values]
        return flags if len(flags) > 1 else flags[0]

    def text(self, value):
        """Returns the expected string: bytes, unless the client decodes replies."""
        return value if self.decoded else value.encode()


async def reply(answer):
    """Returns the reply; awaits it if the client is asyncio."""
    return await answer if inspect.isawaitable(answer) else answer


def same(got, want):
    """Compares value and type. The clients return some floats in RESP2 lists as int, and those that are not finite
    as text."""
    if isinstance(want, (list, tuple)):
        assert type(got) is type(want) and len(got) == len(want), f"{got!r} is not {want!r}"
        for one, other in zip(got, want):
            same(one, other)
    elif isinstance(want, float):
        number = float(got) if got in ("nan", "inf", "-inf") else got
        assert type(number) in (int, float), f"{got!r} is not {want!r}"
        assert number == want or math.isnan(number) and math.isnan(want), f"{got!r} is not {want!r}"
    else:
        assert type(got) is type(want) and got == want, f"{got!r} is not {want!r}"


def field(info, attribute, name):
    """Returns a field of an INFO reply, which is an object in RESP2 and a dict in RESP3."""
    if not isinstance(info, dict):
        assert info[attribute] == getattr(info, attribute)
        return info[attribute]
    return info[name] if name in info else info[name.encode()]
