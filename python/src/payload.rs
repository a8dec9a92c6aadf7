//! DUMP payloads.

use crate::bloom::BloomFilter;
use crate::count_min::CountMinSketch;
use crate::cuckoo::CuckooFilter;
use crate::error::Error;
use crate::sketch::{Class, Variants};
use crate::t_digest::TDigest;
use crate::top_k::TopK;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};
use roughly_dump::{Fixed, Length, Output, RDB_VERSION, Reader, Writer, check_footer, type_id};
use roughly_sketch::format::FormatError;
use roughly_sketch::format::chunks::CHUNK_BYTES;
use roughly_sketch::memory::with_capacity;
use roughly_sketch::stored::Stored;

/// The lowest ten bits of a type id are the encoding version.
const VERSION_BITS: u32 = 10;

/// The type id of the payloads that a type writes.
fn id_of<T: Stored>() -> u64 {
    let name = T::TYPE_NAME.to_bytes().first_chunk();
    name.map_or(0, |name| type_id(name, T::ENCODING_VERSION))
}

/// The sketch whose values a payload has; `None` if it has another type.
pub fn sketch_of<T: Stored<LoadOptions: Default>>(
    reader: &mut Reader<'_>,
) -> Option<Result<T, FormatError>> {
    let version = version_of::<T>(reader.type_id())?;
    Some(T::load(reader, version, &T::LoadOptions::default()))
}

/// The encoding version in the type id of a payload; `None` if it is the id of another type.
pub fn version_of<T: Stored>(id: u64) -> Option<u16> {
    let version = (id & ((1 << VERSION_BITS) - 1)) as u16;
    (id >> VERSION_BITS == id_of::<T>() >> VERSION_BITS).then_some(version)
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

/// The bytes of a bytes-like object: a copy unless they are `bytes`.
///
/// # Errors
/// `TypeError` for other objects, and `MemoryError`.
pub fn bytes_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(bytes.clone());
    }
    let copy = PyMemoryView::from(object)?.call_method0("tobytes")?;
    Ok(copy.cast_into()?)
}

/// Payloads up to this length are read and written with the GIL: to release it would take longer.
const SHORT_BYTES: usize = 1 << 14;

/// The length of the payload of a sketch; `usize::MAX` if it is larger.
fn payload_len(sketch: &impl Variants, rdb_version: u16) -> usize {
    let mut len = Length::default();
    sketch.dump(rdb_version, &mut len);
    usize::try_from(len.0).unwrap_or(usize::MAX)
}

/// The payload of an object in memory, with this RDB version in the footer.
pub fn of<'py, T: Class>(
    object: &T,
    py: Python<'py>,
    rdb_version: i64,
) -> PyResult<Bound<'py, PyBytes>> {
    let version = u16::try_from(rdb_version).ok();
    let version = version.filter(|&version| version >= RDB_VERSION);
    let version = version.ok_or(Error::value("rdb_version must be in the range [9, 65535]"))?;
    let sketch = object.sketch()?;
    let len = sketch.peek(py, |sketch| payload_len(sketch, version));
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
    if is_complete {
        return Ok(payload);
    }
    // Another thread has changed the length meanwhile.
    let payload = py.detach(|| {
        sketch.read(|sketch| {
            let mut payload = with_capacity(payload_len(sketch, version))?;
            sketch.dump(version, &mut payload);
            Ok::<_, Error>(payload)
        })
    })?;
    bytes(py, &payload)
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

/// The object whose DUMP payload this is.
///
/// # Errors
/// `ValueError` if RESTORE would refuse it, and `MemoryError`.
pub fn load(py: Python<'_>, payload: &[u8]) -> PyResult<Py<PyAny>> {
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
