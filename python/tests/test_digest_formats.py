"""Digests of other libraries: centroids, and bytes of DataSketches and of the reference implementation. The package datasketches
writes its own format, and reads it and both encodings of the reference implementation."""

import math
import random
import struct

import datasketches
import numpy as np
import polars as pl
import pytest
import roughly

FORMATS = ["datasketches", "reference", "reference-small"]
QUANTILES = [0, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1]

SAMPLES = {
    "none": [],
    "one": [1.5],
    "two": [1.5, -2.5],
    "equal": [7.25] * 1000,
    "a few": [float(number) for number in range(30)],
    "normal": np.random.default_rng(1).normal(size=100_000),
    "heavy tail": np.random.default_rng(2).pareto(1.1, size=50_000),
    "integers": np.random.default_rng(3).integers(-1000, 1000, 20_000).astype(float),
}


def digest_of(samples, compression=100, **window):
    digest = roughly.TDigest(compression, **window)
    digest.update(samples)
    return digest


def datasketches_of(samples, k=100):
    digest = datasketches.tdigest_double(k)
    for sample in samples:
        digest.update(sample)
    return digest


def rank_error(digest, samples):
    """The largest difference of the share of samples below a quantile, relative to the width of a centroid there."""
    samples = np.sort(samples)
    errors = []
    for q in QUANTILES[1:-1]:
        low, high = (np.searchsorted(samples, digest.quantile(q), side) / len(samples) for side in ("left", "right"))
        errors.append(max(low - q, q - high, 0) / math.sqrt(q * (1 - q)))
    return max(errors)


@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES)
@pytest.mark.parametrize("k", [10, 100, 1000])
def test_digests_that_datasketches_wrote(samples, k):
    written = datasketches_of(samples, k)
    digest = roughly.TDigest.from_bytes(written.serialize(), "datasketches")
    assert (digest.count, digest.compression) == (written.get_total_weight(), k)
    if len(samples):
        assert (digest.min(), digest.max()) == (min(samples), max(samples))
        assert rank_error(digest, samples) < 10 / k
    # The digest is one like others.
    digest.update([0.0, 1.0])
    assert digest.count == len(samples) + 2 and roughly.load(digest.dump()) == digest


@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES)
@pytest.mark.parametrize("compression", [10, 100, 1000])
@pytest.mark.parametrize("format", FORMATS)
def test_datasketches_reads_all_formats(format, compression, samples):
    digest = digest_of(samples, compression)
    read = datasketches.tdigest_double.deserialize(digest.to_bytes(format))
    assert (read.get_total_weight(), read.k) == (len(samples), compression)
    if len(samples):
        assert (read.get_min_value(), read.get_max_value()) == (min(samples), max(samples))
        # DataSketches interpolates in another way, so its answers differ by the weights of a few centroids.
        for q in QUANTILES[1:-1] if len(samples) > 100 else []:
            width = 30 / compression * math.sqrt(q * (1 - q))
            low, high = (digest.quantile(max(0, min(1, q + sign * width))) for sign in (-1, 1))
            assert low - 1e-6 <= read.get_quantile(q) <= high + 1e-6


@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES)
@pytest.mark.parametrize("compression", [1, 10, 100, 1000])
@pytest.mark.parametrize("format", FORMATS)
def test_the_own_bytes_give_the_same_answers(format, compression, samples):
    digest = digest_of(samples, compression)
    again = roughly.TDigest.from_bytes(bytearray(digest.to_bytes(format)), format)
    assert again.compression == (max(10, compression) if format == "datasketches" else compression)
    assert again.count == digest.count
    if len(samples):
        assert (again.min(), again.max()) == (digest.min(), digest.max())
        if format == "reference":
            assert again.quantile(QUANTILES).tolist() == digest.quantile(QUANTILES).tolist()
        elif compression >= 10:
            assert np.allclose(again.quantile(QUANTILES), digest.quantile(QUANTILES), rtol=1e-6)


def verbose(min, max, compression, centroids):
    head = struct.pack(">idddi", 1, min, max, compression, len(centroids))
    return head + b"".join(struct.pack(">dd", weight, mean) for mean, weight in centroids)


def small(min, max, compression, centroids, sizes=(230, 1150)):
    head = struct.pack(">iddfhhh", 2, min, max, compression, *sizes, len(centroids))
    return head + b"".join(struct.pack(">ff", weight, mean) for mean, weight in centroids)


def doubles(k, min, max, centroids, buffered=(), flags=0):
    head = struct.pack("<BBBHBHIIdd", 2, 1, 20, k, flags, 0, len(centroids), len(buffered), min, max)
    pairs = b"".join(struct.pack("<dQ", mean, weight) for mean, weight in centroids)
    return head + pairs + b"".join(struct.pack("<d", sample) for sample in buffered)


