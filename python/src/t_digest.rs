//! `TDigest`: the commands TDIGEST.

use crate::error::Error;
use crate::numbers::{Integer, Numbers, answers};
use crate::sketch::{Variants, Writable, class, variants};
use crate::window::{At, panes};
use pyo3::prelude::*;
use pyo3::types::PyDict;
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

impl From<DigestError> for Error {
    fn from(error: DigestError) -> Self {
        Self::value(match error {
            DigestError::OutOfMemory(error) => return error.into(),
            DigestError::CompressionNotPositive => {
                "T-Digest: compression parameter needs to be a positive integer"
            }
            DigestError::CompressionTooLarge => "T-Digest: allocation failed",
            DigestError::NotFinite => "T-Digest: val parameter needs to be a finite number",
            _ => "T-Digest: overflow detected",
        })
    }
}

/// Samples between two checks for signals.
const SIGNAL_SAMPLES: usize = 1 << 20;

/// NumPy's kinds of numbers that are samples.
const NUMBERS: [char; 3] = ['f', 'i', 'u'];

impl Digest {
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

    /// Answers a query for a value, or for each of several.
    fn values<'py, R>(
        &self,
        values: &Bound<'py, PyAny>,
        at: Option<At>,
        check: impl Fn(f64) -> Result<(), Error> + Sync,
        answer: impl Fn(&Compressed, f64) -> R + Sync,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        R: numpy::Element + IntoPyObject<'py> + Copy + Send,
    {
        let panes = self.panes(at)?;
        answers(values, "float64", &NUMBERS, |values: &[f64]| {
            values.iter().try_for_each(|&value| check(value))?;
            let mut answers = with_capacity(values.len())?;
            self.compressed(panes, |digest| {
                answers.extend(values.iter().map(|&value| answer(digest, value)));
            })?;
            Ok(answers)
        })
    }

    /// As [`Digest::values`], for ranks.
    fn ranks<'py>(
        &self,
        ranks: &Bound<'py, PyAny>,
        at: Option<At>,
        answer: impl Fn(&Compressed, i64) -> f64 + Sync,
    ) -> PyResult<Bound<'py, PyAny>> {
        let panes = self.panes(at)?;
        answers(ranks, "int64", &['i'], |ranks: &[i64]| {
            if ranks.iter().any(|&rank| rank < 0) {
                return Err(Error::value("T-Digest: rank needs to be non negative"));
            }
            let mut answers = with_capacity(ranks.len())?;
            self.compressed(panes, |digest| {
                answers.extend(ranks.iter().map(|&rank| answer(digest, rank)));
            })?;
            Ok(answers)
        })
    }
}

/// Refuses NaN, which is no number for the commands.
fn no_nan(text: &'static str) -> impl Fn(f64) -> Result<(), Error> + Sync {
    move |value| match value.is_nan() {
        true => Err(Error::value(text)),
        false => Ok(()),
    }
}

/// A t-digest.
#[pyclass(module = "roughly")]
pub struct TDigest {
    sketch: Digest,
}

class!(TDigest of Digest);

