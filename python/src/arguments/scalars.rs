//! Numbers as arguments.

use crate::arguments::numpy_array::check_real;
use crate::error::Error;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use roughly_sketch::bloom::MAX_ERROR_RATE;
use std::ops::RangeInclusive;

/// An integer. One that exceeds 64 bits becomes the nearest that does not, which is as well out of every range.
pub struct Integer(pub i64);

impl<'py> FromPyObject<'_, 'py> for Integer {
    type Error = PyErr;

    fn extract(number: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(integer(&number)?))
    }
}

/// As [`Integer`], for an argument with a default.
///
/// # Errors
/// `TypeError` for other objects.
pub fn integer(number: &Bound<'_, PyAny>) -> PyResult<i64> {
    number.extract().or_else(|error: PyErr| {
        if !error.is_instance_of::<PyOverflowError>(number.py()) {
            return Err(error);
        }
        Ok(if number.lt(0)? { i64::MIN } else { i64::MAX })
    })
}

/// A real number.
pub struct Real(pub f64);

impl<'py> FromPyObject<'_, 'py> for Real {
    type Error = PyErr;

    fn extract(real: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(number(&real)?))
    }
}

/// A number in a range.
///
/// # Errors
/// The text, if it is not in the range.
pub fn in_range<T: TryFrom<i64>>(
    number: i64,
    range: RangeInclusive<i64>,
    text: &'static str,
) -> Result<T, Error> {
    let number = Some(number).filter(|number| range.contains(number));
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or(Error::value(text))
}

/// The error rate of a new filter, reduced to the maximum as by the commands.
///
/// # Errors
/// If it is not in (0, 1).
pub fn checked_error_rate(rate: f64) -> Result<f64, Error> {
    match rate > 0.0 && rate < 1.0 {
        true => Ok(rate.min(MAX_ERROR_RATE)),
        false => Err(Error::value(
            "error rate must be in the range (0.000000, 1.000000)",
        )),
    }
}

/// A number, which the type must be able to represent.
pub fn number<'py, T: FromPyObjectOwned<'py>>(number: &Bound<'py, PyAny>) -> PyResult<T> {
    check_real(number)?;
    let extracted: Result<T, T::Error> = number.extract();
    extracted.map_err(|error| {
        let error: PyErr = error.into();
        match error.is_instance_of::<PyOverflowError>(number.py()) {
            true => Error::value("a number is out of range").into(),
            false => error,
        }
    })
}
