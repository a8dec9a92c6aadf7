//! The import of columns by the Arrow PyCapsule interface (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>),
//! which passes C structures in capsules. The only module of the package with `unsafe` code.
//!
//! The interface demands that a producer exports buffers that fit the type and the length of an array, and does not state the
//! size of most buffers. Checked are the lengths of arrays in tables, the keys of dictionaries, the places of strings in views, and
//! the offsets of other strings except for the last one, which is the size of the buffer of strings. A producer that exports
//! buffers that are too small, or a last offset that is too large, lets the process read other memory.
#![allow(unsafe_code)]

use crate::error::Error;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// The structure `ArrowArray` of the interface.
#[repr(C)]
struct RawArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const u8,
    children: *const *const RawArray,
    dictionary: *const RawArray,
    /// `None` after the release.
    release: Option<unsafe extern "C" fn(*mut RawArray)>,
    private_data: *mut c_void,
}

impl RawArray {
    const RELEASED: Self = Self {
        length: 0,
        null_count: 0,
        offset: 0,
        n_buffers: 0,
        n_children: 0,
        buffers: std::ptr::null(),
        children: std::ptr::null(),
        dictionary: std::ptr::null(),
        release: None,
        private_data: std::ptr::null_mut(),
    };
}

impl Drop for RawArray {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the array has not been released, and is not used afterwards.
            unsafe { release(self) }
        }
    }
}

// SAFETY: the interface demands that an array can be read and released by any thread. Nobody writes to it.
unsafe impl Send for RawArray {}
// SAFETY: as above.
unsafe impl Sync for RawArray {}

/// The structure `ArrowArrayStream` of the interface.
#[repr(C)]
struct RawStream {
    get_schema: Option<unsafe extern "C" fn(*mut RawStream, *mut FFI_ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut RawStream, *mut RawArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut RawStream) -> *const c_char>,
    /// `None` after the release.
    release: Option<unsafe extern "C" fn(*mut RawStream)>,
    private_data: *mut c_void,
}

impl RawStream {
    const RELEASED: Self = Self {
        get_schema: None,
        get_next: None,
        get_last_error: None,
        release: None,
        private_data: std::ptr::null_mut(),
    };
}

impl Drop for RawStream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the stream has not been released, and is not used afterwards.
            unsafe { release(self) }
        }
    }
}

// SAFETY: the interface demands that any thread can use a stream, one at a time.
unsafe impl Send for RawStream {}

/// The chunks of a column, which its producer may compute when they are read.
pub struct Chunks {
    data_type: DataType,
    /// Whether the elements can be null: the rows of a table cannot.
    is_nullable: bool,
    extension: Option<String>,
    producer: Producer,
}

enum Producer {
    Array(Option<RawArray>),
    Stream(RawStream),
}

/// What the method `__arrow_c_array__` or `__arrow_c_stream__` of an object returns; `None` for an object without these methods.
///
/// # Errors
/// Those of the method.
pub fn export<'py>(column: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = column.py();
    let method = match column.getattr_opt(intern!(py, "__arrow_c_array__"))? {
        Some(method) => Some(method),
        None => column.getattr_opt(intern!(py, "__arrow_c_stream__"))?,
    };
    method.map(|method| method.call0()).transpose()
}

impl Chunks {
    /// The chunks of an exported column.
    ///
    /// # Errors
    /// `ValueError` if the column has been consumed, `TypeError` if it has a type that the crate `arrow-schema` does not know.
    pub fn of(exported: &Bound<'_, PyAny>) -> PyResult<Self> {
        match exported.cast::<PyCapsule>() {
            Ok(stream) => import_stream(stream),
            Err(_) => {
                let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) =
                    exported.extract()?;
                import_array(&schema, &array)
            }
        }
    }

    /// The type of the elements.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Whether the elements are the rows of a table.
    pub fn is_table(&self) -> bool {
        matches!(self.data_type, DataType::Struct(_)) && !self.is_nullable
    }

    /// The name of the extension type of the elements, of their dictionary, or of a column of the table; `None` if there is none.
    pub fn extension(&self) -> Option<&str> {
        self.extension.as_deref()
    }

    /// The next chunk; `None` after the last one. Call it without the GIL, for which the producer may wait.
    ///
    /// # Errors
    /// Those of the producer.
    pub fn next(&mut self) -> Result<Option<Array>, Error> {
        let array = match &mut self.producer {
            Producer::Array(array) => array.take(),
            Producer::Stream(stream) => next_of_stream(stream)?,
        };
        let array = array.map(|array| Array::new(Arc::new(array), self.data_type.clone()));
        array.transpose()
    }
}

