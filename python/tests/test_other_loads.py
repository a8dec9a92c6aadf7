"""The loads outside of the collection of streams that docs/commands/sketch.accuracy.md names: the figures of the collection do not hold for them."""

import numpy as np
import pytest
import roughly
from conftest import sampled

START = 1_794_960_000
DAY = 86_400
K = 10


def zipf(random, size, exponent, count):
    """This many items of a Zipf distribution."""
    weights = 1 / np.arange(1, size + 1) ** exponent
    return random.choice(size, count, p=weights / weights.sum())


class Counts:
    """The counts of items, and the lowest one of the true top k."""

    def __init__(self, items, amounts=None):
        names, positions = np.unique(items, return_inverse=True)
        counts = np.bincount(positions, amounts)
        self.of = dict(zip(names.tolist(), counts.tolist()))
        self.lowest = np.sort(counts)[-K]

    def recall(self, sketch):
        """The share of the true top k that a list has."""
        return sum(self.of[int(item)] >= self.lowest for item, _ in sketch.items()) / K


@pytest.mark.parametrize("seed", sampled(range(1, 7), 6))
def test_new_frequent_items_without_a_window(seed):
    random = np.random.default_rng(seed)
    new = np.repeat(np.arange(K) + 10**6, 30_000 + 1500 * np.arange(K))
    late = np.r_[new, zipf(random, 300, 0.3, 2 * len(new))]
    random.shuffle(late)
    items = np.r_[zipf(random, 300, 0.3, 10**6), late]
    counts, result = Counts(items), {}
    for width in (80, 320):
        sketch = roughly.TopK(K, width)
        sketch.update(items)
        result[width] = counts.recall(sketch), sketch.accuracy()["agreement"]
    assert result == {80: (0.4, 0.7), 320: (0.9, 0.5)}
    # A window forgets the old counts.
    sketch = roughly.TopK(K, 80, window=DAY * 1000, panes=12, seed="0" * 32)
    sketch.update(items, at=START + np.floor(np.arange(len(items)) / len(items) * DAY * 1000) / 1000)
    assert counts.recall(sketch.between(START * 1000, (START + DAY) * 1000, at=START + DAY - 1)) >= 0.8


@pytest.mark.parametrize("seed", sampled(range(1, 7), 6))
def test_amounts_in_parts_of_a_window(seed):
    random = np.random.default_rng(seed)
    items = zipf(random, 5000, 0.7, 50_000)
    amounts = np.clip(random.lognormal(np.log(100), 1.5, len(items)), 1, 100_000).astype(int)
    times = START + np.floor(np.sort(random.random(len(items))) * DAY * 1000) / 1000
    for width, below, recalls in ((80, range(2, 7), (0.69, 0.82)), (320, range(1), (0.91, 0.94))):
        sketch = roughly.TopK(K, width, window=DAY * 1000, seed=f"{seed:032x}")
        sketch.update(items, amounts, at=times)
        lists = []
        for start in range(START, START + DAY, DAY // 12):
            part = sketch.between(start * 1000, (start + DAY // 12) * 1000, at=START + DAY)
            is_part = (times >= start) & (times < start + DAY // 12)
            lists.append((Counts(items[is_part], amounts[is_part]).recall(part), part.accuracy()["agreement"]))
        assert sum(any(recall < level <= agreement for level in (0.4, 0.6, 0.8)) for recall, agreement in lists) in below
        assert recalls[0] <= np.mean([recall for recall, _ in lists]) <= recalls[1]


@pytest.mark.parametrize("seed", sampled(range(1, 7), 6))
def test_counts_among_items_that_occur_once(seed):
    random = np.random.default_rng(seed)
    items = np.r_[np.arange(950_000) + 10**6, zipf(random, 1000, 1.0, 50_000)]
    random.shuffle(items)
    times = START + np.floor(np.arange(len(items)) * DAY / 1000) / 1000
    counts = Counts(items)
    for width, panes, errors in ((80, 12, (7.5, 9.5)), (80, 24, (14.5, 17)), (320, 12, (0.3, 1.5)), (320, 24, (0.9, 2.3))):
        sketch = roughly.TopK(K, width, window=DAY * 1000, panes=panes, seed=f"{seed:032x}")
        sketch.update(items, at=times)
        now = START + DAY - 0.01
        assert sketch.accuracy(at=now)["agreement"] == 1
        error = 100 * np.mean([1 - count / counts.of[int(item)] for item, count in sketch.items(at=now)])
        assert errors[0] <= error <= errors[1]


@pytest.mark.parametrize("compression", [100, 200])
def test_digests_with_the_same_samples(compression):
    """In the same order, and in another one."""
    for is_shuffled, least, most in ((False, 0.7, 1.0), (True, 0.2, 0.7)):
        covered, digests = 0, 0
        for seed in range(20):
            random = np.random.default_rng(seed)
            samples = random.lognormal(4, 1, 10_000)
            windowed, merged, parts = roughly.TDigest(compression, window=DAY * 1000), roughly.TDigest(compression), []
            for pane in range(12):
                part = random.permutation(samples) if is_shuffled else samples
                windowed.update(part, at=START + pane * DAY // 12 + 1)
                parts.append(roughly.TDigest(compression))
                parts[-1].update(part)
            merged.merge(*parts)
            for digest, time in ((windowed, {"at": START + DAY - 1}), (merged, {})):
                error, rank = digest.accuracy(**time)["rank error p50"], np.mean(samples < digest.quantile(0.5, **time))
                assert error > 0
                covered += abs(rank - 0.5) <= error
                digests += 1
        assert least <= covered / digests <= most
