//! DUMP payloads of objects.

use crate::arguments::bytes::bytes;
use crate::error::Error;
use crate::sketch::class::Class;
use crate::sketch::variants::Variants;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use roughly_dump::{Fixed, Length, RDB_VERSION, Reader, check_footer};
use roughly_sketch::format::FormatError;
use roughly_sketch::memory::with_capacity;

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

/// Calls `read`, without the GIL if the payload is long.
fn detach_if_long<R: Send>(py: Python<'_>, payload: &[u8], read: impl FnOnce() -> R + Send) -> R {
    match payload.len() {
        0..=SHORT_BYTES => read(),
        _ => py.detach(read),
    }
}

/// Checks the footer of a payload, and what precedes its values.
///
/// # Errors
/// `ValueError` if RESTORE would refuse it.
pub fn check(py: Python<'_>, payload: &[u8]) -> PyResult<()> {
    Ok(detach_if_long(py, payload, || {
        check_footer(payload)
            .map_err(|_| Error::value("DUMP payload version or checksum are wrong"))?;
        Reader::new(payload).map_err(|error| Error::from(FormatError::from(error)))?;
        Ok::<_, Error>(())
    })?)
}

/// The object of a class whose payload this is, which was checked; `None` if it is the payload of another class.
///
/// # Errors
/// `ValueError` if RESTORE would refuse it, and `MemoryError`.
pub fn load_as<T: Class>(py: Python<'_>, payload: &[u8]) -> Option<PyResult<Py<T>>> {
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
    Some(loaded.and_then(|sketch| Py::new(py, T::of(sketch))))
}
