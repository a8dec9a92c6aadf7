"""Counts of items and weights of samples."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import roughly

LARGEST = 2**32 - 1


def parts_of(count):
    """The increments of at most 100,000 that a client of the command sends."""
    whole, rest = divmod(count, 100_000)
    return [100_000] * whole + [rest] * (rest > 0 or not whole)


@pytest.mark.parametrize("window", [{}, {"window": 3_600_000, "seed": bytes(16)}], ids=["classic", "window"])
def test_large_counts_are_those_of_several_commands(client, window):
    """Also of items that share their buckets, and that are expelled."""
    numbers = np.random.default_rng(3)
    items = numbers.integers(30, size=300)
    counts = numbers.choice([0, 1, 5, 99_999, 100_000, 100_001, 250_000, 999_999], 300)
    options = ["WINDOW", 3_600_000, "SEED", "00" * 16] if window else []
    client.execute_command("TOPK.RESERVE", "k", 5, 8, 3, 0.9, *options)
    one, each = (roughly.TopK(5, 8, 3, 0.9, **window) for _ in range(2))
    expelled = []
    for item, count in zip(items, counts):
        pairs = [argument for part in parts_of(int(count)) for argument in (int(item), part)]
        replies = client.execute_command("TOPK.INCRBY", "k", *pairs)
        expelled.append(next((reply for reply in replies if reply is not None), None))
    one.update(items, counts)
    assert [each.add(item, count) for item, count in zip(items.tolist(), counts.tolist())] == expelled
    assert any(expelled)
    assert one.items() == each.items() == roughly.load(client.dump("k")).items()
    if not window:
        assert one == each == roughly.load(client.dump("k"))


@pytest.mark.parametrize("kwargs", [{}, {"window": 60_000}, {"decay": 0.999}], ids=str)
def test_the_largest_count_takes_no_longer_than_its_parts(kwargs):
    top = roughly.TopK(3, **kwargs)
    top.update({"a": LARGEST, "b": 5})
    top.add("c", LARGEST)
    assert dict(top.items())[b"c"] == LARGEST
    for create in (lambda n: top.add("d", n), lambda n: top.update(["d"], n), lambda n: top.update({"d": n})):
        before = top.copy()
        for n in (-1, LARGEST + 1, 2**62):
            with pytest.raises(ValueError, match="^TopK: increment must be an integer greater or equal to 0 and smaller or equal to 4,294,967,295$"):
                create(n)
        assert top.items() == before.items() and "d" not in top


@pytest.mark.parametrize("kwargs", [{}, {"window": 60_000}, {"decay": 1}], ids=str)
def test_a_count_above_32_bits_is_an_overflow_error_of_every_method(kwargs):
    top = roughly.TopK(3, **kwargs)
    top.update({"a": LARGEST - 5, "b": 5})
    top.add("a", 5)
    assert top.count("a") == LARGEST
    before = top.copy()
    for overflow in (
        lambda: top.add("a"),
        lambda: top.add("b", LARGEST - 4),
        lambda: top.update(["a"]),
        lambda: top.update({"b": LARGEST}),
        lambda: top.update(["a", "c"], 1),
        *([] if "window" in kwargs else [lambda: top.merge(before), lambda: top.merge(top_of("b", LARGEST - 4, **kwargs))]),
    ):
        with pytest.raises(OverflowError, match="^TopK: a count would exceed 4,294,967,295$"):
            overflow()
        assert top.items() == before.items()
    # The items before it are added.
    with pytest.raises(OverflowError):
        top.update(["c", "a", "d"])
    assert [top.count(item) for item in "acd"] == [LARGEST, 1, 0]
    for _ in range(3):
        top.add("a", 0)


def top_of(item, n, **kwargs):
    top = roughly.TopK(3, **kwargs)
    top.add(item, n)
    return top


def repeated(values, weights, compression=100):
    digest = roughly.TDigest(compression)
    digest.update(np.repeat(values, weights))
    return digest


@pytest.mark.parametrize("compression", [1, 10, 100, 1000])
def test_weights_of_one_are_samples_without_weights(compression):
    values = np.random.default_rng(1).normal(size=50_000).round(2)
    for weights in (1, np.ones(values.size, int), [1] * values.size, (1 for _ in values)):
        one, other = roughly.TDigest(compression), roughly.TDigest(compression)
        one.update(values)
        other.update(values, weights)
        assert one.dump() == other.dump() and one.info() == other.info()
    one.add(5)
    other.add(5, 1)
    assert one.dump() == other.dump()


@pytest.mark.parametrize("kind", ["normal", "lognormal", "integers", "sorted"])
def test_weighted_samples_are_as_accurate_as_repeated_ones(kind):
    numbers = np.random.default_rng(2)
    values = {
        "normal": numbers.normal(size=20_000),
        "lognormal": numbers.lognormal(0, 2, 20_000),
        "integers": numbers.integers(1000, size=20_000) * 1.0,
        "sorted": np.arange(20_000.0),
    }[kind]
    weights = numbers.integers(1, 50, values.size)
    digest, other = roughly.TDigest(200), repeated(values, weights, 200)
    digest.update(values, weights)
    total = int(weights.sum())
    assert digest.count == total == other.count
    assert (digest.min(), digest.max()) == (other.min(), other.max())
    assert digest.mean() == pytest.approx(np.average(values, weights=weights))
    order = np.argsort(values)
    ranks = np.cumsum(weights[order]) / total
    for q in (0.01, 0.1, 0.5, 0.9, 0.99):
        value = digest.quantile(q)
        below = np.searchsorted(values[order], [value], "left")[0], np.searchsorted(values[order], [value], "right")[0]
        low, high = (0 if at == 0 else ranks[at - 1] for at in below)
        assert low - 0.01 <= q <= high + 0.01, (q, low, high)
    assert roughly.load(digest.dump()) == digest
    # It takes further samples, and merges.
    digest.update(values)
    digest.merge(other)
    assert digest.count == 2 * total + values.size


def test_one_call_and_several_add_the_same_weights():
    numbers = np.random.default_rng(4)
    values, weights = numbers.normal(size=3000).round(1), numbers.integers(1, 4, 3000)
    one, other, mixed = (roughly.TDigest(50) for _ in range(3))
    one.update(values, weights)
    for value, weight in zip(values.tolist(), weights.tolist()):
        other.add(value, weight)
    for start in range(0, 3000, 7):
        mixed.update(values[start : start + 7], weights=weights[start : start + 7].tolist())
    assert one.dump() == other.dump() == mixed.dump()
    assert one.info() == other.info() == mixed.info()


@pytest.mark.parametrize("count, compression", [(1, 1), (2, 2), (62, 100), (100, 100), (200, 200)])
def test_repeated_samples_with_weights_are_exact(count, compression):
    numbers = np.random.default_rng(6)
    values, weights = np.arange(count) * 10.0, numbers.integers(2, 40, count)
    weights[[0, -1]] = 30_000
    order = numbers.permutation(count)
    one, several = roughly.TDigest(compression), roughly.TDigest(compression)
    one.update(values[order], weights[order])
    for value, weight in zip(values[order].tolist(), weights[order].tolist()):
        several.add(value, weight - 1)
        several.update([value])
    several.merge(one)
    exact = repeated(values, weights, compression)
    q = np.linspace(0, 1, 1001)
    for digest in (one, several):
        assert list(digest.quantile(q)) == list(exact.quantile(q))
        assert list(digest.cdf(values)) == list(exact.cdf(values))
        assert digest.trimmed_mean(0.1, 0.9) == pytest.approx(exact.trimmed_mean(0.1, 0.9))


def test_a_weighted_sample_is_a_repeated_one():
    digest = roughly.TDigest()
    digest.update([3.0, 1.0, 2.0], [5, 1, 2**53])
    means, weights = digest.centroids()
    assert means.dtype == np.float64 and weights.dtype == np.int64
    assert list(means) == [1, 2, 2, 2, 3, 3, 3] and list(weights) == [1, 1, 2**53 - 2, 1, 1, 3, 1]
    # As in stored digests, larger weights have 53 bits.
    digest = roughly.TDigest()
    digest.add(1, 2**53 + 1)
    assert digest.count == 2**53 and roughly.load(digest.dump()) == digest
    empty = roughly.TDigest()
    assert [len(part) for part in empty.centroids()] == [0, 0] and np.isnan(empty.mean())


def test_centroids_are_those_of_the_answers():
    digest = roughly.TDigest()
    values = np.random.default_rng(5).normal(size=100_000)
    digest.update(values)
    before = digest.dump()
    means, weights = digest.centroids()
    assert weights.sum() == digest.count == values.size and (np.diff(means) >= 0).all()
    assert digest.mean() == pytest.approx(values.mean()) and digest.mean() == digest.trimmed_mean(0, 1)
    assert np.average(means, weights=weights) == pytest.approx(digest.mean())
    assert digest.dump() == before
    window = roughly.TDigest(window=60_000, panes=6)
    window.update([1, 2, 30], at=[1_700_000_000, 1_700_000_030, 1_700_000_055])
    at = 1_700_000_055
    assert window.mean(at=at) == 11 and window.mean(at=at, within=10_000) == 30
    assert list(window.centroids(at=at)[0]) == [1, 2, 30]
    assert list(window.centroids(at=at, within=30_000)[1]) == [1, 1]


@pytest.mark.parametrize(
    "values, weights, text",
    [
        ([1, 2], [1, 0], "a weight must be an integer of at least 1"),
        ([1, 2], [-1, 1], "a weight must be an integer of at least 1"),
        ([1, 2], 0, "a weight must be an integer of at least 1"),
        ([1, 2], [2**62, 2**62], "overflow detected"),
        ([1, 2], 2**62, "overflow detected"),
        ([1], 2**63, "out of range"),
        ([1, float("nan")], [1, 2], "finite number"),
        ([1, 2], [1], "different lengths"),
        ([], [1], "different lengths"),
    ],
)
def test_invalid_weights_change_nothing(values, weights, text):
    digest = roughly.TDigest()
    digest.update(range(10))
    before = digest.copy()
    many = 70_000 if isinstance(weights, list) and values else 0
    with pytest.raises(ValueError, match=text):
        digest.update([5] * many + values, [1] * many + weights if many else weights)
    assert digest == before and digest.count == 10
    if len(values) > 1 and isinstance(weights, int) and weights < 1:
        with pytest.raises(ValueError, match=text):
            digest.add(values[0], weights)
    for weight in ("1", None, [None], 1j):
        if weight is not None:
            with pytest.raises(TypeError):
                digest.update([1], weight)
        with pytest.raises(TypeError):
            digest.add(1, weight)
    assert digest == before


def kinds_of(weights):
    yield from (weights, tuple(weights), iter(weights), np.array(weights), np.array(weights, dtype=object))
    yield from (pl.Series(weights), pa.array(weights), pd.Series(weights), pa.chunked_array([weights[:1], weights[1:]]))


def test_weights_may_be_floats_that_are_integers():
    expected = roughly.TDigest()
    expected.update([1, 2, 3], [5, 1, 2**40])
    for weights in kinds_of([5.0, 1.0, 2.0**40]):
        digest = roughly.TDigest()
        digest.update([1, 2, 3], weights)
        assert digest == expected
    for weight in (2.0, np.float64(2)):
        one, other = roughly.TDigest(), roughly.TDigest()
        one.update([7, 8], weight)
        one.add(7, weight)
        other.update([7, 8], 2)
        other.add(7, 2)
        assert one == other


def test_weights_that_are_no_integers_are_named_with_their_position():
    digest = roughly.TDigest()
    for bad in (2.5, float("inf"), 2.0**63):
        for weights in kinds_of([5.0, bad, 1.0]):
            with pytest.raises(ValueError, match=r"^the weight at position 1 must be an integer, not [\d.e+inf]+$"):
                digest.update([1, 2, 3], weights)
        for call in (lambda: digest.update([1], bad), lambda: digest.add(1, bad)):
            with pytest.raises(ValueError, match="^the weight must be an integer, not "):
                call()
    assert digest.count == 0


def test_the_largest_sum_of_weights_is_that_of_the_format():
    digest = roughly.TDigest()
    digest.update([1, 2], [2**62, 2**62 - 2**10])
    assert digest.count == 2**63 - 2**10
    with pytest.raises(ValueError, match="overflow"):
        digest.add(3, 2**10)
    assert roughly.load(digest.dump()) == digest


def test_digests_with_a_window_take_no_weights():
    window = roughly.TDigest(window=60_000)
    before = window.copy()
    for weigh in (lambda: window.add(1, 2), lambda: window.update([1, 2], [1, 2]), lambda: window.update([1], 1)):
        with pytest.raises(ValueError, match="^T-Digest: samples of a digest with a window have no weights$"):
            weigh()
    assert window == before
    window.add(1, 1)
    assert window.count == 1


def test_few_samples_are_exact_up_to_a_number_that_depends_on_the_compression():
    """The numbers in docs/python.md and docs/families/t-digest.md."""
    for compression, exact in ((100, 35), (200, 61), (500, 130), (1000, 233)):
        for samples, is_exact in ((exact, True), (exact + 1, False)):
            digest = roughly.TDigest(compression)
            digest.update(range(samples))
            assert (len(digest.centroids()[0]) == samples) == is_exact, (compression, samples)
