//! `TDigest`: the commands TDIGEST.

use crate::arguments::arrow::{self, Number};
use crate::arguments::batch::{SHORT_BATCH, chunk_items, reserve};
use crate::arguments::bytes::{bytes, bytes_of};
use crate::arguments::numbers::{Counts, CountsReader, Numbers, answers, for_each_numbers, weight};
use crate::arguments::numpy_array::{is_plain, results};
use crate::arguments::scalars::{Integer, Real, integer, number};
use crate::classes::digest_formats::{Format, Parts, decode, encode};
use crate::error::Error;
use crate::sketch::additions::Additions;
use crate::sketch::class::{Base, Class, class, merge, others_of};
use crate::sketch::lock::Shared;
use crate::sketch::period::{Step, Time, series};
use crate::sketch::variants::{Variants, either, variants};
use crate::sketch::window::{At, When, Within, new_window};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyMapping, PyTuple, PyType};
use roughly_sketch::memory::{Budget, with_capacity};
use roughly_sketch::t_digest::{
    Centroid, Compressed, DigestError, TDigest as Classic, TDigestWindow,
};
use roughly_sketch::window::Panes;

variants! {
    /// A t-digest.
    Digest {
        Classic(Classic),
        Windowed(TDigestWindow),
    }
}

/// Samples that are added at once.
const PART_SAMPLES: usize = 1 << 16;

/// NumPy's type of samples, and the kinds of numbers that it converts.
const SAMPLES: (&str, &[char]) = ("float64", &['f', 'i', 'u']);

/// As [`SAMPLES`], of ranks.
const RANKS: (&str, &[char]) = ("int64", &['i']);

impl Digest {
    fn compression(&self) -> u32 {
        either!(Self, self, |digest| digest.compression())
    }

    fn min(&self, panes: Panes) -> f64 {
        match self {
            Self::Classic(digest) => digest.min(),
            Self::Windowed(digest) => digest.min_at(panes),
        }
    }

    fn max(&self, panes: Panes) -> f64 {
        match self {
            Self::Classic(digest) => digest.max(),
            Self::Windowed(digest) => digest.max_at(panes),
        }
    }

    fn add(&mut self, values: &[f64], additions: &mut Additions) -> Result<(), Error> {
        match self {
            Self::Classic(digest) => Ok(digest.add(values)?),
            Self::Windowed(digest) => {
                additions.add(&mut **digest, values.len(), |digest, range, advance| {
                    advance.run(digest);
                    Ok(digest.add_within(&values[range], Budget::UNLIMITED)?)
                })
            }
        }
    }

    fn add_weighted(&mut self, samples: &[Centroid]) -> Result<(), Error> {
        match self {
            Self::Classic(digest) => Ok(digest.add_weighted(samples, Budget::UNLIMITED)?),
            Self::Windowed(_) => Err(NO_WEIGHTS),
        }
    }

    /// Checks the weights of samples before the first of them is added.
    fn check_weights(&self, weights: impl Iterator<Item = i64>) -> Result<(), Error> {
        let Self::Classic(digest) = self else {
            return Err(NO_WEIGHTS);
        };
        let mut sum = digest.observations();
        for weight in weights {
            if weight < 1 {
                return Err(DigestError::InvalidWeight.into());
            }
            sum = sum.checked_add(weight).ok_or(DigestError::Overflow)?;
        }
        Ok(())
    }

    /// Calls `read` with the compressed form, which the cache keeps until the next write.
    fn compressed<R>(&self, panes: Panes, read: impl FnOnce(&Compressed) -> R) -> Result<R, Error> {
        Ok(match self {
            Self::Classic(digest) => {
                digest.with_cache(|digest, cache| digest.compressed_with(cache).map(read))
            }
            Self::Windowed(digest) => {
                digest.with_cache(|digest, cache| digest.compressed_at(panes, cache).map(read))
            }
        }?)
    }
}

