//! Items: `str` as UTF-8, `bytes`, and integers as decimal digits, as clients send them.

use crate::error::Error;
use crate::numpy_array::{self, Array};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyInt, PyString};
use roughly_sketch::memory::{OutOfMemory, reserve_exact, try_push};

/// Items of a batch. The sketches process items in blocks, and the lock of the interpreter is released once per batch.
const BATCH_ITEMS: usize = 4096;
/// Bytes after which a batch ends early.
const BATCH_BYTES: usize = 1 << 20;
/// Elements of an array between two checks for signals.
const SIGNAL_ITEMS: usize = 1 << 20;

/// Items, one after the other in one block of memory.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Batch {
    /// The number of items.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The items.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let item = &self.bytes[start..end];
            start = end;
            item
        })
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn is_full(&self) -> bool {
        self.ends.len() == BATCH_ITEMS || self.bytes.len() >= BATCH_BYTES
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), OutOfMemory> {
        reserve(&mut self.bytes, bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn end_item(&mut self) -> Result<(), OutOfMemory> {
        try_push(&mut self.ends, self.bytes.len())
    }

    fn push(&mut self, item: &Bound<'_, PyAny>) -> PyResult<()> {
        with_bytes(item, |bytes| self.append(bytes))?.map_err(Error::from)?;
        Ok(self.end_item().map_err(Error::from)?)
    }

    fn push_integer(&mut self, integer: impl itoa::Integer) -> Result<(), Error> {
        let mut digits = itoa::Buffer::new();
        self.append(digits.format(integer).as_bytes())?;
        Ok(self.end_item()?)
    }

    /// Appends a string of NumPy's type U, which has zeros after its end.
    fn push_code_points(&mut self, code_points: &[u32]) -> Result<(), Error> {
        let len = code_points.iter().rposition(|&code_point| code_point != 0);
        for &code_point in &code_points[..len.map_or(0, |last| last + 1)] {
            let character = char::from_u32(code_point);
            let character = character.ok_or(Error::value("a string is not valid Unicode"))?;
            let mut utf8 = [0; 4];
            self.append(character.encode_utf8(&mut utf8).as_bytes())?;
        }
        Ok(self.end_item()?)
    }

    /// Appends a string of NumPy's type S, which has zeros after its end.
    fn push_padded(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let len = bytes.iter().rposition(|&byte| byte != 0);
        self.append(&bytes[..len.map_or(0, |last| last + 1)])?;
        Ok(self.end_item()?)
    }
}

/// Reserves capacity for `additional` more elements. The capacity at least doubles when it grows.
#[inline]
pub fn reserve<T>(vec: &mut Vec<T>, additional: usize) -> Result<(), OutOfMemory> {
    match vec.capacity() - vec.len() < additional {
        true => reserve_exact(vec, additional.max(vec.len())),
        false => Ok(()),
    }
}

/// Calls `read` with the bytes of an item.
pub fn with_bytes<R>(item: &Bound<'_, PyAny>, read: impl FnOnce(&[u8]) -> R) -> PyResult<R> {
    if let Ok(text) = item.cast::<PyString>() {
        return Ok(read(text.to_cow()?.as_bytes()));
    }
    if let Ok(bytes) = item.cast::<PyBytes>() {
        return Ok(read(bytes.as_bytes()));
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
        if item.is_instance_of::<PyInt>() {
            return Ok(read(item.str()?.to_cow()?.as_bytes()));
        }
    }
    Err(PyTypeError::new_err(format!(
        "an item must be str, bytes or int, not {}",
        item.get_type().name()?
    )))
}

/// Passes items in batches to `read`, without the lock of the interpreter. The items are those of a NumPy array of integers
/// or strings, of a column of a data frame, or of any iterable.
pub fn for_each_batch(
    items: &Bound<'_, PyAny>,
    mut read: impl FnMut(&Batch) -> Result<(), Error> + Send,
) -> PyResult<()> {
    if items.is_instance_of::<PyString>()
        || items.is_instance_of::<PyBytes>()
        || items.is_instance_of::<PyByteArray>()
    {
        return Err(PyTypeError::new_err(
            "items must be an iterable of items, not a single item",
        ));
    }
    let Some(array) = numpy_array::of(items)? else {
        return for_each_object(items, read);
    };
    let py = items.py();
    match array.kind {
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
        'U' => {
            let (code_points, len) = array.strings::<u32>("uint32")?;
            if len == 0 {
                return for_each_empty(&array, read);
            }
            for_each_element(py, code_points.as_slice()?, len, read, |batch, string| {
                batch.push_code_points(string)
            })
        }
        'S' => {
            let (bytes, len) = array.strings::<u8>("uint8")?;
            if len == 0 {
                return for_each_empty(&array, read);
            }
            for_each_element(py, bytes.as_slice()?, len, read, |batch, string| {
                batch.push_padded(string)
            })
        }
        // `T` is the type of strings without a fixed length.
        'O' | 'T' => for_each_object(&array.to_list()?, &mut read),
        kind => Err(PyTypeError::new_err(format!(
            "an array of items must have integers or strings, not elements of kind {kind:?}"
        ))),
    }
}

fn for_each_object(
    items: &Bound<'_, PyAny>,
    mut read: impl FnMut(&Batch) -> Result<(), Error> + Send,
) -> PyResult<()> {
    let py = items.py();
    let mut batch = Batch::default();
    for item in items.try_iter()? {
        batch.push(&item?)?;
        if batch.is_full() {
            py.check_signals()?;
            py.detach(|| read(&batch))?;
            batch.clear();
        }
    }
    Ok(py.detach(|| read(&batch))?)
}

fn for_each_element<T: Sync>(
    py: Python<'_>,
    elements: &[T],
    elements_per_item: usize,
    mut read: impl FnMut(&Batch) -> Result<(), Error> + Send,
    mut push: impl FnMut(&mut Batch, &[T]) -> Result<(), Error> + Send,
) -> PyResult<()> {
    let mut batch = Batch::default();
    for part in elements.chunks(SIGNAL_ITEMS * elements_per_item) {
        py.check_signals()?;
        py.detach(|| {
            for part in part.chunks(BATCH_ITEMS * elements_per_item) {
                batch.clear();
                part.chunks(elements_per_item)
                    .try_for_each(|item| push(&mut batch, item))?;
                read(&batch)?;
            }
            Ok::<_, Error>(())
        })?;
    }
    Ok(())
}

/// As [`for_each_element`], for strings of the length 0.
fn for_each_empty(
    array: &Array<'_>,
    mut read: impl FnMut(&Batch) -> Result<(), Error> + Send,
) -> PyResult<()> {
    let mut left = array.len()?;
    let mut batch = Batch::default();
    while left > 0 {
        batch.clear();
        let len = left.min(BATCH_ITEMS);
        for _ in 0..len {
            batch.end_item().map_err(Error::from)?;
        }
        read(&batch)?;
        left -= len;
    }
    Ok(())
}
