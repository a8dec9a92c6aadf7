//! Chunks: the pairs of SCANDUMP and LOADCHUNK.

use crate::arguments::bytes::{bytes, bytes_of};
use crate::arguments::scalars::Integer;
use crate::error::Error;
use crate::sketch::class::Class;
use crate::sketch::variants::Variants;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyMemoryView, PySlice, PyTuple, PyType};
use roughly_sketch::format::FormatError;
use roughly_sketch::memory::{Budget, reserve_exact, try_push, with_capacity};
use std::cell::Cell;

/// A chunk, with the next iterator and the sketch.
type ChunkAt = dyn Fn(Python<'_>, i64) -> PyResult<Option<(i64, Py<PyBytes>)>> + Send + Sync;

/// The chunks of a sketch: an iterator of pairs of an iterator and bytes, as SCANDUMP returns them.
#[pyclass(module = "roughly", name = "Chunks")]
pub struct Chunks {
    chunk_at: Box<ChunkAt>,
    iterator: Option<i64>,
}

impl Chunks {
    /// The chunks of an object in memory.
    pub fn of<T: Class>(object: Py<T>) -> Self {
        let chunk_at = move |py: Python<'_>, iterator| {
            let sketch = object.get().sketch()?;
            // A copy, because the sketch is not locked while the interpreter creates an object.
            let pair = py.detach(|| {
                sketch.read(|sketch| match iterator {
                    0 => Ok(Some((1, sketch.header()?))),
                    _ => (sketch.chunk(iterator).map(|(next, chunk)| {
                        let mut copy = with_capacity(chunk.len())?;
                        copy.extend_from_slice(chunk);
                        Ok((next, copy))
                    }))
                    .transpose(),
                })
            });
            let pair: Option<(i64, Vec<u8>)> = pair.map_err(|error: Error| PyErr::from(error))?;
            pair.map(|(next, chunk)| Ok((next, bytes(py, &chunk)?.unbind())))
                .transpose()
        };
        Self {
            chunk_at: Box::new(chunk_at),
            iterator: Some(0),
        }
    }
}

#[pymethods]
impl Chunks {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<(i64, Py<PyBytes>)>> {
        let Some(iterator) = self.iterator else {
            return Ok(None);
        };
        let chunk = (self.chunk_at)(py, iterator)?;
        self.iterator = chunk.as_ref().map(|(next, _)| *next);
        Ok(chunk)
    }
}

/// The iterator and the bytes of a pair.
fn pair<'py>(pair: &Bound<'py, PyAny>) -> PyResult<(i64, Bound<'py, PyBytes>)> {
    let pair: Bound<'py, PyTuple> = match pair.cast::<PyTuple>() {
        Ok(pair) => pair.clone(),
        // A reply to SCANDUMP is a list.
        Err(_) => PyTuple::new(pair.py(), pair.try_iter()?.collect::<PyResult<Vec<_>>>()?)?,
    };
    let (Integer(iterator), bytes): (_, Bound<'py, PyAny>) = pair.extract()?;
    Ok((iterator, bytes_of(&bytes)?))
}

pub const BAD_DATA: Error = Error::value("received bad data");

/// The memory that a sketch may take, per byte of its header and chunks that was received.
const BYTES_PER_BYTE: u64 = 16;
/// The memory that any sketch may take: a top-k with few items has a list for k of them, which is in neither header nor chunks.
const MIN_BYTES: u64 = 64 << 20;

/// Bytes of an array that are copied at once.
const PART_BYTES: usize = 1 << 20;

/// A sketch without its chunks, or why there is none yet.
enum Allocated<V> {
    /// The sketch, with zeros in its arrays.
    Sketch(V),
    /// The sketch needs at least this number of bytes, for which too few bytes were received.
    Needs(u64),
}

