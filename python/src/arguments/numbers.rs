//! Several numbers as arguments: increments, samples, and the points of queries.

use crate::arguments::arrow;
use crate::arguments::numpy_array::{self, is_builtin, is_plain, results};
use crate::arguments::scalars::number;
use crate::error::Error;
use numpy::{Element, PyReadonlyArray1};
use pyo3::IntoPyObjectExt;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};
use roughly_sketch::memory::{try_push, with_capacity};
use std::fmt::Display;

/// Numbers of an iterable between two checks for signals.
const SIGNAL_NUMBERS: usize = 4096;

/// The number that an argument is; `None` if it may be an iterable.
fn one<'py, T: FromPyObjectOwned<'py>>(argument: &Bound<'py, PyAny>) -> PyResult<Option<T>> {
    if is_builtin(argument) {
        return Ok(None);
    }
    match number(argument) {
        Ok(number) => Ok(Some(number)),
        Err(error) if error.is_instance_of::<PyTypeError>(argument.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Numbers of one type, in an array or a vector.
pub enum Numbers<'py, T: Element + arrow::Number> {
    /// A contiguous NumPy array, which is not copied.
    Array(PyReadonlyArray1<'py, T>),
    /// A column in Arrow's memory layout, which is not copied if it has one chunk of this type.
    Column(arrow::ColumnNumbers<T>),
    /// Numbers of other objects.
    Vec(Vec<T>),
}

impl<'py, T: Element + FromPyObjectOwned<'py> + arrow::Number> Numbers<'py, T> {
    /// The numbers of an iterable. `name` is that of a number in errors, and `dtype` NumPy's name of the type. Numbers of other types are
    /// converted without loss of integers.
    pub fn of(
        numbers: &Bound<'py, PyAny>,
        name: &'static str,
        dtype: &str,
        kinds: &[char],
    ) -> PyResult<Self> {
        if let Some(mut column) = arrow::of(numbers, name)? {
            return Ok(Self::Column(numbers.py().detach(|| column.numbers())?));
        }
        if let Some(array) = numpy_array::of(numbers, Some(name))?
            && kinds.contains(&array.kind)
        {
            return Ok(Self::Array(array.to(dtype)?));
        }
        let mut vec = Vec::new();
        for item in numbers.try_iter()? {
            try_push(&mut vec, number(&item?)?).map_err(Error::from)?;
            if vec.len() % SIGNAL_NUMBERS == 0 {
                numbers.py().check_signals()?;
            }
        }
        Ok(Self::Vec(vec))
    }

    /// As [`Numbers::of`]; `None` for an iterable without a length, which may be larger than the memory.
    pub fn of_sized(
        numbers: &Bound<'py, PyAny>,
        dtype: &str,
        kinds: &[char],
    ) -> PyResult<Option<Self>> {
        let py = numbers.py();
        // An array without a dimension has no length.
        let is_column = is_plain(numbers)
            || arrow::is_column(numbers)?
            || numbers.hasattr(intern!(py, "to_numpy"))?
            || numbers.hasattr(intern!(py, "dtype"))?;
        match is_column || numbers.len().is_ok() {
            true => Self::of(numbers, "item", dtype, kinds).map(Some),
            false => Ok(None),
        }
    }

    /// The numbers.
    pub fn as_slice(&self) -> PyResult<&[T]> {
        match self {
            Self::Array(array) => Ok(array.as_slice()?),
            Self::Column(column) => Ok(column.as_slice()),
            Self::Vec(vec) => Ok(vec),
        }
    }
}

/// Passes the numbers of an iterable to `read` without the GIL, at most `chunk` at once. After an error of the iterable, the numbers
/// before it have been passed.
pub fn for_each_numbers(
    numbers: &Bound<'_, PyAny>,
    chunk: usize,
    mut read: impl FnMut(&[f64]) -> Result<(), Error> + Send,
) -> PyResult<()> {
    let py = numbers.py();
    let mut numbers = numbers.try_iter()?;
    let mut values = Vec::new();
    loop {
        let next = numbers.next().map(|next| number(&next?)).transpose();
        let is_last = !matches!(next, Ok(Some(_)));
        if let Ok(Some(value)) = next {
            try_push(&mut values, value).map_err(Error::from)?;
        }
        if is_last || values.len() >= chunk {
            py.check_signals()?;
            py.detach(|| read(&values))?;
            values.clear();
        }
        if next?.is_none() {
            return Ok(());
        }
    }
}

/// The weight of a sample: an integer, or a float that is one.
///
/// # Errors
/// `TypeError` for other objects, `ValueError` for other floats and integers above 64 bits.
pub fn weight(weight: &Bound<'_, PyAny>) -> PyResult<i64> {
    weight_of(weight, None)
}

fn weight_of(weight: &Bound<'_, PyAny>, position: Option<usize>) -> PyResult<i64> {
    match weight.cast::<PyFloat>() {
        Ok(float) => Ok(integer_of(float.value()).ok_or_else(|| no_weight(position, weight))?),
        Err(_) => number(weight),
    }
}

fn weights_of<'py>(floats: &[f64]) -> Result<Numbers<'py, i64>, Error> {
    let mut integers = with_capacity(floats.len())?;
    for (position, &float) in floats.iter().enumerate() {
        integers.push(integer_of(float).ok_or_else(|| no_weight(Some(position), &float))?);
    }
    Ok(Numbers::Vec(integers))
}

/// The integer that a float is, if it has 64 bits.
fn integer_of(float: f64) -> Option<i64> {
    const END: f64 = (1_u64 << 63) as f64;
    let is_integer = float.fract() == 0.0 && (-END..END).contains(&float);
    is_integer.then_some(float as i64)
}

fn no_weight(position: Option<usize>, weight: &dyn Display) -> Error {
    let name = position.map_or("the weight".to_owned(), |position| {
        format!("the weight at position {position}")
    });
    Error::Value(format!("{name} must be an integer, not {weight}").into())
}

/// Increments of items: the same for all, or one for each.
pub enum Counts<'py> {
    /// For all items.
    All(i64),
    /// For each item.
    Each(Numbers<'py, i64>),
}

impl<'py> Counts<'py> {
    /// An integer or an iterable of integers.
    pub fn of(counts: &Bound<'py, PyAny>) -> PyResult<Self> {
        match one(counts)? {
            Some(count) => Ok(Self::All(count)),
            None => Ok(Self::Each(Numbers::of(counts, "count", "int64", &['i'])?)),
        }
    }

    /// The weights of samples: as [`Counts::of`], also floats that are integers.
    pub fn of_weights(weights: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = weights.py();
        if weights.is_instance_of::<PyFloat>() {
            return Ok(Self::All(weight_of(weights, None)?));
        }
        if let Some(weight) = one(weights)? {
            return Ok(Self::All(weight));
        }
        if let Some(mut column) = arrow::of(weights, "weight")? {
            return Ok(Self::Each(match column.has_floats() {
                true => weights_of(py.detach(|| column.numbers())?.as_slice())?,
                false => Numbers::Column(py.detach(|| column.numbers())?),
            }));
        }
        if let Some(array) = numpy_array::of(weights, Some("weight"))?
            && array.kind != 'O'
        {
            return match array.kind {
                'f' => Ok(Self::Each(weights_of(array.to("float64")?.as_slice()?)?)),
                _ => Self::of(weights),
            };
        }
        let mut integers = Vec::new();
        for (position, weight) in weights.try_iter()?.enumerate() {
            let integer = weight_of(&weight?, Some(position))?;
            try_push(&mut integers, integer).map_err(Error::from)?;
            if position % SIGNAL_NUMBERS == 0 {
                py.check_signals()?;
            }
        }
        Ok(Self::Each(Numbers::Vec(integers)))
    }

    /// Checks the number of items, if they have one.
    ///
    /// # Errors
    /// Fewer or more increments than items.
    pub fn check_items(&self, items: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Self::Each(counts) = self
            && let Ok(len) = items.len()
            && counts.as_slice()?.len() != len
        {
            return Err(OTHER_LENGTH.into());
        }
        Ok(())
    }

    /// The increments in order.
    pub fn reader(&self) -> PyResult<CountsReader<'_>> {
        Ok(match self {
            Self::All(count) => CountsReader::All(*count),
            Self::Each(counts) => CountsReader::Each(counts.as_slice()?),
        })
    }
}

/// Increments that are not yet used.
pub enum CountsReader<'a> {
    /// For all items.
    All(i64),
    /// For each item.
    Each(&'a [i64]),
}

const OTHER_LENGTH: Error = Error::value("items and counts have different lengths");

impl<'a> CountsReader<'a> {
    /// The increments of the next items.
    pub fn next(&mut self, len: usize) -> Result<impl Iterator<Item = i64> + Clone + 'a, Error> {
        let (all, each) = match self {
            Self::All(count) => (Some(*count), &[][..]),
            Self::Each(counts) => {
                let (next, rest) = counts.split_at_checked(len).ok_or(OTHER_LENGTH)?;
                *counts = rest;
                (None, next)
            }
        };
        Ok((0..len).map(move |number| all.unwrap_or_else(|| each[number])))
    }

    /// Checks that no increment is left.
    pub fn finish(self) -> Result<(), Error> {
        match self {
            Self::Each([_, ..]) => Err(OTHER_LENGTH),
            _ => Ok(()),
        }
    }
}

