"""Where sketches are: files with a DUMP payload, and keys of servers."""

from __future__ import annotations

import importlib
import re
import urllib.parse
from typing import Any

from .. import _roughly
from .._clients import from_redis
from .._roughly import Sketch
from .errors import Failure

_URL = re.compile("(redis|rediss|valkey|valkeys)://")


def is_url(place: str) -> bool:
    """Whether this is the URL of a server, and not the name of a file."""
    return _URL.match(place) is not None


def load(place: str) -> Sketch:
    """The sketch in a file, or at a URL that ends with a key."""
    if not is_url(place):
        try:
            sketch: Sketch = _roughly.open(place)
        except ValueError as error:
            raise Failure(f"{place}: {error}") from None
        return sketch
    server, key = split_key(place)
    client, library = connect(server)
    try:
        loaded: Sketch = from_redis(client, key)
    except KeyError:
        raise Failure(f"{place}: the key does not exist") from None
    except (ValueError, library.RedisError) as error:
        raise Failure(f"{place}: {error}") from None
    return loaded


def split_key(url: str) -> tuple[str, str]:
    """The URL of a server, and the key at its end: redis://HOST[:PORT]/[DB/]KEY."""
    parts = urllib.parse.urlsplit(url)
    database, separator, key = parts.path[1:].partition("/")
    if not separator or not database.isdigit():
        database, key = "0", parts.path[1:]
    if not key:
        raise Failure(f"{url}: the URL must end with a key: redis://host:6379/key")
    return parts._replace(path="/" + database).geturl(), urllib.parse.unquote(key)


def connect(url: str) -> tuple[Any, Any]:
    """A client of a server, and the library that it is from."""
    for name, client in (("redis", "Redis"), ("valkey", "Valkey")):
        try:
            library = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        if name == "valkey":
            library.RedisError = library.ValkeyError  # type: ignore[attr-defined]
        # Both libraries accept these schemes.
        url = re.sub("^valkey", "redis", url)
        return getattr(library, client).from_url(url), library
    raise Failure("the Python package redis or valkey is required for a server: pip install redis")
