"""Damaged payloads and chunks are refused with ValueError, or load as objects that can be used. No call may panic, which would
raise PanicException, and none may end the interpreter."""

import random
import subprocess

import roughly
from conftest import cases, debug_build

COUNT = cases(100_000)


def damaged_payloads(count):
    """Payloads with the damage of the tests in Rust (tests/support/damage.rs)."""
    program = debug_build() / "examples/damaged-payloads"
    run = subprocess.run([program, str(count)], check=True, stdout=subprocess.PIPE)
    at = 0
    while at < len(run.stdout):
        end = at + 4 + int.from_bytes(run.stdout[at : at + 4], "little")
        yield run.stdout[at + 4 : end]
        at = end


def use(sketch):
    """Calls the methods of an object, which may only fail with the errors of the commands."""
    for method, arguments in [
        ("info", ()),
        ("add", (7,)),
        ("update", ([1, 2, 3],)),
        ("contains", (["a", b"b"],)),
        ("query", (["a", b"b"],)),
        ("count", ("a",)),
        ("items", ()),
        ("remove", ("a",)),
        ("quantile", ([0, 0.5, 1],)),
        ("trimmed_mean", (0.1, 0.9)),
        ("byrank", (3,)),
        ("cdf", (1.5,)),
    ]:
        if hasattr(sketch, method):
            try:
                getattr(sketch, method)(*arguments)
            except (ValueError, TypeError, MemoryError):
                pass
    # A damaged capacity makes a filter grow by any size.
    if sketch.info().get("Size", 0) > 1 << 26:
        return
    sketch.copy()
    again = roughly.load(sketch.dump())
    assert roughly.load(again.dump()).dump() == again.dump()
    try:
        list(sketch.to_chunks())
    except ValueError as error:
        assert str(error) == "the sketch has no chunks"


def test_damaged_payloads_are_refused_or_usable():
    numbers = random.Random(8)
    loaded = refused = 0
    for payload in damaged_payloads(COUNT):
        try:
            sketch = roughly.load(payload)
        except (ValueError, MemoryError):
            refused += 1
            continue
        loaded += 1
        # Most of them differ little from valid ones.
        if numbers.random() < 0.05:
            use(sketch)
    assert loaded + refused == COUNT
    assert loaded > COUNT // 100 and refused > COUNT // 100


def test_random_bytes_are_refused():
    numbers = random.Random(9)
    payload = roughly.BloomFilter(10).dump()
    for length in range(200):
        for bad in (numbers.randbytes(length), payload[:length], payload[:length] + b"\0" * 10):
            if bad != payload:
                try:
                    roughly.load(bad)
                    raise AssertionError(bad)
                except ValueError:
                    pass


def test_damaged_chunks_are_refused_or_usable():
    sketches = [
        roughly.BloomFilter(50),
        roughly.CuckooFilter(64),
        roughly.CountMinSketch(20, 3),
        roughly.TopK(3),
        roughly.TDigest(20),
    ]
    for sketch in sketches:
        sketch.update(range(1, 100))
    numbers = random.Random(10)
    for _ in range(cases(20_000)):
        chunks = [list(pair) for pair in numbers.choice(sketches).to_chunks()]
        pair = numbers.choice(chunks)
        data = bytearray(pair[1])
        if numbers.random() < 0.2:
            pair[0] = numbers.choice([-1, 0, 1, 2, 1 << 40, (1 << 63) - 1])
        for _ in range(numbers.randrange(3)):
            if data:
                at = numbers.randrange(min(len(data), 80))
                data[at] = numbers.choice([0, 1, 0x7F, 0xFF, data[at] ^ 1])
        if numbers.random() < 0.2:
            data = data[: numbers.randrange(len(data) + 1)]
        pair[1] = bytes(data)
        try:
            sketch = roughly.load_chunks(chunks)
        except (ValueError, MemoryError):
            continue
        # Chunks can describe states of any size.
        if len(chunks[0][1]) < 200 and numbers.random() < 0.05:
            sketch.info()