#[pymethods]
impl TDigest {
    #[new]
    #[pyo3(
        signature = (compression = Integer(DEFAULT_COMPRESSION)),
        text_signature = "(compression=100)",
    )]
    fn new(compression: Integer) -> PyResult<Self> {
        let Integer(compression) = compression;
        let digest = Classic::new(compression, Budget::UNLIMITED).map_err(Error::from)?;
        Ok(Self {
            sketch: Digest::Classic(digest.into()),
        })
    }

    /// Adds a sample (TDIGEST.ADD).
    fn add(&mut self, value: f64) -> PyResult<()> {
        let digest = self.sketch.writable()?;
        Ok(digest.add(&[value]).map_err(Error::from)?)
    }

    /// Adds all samples of an iterable or a NumPy array; none if one is not finite (TDIGEST.ADD).
    fn update(&mut self, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = values.py();
        let digest = self.sketch.writable()?;
        let values = Numbers::<f64>::of(values, "float64", &NUMBERS)?;
        let values = values.as_slice()?;
        // If a value is invalid, none is added.
        if !py.detach(|| values.iter().all(|value| value.is_finite())) {
            return Err(Error::from(DigestError::NotFinite).into());
        }
        for part in values.chunks(SIGNAL_SAMPLES) {
            py.check_signals()?;
            py.detach(|| digest.add(part)).map_err(Error::from)?;
        }
        Ok(())
    }

    /// The values at quantiles (TDIGEST.QUANTILE).
    #[pyo3(signature = (q, *, at = None))]
    fn quantile<'py>(&self, q: &Bound<'py, PyAny>, at: Option<At>) -> PyResult<Bound<'py, PyAny>> {
        let check = |q| match (0.0..=1.0).contains(&q) {
            true => Ok(()),
            false => Err(Error::value("T-Digest: quantile should be in [0,1]")),
        };
        self.sketch.values(q, at, check, Compressed::quantile)
    }

    /// The fractions of samples that are at most these values (TDIGEST.CDF).
    #[pyo3(signature = (value, *, at = None))]
    fn cdf<'py>(&self, value: &Bound<'py, PyAny>, at: Option<At>) -> PyResult<Bound<'py, PyAny>> {
        let check = no_nan("T-Digest: error parsing cdf");
        self.sketch.values(value, at, check, Compressed::cdf)
    }

    /// The numbers of samples below these values (TDIGEST.RANK).
    #[pyo3(signature = (value, *, at = None))]
    fn rank<'py>(&self, value: &Bound<'py, PyAny>, at: Option<At>) -> PyResult<Bound<'py, PyAny>> {
        let check = no_nan("T-Digest: error parsing value");
        self.sketch.values(value, at, check, Compressed::rank)
    }

    /// The numbers of samples above these values (TDIGEST.REVRANK).
    #[pyo3(signature = (value, *, at = None))]
    fn revrank<'py>(
        &self,
        value: &Bound<'py, PyAny>,
        at: Option<At>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let check = no_nan("T-Digest: error parsing value");
        self.sketch.values(value, at, check, Compressed::revrank)
    }

    /// The values at ranks (TDIGEST.BYRANK).
    #[pyo3(signature = (rank, *, at = None))]
    fn byrank<'py>(&self, rank: &Bound<'py, PyAny>, at: Option<At>) -> PyResult<Bound<'py, PyAny>> {
        self.sketch.ranks(rank, at, Compressed::by_rank)
    }

    /// The values at ranks from the largest (TDIGEST.BYREVRANK).
    #[pyo3(signature = (rank, *, at = None))]
    fn byrevrank<'py>(
        &self,
        rank: &Bound<'py, PyAny>,
        at: Option<At>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.sketch.ranks(rank, at, Compressed::by_revrank)
    }

    /// The mean of the samples between two quantiles (TDIGEST.TRIMMED_MEAN).
    #[pyo3(signature = (low, high, *, at = None))]
    fn trimmed_mean(&self, py: Python<'_>, low: f64, high: f64, at: Option<At>) -> PyResult<f64> {
        if ![low, high].iter().all(|cut| (0.0..=1.0).contains(cut)) {
            let text = "T-Digest: low_cut_percentile and high_cut_percentile should be in [0,1]";
            return Err(Error::value(text).into());
        }
        if low >= high {
            let text = "T-Digest: low_cut_percentile should be lower than high_cut_percentile";
            return Err(Error::value(text).into());
        }
        let panes = self.sketch.panes(at)?;
        let mean = |digest: &Compressed| digest.trimmed_mean(low, high);
        Ok(py.detach(|| self.sketch.compressed(panes, mean))?)
    }

    /// The smallest sample (TDIGEST.MIN).
    #[pyo3(signature = (*, at = None))]
    fn min(&self, at: Option<At>) -> PyResult<f64> {
        let panes = self.sketch.panes(at)?;
        Ok(match &self.sketch {
            Digest::Classic(digest) => digest.min(),
            Digest::Windowed(digest) => digest.min_at(panes),
        })
    }

    /// The largest sample (TDIGEST.MAX).
    #[pyo3(signature = (*, at = None))]
    fn max(&self, at: Option<At>) -> PyResult<f64> {
        let panes = self.sketch.panes(at)?;
        Ok(match &self.sketch {
            Digest::Classic(digest) => digest.max(),
            Digest::Windowed(digest) => digest.max_at(panes),
        })
    }

    /// Adds the samples of another digest (TDIGEST.MERGE).
    fn merge(this: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        let py = this.py();
        // A copy, because both may be the same object. A digest is small.
        let source = other.try_borrow()?.sketch.try_clone()?;
        let mut destination = this.try_borrow_mut()?;
        let digest = destination.sketch.writable()?;
        let merged = py.detach(|| {
            let live;
            let source = match &source {
                Digest::Classic(source) => &**source,
                Digest::Windowed(source) => {
                    let panes = panes(Some(source.timeline()), None)?;
                    live = source.with_cache(|source, cache| {
                        source.digest_at(panes, cache, Budget::UNLIMITED)
                    })?;
                    &live
                }
            };
            let compression = i64::from(digest.compression());
            let operands = [&**digest, source];
            Ok::<_, Error>(Classic::merge(compression, &operands, Budget::UNLIMITED)?)
        });
        **digest = merged?;
        Ok(())
    }

    /// The fields of TDIGEST.INFO, without the memory usage.
    #[pyo3(signature = (*, at = None))]
    fn info<'py>(&self, py: Python<'py>, at: Option<At>) -> PyResult<Bound<'py, PyDict>> {
        let panes = self.sketch.panes(at)?;
        let fields = match &self.sketch {
            Digest::Classic(digest) => digest.info(),
            Digest::Windowed(digest) => digest.info_at(panes),
        };
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
}
