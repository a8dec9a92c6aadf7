//! Batches of items. The sketches process long ones without the lock of the interpreter.

use crate::arguments::scalars::{in_range, integer};
use crate::error::Error;
use pyo3::prelude::*;
use roughly_sketch::memory::{OutOfMemory, reserve_exact, try_push};
use std::ops::Range;

/// Items of a batch. The sketches process items in blocks, and the lock of the interpreter is released at most once per batch.
pub const BATCH_ITEMS: usize = 4096;
/// Items or samples that are processed without releasing the GIL, which would take longer.
pub const SHORT_BATCH: usize = 128;
/// Bytes of such items.
const SHORT_BYTES: usize = 1 << 14;
/// The bytes that [`Batch::reserve`] expects per item.
const USUAL_BYTES: usize = 16;
/// Bytes after which a batch ends early.
pub const BATCH_BYTES: usize = 1 << 20;

/// Items, one after the other in one block of memory.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The items that were removed.
    before: usize,
}

impl Batch {
    /// The number of items.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The items.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.range(0..self.len())
    }

    /// The items at these positions.
    pub fn range(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        let mut start = match range.start {
            0 => 0,
            first => self.ends[first - 1],
        };
        self.ends[range].iter().map(move |&end| {
            let item = &self.bytes[start..end];
            start = end;
            item
        })
    }

    /// The position of the next item among those of all batches.
    pub fn position(&self) -> usize {
        self.before + self.len()
    }

    /// Removes all items.
    pub fn clear(&mut self) {
        self.before += self.len();
        self.bytes.clear();
        self.ends.clear();
    }

    /// Whether the batch must be processed before another item is added.
    pub fn is_full(&self) -> bool {
        self.ends.len() == BATCH_ITEMS || self.bytes.len() >= BATCH_BYTES
    }

    /// Whether the batch is short, and the first: further ones release the GIL, so that other threads run.
    pub fn is_short(&self) -> bool {
        self.before == 0 && self.len() <= SHORT_BATCH && self.bytes.len() <= SHORT_BYTES
    }

    /// Reserves memory for this many items.
    ///
    /// # Errors
    /// `MemoryError`.
    pub fn reserve(&mut self, items: usize) -> Result<(), Error> {
        reserve(&mut self.ends, items)?;
        Ok(reserve(&mut self.bytes, items * USUAL_BYTES)?)
    }

    /// Appends bytes of the item that the next [`Batch::end_item`] ends.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), OutOfMemory> {
        reserve(&mut self.bytes, bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Appends an item.
    pub fn push(&mut self, item: &[u8]) -> Result<(), OutOfMemory> {
        self.append(item)?;
        self.end_item()
    }

    /// Ends an item: the bytes since the end of the item before.
    pub fn end_item(&mut self) -> Result<(), OutOfMemory> {
        try_push(&mut self.ends, self.bytes.len())
    }

    /// Appends the decimal digits of an integer.
    pub fn push_integer(&mut self, integer: impl itoa::Integer) -> Result<(), Error> {
        let mut digits = itoa::Buffer::new();
        self.append(digits.format(integer).as_bytes())?;
        Ok(self.end_item()?)
    }

    /// Appends a string of NumPy's type U, which has zeros after its end.
    pub fn push_code_points(&mut self, code_points: &[u32]) -> Result<(), Error> {
        let len = code_points.iter().rposition(|&code_point| code_point != 0);
        for &code_point in &code_points[..len.map_or(0, |last| last + 1)] {
            let character = char::from_u32(code_point);
            let character = character.ok_or_else(|| {
                let position = self.position();
                let text = format!("the string at position {position} is not valid Unicode");
                Error::Value(text.into())
            })?;
            let mut utf8 = [0; 4];
            self.append(character.encode_utf8(&mut utf8).as_bytes())?;
        }
        Ok(self.end_item()?)
    }

    /// Appends a string of NumPy's type S, which has zeros after its end.
    pub fn push_padded(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let len = bytes.iter().rposition(|&byte| byte != 0);
        self.append(&bytes[..len.map_or(0, |last| last + 1)])?;
        Ok(self.end_item()?)
    }
}

/// The first capacity of a growing vector.
const MIN_CAPACITY: usize = 32;

/// Reserves capacity for `additional` more elements. The capacity at least doubles when it grows.
#[inline]
pub fn reserve<T>(vec: &mut Vec<T>, additional: usize) -> Result<(), OutOfMemory> {
    match vec.capacity() - vec.len() < additional {
        true => reserve_exact(vec, additional.max(vec.len()).max(MIN_CAPACITY)),
        false => Ok(()),
    }
}

/// The argument `chunk`: the number of items of an iterable that are read before they are processed.
///
/// # Errors
/// `ValueError` if it is out of range, `TypeError` for other objects.
pub fn chunk_items(chunk: &Bound<'_, PyAny>) -> PyResult<usize> {
    let range = 1..=BATCH_ITEMS as i64;
    let items: u32 = in_range(integer(chunk)?, range, "chunk must be between 1 and 4096")?;
    Ok(items as usize)
}
