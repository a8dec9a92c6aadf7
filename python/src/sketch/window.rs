//! Windows: the parameters of constructors, and the times of reads.

use crate::arguments::numpy_array::{self, check_real};
use crate::arguments::scalars::Integer;
use crate::error::Error;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use roughly_sketch::seed::Seed;
use roughly_sketch::window::{Panes, Period, Timed, Timeline, Window, WindowError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The window of a new sketch of type `T`; `None` without the argument `window`.
///
/// # Errors
/// Those of the option WINDOW of the commands; arguments that need `window` without it.
pub fn new_window<T: Timed>(
    window: Option<Integer>,
    panes: Option<Integer>,
    finest: Option<Integer>,
    has_seed: bool,
) -> Result<Option<Window>, Error> {
    // A negative number becomes 0, which is out of range.
    let number = |Integer(number)| u64::try_from(number).unwrap_or(0);
    let Some(ms) = window.map(number) else {
        return match panes.is_some() || finest.is_some() || has_seed {
            true => Err(Error::Type("panes, finest and seed require window".into())),
            false => Ok(None),
        };
    };
    let panes = panes.map_or(Window::DEFAULT_PANES.min(ms), number);
    let window = Window::of::<T>(ms, panes, finest.map(number));
    window.map(Some).map_err(|error| match error {
        WindowError::InvalidPanes => {
            let max = T::MAX_PANES;
            Error::Value(format!("PANES must be between 1 and {max}, and at most WINDOW").into())
        }
        error => Error::Value(error.to_string().into()),
    })
}

/// The seed of a new sketch: 16 bytes, or 32 hexadecimal digits. By default, random bytes of the system.
///
/// # Errors
/// That of the option SEED of the commands; `TypeError` for other objects.
pub fn new_seed(py: Python<'_>, seed: Option<&Bound<'_, PyAny>>) -> PyResult<Seed> {
    const INVALID: Error = Error::value("SEED must be 32 hexadecimal digits");
    if let Some(text) = seed.and_then(|seed| seed.cast::<PyString>().ok())
        && !text.to_cow()?.bytes().all(|byte| byte.is_ascii_hexdigit())
    {
        return Err(INVALID.into());
    }
    Ok(Seed(seed_bytes(py, seed, INVALID)?))
}

/// A seed: bytes, or two hexadecimal digits for each, between which Python allows white space. By default, random bytes of the system.
///
/// # Errors
/// `invalid` for other digits and another length; `TypeError` for other objects.
pub fn seed_bytes<const N: usize>(
    py: Python<'_>,
    seed: Option<&Bound<'_, PyAny>>,
    invalid: Error,
) -> PyResult<[u8; N]> {
    let bytes = match seed {
        None => py.import("os")?.call_method1("urandom", (N,))?,
        Some(seed) if seed.is_instance_of::<PyString>() => {
            match py.get_type::<PyBytes>().call_method1("fromhex", (seed,)) {
                Ok(bytes) => bytes,
                Err(_) => return Err(invalid.into()),
            }
        }
        Some(seed) => seed.clone(),
    };
    let bytes = bytes.cast::<PyBytes>().map_err(|_| {
        let digits = 2 * N;
        let text = format!("seed must be {N} bytes or a string of {digits} hexadecimal digits");
        PyTypeError::new_err(text)
    })?;
    let bytes = bytes.as_bytes().try_into();
    bytes.map_err(|_| invalid.into())
}

/// The hexadecimal digits of a seed.
pub fn hex(Seed(bytes): Seed) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A time in Unix milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct At(u64);

/// The end of the year 9999 in Unix seconds. A larger number is in milliseconds by mistake.
const END_OF_TIME: f64 = 253_402_300_800.0;

pub const NO_TIME_ZONE: Error = Error::value(
    "the time has no time zone: use datetime.now(timezone.utc), astimezone() for local time or, for a column, dt.tz_localize",
);

pub const NOT_A_TIME: Error = Error::value("NaT is neither a time nor a duration");

const OUT_OF_RANGE: Error =
    Error::value("the time must be Unix seconds between the years 1970 and 9999");

impl At {
    /// The time in Unix milliseconds.
    pub fn ms(self) -> u64 {
        self.0
    }

    /// The millisecond that contains this time. The difference of the nearest `f64` is far below a microsecond.
    pub fn of_seconds(seconds: f64) -> Result<Self, Error> {
        match (0.0..END_OF_TIME).contains(&seconds) {
            true => Ok(Self((seconds * 1e6).round() as u64 / 1000)),
            false => Err(OUT_OF_RANGE),
        }
    }

    pub fn of_ms(ms: i64) -> Result<Self, Error> {
        let ms = u64::try_from(ms).ok();
        let ms = ms.filter(|&ms| ms < END_OF_TIME as u64 * 1000);
        ms.map(Self).ok_or(OUT_OF_RANGE)
    }

    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self(since.map_or(0, |since| since.as_millis() as u64))
    }
}

/// The method `timestamp` of a time. A table can have a column of this name.
pub fn timestamp<'py>(time: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let timestamp = time.getattr_opt(intern!(time.py(), "timestamp"))?;
    Ok(timestamp.filter(|timestamp| timestamp.is_callable()))
}

