"""Runs the commands of a server on Python objects, so that both can be compared."""

import math

import redis
import roughly


class Unsupported(Exception):
    """The package has no counterpart of the command, or of its arguments."""


class Failed(Exception):
    """The command is refused with this text."""


def integer(argument):
    try:
        text = argument.decode()
        number = int(text)
    except ValueError:
        raise Unsupported from None
    if str(number) != text or not -(2**63) <= number < 2**63:
        raise Unsupported
    return number


def double(argument):
    try:
        number = float(argument.decode())
    except ValueError:
        raise Unsupported from None
    if argument != argument.strip() or b"_" in argument:
        raise Unsupported
    # The server refuses numbers that are too large or too small.
    if not math.isfinite(number) or number == 0 and argument.strip(b"+-0.") != b"":
        raise Unsupported
    return number


def options(arguments, names):
    """The options of a command: names with values, or names of flags."""
    found = {}
    arguments = [*arguments]
    while arguments:
        name = arguments.pop(0).upper()
        if name not in names or name in found:
            raise Unsupported
        found[name] = arguments.pop(0) if names[name] and arguments else b""
        if names[name] and not found[name]:
            raise Unsupported
    return found


def failure(call, *arguments, **kwargs):
    """The result of a call, or its error as an item of a reply."""
    try:
        return call(*arguments, **kwargs)
    except ValueError as error:
        return redis.ResponseError(str(error))


# The fields of TDIGEST.INFO that depend on more than the payload.
NOT_STORED = [
    "Merged nodes",
    "Unmerged nodes",
    "Merged weight",
    "Unmerged weight",
    "Memory usage",
]


def fields(info):
    """A dictionary as an array of names and values."""
    return [each for name, value in info.items() for each in (name.encode(), value)]