impl<V: Variants> Allocated<V> {
    /// The sketch.
    ///
    /// # Errors
    /// Too few bytes were received.
    fn sketch(self, received: u64) -> Result<V, Error> {
        match self {
            Self::Sketch(sketch) => Ok(sketch),
            Self::Needs(needed) => {
                let text = format!("the chunks have {received} of at least {needed} bytes");
                Err(Error::Value(text.into()))
            }
        }
    }

    /// The sketch that a header describes, if it takes little memory compared with the bytes that were received, or at most
    /// `min_bytes`.
    fn new(header: &[u8], received: u64, min_bytes: u64) -> Result<Self, FormatError> {
        let (needed, refused) = (Cell::new(0u64), Cell::new(false));
        let allows = |bytes| {
            needed.set(needed.get().saturating_add(bytes));
            let allowed = needed.get() <= received.saturating_mul(BYTES_PER_BYTE).max(min_bytes);
            refused.set(refused.get() || !allowed);
            allowed
        };
        match V::from_header(header, Budget::new(&allows)) {
            Err(FormatError::OutOfMemory(_)) if refused.get() => Ok(Self::Needs(needed.get())),
            sketch => Ok(Self::Sketch(sketch?)),
        }
    }
}

/// Whether the header is one of the class. Takes memory in proportion to the header, which has all data of a t-digest, and
/// not to the arrays.
pub fn accepts<T: Class>(header: &[u8]) -> bool {
    let allocated = Allocated::<T::Variants>::new(header, header.len() as u64, 0);
    !matches!(allocated, Err(error) if !matches!(error, FormatError::OutOfMemory(_)))
}

/// Pairs of an iterator and bytes.
pub type Pairs<'a, 'py> = dyn Iterator<Item = PyResult<Bound<'py, PyAny>>> + 'a;

/// The header, and the pairs after it.
///
/// # Errors
/// `ValueError` if the first pair is no header, and those of the iterator.
pub fn header<'py>(
    pairs: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyIterator>)> {
    let mut pairs = pairs.try_iter()?;
    let header = pairs.next().ok_or(BAD_DATA)??;
    match pair(&header)? {
        (1, header) => Ok((header, pairs)),
        _ => Err(BAD_DATA.into()),
    }
}

/// The object of a header that the class accepts. Allocates the arrays after a part of their bytes was received, so that a header with
/// large lengths takes no memory.
///
/// # Errors
/// `ValueError` if bytes are missing or invalid, or if `class` is another class; `MemoryError`, and those of the iterator.
pub fn load_as<'py, T: Class>(
    class: &Bound<'py, PyType>,
    header: &[u8],
    pairs: &mut Pairs<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    check_class(&py.get_type::<T>(), class)?;
    let mut received = header.len() as u64;
    let allocate =
        |received| py.detach(|| Allocated::<T::Variants>::new(header, received, MIN_BYTES));
    let mut allocated = allocate(received).map_err(Error::from)?;
    let mut next_attempt = 2 * received;
    // Those that were received before the arrays were allocated.
    let mut waiting: Vec<(i64, Bound<'py, PyBytes>)> = Vec::new();
    let mut loaded = Ranges::default();
    let mut load = |sketch: &mut T::Variants, iterator, chunk: &Bound<'py, PyBytes>| {
        let chunk = chunk.as_bytes();
        py.detach(|| sketch.load_chunk(iterator, chunk))?;
        loaded.add(iterator - chunk.len() as i64, iterator)
    };
    for chunk in pairs {
        // An iterator in C checks no signals.
        py.check_signals()?;
        let (iterator, chunk) = pair(&chunk?)?;
        match chunk.as_bytes().len() as u64 {
            // The end of SCANDUMP.
            0 if iterator == 0 => break,
            0 if iterator < 0 => return Err(BAD_DATA.into()),
            0 => continue,
            len => received = received.saturating_add(len),
        }
        if matches!(allocated, Allocated::Needs(_)) && received >= next_attempt {
            allocated = allocate(received).map_err(Error::from)?;
            next_attempt = received.saturating_mul(2);
        }
        match &mut allocated {
            Allocated::Needs(_) => {
                try_push(&mut waiting, (iterator, chunk)).map_err(Error::from)?
            }
            Allocated::Sketch(sketch) => {
                for (iterator, chunk) in waiting.drain(..) {
                    load(sketch, iterator, &chunk)?;
                }
                load(sketch, iterator, &chunk)?;
            }
        }
    }
    if matches!(allocated, Allocated::Needs(_)) {
        allocated = allocate(received).map_err(Error::from)?;
    }
    let mut sketch = allocated.sketch(received)?;
    for (iterator, chunk) in waiting {
        load(&mut sketch, iterator, &chunk)?;
    }
    loaded.check_complete(&sketch)?;
    Ok(Bound::new(py, T::of(sketch))?.into_any())
}

