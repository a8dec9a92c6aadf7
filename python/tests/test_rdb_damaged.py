"""Damaged RDB files raise ValueError, and take no memory beyond that of a value."""

import os
import random
import resource

import pytest
import roughly
from conftest import cases
from every_type import add_others, add_sketches, save

COUNT = cases(50_000)
MEMORY = 64 << 20
# Lengths of many bytes, opcodes, and encodings of strings.
NUMBERS = [b"\x80" + b"\xff" * 4, b"\x81" + b"\xff" * 8, b"\x81" + b"\x7f" + bytes(7)]
BYTES = [0, 1, 5, 7, 0x3F, 0x7F, 0x80, 0x81, 0xC0, 0xC3, *range(0xF0, 0x100)]


def damage(numbers, data):
    """A damaged copy of a file."""
    data = bytearray(data)
    for _ in range(numbers.choice([1, 1, 1, 2, 5])):
        at = numbers.randrange(9, len(data))
        kind = numbers.randrange(7)
        if kind == 0:
            data[at] ^= 1 << numbers.randrange(8)
        elif kind == 1:
            data[at] = numbers.choice(BYTES)
        elif kind == 2:
            number = numbers.choice(NUMBERS)
            data[at : at + len(number)] = number
        elif kind == 3:
            data[at:at] = bytes([numbers.choice(BYTES)])
        elif kind == 4:
            del data[at : at + numbers.randrange(1, 20)]
        elif kind == 5:
            start = numbers.randrange(9, len(data))
            data[at:at] = data[start : start + numbers.randrange(1, 200)]
        else:
            del data[at:]
            if len(data) < 20:
                break
    return data


@pytest.fixture
def limited_memory():
    """Limits the memory of this process to little more than it has."""
    pages = int(open("/proc/self/statm").read().split()[0])
    limits = resource.getrlimit(resource.RLIMIT_AS)
    size = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (size, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)


def test_damaged_files_are_refused(client, limited_memory):
    add_sketches(client, items=5)
    add_others(client, elements=12)
    with open(save(client), "rb") as file:
        whole = file.read()
    client.function_flush()
    numbers = random.Random(11)
    # A file in memory.
    file = os.memfd_create("rdb")
    path = f"/proc/self/fd/{file}"
    yielded = refused = 0
    for index in range(COUNT):
        data = damage(numbers, whole)
        checked = index % 2 == 0
        if not checked and len(data) > 20:
            data[-8:] = bytes(8)
        os.ftruncate(file, 0)
        os.pwrite(file, data, 0)
        entries = roughly.load_rdb(path)
        damaged = False
        while True:
            try:
                entry = next(entries, None)
            except ValueError as error:
                assert str(error).startswith("offset "), error
                damaged = True
                continue
            if entry is None:
                break
            yielded += 1
        refused += damaged
        # Otherwise, the checksum is known to be wrong. Zeros are none.
        if checked and data != whole and data[-8:] != bytes(8):
            assert damaged, index
    os.close(file)
    assert refused > COUNT // 2 and yielded > COUNT