CENTROIDS = [(1.0, 1), (2.0, 3), (5.5, 1)]


@pytest.mark.parametrize("encode", [verbose, small])
def test_bytes_of_the_reference_implementation(encode):
    """As its specification describes them; DataSketches reads the same digest."""
    data = encode(0.5, 6, 120, CENTROIDS)
    read = datasketches.tdigest_double.deserialize(data)
    assert (read.k, read.get_total_weight(), read.get_min_value(), read.get_max_value()) == (120, 5, 0.5, 6)
    for format in ("reference", "reference-small"):
        digest = roughly.TDigest.from_bytes(data, format)
        assert (digest.compression, digest.count, digest.min(), digest.max()) == (120, 5, 0.5, 6)
        assert [each.tolist() for each in digest.centroids()] == [[1, 2, 5.5], [1, 3, 1]]


@pytest.mark.parametrize("extent", [{"min": 9.5}, {"max": 41.5}, {"min": 9.5, "max": 41.5}, {}], ids=str)
@pytest.mark.parametrize("format", FORMATS)
def test_one_sample_keeps_minimum_and_maximum(format, extent):
    digest = roughly.TDigest.from_centroids([20.0], [1], **extent)
    written = digest.to_bytes(format)
    read = datasketches.tdigest_double.deserialize(written)
    expected = (1, extent.get("min", 20), extent.get("max", 20))
    assert (read.get_total_weight(), read.get_min_value(), read.get_max_value()) == expected
    same = roughly.TDigest.from_bytes(written, format)
    assert (same.count, same.min(), same.max()) == expected and same == digest
    assert format != "datasketches" or roughly.TDigest.from_bytes(read.serialize(), format).count == 1


def test_buffered_samples_of_datasketches():
    """Of which its Python package writes none."""
    data = doubles(100, 1, 9, CENTROIDS, [9.0, 3.0, 2.5], flags=4)
    read = datasketches.tdigest_double.deserialize(data)
    digest = roughly.TDigest.from_bytes(memoryview(data), "datasketches")
    assert read.get_total_weight() == digest.count == 8
    assert digest.centroids()[0].tolist() == [1, 2, 2.5, 3, 5.5, 9]


def test_windows():
    digest = digest_of([], window=60_000, panes=6)
    digest.update([5, 100], at=[1_700_000_000, 1_700_000_055])
    for format in FORMATS:
        whole, part = (
            roughly.TDigest.from_bytes(digest.to_bytes(format, at=1_700_000_055, within=within), format)
            for within in (None, 10_000)
        )
        assert (whole.count, whole.min(), part.count, part.min()) == (2, 5, 1, 100)
        assert whole.window is None
    period = digest.between(-60_000, -30_000, at=1_700_000_059)
    assert roughly.TDigest.from_bytes(period.to_bytes("reference"), "reference").max() == 5