impl<'py> FromPyObject<'_, 'py> for At {
    type Error = PyErr;

    /// Takes seconds as a number, a `datetime` with a time zone, or a `datetime64` of NumPy, which is in UTC.
    fn extract(time: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = time.py();
        let seconds: PyResult<f64> = match timestamp(&time)? {
            // `pandas.NaT` differs from itself.
            Some(_) if time.ne(time)? => return Err(NOT_A_TIME.into()),
            Some(timestamp) => {
                if let Some(offset) = time.getattr_opt("utcoffset")?
                    && offset.call0()?.is_none()
                {
                    return Err(NO_TIME_ZONE.into());
                }
                timestamp.call0().and_then(|seconds| seconds.extract())
            }
            None => {
                if let Some(ms) = numpy_array::milliseconds(&time)? {
                    return Ok(Self::of_ms(ms)?);
                }
                check_real(&time)?;
                time.extract()
            }
        };
        let seconds = seconds.map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(py) {
                OUT_OF_RANGE.into()
            } else if error.is_instance_of::<PyTypeError>(py) {
                PyTypeError::new_err("the time must be Unix seconds or a datetime")
            } else {
                error
            }
        })?;
        Ok(Self::of_seconds(seconds)?)
    }
}

/// The part of a window that a read covers.
#[derive(Debug, Clone, Copy)]
pub enum Within {
    /// The last milliseconds.
    Last(u64),
    /// From a time until before another one, in Unix milliseconds, read at a time.
    Period(u64, u64, Option<At>),
    /// These panes.
    Panes(Panes),
}

/// A period, as the argument `within`.
#[pyclass(frozen)]
pub struct Part(pub Within);

impl<'py> FromPyObject<'_, 'py> for Within {
    type Error = PyErr;

    fn extract(within: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(part) = within.cast::<Part>() {
            return Ok(part.get().0);
        }
        let Integer(ms) = within.extract()?;
        let ms = u64::try_from(ms).ok();
        let ms = ms.filter(|ms| (1..=Window::MAX_MS).contains(ms));
        Ok(Self::Last(ms.ok_or(Error::value(
            "WITHIN must be between 1 and 315360000000 milliseconds",
        ))?))
    }
}

/// The arguments `at` and `within` of a read.
#[derive(Debug, Clone, Copy, Default)]
pub struct When {
    at: Option<At>,
    within: Option<Within>,
    /// The time of a read without `at`, if it is already known.
    now: Option<At>,
}

impl When {
    /// By default, the whole window, now.
    pub fn new(at: Option<At>, within: Option<Within>) -> Self {
        let at = match within {
            Some(Within::Period(.., of_period)) => at.or(of_period),
            _ => at,
        };
        Self {
            at,
            within,
            now: None,
        }
    }

    /// With the same time for all parts of a read. Has no effect on a value without a window.
    ///
    /// # Errors
    /// A time before the newest pane, for which the value has forgotten too much; a part that is shorter than a pane; a time
    /// for a value without a window.
    pub fn resolve(self, timeline: Option<&Timeline>) -> Result<Self, Error> {
        let newest = timeline.map(|timeline| timeline.window().start_of(timeline.newest()));
        let pane_ms = timeline.map_or(0, |timeline| timeline.window().pane_ms());
        match (newest, self.at, self.within) {
            (None, None, None) => Ok(self),
            (None, ..) => Err(NO_WINDOW),
            (Some(newest), Some(At(ms)), _) if ms < newest => Err(BEFORE_NEWEST),
            (Some(_), _, Some(Within::Last(ms))) if ms < pane_ms => {
                let text = format!(
                    "WITHIN must be at least the pane length of the sketch, {pane_ms} milliseconds"
                );
                Err(Error::Value(text.into()))
            }
            (Some(_), ..) => Ok(Self {
                now: Some(self.now.unwrap_or_else(At::now)),
                ..self
            }),
        }
    }

    /// The panes that count.
    ///
    /// # Errors
    /// As [`When::resolve`].
    #[inline]
    pub fn panes(self, timeline: Option<&Timeline>) -> Result<Panes, Error> {
        match (timeline, self.at, self.within) {
            (None, None, None) => Ok(Panes::ALL),
            _ => self.panes_of(timeline),
        }
    }

    fn panes_of(self, timeline: Option<&Timeline>) -> Result<Panes, Error> {
        let (ms, timeline) = self.now(timeline)?;
        Ok(match self.within {
            None => timeline.panes_at(ms),
            Some(Within::Last(part)) => timeline.panes_within(ms, part),
            Some(Within::Period(from, to, _)) => timeline.panes_of(Period::new(from, to, ms)?)?,
            Some(Within::Panes(panes)) => panes,
        })
    }

    /// The time of the read in Unix milliseconds, of a value with a window.
    ///
    /// # Errors
    /// As [`When::resolve`]; a value without a window.
    pub fn now(self, timeline: Option<&Timeline>) -> Result<(u64, &Timeline), Error> {
        let When { at, now, .. } = self.resolve(timeline)?;
        let (Some(timeline), Some(At(now))) = (timeline, now) else {
            return Err(NO_WINDOW);
        };
        // Another thread can have advanced the value since the time was read, and the clock can be behind the value.
        let newest = timeline.window().start_of(timeline.newest());
        Ok((at.map_or(now.max(newest), |At(ms)| ms), timeline))
    }
}

pub const NO_WINDOW: Error = Error::value("the sketch has no window");
pub const BEFORE_NEWEST: Error = Error::value("at is before the newest pane of the sketch");
