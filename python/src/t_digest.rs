//! `TDigest`: the commands TDIGEST.

use crate::arrow::Number;
use crate::batch::reserve;
use crate::error::Error;
use crate::items::ChunkItems;
use crate::lock::Shared;
use crate::numbers::{Integer, Numbers, Real, answers, for_each_numbers};
use crate::sketch::{Class, Variants, class, variants};
use crate::window::{Additions, At, When, Within, new_window};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use roughly_sketch::memory::{Budget, with_capacity};
use roughly_sketch::t_digest::{
    Compressed, DEFAULT_COMPRESSION, DigestError, TDigest as Classic, TDigestWindow,
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
    fn add(&mut self, values: &[f64], additions: &mut Additions) -> Result<(), Error> {
        match self {
            Self::Classic(digest) => Ok(digest.add(values)?),
            Self::Windowed(digest) => {
                additions.add(&mut **digest, values.len(), |digest, range| {
                    Ok(digest.add_within(&values[range], Budget::UNLIMITED)?)
                })
            }
        }
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
        when: When,
        (is_invalid, error): (impl Fn(N) -> bool + Sync, &'static str),
        answer: impl Fn(&Compressed, N) -> R + Sync,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        N: numpy::Element + FromPyObjectOwned<'py> + Number,
        R: numpy::Element + IntoPyObject<'py> + Copy + Send,
    {
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
#[pyclass(module = "roughly", frozen)]
pub struct TDigest {
    sketch: Shared<Digest>,
}

class!(TDigest of Digest);

#[pymethods]
impl TDigest {
    #[new]
    #[pyo3(
        signature = (
            compression = Integer(DEFAULT_COMPRESSION),
            *,
            window = None,
            panes = None,
            finest = None,
        ),
        text_signature = "(compression=100, *, window=None, panes=None, finest=None)",
    )]
    fn new(
        compression: Integer,
        window: Option<Integer>,
        panes: Option<Integer>,
        finest: Option<Integer>,
    ) -> PyResult<Self> {
        let Integer(compression) = compression;
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

    /// Adds a sample (TDIGEST.ADD). `at` is the time of the addition to a digest with a window, in Unix seconds or as a
    /// `datetime` with a time zone, by default now. `ValueError` if it is before the newest pane or, without `allow_future`, more
    /// than one pane ahead of the clock, and if the sample is not finite.
    #[pyo3(signature = (value, *, at = None, allow_future = false))]
    fn add(&self, py: Python<'_>, value: Real, at: Option<At>, allow_future: bool) -> PyResult<()> {
        let Real(value) = value;
        let add = |digest: &mut Digest| {
            let mut additions = Additions::one(at, allow_future, digest.timeline())?;
            // Before the digest advances.
            check(&[value])?;
            digest.add(&[value], &mut additions)
        };
        Ok(self.sketch.poke(py, add)?)
    }

    /// Adds all samples of an array, a column, or another object with a length; none if one is not finite (TDIGEST.ADD). Of an
    /// iterable without a length, adds the samples before one that is not finite, and reads at most `chunk` samples ahead, 1 to
    /// 4,096. `at` is the time of the additions to a digest with a window, or an array with a time for each sample. `allow_future`
    /// is that of `add`.
    #[pyo3(
        signature = (values, *, at = None, allow_future = false, chunk = ChunkItems::MAX),
        text_signature = "($self, values, *, at=None, allow_future=False, chunk=4096)",
    )]
    fn update(
        &self,
        values: &Bound<'_, PyAny>,
        at: Option<&Bound<'_, PyAny>>,
        allow_future: bool,
        chunk: ChunkItems,
    ) -> PyResult<()> {
        let py = values.py();
        let timeline = self.sketch.peek(py, |digest| digest.timeline().copied());
        let mut additions = Additions::of(at, allow_future, timeline)?;
        let Some(values) = Numbers::<f64>::of_sized(values, SAMPLES.0, SAMPLES.1)? else {
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
        // If a value is invalid, none is added.
        py.detach(|| check(values))?;
        let mut copy = Vec::new();
        for part in values.chunks(PART_SAMPLES) {
            py.check_signals()?;
            py.detach(|| {
                // Another thread may write to the array, also between the check and the addition.
                copy.clear();
                reserve(&mut copy, part.len())?;
                copy.extend_from_slice(part);
                check(&copy)?;
                self.sketch
                    .write(|digest| digest.add(&copy, &mut additions))
            })?;
        }
        Ok(())
    }

    /// The values at quantiles (TDIGEST.QUANTILE).
    #[pyo3(signature = (q, *, at = None, within = None))]
    fn quantile<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let when = When::new(at, within);
        let is_invalid = |q| !(0.0..=1.0).contains(&q);
        let check = (is_invalid, "T-Digest: quantile should be in [0,1]");
        self.answers(q, SAMPLES, when, check, Compressed::quantile)
    }

    /// The fractions of samples that are at most these values (TDIGEST.CDF).
    #[pyo3(signature = (value, *, at = None, within = None))]
    fn cdf<'py>(
        &self,
        value: &Bound<'py, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let when = When::new(at, within);
        // NaN is no number for the commands.
        let check = (f64::is_nan, "T-Digest: error parsing cdf");
        self.answers(value, SAMPLES, when, check, Compressed::cdf)
    }

    /// The numbers of samples below these values (TDIGEST.RANK).
    #[pyo3(signature = (value, *, at = None, within = None))]
    fn rank<'py>(
        &self,
        value: &Bound<'py, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let when = When::new(at, within);
        let check = (f64::is_nan, "T-Digest: error parsing value");
        self.answers(value, SAMPLES, when, check, Compressed::rank)
    }

    /// The numbers of samples above these values (TDIGEST.REVRANK).
    #[pyo3(signature = (value, *, at = None, within = None))]
    fn revrank<'py>(
        &self,
        value: &Bound<'py, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let when = When::new(at, within);
        let check = (f64::is_nan, "T-Digest: error parsing value");
        self.answers(value, SAMPLES, when, check, Compressed::revrank)
    }

    /// The values at ranks (TDIGEST.BYRANK).
    #[pyo3(signature = (rank, *, at = None, within = None))]
    fn byrank<'py>(
        &self,
        rank: &Bound<'py, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let when = When::new(at, within);
        let check = (i64::is_negative, "T-Digest: rank needs to be non negative");
        self.answers(rank, RANKS, when, check, Compressed::by_rank)
    }

    /// The values at ranks from the largest (TDIGEST.BYREVRANK).
    #[pyo3(signature = (rank, *, at = None, within = None))]
    fn byrevrank<'py>(
        &self,
        rank: &Bound<'py, PyAny>,
        at: Option<At>,
        within: Option<Within>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let when = When::new(at, within);
        let check = (i64::is_negative, "T-Digest: rank needs to be non negative");
        self.answers(rank, RANKS, when, check, Compressed::by_revrank)
    }

    /// The mean of the samples between two quantiles (TDIGEST.TRIMMED_MEAN).
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

    /// The smallest sample (TDIGEST.MIN).
    #[pyo3(signature = (*, at = None, within = None))]
    fn min(&self, py: Python<'_>, at: Option<At>, within: Option<Within>) -> PyResult<f64> {
        let min = |digest: &Digest, panes| match digest {
            Digest::Classic(digest) => digest.min(),
            Digest::Windowed(digest) => digest.min_at(panes),
        };
        self.sketch.peek_at(py, When::new(at, within), min)
    }

    /// The largest sample (TDIGEST.MAX).
    #[pyo3(signature = (*, at = None, within = None))]
    fn max(&self, py: Python<'_>, at: Option<At>, within: Option<Within>) -> PyResult<f64> {
        let max = |digest: &Digest, panes| match digest {
            Digest::Classic(digest) => digest.max(),
            Digest::Windowed(digest) => digest.max_at(panes),
        };
        self.sketch.peek_at(py, When::new(at, within), max)
    }

    /// Adds the samples of other digests, as one TDIGEST.MERGE does: several calls give another digest. Of a digest with a
    /// window, the samples that count at the time `at` are added.
    #[pyo3(signature = (*others, at = None))]
    fn merge(&self, py: Python<'_>, others: &Bound<'_, PyTuple>, at: Option<At>) -> PyResult<()> {
        let others: Vec<Bound<'_, Self>> = others
            .iter()
            .map(|other| Ok(other.cast_into()?))
            .collect::<PyResult<_>>()?;
        let locks: Vec<_> = others.iter().map(|other| &other.get().sketch).collect();
        let when = When::new(at, None);
        let has_window = |other: &Bound<'_, Self>| {
            let timeline = other
                .get()
                .sketch
                .peek(py, |digest| digest.timeline().copied());
            timeline.is_some()
        };
        if at.is_some() && !others.iter().any(has_window) {
            when.resolve(None)?;
        }
        let merged = py.detach(|| {
            self.sketch.write_with(&locks, |destination, operands| {
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
                let sources =
                    operands
                        .iter()
                        .zip(&live)
                        .map(|(operand, live)| match (operand, live) {
                            (_, Some(live)) => live,
                            (Some(Digest::Classic(source)), _) => &**source,
                            _ => &**destination,
                        });
                let operands: Vec<_> = std::iter::once(&**destination).chain(sources).collect();
                let compression = i64::from(destination.compression());
                **destination = Classic::merge(compression, &operands, Budget::UNLIMITED)?;
                Ok::<_, Error>(())
            })
        });
        Ok(merged?)
    }

    /// The fields of TDIGEST.INFO, without the memory usage.
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
        let info = PyDict::new(py);
        info.set_item("Compression", fields.compression)?;
        info.set_item("Capacity", fields.capacity)?;
        info.set_item("Merged nodes", fields.merged_nodes)?;
        info.set_item("Unmerged nodes", fields.unmerged_nodes)?;
        info.set_item("Merged weight", fields.merged_weight)?;
        info.set_item("Unmerged weight", fields.unmerged_weight)?;
        info.set_item("Observations", fields.observations)?;
        info.set_item("Total compressions", fields.total_compressions)?;
        Ok(info)
    }

    /// The compression.
    #[getter]
    fn compression(&self, py: Python<'_>) -> u32 {
        self.sketch.peek(py, |digest| match digest {
            Digest::Classic(digest) => digest.compression(),
            Digest::Windowed(digest) => digest.compression(),
        })
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
    /// The parameters that the text of the object has.
    fn parameters(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, String)>> {
        Ok(vec![
            ("compression", self.compression(py).to_string()),
            ("count", self.count(py)?.to_string()),
        ])
    }
}
