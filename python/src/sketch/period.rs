//! Periods of a window: the methods `between` and `series` (SKETCH.BETWEEN, SKETCH.SERIES).

use crate::arguments::scalars::{Integer, Real};
use crate::error::Error;
use crate::sketch::class::Class;
use crate::sketch::variants::Variants;
use crate::sketch::window::{At, NO_WINDOW, NOT_A_TIME, Part, When, Within};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use roughly_sketch::window::{Period, Row, Timeline, Window};

/// A time of a period in milliseconds since the Unix epoch; a negative one is relative to the time of the read.
#[derive(Clone, Copy)]
pub struct Time(i64);

impl Time {
    /// A time after that of the read, which counts as the time of the read.
    const LATER: Self = Self(i64::MAX);
}

impl<'py> FromPyObject<'_, 'py> for Time {
    type Error = PyErr;

    /// From a `datetime`, milliseconds, or a `timedelta`, which is relative to the time of the read.
    fn extract(time: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Some(ms) = milliseconds(&time)? {
            return Ok(if ms < 0 { Self(ms) } else { Self::LATER });
        }
        if let Ok(Integer(ms)) = time.extract() {
            return Ok(Self(ms));
        }
        // Elsewhere, a float is in seconds.
        if time.extract::<Real>().is_ok() {
            let text = "the time must be a datetime, a timedelta or an integer of milliseconds";
            return Err(PyTypeError::new_err(text));
        }
        Ok(Self(time.extract::<At>()?.ms().cast_signed()))
    }
}

/// The milliseconds of a `timedelta`.
fn milliseconds(time: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    let Some(seconds) = time.getattr_opt("total_seconds")? else {
        return Ok(None);
    };
    let seconds: f64 = seconds.call0()?.extract()?;
    if seconds.is_nan() {
        return Err(NOT_A_TIME.into());
    }
    Ok(Some(((seconds * 1e6).round() / 1000.0).floor() as i64))
}

/// The arguments `start` and `end`, by default those of the window, and `at`.
pub type Times = (Option<Time>, Option<Time>, Option<At>);

/// Start, end, and the time of the read in Unix milliseconds.
fn resolve((start, end, at): Times, timeline: Option<&Timeline>) -> Result<[u64; 3], Error> {
    let (now, _) = When::new(at, None).now(timeline)?;
    let unix_ms = |Time(ms)| match ms {
        ..0 => now.saturating_add_signed(ms),
        _ => ms.cast_unsigned(),
    };
    let (start, end) = (start.unwrap_or(Time(0)), end.unwrap_or(Time::LATER));
    Ok([unix_ms(start), unix_ms(end), now])
}

/// The argument `step` in milliseconds.
pub struct Step(u64);

impl<'py> FromPyObject<'_, 'py> for Step {
    type Error = PyErr;

    fn extract(step: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        const INVALID: Error = Error::value("step must be between 1 and 315360000000 milliseconds");
        let ms = milliseconds(&step)?.map_or_else(|| step.extract().map(|Integer(ms)| ms), Ok)?;
        let ms = u64::try_from(ms).ok();
        let ms = ms.filter(|ms| (1..=Window::MAX_MS).contains(ms));
        Ok(Self(ms.ok_or(INVALID)?))
    }
}

/// The method `between`: a `Period` of _period.py.
///
/// # Errors
/// Those of SKETCH.BETWEEN; a sketch without a window.
pub fn between<'py, T: Class>(object: &Bound<'py, T>, times: Times) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let sketch = object.get().sketch()?;
    let timeline = sketch.peek(py, |sketch| sketch.timeline().copied());
    let [from, to, _] = resolve(times, timeline.as_ref())?;
    let within = Within::Period(from, to, times.2);
    // Raises the errors of the period now.
    When::new(None, Some(within)).panes(timeline.as_ref())?;
    python(py)?.call_method1("Period", (object, Part(within)))
}

/// The method `series`, see _period.py: what the method of this name returns, with these arguments, for each row.
///
/// # Errors
/// Those of SKETCH.SERIES and of the method; a sketch without a window.
pub fn series<'py, T: Class>(
    object: &Bound<'py, T>,
    Step(step_ms): Step,
    times: Times,
    (method, arguments): (&str, &[&Bound<'py, PyAny>]),
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let sketch = object.get().sketch()?;
    let timeline = sketch.peek(py, |sketch| sketch.timeline().copied());
    let timeline = timeline.ok_or(NO_WINDOW)?;
    let [from, to, now] = resolve(times, Some(&timeline))?;
    let period = Period::new(from, to, now).map_err(Error::from)?;
    let rows = timeline.rows(period, step_ms).map_err(Error::from)?;
    let part = |row: Row| Part(Within::Panes(row.panes));
    let rows: Vec<_> = rows
        .map(|row| (row.start_ms, row.covered_ms, part(row)))
        .collect();
    python(py)?.call_method1("series", (object, rows, method, arguments))
}

fn python(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("roughly._period")
}