impl TDigest {
    /// Answers a query for a number, or for each of several, unless one of them is invalid.
    fn answers<'py, N, R>(
        &self,
        numbers: &Bound<'py, PyAny>,
        (dtype, kinds): (&str, &[char]),
        (at, within): (Option<At>, Option<Within>),
        (is_invalid, error): (impl Fn(N) -> bool + Sync, &'static str),
        answer: impl Fn(&Compressed, N) -> R + Sync,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        N: numpy::Element + FromPyObjectOwned<'py> + Number,
        R: numpy::Element + IntoPyObject<'py> + Copy + Send,
    {
        let when = When::new(at, within);
        answers(numbers, dtype, kinds, |numbers: &[N]| {
            if numbers.iter().any(|&number| is_invalid(number)) {
                return Err(Error::value(error));
            }
            let mut answers = with_capacity(numbers.len())?;
            self.sketch.read(|digest| {
                digest.compressed(digest.panes(when)?, |digest| {
                    answers.extend(numbers.iter().map(|&number| answer(digest, number)));
                })
            })?;
            Ok(answers)
        })
    }
}

const NO_WEIGHTS: Error =
    Error::value("T-Digest: samples of a digest with a window have no weights");

/// Refuses samples that are not finite.
fn check(values: &[f64]) -> Result<(), Error> {
    match values.iter().all(|value| value.is_finite()) {
        true => Ok(()),
        false => Err(DigestError::NotFinite.into()),
    }
}

/// A t-digest: estimates quantiles of samples (TDIGEST.CREATE).
///
/// `compression` is positive: with 100, the default, a digest has at most 610 nodes. `window`, `panes` and `finest` are those of
/// `CountMinSketch`.
///
/// Raises `ValueError` with the text of the command for a parameter that is out of range, and `MemoryError`.
///
/// >>> latency = TDigest()
/// >>> latency.update(range(1, 1001))
/// >>> latency.quantile(0.5), list(latency.quantile([0.9, 0.99])) == [900.5, 990.5]
/// (500.5, True)
/// >>> latency
/// <TDigest compression=100 count=1000>
#[pyclass(module = "roughly", frozen, extends = Base)]
pub struct TDigest {
    sketch: Shared<Digest>,
}

class!(TDigest of Digest: "compression", "count");

#[pymethods]
impl TDigest {
    #[new]
    #[pyo3(signature = (compression = 100, *, window = None, panes = None, finest = None))]
    fn new(
        #[pyo3(from_py_with = integer)] compression: i64,
        window: Option<Integer>,
        panes: Option<Integer>,
        finest: Option<Integer>,
    ) -> PyResult<Self> {
        if let Some(window) = new_window::<TDigestWindow>(window, panes, finest, false)? {
            let digest = TDigestWindow::new(compression, window, Budget::UNLIMITED);
            let digest = digest.map_err(|error| match error {
                DigestError::CompressionTooLarge => Error::value(
                    "T-Digest: the compression of a digest with a window can be at most 200000",
                ),
                error => error.into(),
            })?;
            return Ok(Self::of(Digest::Windowed(digest.into())));
        }
        let digest = Classic::new(compression, Budget::UNLIMITED).map_err(Error::from)?;
        Ok(Self::of(Digest::Classic(digest.into())))
    }