class Keys:
    """Sketches by key."""

    def __init__(self):
        self.sketches = {}

    def run(self, command):
        """The reply to a command, as in RESP2. Raises Unsupported or Failed."""
        name, *arguments = command
        method = getattr(self, name.decode("latin-1").lower().replace(".", "_"), None)
        if method is None or name != name.upper() or b"." not in name:
            raise Unsupported
        try:
            return method(*arguments)
        except TypeError as error:
            if "positional argument" in str(error):
                raise Unsupported from None
            raise
        except MemoryError:
            raise Unsupported from None
        except ValueError as error:
            raise Failed(str(error)) from None

    def get(self, key, kind):
        sketch = self.sketches.get(key)
        if not isinstance(sketch, kind):
            raise Unsupported
        return sketch

    def create(self, key, kind, *arguments, **kwargs):
        if key in self.sketches:
            raise Unsupported
        self.sketches[key] = kind(*arguments, **kwargs)
        return b"OK"

    def get_or_create(self, key, kind):
        if key not in self.sketches:
            self.create(key, kind)
        return self.get(key, kind)

    def bf_reserve(self, key, error_rate, capacity, *rest):
        given = options(rest, {b"EXPANSION": True, b"NONSCALING": False})
        kwargs = {}
        if b"EXPANSION" in given:
            kwargs["expansion"] = integer(given[b"EXPANSION"])
        if b"NONSCALING" in given:
            kwargs["nonscaling"] = True
        rate, capacity = double(error_rate), integer(capacity)
        return self.create(key, roughly.BloomFilter, capacity, rate, **kwargs)

    def bf_add(self, key, item):
        return int(self.get_or_create(key, roughly.BloomFilter).add(item))

    def bf_madd(self, key, item, *items):
        sketch = self.get_or_create(key, roughly.BloomFilter)
        replies = []
        for each in (item, *items):
            reply = failure(sketch.add, each)
            if isinstance(reply, redis.ResponseError):
                replies.append(reply)
                if "is full" in str(reply):
                    break
            else:
                replies.append(int(reply))
        return replies

    def bf_exists(self, key, item):
        return int(item in self.get(key, roughly.BloomFilter))

    def bf_mexists(self, key, item, *items):
        return [int(found) for found in self.get(key, roughly.BloomFilter).contains([item, *items])]

    def bf_card(self, key):
        return len(self.get(key, roughly.BloomFilter))

    def bf_info(self, key):
        return fields(self.get(key, roughly.BloomFilter).info())

    def cf_reserve(self, key, capacity, *rest):
        names = {
            b"BUCKETSIZE": "bucket_size",
            b"MAXITERATIONS": "max_iterations",
            b"EXPANSION": "expansion",
        }
        given = options(rest, names)
        kwargs = {names[name]: integer(value) for name, value in given.items()}
        return self.create(key, roughly.CuckooFilter, integer(capacity), **kwargs)

    def cf_add(self, key, item):
        self.get_or_create(key, roughly.CuckooFilter).add(item)
        return 1

    def cf_addnx(self, key, item):
        return int(self.get_or_create(key, roughly.CuckooFilter).add_new(item))

    def cf_insert(self, key, keyword, *items):
        if keyword.upper() != b"ITEMS" or not items:
            raise Unsupported
        sketch = self.get_or_create(key, roughly.CuckooFilter)
        one_by_one = sketch.copy()
        replies = [failure(one_by_one.add, item) for item in items]
        if any("Maximum" in str(reply) for reply in replies):
            # CF.INSERT checks the number of sub-filters only once.
            sketch.update(items)
            return [1 for _ in items]
        self.sketches[key] = one_by_one
        return [-1 if isinstance(reply, redis.ResponseError) else 1 for reply in replies]

    def cf_del(self, key, item):
        return int(self.get(key, roughly.CuckooFilter).remove(item))

    def cf_exists(self, key, item):
        return int(item in self.get(key, roughly.CuckooFilter))

    def cf_mexists(self, key, item, *items):
        found = self.get(key, roughly.CuckooFilter).contains([item, *items])
        return [int(each) for each in found]

    def cf_count(self, key, item):
        return self.get(key, roughly.CuckooFilter).count(item)

    def cf_info(self, key):
        return fields(self.get(key, roughly.CuckooFilter).info())

    def cms_initbydim(self, key, width, depth):
        return self.create(key, roughly.CountMinSketch, integer(width), integer(depth))

    def cms_initbyprob(self, key, error, probability):
        kwargs = {"error": double(error), "probability": double(probability)}
        return self.create(key, roughly.CountMinSketch, **kwargs)

    def cms_incrby(self, key, *pairs):
        sketch = self.get(key, roughly.CountMinSketch)
        counts = [integer(count) for count in pairs[1::2]]
        if len(pairs) % 2 or not pairs:
            raise Unsupported
        return [failure(sketch.add, item, n) for item, n in zip(pairs[::2], counts)]

    def cms_query(self, key, item, *items):
        return [int(each) for each in self.get(key, roughly.CountMinSketch).query([item, *items])]

    def cms_info(self, key):
        return fields(self.get(key, roughly.CountMinSketch).info())

    def cms_merge(self, key, numkeys, *rest):
        """Of two sketches, of which the first is the destination."""
        weights = [1, 1]
        if len(rest) == 5 and rest[2].upper() == b"WEIGHTS":
            weights = [integer(weight) for weight in rest[3:]]
        elif len(rest) != 2:
            raise Unsupported
        if integer(numkeys) != 2 or rest[0] != key or weights[0] != 1:
            raise Unsupported
        source = self.get(rest[1], roughly.CountMinSketch)
        self.get(key, roughly.CountMinSketch).merge(source, weights[1])
        return b"OK"

    def topk_reserve(self, key, k, *rest):
        if len(rest) not in (0, 3):
            raise Unsupported
        rest = [integer(rest[0]), integer(rest[1]), double(rest[2])] if rest else [8, 7]
        return self.create(key, roughly.TopK, integer(k), *rest)

    def topk_add(self, key, item, *items):
        sketch = self.get(key, roughly.TopK)
        return [sketch.add(each) for each in (item, *items)]

    def topk_incrby(self, key, *pairs):
        sketch = self.get(key, roughly.TopK)
        counts = [integer(count) for count in pairs[1::2]]
        if len(pairs) % 2 or not pairs or not all(0 <= n <= 100_000 for n in counts):
            raise Unsupported
        return [sketch.add(item, n) for item, n in zip(pairs[::2], counts)]

    def topk_query(self, key, item, *items):
        sketch = self.get(key, roughly.TopK)
        return [int(each in sketch) for each in (item, *items)]

    def topk_count(self, key, item, *items):
        sketch = self.get(key, roughly.TopK)
        return [sketch.count(each) for each in (item, *items)]

    def topk_list(self, key, keyword=None):
        items = self.get(key, roughly.TopK).items()
        if keyword is None:
            return [item for item, _ in items]
        if keyword.upper() != b"WITHCOUNT":
            raise Unsupported
        return [each for pair in items for each in pair]

    def topk_info(self, key):
        return fields(self.get(key, roughly.TopK).info())

    def tdigest_create(self, key, *rest):
        given = options(rest, {b"COMPRESSION": True})
        compression = [integer(value) for value in given.values()]
        return self.create(key, roughly.TDigest, *compression)

    def tdigest_add(self, key, *values):
        self.get(key, roughly.TDigest).update([double(value) for value in values])
        if not values:
            raise Unsupported
        return b"OK"

    def tdigest_merge(self, key, numkeys, *sources):
        """Of one source, into an existing digest."""
        if integer(numkeys) != 1 or len(sources) != 1:
            raise Unsupported
        self.get(key, roughly.TDigest).merge(self.get(sources[0], roughly.TDigest))
        return b"OK"

    def tdigest_info(self, key):
        """Without the fields that a payload does not contain."""
        info = self.get(key, roughly.TDigest).info()
        return fields({name: value for name, value in info.items() if name not in NOT_STORED})

    def tdigest_min(self, key):
        return self.get(key, roughly.TDigest).min()

    def tdigest_max(self, key):
        return self.get(key, roughly.TDigest).max()

    def tdigest_trimmed_mean(self, key, low, high):
        return self.get(key, roughly.TDigest).trimmed_mean(double(low), double(high))

    def tdigest_quantile(self, key, *points):
        return self.digest_values(key, "quantile", double, points)

    def tdigest_cdf(self, key, *points):
        return self.digest_values(key, "cdf", double, points)

    def tdigest_rank(self, key, *points):
        return self.digest_values(key, "rank", double, points)

    def tdigest_revrank(self, key, *points):
        return self.digest_values(key, "revrank", double, points)

    def tdigest_byrank(self, key, *points):
        return self.digest_values(key, "byrank", integer, points)

    def tdigest_byrevrank(self, key, *points):
        return self.digest_values(key, "byrevrank", integer, points)

    def digest_values(self, key, query, parse, points):
        if not points:
            raise Unsupported
        points = [parse(point) for point in points]
        return list(getattr(self.get(key, roughly.TDigest), query)(points))


def is_same(ours, theirs):
    """Whether a reply equals that of a server, which sends doubles as text."""
    if isinstance(theirs, list):
        theirs = stored(theirs)
        return isinstance(ours, list) and len(ours) == len(theirs) and all(map(is_same, ours, theirs))
    if isinstance(ours, redis.ResponseError) or isinstance(theirs, redis.ResponseError):
        return type(ours) is type(theirs) and str(ours) == str(theirs)
    if isinstance(ours, bytes) or ours is None or theirs is None:
        return ours == theirs
    if isinstance(theirs, bytes):
        return float(ours) == float(theirs) or str(float(ours)) == str(float(theirs))
    return int(ours) == theirs


def stored(reply):
    """A reply of TDIGEST.INFO without the fields that a payload does not contain; other replies as they are."""
    if reply[-2:-1] != [b"Memory usage"]:
        return reply
    pairs = zip(reply[::2], reply[1::2])
    return [each for pair in pairs if pair[0].decode() not in NOT_STORED for each in pair]
