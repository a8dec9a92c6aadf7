//! DUMP payloads, files with one of them, and chunks.

use crate::bloom::BloomFilter;
use crate::count_min::CountMinSketch;
use crate::cuckoo::CuckooFilter;
use crate::error::Error;
use crate::numbers::Integer;
use crate::sketch::{Class, Variants};
use crate::t_digest::TDigest;
use crate::top_k::TopK;
use pyo3::exceptions::{PyMemoryError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use roughly_dump::{Fixed, Length, Output, RDB_VERSION, Reader, Writer, check_footer, type_id};
use roughly_sketch::format::FormatError;
use roughly_sketch::format::chunks::CHUNK_BYTES;
use roughly_sketch::memory::{Budget, try_push, with_capacity};
use roughly_sketch::stored::Stored;
use std::io;
use std::path::Path;

/// The lowest ten bits of a type id are the encoding version.
const VERSION_BITS: u32 = 10;

/// The type id of the payloads that a type writes.
fn id_of<T: Stored>() -> u64 {
    let name = T::TYPE_NAME.to_bytes().first_chunk();
    name.map_or(0, |name| type_id(name, T::ENCODING_VERSION))
}

/// The sketch whose values a payload has; `None` if it has another type.
pub fn load_values<T: Stored<Defaults: Default>>(
    reader: &mut Reader<'_>,
) -> Option<Result<T, FormatError>> {
    let id = reader.type_id();
    if id >> VERSION_BITS != id_of::<T>() >> VERSION_BITS {
        return None;
    }
    let version = (id & ((1 << VERSION_BITS) - 1)) as u16;
    Some(T::load(reader, version, &T::Defaults::default()))
}

/// Writes the payload of a sketch.
pub fn dump<T: Stored>(sketch: &T, rdb_version: u16, output: &mut dyn Output) {
    let mut writer = Writer::to(output, id_of::<T>());
    sketch.save(&mut writer);
    writer.finish_with(rdb_version);
}

/// The header of the chunks of a sketch.
pub fn header<T: Stored>(sketch: &T) -> Result<Vec<u8>, Error> {
    match sketch.has_header() {
        true => Ok(sketch.header()?),
        false => Err(Error::value("the sketch has no chunks")),
    }
}

/// Whether two sketches have the same state: the same header and chunks.
///
/// # Errors
/// The memory for their headers or, of a type without chunks, payloads is refused.
pub fn is_equal<T: Stored>(one: &T, other: &T) -> Result<bool, Error> {
    if !one.has_header() || !other.has_header() {
        let payload = |sketch: &T| {
            let bytes = usize::try_from(sketch.payload_bytes()).unwrap_or(usize::MAX);
            let mut payload = with_capacity(bytes)?;
            dump(sketch, RDB_VERSION, &mut payload);
            Ok::<_, Error>(payload)
        };
        return Ok(payload(one)? == payload(other)?);
    }
    if one.header()? != other.header()? {
        return Ok(false);
    }
    let mut iterator = 1;
    loop {
        let chunks = [one, other].map(|sketch| sketch.chunk(iterator, CHUNK_BYTES));
        match chunks {
            [None, None] => return Ok(true),
            [Some((next, chunk)), Some(chunk_and_next)] if chunk_and_next == (next, chunk) => {
                iterator = next;
            }
            _ => return Ok(false),
        }
    }
}

/// A Python object with a copy of these bytes. `PyBytes::new` panics if the memory for it is not available.
pub fn bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, bytes.len(), |copy| {
        copy.copy_from_slice(bytes);
        Ok(())
    })
}

/// Payloads up to this length are read and written with the GIL: to release it would take longer.
const SHORT_BYTES: usize = 1 << 14;

/// The payload of an object, with this RDB version in the footer.
pub fn of<'py, T: Class>(
    object: &T,
    py: Python<'py>,
    rdb_version: i64,
) -> PyResult<Bound<'py, PyBytes>> {
    let version = u16::try_from(rdb_version).ok();
    let version = version.filter(|&version| version >= RDB_VERSION);
    let version = version.ok_or(Error::value("rdb_version must be in the range [9, 65535]"))?;
    let sketch = object.sketch();
    loop {
        let Length(len) = sketch.peek(py, |sketch| {
            let mut len = Length::default();
            sketch.dump(version, &mut len);
            len
        });
        let len = usize::try_from(len)?;
        let mut is_complete = false;
        let payload = PyBytes::new_with(py, len, |bytes| {
            let mut output = Fixed::new(bytes);
            let write = |sketch: &T::Variants| {
                sketch.dump(version, &mut output);
                output.is_full()
            };
            is_complete = match len {
                0..=SHORT_BYTES => sketch.peek(py, write),
                _ => py.detach(|| sketch.read(write)),
            };
            Ok(())
        })?;
        // Otherwise, another thread has changed the length meanwhile.
        if is_complete {
            return Ok(payload);
        }
    }
}