    /// Adds a sample (TDIGEST.ADD) that counts `weight` times, at least once. `at` is the time of the addition to a digest with a
    /// window, in Unix seconds or as a `datetime` with a time zone, by default now; such a digest takes no weights.
    ///
    /// `ValueError` if the sample is not finite, the weight is out of range, or the time is before the newest pane or, without
    /// `allow_future`, more than one pane ahead of the clock.
    ///
    /// >>> latency = TDigest()
    /// >>> latency.add(12.5)
    /// >>> latency.add(250, 3)
    /// >>> latency.count, latency.mean()
    /// (4, 190.625)
    #[pyo3(signature = (value, weight = 1, *, at = None, allow_future = false))]
    fn add(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number)] value: f64,
        #[pyo3(from_py_with = weight)] weight: i64,
        at: Option<At>,
        allow_future: bool,
    ) -> PyResult<()> {
        let add = |digest: &mut Digest| {
            let mut additions = Additions::one(at, allow_future, digest.timeline())?;
            // Before the digest advances.
            check(&[value])?;
            match weight {
                1 => digest.add(&[value], &mut additions),
                _ => digest.add_weighted(&[Centroid {
                    mean: value,
                    weight,
                }]),
            }
        };
        Ok(self.sketch.poke(py, add)?)
    }

    /// Adds all samples of an array, a column, or another object with a length; none if one is not finite (TDIGEST.ADD). Of an
    /// iterable without a length, adds the samples before one that is not finite, and reads at most `chunk` samples ahead, 1 to
    /// 4,096; of a stream of columns, at most a chunk of it or 65,536 samples. `at` is the time of the additions to a digest with a
    /// window, or an array with a time for each sample. `allow_future` is that of `add`.
    ///
    /// `weights` are integers of at least 1, or floats such as 5.0: how often each sample counts, or all of them. Of a mapping, the values
    /// are the weights; `TypeError` for a mapping and `weights`. With weights, an iterable is read at once. The sum of all weights of a
    /// digest is at most 2**63 - 1, and a weight above 2**53 is rounded down to a float. A digest with a window takes no weights.
    ///
    /// >>> latency = TDigest()
    /// >>> latency.update([10.5, 11.5, 250.0])
    /// >>> latency.update([12.5, 40.0], weights=[90, 7])
    /// >>> latency.count, latency.mean()
    /// (100, 16.77)
    #[pyo3(signature = (values, weights = None, *, at = None, allow_future = false, chunk = 4096))]
    fn update(
        &self,
        values: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
        at: Option<&Bound<'_, PyAny>>,
        allow_future: bool,
        #[pyo3(from_py_with = chunk_items)] chunk: usize,
    ) -> PyResult<()> {
        if !is_plain(values)
            && let Ok(mapping) = values.cast::<PyMapping>()
        {
            if weights.is_some() {
                let text = "a mapping has weights of its own: update takes no others";
                return Err(Error::Type(text.into()).into());
            }
            let (values, weights) = (mapping.keys()?, mapping.values()?);
            return self.update(&values, Some(&weights), at, allow_future, chunk);
        }
        let py = values.py();
        let timeline = self.sketch.peek(py, |digest| digest.timeline().copied());
        let mut additions = Additions::of(at, allow_future, timeline)?;
        let weights = weights.map(Counts::of_weights).transpose()?;
        if weights.is_none()
            && let Some(column) = arrow::of(values, "item")?
        {
            let is_sized = values.hasattr(intern!(py, "__len__"))?;
            return self.update_from_column(py, column, is_sized, additions);
        }
        let sized = match weights {
            Some(_) => Some(Numbers::<f64>::of(values, "item", SAMPLES.0, SAMPLES.1)?),
            None => Numbers::<f64>::of_sized(values, SAMPLES.0, SAMPLES.1)?,
        };
        let Some(values) = sized else {
            for_each_numbers(values, chunk, |values| {
                // The samples before one that is not finite are added.
                let valid = values.iter().take_while(|value| value.is_finite()).count();
                self.sketch
                    .write(|digest| digest.add(&values[..valid], &mut additions))?;
                check(&values[valid..])
            })?;
            return Ok(additions.finish()?);
        };
        let values = values.as_slice()?;
        additions.check_len(values.len())?;
        if let Some(Counts::Each(weights)) = &weights
            && weights.as_slice()?.len() != values.len()
        {
            return Err(Error::value("values and weights have different lengths").into());
        }
        // If a value is invalid, none is added. The only part is checked as a whole.
        if weights.is_some() || values.len() > PART_SAMPLES {
            py.detach(|| check(values))?;
        }
        if let Some(weights) = &weights {
            return self.update_weighted(py, values, || weights.reader());
        }
        self.add_parts(py, values, |digest, part, copy| {
            copy.extend_from_slice(part);
            check(copy)?;
            digest.add(copy, &mut additions)
        })
    }

    /// The values at quantiles from 0 to 1, a number or several (TDIGEST.QUANTILE). A value can be between two samples, and far from
    /// both if they are: with `compression` 100, from 36 samples on; with 1000, from 234.
    ///
    /// >>> latency = TDigest()
    /// >>> latency.update(range(1, 1001))
    /// >>> latency.quantile(0.5), list(latency.quantile([0.9, 0.99])) == [900.5, 990.5]
    /// (500.5, True)
    #[pyo3(signature = (q, *, at = None, within = None))]
    fn quantile<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let is_invalid = |q| !(0.0..=1.0).contains(&q);
        let check = (is_invalid, "T-Digest: quantile should be in [0,1]");
        self.answers(q, SAMPLES, (at, within), check, Compressed::quantile)
    }

    /// The quantiles of each `step` of a window (SKETCH.SERIES): a list per row, with the Unix time in milliseconds at which its first
    /// pane begins, the milliseconds that its panes cover, and the quantile, or the quantiles in order. `step` is in milliseconds or a `timedelta`; the other arguments are
    /// those of `between`. Each pane is in the row of the step in which it begins.
    ///
    /// >>> latency = TDigest(window=60_000, panes=6)
    /// >>> latency.update([250, 10, 20], at=[1_700_000_000, 1_700_000_020, 1_700_000_020])
    /// >>> latency.series(20_000, q=[0, 1], at=1_700_000_025)[-2:]
    /// [[1700000000000, 20000, 250.0, 250.0], [1700000020000, 5000, 10.0, 20.0]]
    #[pyo3(signature = (step, start = None, end = None, *, q, at = None))]
    fn series<'py>(
        this: &Bound<'py, Self>,
        step: Step,
        start: Option<Time>,
        end: Option<Time>,
        q: &Bound<'py, PyAny>,
        at: Option<At>,
    ) -> PyResult<Bound<'py, PyAny>> {
        series(this, step, (start, end, at), ("quantile", &[q]))
    }

    /// The fractions of samples that are smaller than these values, plus half of those that are equal: a number or several (TDIGEST.CDF).
    /// nan if there are no samples.
    ///
    /// >>> latency = TDigest()
    /// >>> latency.update(range(1, 1001))
    /// >>> latency.cdf(1), latency.cdf(2000), list(latency.cdf([0, 1001])) == [0, 1]
    /// (0.0005, 1.0, True)
    #[pyo3(signature = (value, *, at = None, within = None))]
    fn cdf<'py>(
        &self,
        value: &Bound<'py, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // NaN is no number for the commands.
        let check = (f64::is_nan, "T-Digest: error parsing cdf");
        self.answers(value, SAMPLES, (at, within), check, Compressed::cdf)
    }

    /// The numbers of samples that are smaller than these values, plus half of those that are equal: a number or several (TDIGEST.RANK).
    /// -1 for a value below the smallest sample, and -2 if there are no samples.
    ///
    /// >>> latency = TDigest()
    /// >>> latency.update(range(1, 1001))
    /// >>> latency.rank(1), latency.rank(2000), list(latency.rank([2, 1001])) == [1, 1000]
    /// (0, 1000, True)
    #[pyo3(signature = (value, *, at = None, within = None))]
    fn rank<'py>(
        &self,
        value: &Bound<'py, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let check = (f64::is_nan, "T-Digest: error parsing value");
        self.answers(value, SAMPLES, (at, within), check, Compressed::rank)
    }

    /// The numbers of samples that are larger than these values, plus half of those that are equal: a number or several
    /// (TDIGEST.REVRANK). -1 for a value above the largest sample, and -2 if there are no samples.
    ///
    /// >>> latency = TDigest()
    /// >>> latency.update(range(1, 1001))
    /// >>> latency.revrank(1000), latency.revrank(0), list(latency.revrank([999, -1])) == [1, 1000]
    /// (0, 1000, True)
    #[pyo3(signature = (value, *, at = None, within = None))]
    fn revrank<'py>(
        &self,
        value: &Bound<'py, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let check = (f64::is_nan, "T-Digest: error parsing value");
        self.answers(value, SAMPLES, (at, within), check, Compressed::revrank)
    }

    /// The values at ranks from the smallest, which has rank 0: a number or several (TDIGEST.BYRANK).
    ///
    /// >>> latency = TDigest()
    /// >>> latency.update(range(1, 1001))
    /// >>> latency.byrank(0), latency.byrank(999), list(latency.byrank([0, 1000])) == [1, float("inf")]
    /// (1.0, 1000.0, True)
    #[pyo3(signature = (rank, *, at = None, within = None))]
    fn byrank<'py>(
        &self,
        rank: &Bound<'py, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let check = (i64::is_negative, "T-Digest: rank needs to be non negative");
        self.answers(rank, RANKS, (at, within), check, Compressed::by_rank)
    }

    /// The values at ranks from the largest, which has rank 0: a number or several (TDIGEST.BYREVRANK).
    ///
    /// >>> latency = TDigest()
    /// >>> latency.update(range(1, 1001))
    /// >>> latency.byrevrank(0), latency.byrevrank(999), list(latency.byrevrank([0, 1000])) == [1000, float("-inf")]
    /// (1000.0, 1.0, True)
    #[pyo3(signature = (rank, *, at = None, within = None))]
    fn byrevrank<'py>(
        &self,
        rank: &Bound<'py, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let check = (i64::is_negative, "T-Digest: rank needs to be non negative");
        self.answers(rank, RANKS, (at, within), check, Compressed::by_revrank)
    }

    /// The mean of the samples between two quantiles from 0 to 1 (TDIGEST.TRIMMED_MEAN).
    ///
    /// >>> latency = TDigest()
    /// >>> latency.update([1, 2, 3, 1000])
    /// >>> latency.trimmed_mean(0, 0.75)
    /// 2.0
    #[pyo3(signature = (low, high, *, at = None, within = None))]
    fn trimmed_mean(
        &self,
        py: Python<'_>,
        low: Real,
        high: Real,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<f64> {
        let (when, Real(low), Real(high)) = (When::new(at, within), low, high);
        if ![low, high].iter().all(|cut| (0.0..=1.0).contains(cut)) {
            let text = "T-Digest: low_cut_percentile and high_cut_percentile should be in [0,1]";
            return Err(Error::value(text).into());
        }
        if low >= high {
            let text = "T-Digest: low_cut_percentile should be lower than high_cut_percentile";
            return Err(Error::value(text).into());
        }
        let mean = |digest: &Compressed| digest.trimmed_mean(low, high);
        let read = |digest: &Digest| digest.compressed(digest.panes(when)?, mean);
        Ok(py.detach(|| self.sketch.read(read))?)
    }

    /// The mean of the samples; nan if there are none. It is exact except for rounding.
    ///
    /// >>> latency = TDigest()
    /// >>> latency.update([1, 2, 6])
    /// >>> latency.mean()
    /// 3.0
    #[pyo3(signature = (*, at = None, within = None))]
    fn mean(&self, py: Python<'_>, at: Option<At>, within: Option<Within>) -> PyResult<f64> {
        self.trimmed_mean(py, Real(0.0), Real(1.0), at, within)
    }

    /// The means and the weights of the centroids, in the order of the means, as two NumPy arrays, or two lists without NumPy. They
    /// are those of the compressed form, from which queries are answered: of few samples, all.
    ///
    /// >>> latency = TDigest()
    /// >>> latency.update([2, 1, 6])
    /// >>> means, weights = latency.centroids()
    /// >>> list(means) == [1, 2, 6], list(weights) == [1, 1, 1]
    /// (True, True)
    #[pyo3(signature = (*, at = None, within = None))]
    fn centroids<'py>(
        &self,
        py: Python<'py>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let when = When::new(at, within);
        let read = |digest: &Digest| {
            digest.compressed(digest.panes(when)?, |digest| {
                let centroids = digest.centroids();
                let mut means = with_capacity(centroids.len())?;
                let mut weights = with_capacity(centroids.len())?;
                for Centroid { mean, weight } in centroids {
                    means.push(mean);
                    weights.push(weight);
                }
                Ok::<_, Error>((means, weights))
            })?
        };
        let (means, weights) = py.detach(|| self.sketch.read(read))?;
        Ok((results(py, means)?, results(py, weights)?))
    }

    /// A digest of the centroids of another one, such as a table of means and weights, in any order: weights are integers of at least 1,
    /// or floats such as 5.0, or one for all. `min` and `max` are the smallest and the largest sample, by default those of the means.
    ///
    /// `ValueError` with the position of a mean or weight that is refused, as those of `update`, and of a mean outside `min` and `max`.
    ///
    /// >>> latency = TDigest.from_centroids([10.5, 20.0], [3, 1], min=9.5)
    /// >>> latency.count, latency.min(), latency.max()
    /// (4, 9.5, 20.0)
    #[classmethod]
    #[pyo3(signature = (means, weights, *, min = None, max = None, compression = 100))]
    fn from_centroids(
        _cls: &Bound<'_, PyType>,
        means: &Bound<'_, PyAny>,
        weights: &Bound<'_, PyAny>,
        min: Option<Real>,
        max: Option<Real>,
        #[pyo3(from_py_with = integer)] compression: i64,
    ) -> PyResult<Self> {
        let numbers = Numbers::<f64>::of(means, "item", SAMPLES.0, SAMPLES.1)?;
        let numbers = numbers.as_slice()?;
        let weights = Counts::of_weights(weights)?;
        let mut weights = weights.reader()?;
        let mut parts = Parts {
            compression,
            centroids: with_capacity(numbers.len()).map_err(Error::from)?,
            ..Parts::default()
        };
        let pairs = numbers.iter().zip(weights.next(numbers.len())?);
        (parts.centroids).extend(pairs.map(|(&mean, weight)| Centroid { mean, weight }));
        weights.finish()?;
        let means = parts.centroids.iter().map(|centroid| centroid.mean);
        let of_means = means.fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), mean| {
            (min.min(mean), max.max(mean))
        });
        parts.min = min.map_or(of_means.0, |Real(min)| min);
        parts.max = max.map_or(of_means.1, |Real(max)| max);
        parts.check(|number| format!("position {number}"))?;
        Self::of_parts(&parts)
    }

    /// The digest in bytes that another library wrote: 'datasketches', a t-digest of doubles of DataSketches; 'reference' or
    /// 'reference-small', a `MergingDigest` of the reference implementation, in either encoding. Takes any bytes-like object.
    ///
    /// `ValueError` with the offset of bytes that are damaged or refused: numbers that are not finite, weights that are no integers. For
    /// the payloads of DUMP, use `load`.
    ///
    /// >>> latency = TDigest()
    /// >>> latency.update([1, 2, 6])
    /// >>> TDigest.from_bytes(latency.to_bytes("datasketches"), "datasketches").max()
    /// 6.0
    #[classmethod]
    fn from_bytes(
        cls: &Bound<'_, PyType>,
        data: &Bound<'_, PyAny>,
        format: Format,
    ) -> PyResult<Self> {
        let data = bytes_of(data)?;
        let data = data.as_bytes();
        cls.py().detach(|| Self::of_parts(&decode(data, format)?))
    }

    /// The bytes of the digest for another library: its compressed form in the format 'datasketches', 'reference' (the verbose encoding)
    /// or 'reference-small', which rounds means and weights to floats of 32 bits. DataSketches has a `k` of 10 to 65535: that is the
    /// compression, or the nearest number.
    ///
    /// `ValueError` if the small encoding cannot contain the digest.
    ///
    /// >>> latency = TDigest()
    /// >>> latency.update([1, 2, 6])
    /// >>> len(latency.to_bytes("datasketches")), len(latency.to_bytes("reference-small"))
    /// (80, 54)
    #[pyo3(signature = (format, *, at = None, within = None))]
    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
        format: Format,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let when = When::new(at, within);
        let encoded = py.detach(|| {
            self.sketch.read(|digest| {
                let panes = digest.panes(when)?;
                let centroids = digest.compressed(panes, |digest| {
                    let mut centroids = with_capacity(digest.centroids().len())?;
                    centroids.extend(digest.centroids());
                    Ok::<_, Error>(centroids)
                })??;
                let parts = Parts {
                    compression: digest.compression().into(),
                    min: digest.min(panes),
                    max: digest.max(panes),
                    centroids,
                };
                encode(&parts, format)
            })
        })?;
        bytes(py, &encoded)
    }

    /// The smallest sample; nan if there are none (TDIGEST.MIN).
    ///
    /// >>> latency = TDigest()
    /// >>> latency.update([2.5, 1.5])
    /// >>> latency.min()
    /// 1.5
    #[pyo3(signature = (*, at = None, within = None))]
    fn min(&self, py: Python<'_>, at: Option<At>, within: Option<Within>) -> PyResult<f64> {
        (self.sketch).peek_at(py, When::new(at, within), Digest::min)
    }

    /// The largest sample; nan if there are none (TDIGEST.MAX).
    ///
    /// >>> latency = TDigest()
    /// >>> latency.update([2.5, 1.5])
    /// >>> latency.max()
    /// 2.5
    #[pyo3(signature = (*, at = None, within = None))]
    fn max(&self, py: Python<'_>, at: Option<At>, within: Option<Within>) -> PyResult<f64> {
        (self.sketch).peek_at(py, When::new(at, within), Digest::max)
    }

    /// Adds the samples of other digests, as one TDIGEST.MERGE does: several calls give another digest. Of a digest with a
    /// window, the samples that count at the time `at` are added.
    ///
    /// As an existing destination of the command, this digest keeps its compression. Create an empty one with that of the others.
    ///
    /// >>> monday, tuesday = TDigest(1000), TDigest(1000)
    /// >>> monday.update(range(1, 501))
    /// >>> tuesday.update(range(501, 1001))
    /// >>> week = TDigest(max(monday.compression, tuesday.compression))
    /// >>> week.merge(monday, tuesday)
    /// >>> week.quantile(0.5)
    /// 500.5
    #[pyo3(signature = (*others, at = None))]
    fn merge(&self, py: Python<'_>, others: &Bound<'_, PyTuple>, at: Option<At>) -> PyResult<()> {
        let others = others_of::<Self>(others)?;
        let when = When::new(at, None);
        let has_window = |other: &Bound<'_, Self>| {
            let sketch = &other.get().sketch;
            sketch.peek(py, |digest| digest.timeline().is_some())
        };
        if at.is_some() && !others.iter().any(has_window) {
            when.resolve(None)?;
        }
        merge(self, py, &others, |destination, operands| {
            let Digest::Classic(destination) = destination else {
                let text = "T-Digest: cannot merge into a digest with a window";
                return Err(Error::value(text));
            };
            let live = operands.iter().map(|operand| match operand {
                Some(Digest::Windowed(source)) => {
                    let panes = when.panes(Some(source.timeline()))?;
                    let live = source.with_cache(|source, cache| {
                        source.digest_at(panes, cache, Budget::UNLIMITED)
                    });
                    Ok(Some(live?))
                }
                _ => Ok(None),
            });
            let live = live.collect::<Result<Vec<_>, Error>>()?;
            let sources = operands.iter().zip(&live);
            let sources = sources.map(|(operand, live)| match (operand, live) {
                (_, Some(live)) => live,
                (Some(Digest::Classic(source)), _) => &**source,
                _ => &**destination,
            });
            let operands: Vec<_> = std::iter::once(&**destination).chain(sources).collect();
            let compression = i64::from(destination.compression());
            **destination = Classic::merge(compression, &operands, Budget::UNLIMITED)?;
            Ok(())
        })
    }

    /// The fields of TDIGEST.INFO, without the memory usage.
    ///
    /// >>> TDigest().info()["Capacity"]
    /// 610
    #[pyo3(signature = (*, at = None, within = None))]
    fn info<'py>(
        &self,
        py: Python<'py>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let fields = |digest: &Digest, panes| match digest {
            Digest::Classic(digest) => digest.info(),
            Digest::Windowed(digest) => digest.info_at(panes),
        };
        let fields = (self.sketch).peek_at(py, When::new(at, within), fields)?;
        let fields = [
            ("Compression", fields.compression.into()),
            ("Capacity", fields.capacity.into()),
            ("Merged nodes", fields.merged_nodes as i64),
            ("Unmerged nodes", fields.unmerged_nodes as i64),
            ("Merged weight", fields.merged_weight),
            ("Unmerged weight", fields.unmerged_weight),
            ("Observations", fields.observations),
            ("Total compressions", fields.total_compressions),
        ];
        fields.into_py_dict(py)
    }

    /// The compression.
    #[getter]
    fn compression(&self, py: Python<'_>) -> u32 {
        self.sketch.peek(py, Digest::compression)
    }

    /// The number of samples; of those that count now, if the digest has a window.
    #[getter]
    fn count(&self, py: Python<'_>) -> PyResult<i64> {
        let observations = |digest: &Digest, panes| match digest {
            Digest::Classic(digest) => digest.observations(),
            Digest::Windowed(digest) => digest.observations_at(panes),
        };
        (self.sketch).peek_at(py, When::default(), observations)
    }
}

