//! The argument `at` of reads: the time at which a value with a window is read.

use crate::error::Error;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use roughly_sketch::window::{Panes, Timeline};
use std::time::{SystemTime, UNIX_EPOCH};

/// A time in Unix milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct At(u64);

impl<'py> FromPyObject<'_, 'py> for At {
    type Error = PyErr;

    /// Takes seconds as a number, or a `datetime`.
    fn extract(time: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        const OUT_OF_RANGE: Error = Error::value("at is out of range");
        let py = time.py();
        let seconds: PyResult<f64> = match time.getattr_opt("timestamp")? {
            Some(timestamp) => timestamp.call0().and_then(|seconds| seconds.extract()),
            None => time.extract(),
        };
        let seconds = seconds.map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(py) {
                OUT_OF_RANGE.into()
            } else if error.is_instance_of::<PyTypeError>(py) {
                PyTypeError::new_err("at must be Unix seconds or a datetime")
            } else {
                error
            }
        })?;
        let ms = (seconds * 1000.0).round();
        if !(0.0..9_007_199_254_740_992.0).contains(&ms) {
            return Err(OUT_OF_RANGE.into());
        }
        Ok(Self(ms as u64))
    }
}

/// The panes that count at a time, by default now. A value without a window has no times.
pub fn panes(timeline: Option<&Timeline>, at: Option<At>) -> Result<Panes, Error> {
    match (timeline, at) {
        (None, None) => Ok(Panes::ALL),
        (None, Some(_)) => Err(Error::value("the sketch has no window")),
        (Some(timeline), at) => {
            let now = || {
                let since = SystemTime::now().duration_since(UNIX_EPOCH);
                since.map_or(0, |since| since.as_millis() as u64)
            };
            Ok(timeline.panes_at(at.map_or_else(now, |At(ms)| ms)))
        }
    }
}
