"""Memory that is refused is a MemoryError. Each case runs in a child with a limit for its address space."""

import subprocess
import sys

LIMIT = """
import itertools, os, pickle, resource, sys
import numpy as np
import roughly

def limit(bytes):
    with open("/proc/self/statm") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + bytes, used + bytes))

def refused(call):
    try:
        call()
    except MemoryError:
        os._exit(0)
    os._exit(1)

for case in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        exec(case)
    print(os.waitpid(child, 0)[1], flush=True)
"""
CASES = [
    "text = np.array(['x' * 60_000_000]); limit(30 << 20); refused(lambda: roughly.BloomFilter().add(text[0]))",
    "text = np.array(['x' * 60_000_000]); limit(30 << 20); refused(lambda: roughly.BloomFilter().update(text))",
    "limit(20 << 20); refused(lambda: roughly.TDigest().quantile(itertools.repeat(0.5)))",
    "limit(20 << 20); refused(lambda: roughly.CountMinSketch(9, 2).update([1], itertools.repeat(1)))",
    "array = np.zeros(9_000_000, int); limit(20 << 20); refused(lambda: roughly.BloomFilter().contains(np.broadcast_to(array[:1], 90_000_000)))",
    "array = np.zeros(9_000_000, int); limit(20 << 20); refused(lambda: roughly.CountMinSketch(9, 2).query(array))",
    "array = np.zeros(9_000_000); limit(20 << 20); refused(lambda: roughly.TDigest().cdf(array))",
    "sketch = roughly.BloomFilter(100_000_000); limit(100 << 20); refused(sketch.dump)",
    "sketch = roughly.BloomFilter(100_000_000); limit(200 << 20); refused(lambda: pickle.dumps(sketch))",
    "sketch = roughly.BloomFilter(100_000_000); limit(4 << 20); refused(lambda: list(sketch.to_chunks()))",
    "sketch = roughly.TopK(50); [sketch.add(f'{n}' + 'x' * 1_000_000) for n in range(50)]; limit(20 << 20); refused(sketch.items)",
]


def test_refused_memory_is_a_memory_error():
    run = subprocess.run([sys.executable, "-c", LIMIT, *CASES], check=True, capture_output=True, text=True)
    assert dict(zip(CASES, run.stdout.split())) == dict.fromkeys(CASES, "0")
