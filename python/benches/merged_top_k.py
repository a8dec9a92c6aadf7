"""Measures merged top-k sketches beside one sketch of the same stream, and prints the table in docs/families/top-k.md.

    target/python/bin/python python/benches/merged_top_k.py

Takes about a minute. The streams have fixed seeds.
"""

import numpy as np
import roughly

DRAWS, ITEMS, STREAMS = 500_000, 100_000, 3


def stream(distribution, seed):
    """Draws of items."""
    numbers = np.random.default_rng(seed)
    if distribution == "lognormal":
        weights = np.exp(numbers.normal(0, 2, ITEMS))
    elif distribution == "two levels":
        weights = np.where(np.arange(ITEMS) < 100, 40.0, 1.0)
    else:
        weights = np.arange(1, ITEMS + 1) ** -distribution
    return numbers.choice(ITEMS, DRAWS, p=weights / weights.sum())


def sketch_of(parts, k, width):
    """The merge of the sketches of parts of a stream."""
    sketches = [roughly.TopK(k, width, 5) for _ in parts]
    for sketch, part in zip(sketches, parts):
        sketch.update(part)
    sketches[0].merge(*sketches[1:])
    return sketches[0]


def recall_and_error(sketch, draws):
    """The share of the list that is in the true top k, and the mean error of its counts, in %."""
    values, counts = np.unique(draws, return_counts=True)
    limit = np.sort(counts)[-sketch.k]
    exact = {str(value).encode(): count for value, count in zip(values, counts)}
    listed = sketch.items()
    recall = sum(exact[item] >= limit for item, _ in listed) / sketch.k
    return 100 * recall, 100 * np.mean([abs(count - exact[item]) / exact[item] for item, count in listed])


def parts_of(draws):
    """The columns of the table: one sketch, halves, ten parts, ten parts of which each has all occurrences of its items."""
    return [draws], np.array_split(draws, 2), np.array_split(draws, 10), [draws[draws % 10 == i] for i in range(10)]


for k in (10, 100):
    for factor in (8, 32):
        for distribution in (0.8, 1.0, 1.2, "lognormal", "two levels"):
            streams = [stream(distribution, seed) for seed in range(STREAMS)]
            results = [
                [recall_and_error(sketch_of(parts, k, factor * k), draws) for parts in parts_of(draws)] for draws in streams
            ]
            cells = [f"{recall:.0f}, {error:.2f}" for recall, error in np.mean(results, axis=0)]
            print(f"| {k} | {factor} · k × 5 | {distribution} | {' | '.join(cells)} |", flush=True)