NAN, INFINITY = float("nan"), float("inf")
#: Damaged or refused bytes, with the format and the text of the error.
REFUSED = [
    ("datasketches", b"", "byte 0: the bytes end early"),
    ("datasketches", doubles(100, 1, 2, [])[:7], "byte 7: the bytes end early"),
    ("datasketches", b"\1\1\7" + bytes(5), "byte 2: not a t-digest of DataSketches"),
    ("datasketches", b"\1\2\x14" + bytes(5), "byte 1: unknown version 2"),
    ("datasketches", b"\1\1\x14\x64\0\0\0\0", "byte 0: the preamble has 1 instead of 2 units"),
    ("datasketches", b"\1\1\x14\0\0\1\0\0", "byte 3: k is 0"),
    ("datasketches", b"\1\1\x14\x64\0\1\0\0\0", "byte 8: 0 bytes must follow, not 1"),
    ("datasketches", b"\1\1\x14\x64\0\2\0\0", "byte 8: 8 bytes must follow, not 0"),
    ("datasketches", b"\1\1\x14\x64\0\2\0\0" + struct.pack("<d", NAN), "byte 8: the mean is not finite"),
    ("datasketches", doubles(100, 1, 6, CENTROIDS)[:-1], "byte 32: 48 bytes must follow, not 47"),
    ("datasketches", doubles(100, 1, 6, CENTROIDS) + b"x", "byte 32: 48 bytes must follow, not 49"),
    ("datasketches", doubles(100, 1, 6, CENTROIDS)[:8] + b"\xff" * 8 + bytes(16), "byte 32: 103079215080 bytes must follow, not 0"),
    ("datasketches", doubles(100, NAN, 6, CENTROIDS), "byte 16: the minimum or maximum is not finite"),
    ("datasketches", doubles(100, 1, 6, [(2.0, 1), (1.0, 1)]), "byte 48: the means are not in order"),
    ("datasketches", doubles(100, 1, 6, [(1.0, 1), (NAN, 1)]), "byte 48: the mean is not finite"),
    ("datasketches", doubles(100, 1, 6, [(1.0, 1), (7.0, 1)]), "byte 48: the mean is outside minimum and maximum"),
    ("datasketches", doubles(100, 1, 6, [(1.0, 0)]), "byte 32: the weight is not an integer of at least 1"),
    ("datasketches", doubles(100, 1, 6, [(1.0, 2**63)]), "byte 32: the weight is not an integer of at least 1"),
    ("datasketches", doubles(100, 1, 6, [(1.0, 2**62)] * 2), "byte 48: the sum of the weights exceeds 2^63 - 1"),
    ("datasketches", doubles(100, 1, 6, CENTROIDS, [2.0, INFINITY]), "byte 88: the mean is not finite"),
    ("reference", b"\0\0\0", "byte 3: the bytes end early"),
    ("reference", b"\0\0\0\3" + bytes(40), "byte 0: unknown encoding 3"),
    ("reference", verbose(1, 6, 100, CENTROIDS)[:30], "byte 30: the bytes end early"),
    ("reference", verbose(1, 6, NAN, CENTROIDS), "byte 20: the compression NaN is out of range"),
    ("reference", verbose(1, 6, 0.5, CENTROIDS), "byte 20: the compression 0.5 is out of range"),
    ("reference", verbose(1, 6, 1e300, CENTROIDS), "byte 20: the compression 1"),
    ("reference", verbose(1, 6, 100, CENTROIDS)[:28] + b"\xff" * 4, "byte 28: -1 centroids"),
    ("reference", verbose(1, 6, 100, CENTROIDS)[:28] + b"\x7f\xff\xff\xff", "byte 32: 34359738352 bytes must follow, not 0"),
    ("reference", verbose(1, 6, 100, CENTROIDS) + b"x", "byte 32: 48 bytes must follow, not 49"),
    ("reference", verbose(INFINITY, 6, 100, CENTROIDS), "byte 4: the minimum or maximum is not finite"),
    ("reference", verbose(1, 6, 100, [(1.0, 1), (2.0, 1.5)]), "byte 48: the weight is not an integer of at least 1"),
    ("reference", verbose(1, 6, 100, [(1.0, 1), (2.0, NAN)]), "byte 48: the weight is not an integer of at least 1"),
    ("reference", verbose(1, 6, 100, [(1.0, 1), (2.0, 1e300)]), "byte 48: the "),
    ("reference", verbose(1, 6, 100, [(2.0, 1), (1.0, 1)]), "byte 48: the means are not in order"),
    ("reference", small(1, 6, 100, CENTROIDS)[:-4], "byte 30: 24 bytes must follow, not 20"),
    ("reference", small(1, 6, 100, [(1.0, 1), (6.5, 1)]), "byte 38: the mean is outside minimum and maximum"),
    # Tree digests of the reference implementation, which it wrote with the same first number before they had a minimum and a maximum.
    ("reference", bytes.fromhex("000000014059000000000000000000033ff000000000000040000000000000004014000000000000000000010000000300000001"), "byte 20: the compression"),
    ("reference", bytes.fromhex("000000024059000000000000000000033f8000003f80000040400000010301"), "byte "),
]


@pytest.mark.parametrize("format, data, text", REFUSED)
def test_damaged_bytes_are_errors_with_their_position(format, data, text):
    with pytest.raises(ValueError) as caught:
        roughly.TDigest.from_bytes(data, format)
    assert str(caught.value).startswith(f"T-Digest: {text}")


def test_any_damage_is_refused_or_a_digest():
    """Neither panics nor more memory than the bytes justify, whatever they contain."""
    numbers = random.Random(5)
    whole = [(format, digest_of(samples).to_bytes(format)) for format in FORMATS for samples in SAMPLES.values()]
    loaded = refused = 0
    for _ in range(20_000):
        format, data = numbers.choice(whole)
        data = bytearray(data)
        for _ in range(numbers.randrange(1, 4)):
            match numbers.randrange(3):
                case 0:
                    data[numbers.randrange(len(data))] = numbers.choice([0, 1, 127, 128, 255, numbers.randrange(256)])
                case 1:
                    del data[numbers.randrange(len(data)) :]
                case _:
                    data += numbers.randbytes(numbers.randrange(20))
            if not data:
                break
        try:
            digest = roughly.TDigest.from_bytes(data, format)
        except ValueError as error:
            assert str(error).startswith("T-Digest: byte ")
            refused += 1
            continue
        loaded += 1
        digest.add(1)
        assert roughly.load(digest.dump()) == digest and digest.__sizeof__() < 4000 + 64 * len(data)
    assert loaded > 1000 and refused > 1000