fn type_error(error: ArrowError) -> PyErr {
    PyTypeError::new_err(error.to_string())
}

/// The name of an extension type in a schema: of the column, its dictionary, or a column of the table.
///
/// # Errors
/// Metadata that are not UTF-8.
fn extension(schema: &FFI_ArrowSchema) -> Result<Option<String>, ArrowError> {
    if let Some(name) = schema.metadata()?.remove("ARROW:extension:name") {
        return Ok(Some(name));
    }
    for inner in schema.dictionary().into_iter().chain(schema.children()) {
        if let Some(name) = extension(inner)? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The structure in a capsule. The name of the capsule states that it has this structure.
fn structure<T>(capsule: &Bound<'_, PyCapsule>, name: &CStr) -> PyResult<NonNull<T>> {
    Ok(capsule.pointer_checked(Some(name))?.cast())
}

fn import_array(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> PyResult<Chunks> {
    let schema = structure::<FFI_ArrowSchema>(schema, c"arrow_schema")?;
    let array = structure::<RawArray>(array, c"arrow_array")?;
    // SAFETY: a capsule of this name has a pointer to such a structure, which lives as long as the capsule. Only this thread uses
    // it, as the GIL is held.
    let schema = unsafe { schema.as_ref() };
    let data_type = DataType::try_from(schema).map_err(type_error)?;
    let extension = extension(schema).map_err(type_error)?;
    // SAFETY: as above. Moves the array out of the structure, so that the capsule does not release it.
    let array = unsafe { array.replace(RawArray::RELEASED) };
    if array.release.is_none() {
        return Err(PyValueError::new_err("the Arrow array has been released"));
    }
    Ok(Chunks {
        data_type,
        is_nullable: schema.nullable(),
        extension,
        producer: Producer::Array(Some(array)),
    })
}

fn import_stream(stream: &Bound<'_, PyCapsule>) -> PyResult<Chunks> {
    let stream = structure::<RawStream>(stream, c"arrow_array_stream")?;
    // SAFETY: a capsule of this name has a pointer to such a structure, which only this thread uses, as the GIL is held. Moves the
    // stream out of the structure, so that the capsule does not release it.
    let mut stream = unsafe { stream.replace(RawStream::RELEASED) };
    let get_schema = callback(stream.get_schema)?;
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the stream is not released, as it has callbacks. The callback writes a schema if it returns 0.
    let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
    check(&mut stream, code)?;
    Ok(Chunks {
        data_type: DataType::try_from(&schema).map_err(type_error)?,
        is_nullable: schema.nullable(),
        extension: extension(&schema).map_err(type_error)?,
        producer: Producer::Stream(stream),
    })
}

/// A callback of a stream.
///
/// # Errors
/// The stream is released.
fn callback<T>(callback: Option<T>) -> Result<T, Error> {
    callback.ok_or(Error::value("the Arrow stream has been released"))
}

fn next_of_stream(stream: &mut RawStream) -> Result<Option<RawArray>, Error> {
    let get_next = callback(stream.get_next)?;
    let mut array = RawArray::RELEASED;
    // SAFETY: the stream is not released, as it has callbacks. The callback writes an array if it returns 0.
    let code = unsafe { get_next(stream, &raw mut array) };
    check(stream, code)?;
    Ok(array.release.is_some().then_some(array))
}

/// The error of the last callback of the stream, unless it returned 0.
fn check(stream: &mut RawStream, code: c_int) -> Result<(), Error> {
    if code == 0 {
        return Ok(());
    }
    let text = match stream.get_last_error {
        // SAFETY: the stream is not released, as it has callbacks, and its last callback failed.
        Some(get_last_error) => unsafe { get_last_error(stream) },
        None => std::ptr::null(),
    };
    let text = match NonNull::new(text.cast_mut()) {
        // SAFETY: the text ends with a zero byte, and is valid until the next callback.
        Some(text) => unsafe { CStr::from_ptr(text.as_ptr()) }
            .to_string_lossy()
            .into_owned(),
        None => std::io::Error::from_raw_os_error(code).to_string(),
    };
    Err(Error::Value(text.into()))
}

const INVALID: Error = Error::value("the Arrow array is invalid");

/// An array: a chunk of a column, of a column of a table, or a dictionary.
pub struct Array {
    /// The chunk, which has the memory of this array.
    chunk: Arc<RawArray>,
    raw: NonNull<RawArray>,
    data_type: DataType,
    /// The elements before the first one.
    offset: usize,
    len: usize,
}

// SAFETY: `raw` is a part of `chunk`, which any thread can read.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Sync for Array {}

fn size(number: i64) -> Result<usize, Error> {
    usize::try_from(number).map_err(|_| INVALID)
}

impl Array {
    fn new(chunk: Arc<RawArray>, data_type: DataType) -> Result<Self, Error> {
        Ok(Self {
            raw: NonNull::from(&*chunk),
            data_type,
            offset: size(chunk.offset)?,
            len: size(chunk.length)?,
            chunk,
        })
    }

    fn raw(&self) -> &RawArray {
        // SAFETY: a part of the chunk, which lives as long as this array.
        unsafe { self.raw.as_ref() }
    }

    /// An array that is a part of this one.
    fn part(&self, raw: *const RawArray, data_type: &DataType) -> Result<Self, Error> {
        let raw = NonNull::new(raw.cast_mut()).ok_or(INVALID)?;
        // SAFETY: the interface demands that the structures in an array live as long as it.
        let part = unsafe { raw.as_ref() };
        Ok(Self {
            offset: size(part.offset)?,
            len: size(part.length)?,
            chunk: self.chunk.clone(),
            raw,
            data_type: data_type.clone(),
        })
    }

    /// The type of the elements.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The elements of a range, which must be in the array.
    pub fn range(&self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.len);
        Self {
            chunk: self.chunk.clone(),
            raw: self.raw,
            data_type: self.data_type.clone(),
            offset: self.offset + range.start,
            len: range.len(),
        }
    }

    /// The first column of a table; `None` if this array is no structure.
    ///
    /// # Errors
    /// An array that does not fit its type.
    pub fn first_column(&self) -> Result<Option<Self>, Error> {
        let DataType::Struct(fields) = &self.data_type else {
            return Ok(None);
        };
        let field = fields.first().ok_or(INVALID)?;
        let raw = self.raw();
        if raw.n_children < 1 || raw.children.is_null() {
            return Err(INVALID);
        }
        // SAFETY: the array has that many children.
        let column = self.part(unsafe { raw.children.read() }, field.data_type())?;
        // A part of a table is such a part of each column.
        match self.offset.checked_add(self.len) {
            Some(end) if end <= column.len => Ok(Some(Self {
                offset: column.offset + self.offset,
                len: self.len,
                ..column
            })),
            _ => Err(INVALID),
        }
    }

    /// The dictionary whose positions the elements are; `None` if there is none.
    ///
    /// # Errors
    /// An array that does not fit its type.
    pub fn dictionary(&self) -> Result<Option<Self>, Error> {
        match &self.data_type {
            DataType::Dictionary(_, values) => self.part(self.raw().dictionary, values).map(Some),
            _ => Ok(None),
        }
    }

    /// The buffer with this number; null if it is missing.
    fn buffer(&self, number: usize) -> Result<*const u8, Error> {
        let raw = self.raw();
        if number >= size(raw.n_buffers)? || raw.buffers.is_null() {
            return Err(INVALID);
        }
        // SAFETY: the array has that many buffers.
        Ok(unsafe { raw.buffers.add(number).read() })
    }

    /// Elements of `N` bytes of a buffer.
    fn slice<const N: usize>(
        &self,
        buffer: usize,
        start: usize,
        len: usize,
    ) -> Result<&[[u8; N]], Error> {
        if len == 0 {
            return Ok(&[]);
        }
        let data = NonNull::new(self.buffer(buffer)?.cast_mut()).ok_or(INVALID)?;
        let data = data.cast::<[u8; N]>().as_ptr().cast_const();
        // SAFETY: the interface demands that the buffer has the elements before the end of the array, and the callers request no
        // others. Arrays of bytes need no alignment. Nobody writes to the buffer.
        Ok(unsafe { std::slice::from_raw_parts(data.add(start), len) })
    }

    /// Which elements are null.
    ///
    /// # Errors
    /// An array that does not fit its type.
    pub fn nulls(&self) -> Result<Nulls<'_>, Error> {
        if self.data_type == DataType::Null {
            return Ok(Nulls::All);
        }
        if self.raw().null_count == 0 || self.len == 0 || self.buffer(0)?.is_null() {
            return Ok(Nulls::None);
        }
        let end = self.offset.checked_add(self.len).ok_or(INVALID)?;
        Ok(Nulls::Some {
            valid: self.slice::<1>(0, 0, end.div_ceil(8))?.as_flattened(),
            offset: self.offset,
        })
    }

    /// The elements of a type of `N` bytes.
    ///
    /// # Errors
    /// An array that does not fit its type.
    pub fn elements<const N: usize>(&self) -> Result<&[[u8; N]], Error> {
        self.slice(1, self.offset, self.len)
    }

    /// The elements of a type of 8 bytes, if they are aligned.
    pub fn aligned<T: Aligned>(&self) -> Option<&[T]> {
        let bytes = match self.data_type == T::DATA_TYPE {
            true => self.elements::<8>().ok()?,
            false => return None,
        };
        // SAFETY: each sequence of 8 bytes is a value of these types.
        match unsafe { bytes.align_to::<T>() } {
            ([], values, []) => Some(values),
            _ => None,
        }
    }

    /// The elements of the type [`DataType::FixedSizeBinary`], with this number of bytes each.
    ///
    /// # Errors
    /// An array that does not fit its type.
    pub fn fixed(&self, bytes: usize) -> Result<&[u8], Error> {
        let (start, len) = (self.offset.checked_mul(bytes), self.len.checked_mul(bytes));
        let elements = self.slice::<1>(1, start.ok_or(INVALID)?, len.ok_or(INVALID)?)?;
        Ok(elements.as_flattened())
    }

    /// The ends of strings, after the start of the first one, as numbers of `N` bytes, and the bytes of the strings.
    ///
    /// # Errors
    /// An array that does not fit its type.
    pub fn strings<const N: usize>(
        &self,
        offset: impl Fn([u8; N]) -> i64,
    ) -> Result<(&[[u8; N]], &[u8]), Error> {
        // An empty array may have no buffers.
        if self.len == 0 {
            return Ok((&[], &[]));
        }
        let offsets = self.slice::<N>(1, self.offset, self.len + 1)?;
        let end = offsets.last().map_or(Ok(0), |&last| size(offset(last)))?;
        Ok((offsets, self.slice::<1>(2, 0, end)?.as_flattened()))
    }

    /// Strings in views.
    ///
    /// # Errors
    /// An array that does not fit its type.
    pub fn views(&self) -> Result<Views<'_>, Error> {
        // Before the lengths of these buffers, which are the last buffer, there are the nulls and the views.
        let buffers = size(self.raw().n_buffers)?.checked_sub(3).ok_or(INVALID)?;
        let lens = self.slice::<8>(2 + buffers, 0, buffers)?;
        let data = lens.iter().enumerate().map(|(number, &len)| {
            let len = size(i64::from_ne_bytes(len))?;
            Ok(self.slice::<1>(2 + number, 0, len)?.as_flattened())
        });
        Ok(Views {
            views: self.elements()?,
            buffers: data.collect::<Result<_, Error>>()?,
        })
    }
}

