"""Measures the memory of a t-digest with a window of 30 days and panes of a second and longer, and prints the figures of README.md.

    target/python/bin/python python/benches/window_memory.py PORT

PORT is that of a server with the module on this machine, whose key `window-memory` is overwritten and deleted. Takes about two minutes. The streams have
fixed seeds.
"""

import datetime
import sys
import time

import numpy as np
import redis
import roughly

WINDOW, FINEST, LAST_SECONDS = 2_592_000_000, 1000, 120_000
PERIODS = [1000, 60_000, 3_600_000, 86_400_000, WINDOW]
numbers = np.random.default_rng(1)
client = redis.Redis(port=int(sys.argv[1]))


def two_modes(count):
    is_slow = numbers.random(count) < 0.02
    return np.where(is_slow, numbers.normal(400, 40, count), numbers.normal(20, 2, count))


def measure(samples, per_step, step):
    """The number of samples, and the bytes of the key before and after reads of all periods."""
    now = int(time.time() * 1000)
    sketch = roughly.TDigest(100, window=WINDOW, finest=FINEST)
    age, count = WINDOW - 1, 0
    while age >= 0:
        at = datetime.datetime.fromtimestamp((now - age) / 1000, datetime.timezone.utc)
        sketch.update(samples(per_step), at=at)
        count += per_step
        # The newest panes are short.
        age -= step if age > LAST_SECONDS else 200
    client.restore("window-memory", 0, sketch.dump(), replace=True)
    before = client.memory_usage("window-memory", samples=0)
    for period in PERIODS:
        client.execute_command("SKETCH.WITHIN", period, "TDIGEST.QUANTILE", "window-memory", 0.5, 0.99)
    after = client.memory_usage("window-memory", samples=0)
    client.delete("window-memory")
    return count, before, after


LOADS = {
    "one per minute, log-normal": (lambda count: numbers.lognormal(3, 1, count), 1, 60_000),
    "log-normal": (lambda count: numbers.lognormal(3, 1, count), 200, 20_000),
    "two modes": (two_modes, 200, 20_000),
    "uniform": (numbers.random, 200, 20_000),
    "whole milliseconds": (lambda count: numbers.lognormal(4, 1, count).round(), 200, 20_000),
    "85 % zeros": (lambda count: numbers.exponential(1, count) * (numbers.random(count) < 0.15), 200, 20_000),
    "half one value": (lambda count: np.where(numbers.random(count) < 0.5, 2.5, numbers.normal(0, 1, count)), 200, 20_000),
    "100 values": (lambda count: numbers.integers(0, 100, count).astype(float), 200, 20_000),
    "600 values": (lambda count: numbers.integers(0, 600, count).astype(float), 200, 20_000),
    "Pareto, 1.2": (lambda count: numbers.pareto(1.2, count), 1000, 10_000),
}
print("| load | samples | bytes | after reads |\n|---|---:|---:|---:|")
for name, load in LOADS.items():
    count, before, after = measure(*load)
    print(f"| {name} | {count:,} | {before:,} | {after:,} |", flush=True)