/// Writes the payload of an object into a file.
pub fn save<T: Class>(object: &T, py: Python<'_>, path: &Path) -> PyResult<()> {
    let payload = of(object, py, RDB_VERSION.into())?;
    let payload = payload.as_bytes();
    let written = py.detach(|| std::fs::write(path, payload));
    written.map_err(|error| os_error(&error, path))
}

/// `OSError`, which selects its subclass, with the name of the file. `MemoryError` if a file does not fit in memory.
fn os_error(error: &io::Error, path: &Path) -> PyErr {
    if error.kind() == io::ErrorKind::OutOfMemory {
        return PyMemoryError::new_err(error.to_string());
    }
    let text = error.to_string();
    // Python adds the number.
    let text = text.split(" (os error").next().map(str::to_owned);
    PyOSError::new_err((error.raw_os_error(), text, path.to_path_buf()))
}

fn load_as<T: Class>(py: Python<'_>, payload: &[u8]) -> Option<PyResult<Py<PyAny>>> {
    let loaded = detach_if_long(py, payload, || {
        let mut reader = Reader::new(payload).ok()?;
        Some(
            T::Variants::load(&mut reader)?.and_then(|sketch| match reader.next_value()? {
                None => Ok(sketch),
                Some(_) => Err(FormatError::Invalid("values after the end")),
            }),
        )
    })?;
    let loaded = loaded.map_err(|error| Error::from(error).into());
    Some(loaded.and_then(|sketch| Ok(Py::new(py, T::of(sketch))?.into_any())))
}

/// Calls `read`, without the GIL if the payload is long.
fn detach_if_long<R: Send>(py: Python<'_>, payload: &[u8], read: impl FnOnce() -> R + Send) -> R {
    match payload.len() {
        0..=SHORT_BYTES => read(),
        _ => py.detach(read),
    }
}

/// The object whose DUMP payload this is. `ValueError` if RESTORE would refuse it, and for `None`, the reply to DUMP for a missing
/// key.
///
/// >>> seen = BloomFilter()
/// >>> seen.add("alice")
/// True
/// >>> load(seen.dump()) == seen
/// True
#[pyfunction]
pub fn load(py: Python<'_>, payload: Option<&[u8]>) -> PyResult<Py<PyAny>> {
    let payload = payload.ok_or(Error::value("the key does not exist"))?;
    load_payload(py, payload)
}

fn load_payload(py: Python<'_>, payload: &[u8]) -> PyResult<Py<PyAny>> {
    detach_if_long(py, payload, || {
        check_footer(payload)
            .map_err(|_| Error::value("DUMP payload version or checksum are wrong"))?;
        Reader::new(payload).map_err(|error| Error::from(FormatError::from(error)))?;
        Ok::<_, Error>(())
    })?;
    load_as::<BloomFilter>(py, payload)
        .or_else(|| load_as::<CuckooFilter>(py, payload))
        .or_else(|| load_as::<CountMinSketch>(py, payload))
        .or_else(|| load_as::<TopK>(py, payload))
        .or_else(|| load_as::<TDigest>(py, payload))
        .unwrap_or_else(|| Err(Error::value("Bad data format: unknown type of value").into()))
}

/// The object in a file that `save` wrote. `ValueError` if RESTORE would refuse the payload in it, `OSError` if it cannot be read.
///
/// >>> counts = CountMinSketch(100, 4)
/// >>> counts.save("counts.dump")
/// >>> open("counts.dump")
/// <CountMinSketch width=100 depth=4 cell_size=4 count=0>
#[pyfunction]
pub fn open(py: Python<'_>, path: std::path::PathBuf) -> PyResult<Py<PyAny>> {
    let payload = py.detach(|| std::fs::read(&path));
    load_payload(py, &payload.map_err(|error| os_error(&error, &path))?)
}