impl TDigest {
    /// A digest of what another library's format contains.
    fn of_parts(parts: &Parts) -> PyResult<Self> {
        let (centroids, budget) = (&parts.centroids, Budget::UNLIMITED);
        let digest =
            Classic::from_centroids(parts.compression, centroids, parts.min, parts.max, budget);
        let digest = digest.map_err(Error::from)?;
        Ok(Self::of(Digest::Classic(digest.into())))
    }

    /// Adds the samples of a column: of one with a length, all or none.
    fn update_from_column(
        &self,
        py: Python<'_>,
        mut column: arrow::Column,
        is_sized: bool,
        mut additions: Additions,
    ) -> PyResult<()> {
        if is_sized {
            additions.check_len(column.read_ahead(py)?)?;
            column.for_each_numbers(py, |values| Ok(check(values)?))?;
            column.rewind();
        }
        column.for_each_numbers(py, |values: &[f64]| {
            Ok(py.detach(|| {
                let valid = values.iter().take_while(|value| value.is_finite()).count();
                self.sketch
                    .write(|digest| digest.add(&values[..valid], &mut additions))?;
                check(&values[valid..])
            })?)
        })?;
        Ok(additions.finish()?)
    }

    /// Adds finite samples with weights, of which `weights` creates a reader.
    fn update_weighted<'a>(
        &self,
        py: Python<'_>,
        values: &[f64],
        weights: impl Fn() -> PyResult<CountsReader<'a>>,
    ) -> PyResult<()> {
        let mut all = weights()?;
        py.detach(|| {
            let weights = all.next(values.len())?;
            self.sketch.read(|digest| digest.check_weights(weights))
        })?;
        let mut weights = weights()?;
        self.add_parts(py, values, |digest, part, copy| {
            let samples = part.iter().zip(weights.next(part.len())?);
            copy.extend(samples.map(|(&mean, weight)| Centroid { mean, weight }));
            digest.add_weighted(copy)
        })
    }

    /// Adds samples in parts, which `add` copies and checks: another thread may write to their array.
    fn add_parts<T: Send>(
        &self,
        py: Python<'_>,
        values: &[f64],
        mut add: impl FnMut(&mut Digest, &[f64], &mut Vec<T>) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        let mut copy = Vec::new();
        for part in values.chunks(PART_SAMPLES) {
            py.check_signals()?;
            let add_part = |digest: &mut Digest| {
                copy.clear();
                reserve(&mut copy, part.len())?;
                add(digest, part, &mut copy)
            };
            match part.len() <= SHORT_BATCH {
                true => self.sketch.poke(py, add_part)?,
                false => py.detach(|| self.sketch.write(add_part))?,
            }
        }
        Ok(())
    }
}
