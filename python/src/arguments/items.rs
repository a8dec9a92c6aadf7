//! Items: `str` as UTF-8, `bytes`, and integers and floats as decimal digits, as clients send them.

use crate::arguments::arrow;
use crate::arguments::batch::{BATCH_ITEMS, Batch};
use crate::arguments::numpy_array::{self, is_builtin, is_plain, is_scalar};
use crate::error::Error;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyUserWarning};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyList, PyMemoryView, PyString, PyTuple,
};
use std::ffi::CStr;
use std::time::Instant;

/// Elements of an array between two checks for signals.
const SIGNAL_ITEMS: usize = 1 << 20;

/// Appends an item to a batch.
#[inline]
fn push(batch: &mut Batch, item: &Bound<'_, PyAny>) -> PyResult<()> {
    match item.cast_exact::<PyString>().map(|text| text.to_str()) {
        Ok(Ok(text)) => Ok(batch.push(text.as_bytes()).map_err(Error::from)?),
        _ => push_any(batch, item),
    }
}

fn push_any(batch: &mut Batch, item: &Bound<'_, PyAny>) -> PyResult<()> {
    let position = batch.position();
    let pushed = with_bytes(item, |bytes| batch.push(bytes)).map_err(|error| match is_nan(item) {
        true => Error::nan(Some(position)).into(),
        false => error,
    });
    Ok(pushed?.map_err(Error::from)?)
}

/// Calls `read` with the bytes of an item.
pub fn with_bytes<R>(item: &Bound<'_, PyAny>, read: impl FnOnce(&[u8]) -> R) -> PyResult<R> {
    // The tests for subclasses are calls.
    if let Ok(text) = item.cast_exact::<PyString>() {
        return Ok(read(text.to_str()?.as_bytes()));
    }
    if item.is_exact_instance_of::<PyInt>() {
        return match item.extract::<i64>() {
            Ok(integer) => Ok(read(itoa::Buffer::new().format(integer).as_bytes())),
            Err(_) => Ok(read(item.str()?.to_str()?.as_bytes())),
        };
    }
    if let Ok(text) = item.cast::<PyString>() {
        return Ok(read(text.to_str()?.as_bytes()));
    }
    if let Ok(bytes) = item.cast::<PyBytes>() {
        return Ok(read(bytes.as_bytes()));
    }
    // Another thread may write to a buffer: the item is a copy.
    if let Ok(bytes) = item.cast::<PyByteArray>() {
        return Ok(read(&bytes.to_vec()));
    }
    if let Ok(view) = item.cast::<PyMemoryView>() {
        let bytes = view.call_method0("tobytes")?;
        return Ok(read(bytes.cast::<PyBytes>()?.as_bytes()));
    }
    if let Ok(float) = item.cast::<PyFloat>() {
        return with_float_text(float, read);
    }
    if item.is_instance_of::<PyInt>() && !item.is_instance_of::<PyBool>() {
        // Clients send the representation, which differs from the digits for the members of an `IntEnum`.
        return Ok(read(item.repr()?.to_str()?.as_bytes()));
    }
    if !item.is_instance_of::<PyBool>() {
        match item.extract::<i64>() {
            Ok(integer) => return Ok(read(itoa::Buffer::new().format(integer).as_bytes())),
            Err(error)
                if !error.is_instance_of::<PyTypeError>(item.py())
                    && !error.is_instance_of::<PyOverflowError>(item.py()) =>
            {
                // From the method `__index__`.
                return Err(error);
            }
            Err(_) => {}
        }
        if let Ok(integer) = item.extract::<u64>() {
            return Ok(read(itoa::Buffer::new().format(integer).as_bytes()));
        }
    }
    Err(PyTypeError::new_err(format!(
        "an item must be str, bytes, int or float, not {}",
        item.get_type().name()?
    )))
}

/// Calls `read` with the text of a float that clients send: its representation. A float of NumPy has that of the equal element of an array.
fn with_float_text<R>(float: &Bound<'_, PyFloat>, read: impl FnOnce(&[u8]) -> R) -> PyResult<R> {
    let value = float.value();
    if value.is_nan() {
        return Err(Error::nan(None).into());
    }
    let is_exact = float.is_exact_instance_of::<PyFloat>();
    if !is_exact && !is_scalar(float)? {
        return Ok(read(float.repr()?.to_str()?.as_bytes()));
    }
    with_digits(float.py(), value, read)
}