def test_what_a_format_cannot_contain():
    digest = digest_of([1e300, 2e300])
    with pytest.raises(ValueError, match="^T-Digest: centroid 0: the mean does not fit in 32 bits: use 'reference'$"):
        digest.to_bytes("reference-small")
    assert roughly.TDigest.from_bytes(digest.to_bytes("reference"), "reference").max() == 2e300
    with pytest.raises(ValueError, match="^T-Digest: the small encoding has at most 32767 centroids: use 'reference'$"):
        roughly.TDigest(20_000).to_bytes("reference-small")
    large = roughly.TDigest(100_000)
    assert datasketches.tdigest_double.deserialize(large.to_bytes("datasketches")).k == 65535
    for format in ("verbose", "", "DataSketches"):
        for call in (lambda: digest.to_bytes(format), lambda: roughly.TDigest.from_bytes(b"", format)):
            with pytest.raises(ValueError, match="^format must be 'datasketches', 'reference' or 'reference-small'"):
                call()
    with pytest.raises(TypeError, match="^format must be a string"):
        digest.to_bytes(1)
    with pytest.raises(TypeError):
        roughly.TDigest.from_bytes("text", "reference")


COLUMNS = {
    "lists": list,
    "arrays": np.array,
    "polars": pl.Series,
    "generators": iter,
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_centroids_of_any_column(column):
    means, weights = [2.0, 1.0, 5.5], [3, 1, 1]
    digest = roughly.TDigest.from_centroids(column(means), column(weights), min=0.5, max=6, compression=200)
    assert (digest.count, digest.min(), digest.max(), digest.compression) == (5, 0.5, 6, 200)
    assert [each.tolist() for each in digest.centroids()] == [[1, 2, 5.5], [1, 3, 1]]
    assert digest == roughly.TDigest.from_centroids(*digest.centroids(), min=digest.min(), max=digest.max(), compression=200)
    floats = roughly.TDigest.from_centroids(column(means), column([3.0, 1.0, 1.0]))
    assert (floats.count, floats.min(), floats.max(), floats.compression) == (5, 1, 5.5, 100)
    assert roughly.TDigest.from_centroids(column(means), 7).count == 21


@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES)
def test_the_own_centroids_give_the_same_answers(samples):
    digest = digest_of(samples)
    again = roughly.TDigest.from_centroids(*digest.centroids(), min=digest.min(), max=digest.max())
    assert again.count == digest.count
    if len(samples):
        assert again.quantile(QUANTILES).tolist() == digest.quantile(QUANTILES).tolist()


def test_more_centroids_than_the_capacity_are_compressed():
    means = np.random.default_rng(4).normal(size=200_000)
    digest = roughly.TDigest.from_centroids(means, 2, min=-10, max=10)
    assert (digest.count, digest.min(), digest.max()) == (400_000, -10, 10)
    assert digest.info()["Merged nodes"] + digest.info()["Unmerged nodes"] <= 610
    assert rank_error(digest, means) < 0.1


def test_refused_centroids():
    of = roughly.TDigest.from_centroids
    for call, text in [
        (lambda: of([1, NAN], 1), "position 1: the mean is not finite"),
        (lambda: of([1, 2], [1, 0]), "position 1: the weight is not an integer of at least 1"),
        (lambda: of([1, 2], [1, -5]), "position 1: the weight is not an integer of at least 1"),
        (lambda: of([2, 1], 1, min=1.5), "position 1: the mean is outside minimum and maximum"),
        (lambda: of([2, 1], 1, max=1.5), "position 0: the mean is outside minimum and maximum"),
        (lambda: of([2, 1], 1, min=NAN), "position 0: the mean is outside minimum and maximum"),
        (lambda: of([2, 1], 2**62), "position 1: the sum of the weights exceeds 2^63 - 1"),
        (lambda: of([2, 1], 1, min=-INFINITY), "val parameter needs to be a finite number"),
        (lambda: of([], [], compression=0), "compression parameter needs to be a positive integer"),
    ]:
        with pytest.raises(ValueError) as caught:
            call()
        assert str(caught.value) == f"T-Digest: {text}"
    with pytest.raises(ValueError, match="^the weight at position 1 must be an integer, not 1.5$"):
        of([1, 2], [1, 1.5])
    for weights in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match="different lengths$"):
            of([1, 2], weights)
    assert of([], []).count == 0 and of([], [], min=1, max=2) == roughly.TDigest()