/// The bytes of arrays, which are any buffers, as pairs like those of SCANDUMP.
///
/// # Errors
/// `TypeError` for objects that are no buffers.
pub fn pairs_of<'py>(
    arrays: &Bound<'py, PyTuple>,
) -> PyResult<impl Iterator<Item = PyResult<Bound<'py, PyAny>>>> {
    let mut parts = Vec::new();
    for array in arrays {
        let view = PyMemoryView::from(&array)?.call_method1("cast", ("B",))?;
        let starts = (0..view.len()?).step_by(PART_BYTES);
        parts.extend(starts.map(|start| (view.clone(), start)));
    }
    let mut end = 1;
    Ok(parts.into_iter().map(move |(view, start)| {
        let part = PySlice::new(view.py(), start as isize, (start + PART_BYTES) as isize, 1);
        let part = view.get_item(part)?.call_method0("tobytes")?;
        end += part.len()?;
        (end, part).into_bound_py_any(view.py())
    }))
}

/// Checks that an object of a class is one of the class whose method is called.
///
/// # Errors
/// `ValueError` with the names of both.
pub fn check_class(found: &Bound<'_, PyType>, expected: &Bound<'_, PyType>) -> PyResult<()> {
    if found.is_subclass(expected)? {
        return Ok(());
    }
    let text = format!(
        "the value is a {}, not a {}",
        found.name()?,
        expected.name()?
    );
    Err(Error::Value(text.into()).into())
}

/// Ranges of iterators that chunks contained, in order, each with the iterator of its first byte and of the byte after it. No two
/// of them touch.
#[derive(Default)]
struct Ranges(Vec<(i64, i64)>);

impl Ranges {
    /// Adds a range.
    fn add(&mut self, first: i64, after: i64) -> Result<(), Error> {
        let start = self.0.partition_point(|range| range.1 < first);
        let end = self.0.partition_point(|range| range.0 <= after);
        let (mut first, mut after) = (first, after);
        for range in self.0.drain(start..end) {
            first = first.min(range.0);
            after = after.max(range.1);
        }
        if self.0.len() == self.0.capacity() {
            let len = self.0.len();
            reserve_exact(&mut self.0, len.max(4))?;
        }
        self.0.insert(start, (first, after));
        Ok(())
    }

    /// Checks that they contain every byte of the arrays.
    fn check_complete(&self, sketch: &impl Variants) -> Result<(), Error> {
        let end = std::iter::successors(Some(1), |&iterator| {
            sketch.chunk(iterator).map(|(next, _)| next)
        });
        let end = end.last().unwrap_or(1);
        let mut complete = 1;
        for (first, after) in self.0.iter().copied().chain([(end, end)]) {
            if first > complete {
                // Iterator 1 is byte 0.
                let missing = format!(
                    "the chunks lack the bytes {} to {} of {}",
                    complete - 1,
                    first - 2,
                    end - 1
                );
                return Err(Error::Value(missing.into()));
            }
            complete = complete.max(after);
        }
        Ok(())
    }
}