/// Calls `answer` for a number, or for each number of an iterable, and returns the result or the results.
pub fn answers<'py, N, R>(
    numbers: &Bound<'py, PyAny>,
    dtype: &str,
    kinds: &[char],
    answer: impl Fn(&[N]) -> Result<Vec<R>, Error> + Sync,
) -> PyResult<Bound<'py, PyAny>>
where
    N: Element + FromPyObjectOwned<'py> + arrow::Number,
    R: Element + IntoPyObject<'py> + Copy + Send,
{
    let py = numbers.py();
    let is_number =
        numbers.is_exact_instance_of::<PyFloat>() || numbers.is_exact_instance_of::<PyInt>();
    if (is_number || numpy_array::of(numbers, None).is_ok_and(|array| array.is_none()))
        && let Some(number) = one(numbers)?
    {
        let answers = py.detach(|| answer(&[number]))?;
        return match answers.first() {
            Some(&answer) => answer.into_bound_py_any(py),
            None => Ok(py.None().into_bound(py)),
        };
    }
    let numbers = Numbers::<N>::of(numbers, "item", dtype, kinds)?;
    let numbers = numbers.as_slice()?;
    let found = py.detach(|| {
        // Another thread may write to the array, also between the checks and the use.
        let mut copy = with_capacity(numbers.len())?;
        copy.extend_from_slice(numbers);
        answer(&copy)
    })?;
    results(py, found)
}
