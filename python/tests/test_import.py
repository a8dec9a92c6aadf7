"""What `import roughly` imports."""

import subprocess
import sys


def run(program):
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()


def test_other_modules_are_imported_when_they_are_used():
    """Those that the interpreter has at its start, of the standard library and of other packages."""
    imported = run("import sys; before = set(sys.modules); import roughly; print(*set(sys.modules) - before)")
    assert {name for name in imported if name.partition(".")[0] != "roughly"} <= {"__future__"}
    assert "roughly" in imported and "roughly.shards" not in imported


def test_numpy_is_imported_by_the_first_read_of_several_items():
    used = """
import sys, roughly
seen = roughly.BloomFilter()
seen.update(["a", "b"])
seen.add("c")
assert "a" in seen and seen.dump() and roughly.load(seen.dump()) == seen
print("numpy" in sys.modules)
print(type(seen.contains(["a"])).__module__)
"""
    assert run(used) == ["False", "numpy"]
