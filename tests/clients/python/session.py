"""One connection of a Python client, seen through its typed API, whether it waits or is awaited.

redis-py and valkey-py have the same methods, in classes that answer at once and in classes for asyncio.
A walk is written once, for asyncio; what answers at once is simply not awaited.
"""

import inspect
import math


class Family:
    """A family of the typed API, such as client.bf(); notes which of its methods were called."""

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
        """The names of the methods that no walk called; an alias counts as what it stands for."""
        methods = inspect.getmembers(self._api.commandmixin, inspect.isfunction)
        return [
            name
            for name, method in methods
            if not name.startswith("_") and method not in self._called
        ]


class Session:
    """What a walk has: the five families, raw commands, and what replies are compared with."""

    def __init__(self, client, protocol, decoded):
        self.client = client
        self.bf, self.cf, self.cms = Family(client.bf()), Family(client.cf()), Family(client.cms())
        self.topk, self.tdigest = Family(client.topk()), Family(client.tdigest())
        self._protocol = protocol
        self.decoded = decoded

    async def raw(self, *words):
        """A command that the typed API lacks. A piece of a sketch is bytes, as in the typed SCANDUMP."""
        binary = {"NEVER_DECODE": []} if words[0].endswith(".SCANDUMP") else {}
        return await reply(self.client.execute_command(*words, **binary))

    async def refused(self, call, message):
        """The call is answered with this error."""
        try:
            answer = await reply(call)
        except Exception as error:
            # The clients take the first word off where it is ERR.
            assert str(error) == message, f"{error!r} is not {message!r}"
            assert type(error).__name__ == "ResponseError", repr(error)
            return
        raise AssertionError(f"{answer!r} is not the error {message!r}")

    def flag(self, *values):
        """Yes and no as they come: true and false in RESP3, 1 and 0 in RESP2."""
        flags = [bool(value) if self._protocol == 3 else value for value in values]
        return flags if len(flags) > 1 else flags[0]

    def text(self, value):
        """A string as it comes: bytes unless the client decodes."""
        return value if self.decoded else value.encode()


async def reply(answer):
    """The answer, waited for if it has to be."""
    return await answer if inspect.isawaitable(answer) else answer


def same(got, want):
    """The value and its type. Where a float is wanted a whole number may come as int, and what is no
    number as text: the clients parse RESP2's text so in lists."""
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
    """A field of an INFO reply: in RESP2 the clients make an object of it, in RESP3 a dict."""
    if not isinstance(info, dict):
        assert info[attribute] == getattr(info, attribute)
        return info[attribute]
    return info[name] if name in info else info[name.encode()]
