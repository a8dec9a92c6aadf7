#!/usr/bin/env bash
# pyxorfilter 1.1.2 (Python): populate() of a fuse filter with repeated items returns True and loses some of them.
#
# Of 1,000 items, 100 occur twice. populate() returns True, and contains() is False for five of the 900 distinct items: false negatives,
# which these filters do not have (Graf and Lemire 2022, "Binary Fuse Filters"). populate() of an Xor8 of the same items returns False.
# With xxhash 4.1.0, populate() of texts raises a TypeError: the script pins xxhash 3.8.2.
cd "$(dirname "$0")"
. lib/packages.sh
python_with pyxorfilter==1.1.2 xxhash==3.8.2 <<'END'
import pyxorfilter

distinct = ["item%d" % i for i in range(900)]
items = distinct + distinct[:100]
for name, expected in ("Fuse8", True), ("Fuse16", True), ("Xor8", False):
    found = getattr(pyxorfilter, name)(len(items))
    populated = found.populate(items)
    missing = sum(not found.contains(item) for item in distinct)
    print(name, "populated:", populated, "missing:", missing, "of", len(distinct))
    assert populated == expected and missing > 0
fuse = pyxorfilter.Fuse8(len(distinct))
assert fuse.populate(distinct) and all(fuse.contains(item) for item in distinct)
END