/// A chunk, with the next iterator and the sketch.
type ChunkAt = dyn Fn(Python<'_>, i64) -> PyResult<Option<(i64, Py<PyBytes>)>> + Send + Sync;

/// The chunks of a sketch: an iterator of pairs of an iterator and bytes, as SCANDUMP returns them.
#[pyclass(module = "roughly", name = "Chunks")]
pub struct Chunks {
    chunk_at: Box<ChunkAt>,
    iterator: Option<i64>,
}

impl Chunks {
    /// The chunks of an object.
    pub fn of<T: Class>(object: Py<T>) -> Self {
        let chunk_at = move |py: Python<'_>, iterator| {
            let sketch = object.get().sketch();
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
    let (Integer(iterator), bytes) = pair.extract()?;
    Ok((iterator, bytes))
}

/// A sketch that a header describes.
enum Candidate {
    Bloom,
    Cuckoo,
    CountMin,
    TopK,
    TDigest,
}

/// Whether the header is one of the class. Takes memory in proportion to the header, which has all data of a t-digest, and
/// not to the arrays.
fn accepts<T: Class>(header: &[u8]) -> bool {
    let allows = |bytes| bytes <= 16 * header.len() as u64;
    let loaded = T::Variants::from_header(header, Budget::new(&allows));
    matches!(loaded, Ok(_) | Err(FormatError::OutOfMemory(_)))
}

/// The object whose chunks these are: pairs of an iterator and bytes, as the replies to SCANDUMP, in order. `ValueError` if bytes
/// are missing or invalid.
///
/// >>> digest = TDigest()
/// >>> digest.update([1, 2, 3])
/// >>> load_chunks(digest.to_chunks()).max()
/// 3.0
#[pyfunction]
pub fn load_chunks(py: Python<'_>, pairs: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    const BAD_DATA: Error = Error::value("received bad data");
    let mut pairs = pairs.try_iter()?;
    let header = pairs.next().ok_or(BAD_DATA)??;
    let (1, header) = pair(&header)? else {
        return Err(BAD_DATA.into());
    };
    let header = header.as_bytes();
    let candidates = [
        (accepts::<BloomFilter>(header), Candidate::Bloom),
        (accepts::<CuckooFilter>(header), Candidate::Cuckoo),
        (accepts::<CountMinSketch>(header), Candidate::CountMin),
        (accepts::<TopK>(header), Candidate::TopK),
        (accepts::<TDigest>(header), Candidate::TDigest),
    ];
    let mut accepted = candidates.into_iter().filter(|(accepts, _)| *accepts);
    let (Some((_, candidate)), None) = (accepted.next(), accepted.next()) else {
        return Err(BAD_DATA.into());
    };
    match candidate {
        Candidate::Bloom => load_chunks_as::<BloomFilter>(py, header, pairs),
        Candidate::Cuckoo => load_chunks_as::<CuckooFilter>(py, header, pairs),
        Candidate::CountMin => load_chunks_as::<CountMinSketch>(py, header, pairs),
        Candidate::TopK => load_chunks_as::<TopK>(py, header, pairs),
        Candidate::TDigest => load_chunks_as::<TDigest>(py, header, pairs),
    }
}

fn load_chunks_as<'py, T: Class>(
    py: Python<'py>,
    header: &[u8],
    pairs: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Py<PyAny>> {
    let mut sketch = T::Variants::from_header(header, Budget::UNLIMITED).map_err(Error::from)?;
    let mut loaded = Vec::new();
    for chunk in pairs {
        // An iterator in C checks no signals.
        py.check_signals()?;
        let (iterator, chunk) = pair(&chunk?)?;
        let chunk = chunk.as_bytes();
        // The end of SCANDUMP.
        if iterator == 0 && chunk.is_empty() {
            break;
        }
        py.detach(|| sketch.load_chunk(iterator, chunk))?;
        try_push(&mut loaded, (iterator - chunk.len() as i64, iterator)).map_err(Error::from)?;
    }
    check_complete(&sketch, loaded)?;
    Ok(Py::new(py, T::of(sketch))?.into_any())
}

/// Checks that chunks contained every byte of the arrays. `loaded` are the iterators of the first byte of each chunk and of
/// the byte after it.
fn check_complete(sketch: &impl Variants, mut loaded: Vec<(i64, i64)>) -> Result<(), Error> {
    let end = std::iter::successors(Some(1), |&iterator| {
        sketch.chunk(iterator).map(|(next, _)| next)
    });
    let end = end.last().unwrap_or(1);
    loaded.sort_unstable();
    let mut complete = 1;
    for (first, after) in loaded.into_iter().chain([(end, end)]) {
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