/// Strings in views: the number of bytes, and the bytes themselves or their place in a buffer.
pub struct Views<'a> {
    views: &'a [[u8; 16]],
    buffers: Vec<&'a [u8]>,
}

impl<'a> Views<'a> {
    /// The string at a position; `None` if its place is out of range.
    pub fn get(&self, position: usize) -> Option<&'a [u8]> {
        let view = &self.views[position];
        let number = |at: usize| {
            let bytes = view[at..at + 4].try_into().ok()?;
            usize::try_from(i32::from_ne_bytes(bytes)).ok()
        };
        match number(0)? {
            len @ ..=12 => Some(&view[4..4 + len]),
            len => {
                let (buffer, start) = (self.buffers.get(number(8)?)?, number(12)?);
                buffer.get(start..start + len)
            }
        }
    }
}

/// Numbers of 8 bytes.
pub trait Aligned: sealed::Sealed + Copy {
    /// The type of a column of them.
    const DATA_TYPE: DataType;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for i64 {}
    impl Sealed for f64 {}
}

impl Aligned for i64 {
    const DATA_TYPE: DataType = DataType::Int64;
}

impl Aligned for f64 {
    const DATA_TYPE: DataType = DataType::Float64;
}

/// Which elements of an array are null.
#[derive(Clone, Copy)]
pub enum Nulls<'a> {
    /// None of them.
    None,
    /// Those without a bit in `valid`, after the bits of the elements before.
    Some {
        /// A bit for each element.
        valid: &'a [u8],
        /// The elements before.
        offset: usize,
    },
    /// All of them.
    All,
}

impl Nulls<'_> {
    /// Whether the element at a position is null.
    #[inline]
    pub fn is_null(self, position: usize) -> bool {
        match self {
            Self::None => false,
            Self::Some { valid, offset } => {
                let bit = offset + position;
                valid[bit / 8] & (1 << (bit % 8)) == 0
            }
            Self::All => true,
        }
    }
}