/// Calls `read` with the representation of a number.
fn with_digits<R>(py: Python<'_>, value: f64, read: impl FnOnce(&[u8]) -> R) -> PyResult<R> {
    // The same digits as Python's, without an exponent. The standard library would round `1 + 2^-17` up, Python rounds to even.
    if value == 0.0 || (1e-4..1e16).contains(&value.abs()) {
        return Ok(read(zmij::Buffer::new().format_finite(value).as_bytes()));
    }
    let text = PyFloat::new(py, value).repr()?;
    Ok(read(text.to_str()?.as_bytes()))
}

/// Appends a number of an array.
fn push_float(py: Python<'_>, batch: &mut Batch, value: f64) -> PyResult<()> {
    if value.is_nan() {
        return Err(Error::nan(Some(batch.position())).into());
    }
    Ok(with_digits(py, value, |text| batch.push(text))?.map_err(Error::from)?)
}

/// Whether an item is NaN, which data frames use for missing values.
fn is_nan(item: &Bound<'_, PyAny>) -> bool {
    item.cast::<PyFloat>()
        .is_ok_and(|float| float.value().is_nan())
}

/// Whether the floats of a column are integers. `1` and `1.0` are different items.
#[derive(Default)]
struct Integers {
    has_integers: bool,
    has_others: bool,
}

impl Integers {
    fn read(&mut self, floats: &[f64]) {
        const END_OF_INTEGERS: f64 = (1_u64 << 63) as f64;
        let is_integer = |float: f64| float.fract() == 0.0 && float.abs() < END_OF_INTEGERS;
        for &float in floats.iter().filter(|float| !float.is_nan()) {
            if self.has_others {
                return;
            }
            self.has_integers |= is_integer(float);
            self.has_others |= !is_integer(float);
        }
    }

    /// Warns if all floats that were read are integers.
    fn warn(&self, py: Python<'_>) -> PyResult<()> {
        const TEXT: &CStr = c"the floats of the column are all integers, and are items such as '1.0', not '1': if they are \
            identifiers, convert the column with astype('int64'), or in pandas with astype('Int64') if values are missing";
        match self.has_integers && !self.has_others {
            true => PyErr::warn(py, &py.get_type::<PyUserWarning>(), TEXT, 1),
            false => Ok(()),
        }
    }
}

/// Warns of the result of `value_counts` of pandas, whose items are the index.
fn warn_of_counts(items: &Bound<'_, PyAny>) -> PyResult<()> {
    const TEXT: &CStr = c"the items are the values of the Series 'count', not its index: if the values are counts, use \
        update(series.to_dict())";
    let py = items.py();
    if is_plain(items) {
        return Ok(());
    }
    let is_named = match items.getattr_opt(intern!(py, "name"))? {
        Some(name) => name.cast::<PyString>().is_ok_and(|name| name == "count"),
        None => false,
    };
    match is_named
        && items.hasattr(intern!(py, "value_counts"))?
        && items.hasattr(intern!(py, "index"))?
    {
        true => PyErr::warn(py, &py.get_type::<PyUserWarning>(), TEXT, 1),
        false => Ok(()),
    }
}

/// Processes the items of a batch: a short one with the GIL.
type Read<'a> = dyn FnMut(&Batch, Option<Python<'_>>) -> Result<(), Error> + Send + 'a;

/// Whether an argument is not an item, but an iterable, an array or a column of items.
pub fn are_several(argument: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_one = is_text(argument)
        || argument.is_instance_of::<PyInt>()
        || argument.is_instance_of::<PyFloat>();
    Ok(!is_one && (argument.try_iter().is_ok() || arrow::is_column(argument)?))
}

/// Whether an argument is an item that Python iterates over.
fn is_text(argument: &Bound<'_, PyAny>) -> bool {
    argument.is_instance_of::<PyString>()
        || argument.is_instance_of::<PyBytes>()
        || argument.is_instance_of::<PyByteArray>()
        || argument.is_instance_of::<PyMemoryView>()
}

