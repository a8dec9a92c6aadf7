"""Forks while other threads, or other handlers of the fork, use objects."""

import itertools
import os
import subprocess
import sys

import pytest
from conftest import sampled

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")

#: Uses every method of an object that takes its lock in another way: short and long reads and additions, merges, comparisons.
START = """
import os, sys, threading, time

objects = {}

def use():
    for name, sketch in objects.items():
        name == "CuckooFilter" and sketch.remove(1)
        sketch.add(1)
        name == "CuckooFilter" or sketch.update(range(5000))
        # Of arrays of empty strings, the parts of a batch are processed with the GIL.
        name in ("CuckooFilter", "TDigest") or sketch.update(np.array(["", ""]))
        assert type(roughly.load(sketch.dump())) is type(sketch) is type(sketch.copy()), name
        sketch == empty[name]
        name in ("CountMinSketch", "TDigest") and sketch.merge(empty[name])
        repr(sketch)

def fork(times):
    for _ in range(times):
        child = os.fork()
        if child == 0:
            use()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0

lock = threading.Lock()
"""
IMPORT = """
import numpy as np
import roughly

objects.update(
    BloomFilter=roughly.BloomFilter(100_000),
    CuckooFilter=roughly.CuckooFilter(100_000),
    CountMinSketch=roughly.CountMinSketch(2000, 4, cell_size=8),
    TopK=roughly.TopK(10),
    TDigest=roughly.TDigest(),
)
empty = {name: sketch.copy() for name, sketch in objects.items()}
"""
LOCKED = "os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)"
#: Uses objects while it has the lock, and lets other threads run meanwhile. Without the pause, a thread would mostly get the lock
#: again before the one that forks.
THREADS = """
def work():
    while True:
        with lock:
            use()
        time.sleep(0.001)

for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
"""
FREE_THREADS = THREADS.replace("with lock", "if True")


CASES = {
    "use before": ("os.register_at_fork(before=use)", ""),
    "use in the child": ("os.register_at_fork(after_in_child=use)", ""),
    "use in the parent": ("os.register_at_fork(after_in_parent=use)", ""),
    "a lock": (LOCKED, THREADS),
    "use in threads, too": ("os.register_at_fork(before=use, after_in_parent=use, after_in_child=use)", FREE_THREADS),
}


@pytest.mark.parametrize("name, is_registered_first", sampled(itertools.product(CASES, [True, False]), 3))
def test_handlers_of_a_fork_may_use_objects_or_wait_for_threads_that_do(name, is_registered_first):
    handlers, threads = CASES[name]
    order = [handlers, IMPORT] if is_registered_first else [IMPORT, handlers]
    code = "\n".join([START, *order, threads, "fork(30)", "os._exit(0)"])
    # A process that waits for itself is ended. The others take seconds.
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=300)