/// As [`for_each_chunk`], with the default number of items.
pub fn for_each_batch(
    items: &Bound<'_, PyAny>,
    read: impl FnMut(&Batch, Option<Python<'_>>) -> Result<(), Error> + Send,
) -> PyResult<()> {
    for_each_chunk(items, BATCH_ITEMS, read)
}

/// Passes items in batches to `read`: a short batch of objects with the GIL, others without it. The items are those of a NumPy
/// array of integers or strings, of a column of a data frame, or of any iterable, of which at most `chunk` items are read ahead.
pub fn for_each_chunk(
    items: &Bound<'_, PyAny>,
    chunk: usize,
    mut read: impl FnMut(&Batch, Option<Python<'_>>) -> Result<(), Error> + Send,
) -> PyResult<()> {
    for_each_of(items, chunk, &mut read)
}

/// As [`for_each_chunk`], compiled once.
fn for_each_of(items: &Bound<'_, PyAny>, chunk: usize, read: &mut Read<'_>) -> PyResult<()> {
    if is_builtin(items) {
        return for_each_object(items, chunk, read);
    }
    if is_text(items) {
        return Err(PyTypeError::new_err(
            "items must be an iterable of items, not a single item",
        ));
    }
    let py = items.py();
    warn_of_counts(items)?;
    if let Some(mut column) = arrow::of(items, "item")? {
        if !column.has_doubles() {
            return for_each_in_column(py, column, read);
        }
        let is_sized = items.hasattr(intern!(py, "__len__"))?;
        return for_each_double(py, &mut column, is_sized, Objects::new(py, chunk, read));
    }
    let Some(array) = numpy_array::of(items, None)? else {
        return for_each_object(items, chunk, read);
    };
    let added = match array.kind {
        'i' => {
            let array = array.to::<i64>("int64")?;
            for_each_element(py, array.as_slice()?, 1, read, |batch, number| {
                batch.push_integer(number[0])
            })
        }
        'u' => {
            let array = array.to::<u64>("uint64")?;
            for_each_element(py, array.as_slice()?, 1, read, |batch, number| {
                batch.push_integer(number[0])
            })
        }
        'U' | 'S' if array.element_bytes()? == 0 => {
            let strings = vec![(); array.len()?];
            for_each_element(py, &strings, 1, read, |batch, _| Ok(batch.end_item()?))
        }
        'U' => {
            let (code_points, len) = array.strings::<u32>()?;
            for_each_element(py, code_points.as_slice()?, len, read, |batch, string| {
                batch.push_code_points(string)
            })
        }
        'S' => {
            let (bytes, len) = array.strings::<u8>()?;
            for_each_element(py, bytes.as_slice()?, len, read, |batch, string| {
                batch.push_padded(string)
            })
        }
        // `T` is the type of strings without a fixed length. Of a float of another size, the text would depend on its rounding.
        'f' if array.element_bytes()? != size_of::<f64>() => Err(PyTypeError::new_err(
            "an array of items must have integers, strings or floats of 64 bits",
        )),
        'f' => {
            let floats = array.to::<f64>("float64")?;
            let floats = floats.as_slice()?;
            let mut integers = Integers::default();
            integers.read(floats);
            integers.warn(py)?;
            let mut objects = Objects::new(py, chunk, read);
            objects.push_floats(floats)?;
            objects.finish()
        }
        'O' | 'T' => for_each_object(&array.to_list()?, chunk, read),
        kind => Err(PyTypeError::new_err(format!(
            "an array of items must have integers or strings, not elements of kind {kind:?}"
        ))),
    };
    added?;
    (array.null).map_or(Ok(()), |null| Err(Error::null("item", null).into()))
}

fn for_each_object(items: &Bound<'_, PyAny>, chunk: usize, read: &mut Read<'_>) -> PyResult<()> {
    let mut objects = Objects::new(items.py(), chunk, read);
    match (items.cast_exact(), items.cast_exact::<PyTuple>()) {
        (Ok(list), _) => objects.push_list(list)?,
        (_, Ok(tuple)) => objects.push_tuple(tuple)?,
        _ => items.try_iter()?.try_for_each(|item| match item {
            Ok(item) => objects.push(&item),
            Err(error) => objects.process(Err(error)),
        })?,
    }
    objects.finish()
}

/// Adds the elements of a column of doubles, whose text is that of Python's floats. The elements of a column with a length are checked
/// before the first one is added.
fn for_each_double(
    py: Python<'_>,
    column: &mut arrow::Column,
    is_sized: bool,
    mut objects: Objects<'_, '_, '_>,
) -> PyResult<()> {
    let mut integers = Integers::default();
    if is_sized {
        column.read_ahead(py)?;
        column.for_each_numbers(py, |floats| {
            integers.read(floats);
            Ok(())
        })?;
        integers.warn(py)?;
        column.rewind();
    }
    column.for_each_numbers(py, |floats| {
        integers.read(floats);
        objects.push_floats(floats)
    })?;
    objects.finish()?;
    match is_sized {
        true => Ok(()),
        false => integers.warn(py),
    }
}

/// Objects that become the items of batches.
struct Objects<'py, 'a, 'b> {
    py: Python<'py>,
    /// The number of items of a batch.
    chunk: usize,
    read: &'a mut Read<'b>,
    batch: Batch,
}

impl<'py, 'a, 'b> Objects<'py, 'a, 'b> {
    fn new(py: Python<'py>, chunk: usize, read: &'a mut Read<'b>) -> Self {
        Self {
            py,
            chunk,
            read,
            batch: Batch::default(),
        }
    }

    fn push_floats(&mut self, floats: &[f64]) -> PyResult<()> {
        floats.iter().try_for_each(|&float| {
            let pushed = push_float(self.py, &mut self.batch, float);
            self.end(pushed)
        })
    }

    /// Processes the last items. Calls `read` once if there are none.
    fn finish(mut self) -> PyResult<()> {
        match self.batch.len() > 0 || self.batch.position() == 0 {
            true => self.process(Ok(())),
            false => Ok(()),
        }
    }

    /// Adds the next item. Processes the batch if it is full, or after an error.
    #[inline]
    fn push(&mut self, item: &Bound<'py, PyAny>) -> PyResult<()> {
        let pushed = push(&mut self.batch, item);
        self.end(pushed)
    }

    /// Processes the batch if it is full, or if the last item was not added.
    #[inline]
    fn end(&mut self, pushed: PyResult<()>) -> PyResult<()> {
        match pushed.is_err() || self.batch.is_full() || self.batch.len() >= self.chunk {
            true => self.process(pushed),
            false => Ok(()),
        }
    }

    /// Adds the items of a list in parts.
    fn push_list(&mut self, list: &Bound<'py, PyList>) -> PyResult<()> {
        let mut start = 0;
        while start < list.len() {
            // A copy, because other threads can change the list.
            let part = match start == 0 && list.len() <= self.chunk {
                true => list.to_tuple(),
                false => list.get_slice(start, start + self.chunk).to_tuple(),
            };
            start += part.len();
            self.push_tuple(&part)?;
        }
        Ok(())
    }

    fn push_tuple(&mut self, items: &Bound<'py, PyTuple>) -> PyResult<()> {
        self.batch.reserve(items.len().min(self.chunk))?;
        items.iter_borrowed().try_for_each(|item| self.push(&item))
    }

    /// Processes the items: after an error, those before it.
    fn process(&mut self, pushed: PyResult<()>) -> PyResult<()> {
        self.py.check_signals()?;
        let (read, batch) = (&mut self.read, &self.batch);
        match batch.is_short() {
            true => read(batch, Some(self.py))?,
            false => self.py.detach(|| read(batch, None))?,
        }
        self.batch.clear();
        pushed
    }
}

fn for_each_element<T: Sync>(
    py: Python<'_>,
    elements: &[T],
    elements_per_item: usize,
    read: &mut Read<'_>,
    mut push: impl FnMut(&mut Batch, &[T]) -> Result<(), Error> + Send,
) -> PyResult<()> {
    let mut batch = Batch::default();
    for part in elements.chunks(SIGNAL_ITEMS * elements_per_item) {
        py.check_signals()?;
        py.detach(|| {
            for part in part.chunks(BATCH_ITEMS * elements_per_item) {
                batch.clear();
                let mut items = part.chunks(elements_per_item);
                let pushed = items.try_for_each(|item| push(&mut batch, item));
                // After an error, the items before it are processed.
                read(&batch, None)?;
                pushed?;
            }
            Ok::<_, Error>(())
        })?;
    }
    Ok(())
}

/// As [`for_each_element`], for a column in Arrow's memory layout.
fn for_each_in_column(
    py: Python<'_>,
    mut column: arrow::Column,
    read: &mut Read<'_>,
) -> PyResult<()> {
    let mut batch = Batch::default();
    let mut chunk = None;
    loop {
        py.check_signals()?;
        // The producer of the column may wait for the lock of the interpreter.
        let is_end = py.detach(|| {
            let start = Instant::now();
            while start.elapsed() < arrow::SIGNAL_TIME {
                let appended = match column.current(&mut chunk) {
                    Ok(Some(chunk)) => chunk.append(&mut batch).map(|()| true),
                    Ok(None) => Ok(false),
                    Err(error) => Err(error),
                };
                let is_end = !matches!(appended, Ok(true));
                if is_end || batch.is_full() {
                    // After an error, the items before it are processed.
                    read(&batch, None)?;
                    batch.clear();
                }
                appended?;
                if is_end {
                    return Ok(true);
                }
            }
            read(&batch, None)?;
            batch.clear();
            Ok::<_, Error>(false)
        })?;
        if is_end {
            return Ok(());
        }
    }
}
