//! Columns in Arrow's memory layout as arguments: objects with the PyCapsule interface, such as the columns of polars, pandas,
//! pyarrow and DuckDB. None of these packages is required, and no Python object is created per element.

use crate::arrow_import::Chunks;
use crate::batch::{BATCH_ITEMS, Batch, reserve};
use crate::error::Error;
use crate::numpy_array::has_numpy_elements;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, ByteArrayType, ByteViewType, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    AnyDictionaryArray, Array, ArrayRef, GenericByteArray, GenericByteViewArray, downcast_integer,
    downcast_integer_array,
};
use arrow_buffer::{ArrowNativeType, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use roughly_sketch::memory::with_capacity;

/// The elements of a column: chunk after chunk.
pub struct Column {
    chunks: Chunks,
    data_type: DataType,
    /// The elements before the next chunk.
    before: usize,
}

/// The extension types whose elements are the items that they look like. The elements of others, such as identifiers, truth
/// values or periods of time, differ from the items that clients send.
const PLAIN_EXTENSIONS: [&str; 1] = ["arrow.json"];

/// Whether the elements of a column, or of a table of one column, are Python objects. Polars exports their addresses.
fn has_objects(column: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_object = |data_type: Bound<'_, PyAny>| Ok::<_, PyErr>(data_type.str()? == "Object");
    if let Some(data_type) = column.getattr_opt("dtype")? {
        return is_object(data_type);
    }
    let Some(schema) = column.getattr_opt("schema")? else {
        return Ok(false);
    };
    let Some(data_types) = schema.getattr_opt("values")? else {
        return Ok(false);
    };
    for data_type in data_types.call0()?.try_iter()? {
        if is_object(data_type?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether an object has the PyCapsule interface.
pub fn is_column(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    Ok(object.hasattr(intern!(py, "__arrow_c_array__"))?
        || object.hasattr(intern!(py, "__arrow_c_stream__"))?)
}

/// The column of an argument with the PyCapsule interface; `None` for other objects, and for those whose elements are in a NumPy
/// array.
pub fn of(argument: &Bound<'_, PyAny>) -> PyResult<Option<Column>> {
    if !is_column(argument)? || has_numpy_elements(argument)? {
        return Ok(None);
    }
    let chunks = match Chunks::of(argument) {
        Ok(chunks) => chunks,
        // The export of pandas needs pyarrow.
        Err(_) if argument.hasattr(intern!(argument.py(), "to_numpy"))? => return Ok(None),
        Err(error) => return Err(error),
    };
    if let Some(name) = chunks.extension()
        && !PLAIN_EXTENSIONS.contains(&name)
    {
        let text = format!(
            "columns of the type {name} are not supported: convert it, for example to strings"
        );
        return Err(PyTypeError::new_err(text));
    }
    let mut data_type = chunks.data_type().clone();
    // A table is a structure of its columns.
    if let DataType::Struct(fields) = &data_type {
        let [field] = &fields[..] else {
            let text = format!(
                "a table of items must have one column, not {}",
                fields.len()
            );
            return Err(PyValueError::new_err(text));
        };
        data_type = field.data_type().clone();
    }
    if matches!(data_type, DataType::FixedSizeBinary(_)) && has_objects(argument)? {
        let text =
            "columns of the type Object are not supported: convert it, for example to strings";
        return Err(PyTypeError::new_err(text));
    }
    // Polars exports such columns in a form that the reader refuses.
    if data_type == DataType::Null && argument.len().is_ok_and(|len| len > 0) {
        return Err(Error::null(0).into());
    }
    Ok(Some(Column {
        chunks,
        data_type,
        before: 0,
    }))
}

impl Column {
    /// Whether the elements are timestamps with a time zone; `None` if they are no timestamps.
    pub fn has_time_zone(&self) -> Option<bool> {
        match &self.data_type {
            DataType::Timestamp(_, zone) => Some(zone.is_some()),
            _ => None,
        }
    }

    /// Whether the elements are floating-point numbers of 64 bits.
    pub fn has_doubles(&self) -> bool {
        self.data_type == DataType::Float64
    }

    /// The next chunk. Call it without the GIL, for which the producer of the column may wait.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>, Error> {
        let next = self.chunks.next();
        let Some(array) = next.map_err(|error| Error::Value(error.to_string().into()))? else {
            return Ok(None);
        };
        let before = self.before;
        self.before += array.len();
        Ok(Some(Chunk {
            array: match array.as_struct_opt() {
                Some(table) if table.null_count() == 0 => table.column(0).clone(),
                _ => array,
            },
            before,
            next: 0,
        }))
    }

    /// The timestamps of all chunks in Unix milliseconds, rounded down. Call it without the GIL.
    ///
    /// # Errors
    /// A null, elements of another type.
    pub fn milliseconds(&mut self) -> Result<Vec<i64>, Error> {
        let mut times = Vec::new();
        while let Some(chunk) = self.next_chunk()? {
            chunk.check_nulls()?;
            append_milliseconds(&*chunk.array, &mut times)?;
        }
        Ok(times)
    }

    /// The numbers of all chunks. One chunk of this type is not copied. Call it without the GIL.
    ///
    /// # Errors
    /// A null, elements of another type, a number out of range.
    pub fn numbers<T: Number>(&mut self) -> Result<ScalarBuffer<T>, Error> {
        let mut next = self.next_chunk()?;
        let mut numbers = Vec::new();
        while let Some(chunk) = next {
            chunk.check_nulls()?;
            next = self.next_chunk()?;
            if next.is_none()
                && numbers.is_empty()
                && let Some(array) = chunk.array.as_primitive_opt::<T::Type>()
            {
                return Ok(array.values().clone());
            }
            T::append(&*chunk.array, &mut numbers)?;
        }
        Ok(numbers.into())
    }
}

/// A chunk of a column.
pub struct Chunk {
    array: ArrayRef,
    /// The elements of the chunks before.
    before: usize,
    next: usize,
}

impl Chunk {
    /// Whether no element is left.
    pub fn is_empty(&self) -> bool {
        self.next == self.array.len()
    }

    /// Appends elements to a batch until it is full or none is left.
    ///
    /// # Errors
    /// A null, elements of another type. The elements before are in the batch.
    pub fn append(&mut self, batch: &mut Batch) -> Result<(), Error> {
        let array = self.array.clone();
        let Some(dictionary) = array.as_any_dictionary_opt() else {
            return self.append_from(batch, &*array, plain(array.nulls()));
        };
        let first = self.next;
        let positions = positions(dictionary, first, BATCH_ITEMS)?;
        self.append_from(batch, &**dictionary.values(), |at| positions[at - first])
    }

    /// Appends elements that are those of `values` at the positions of the function, which returns `None` for a null.
    fn append_from(
        &mut self,
        batch: &mut Batch,
        values: &dyn Array,
        position: impl Fn(usize) -> Option<usize>,
    ) -> Result<(), Error> {
        macro_rules! integers {
            ($type:ty) => {{
                let numbers = values.as_primitive::<$type>();
                self.append_each(batch, position, |batch, at| {
                    batch.push_integer(numbers.value(at))
                })
            }};
        }
        match values.data_type() {
            DataType::Null => self.append_each(batch, |_| None, |_, _| Ok(())),
            DataType::Utf8 => self.append_bytes(batch, position, values.as_string::<i32>()),
            DataType::LargeUtf8 => self.append_bytes(batch, position, values.as_string::<i64>()),
            DataType::Binary => self.append_bytes(batch, position, values.as_binary::<i32>()),
            DataType::LargeBinary => self.append_bytes(batch, position, values.as_binary::<i64>()),
            DataType::Utf8View => self.append_views(batch, position, values.as_string_view()),
            DataType::BinaryView => self.append_views(batch, position, values.as_binary_view()),
            DataType::FixedSizeBinary(_) => {
                let bytes = values.as_fixed_size_binary();
                self.append_each(
                    batch,
                    position,
                    |batch, at| Ok(batch.push(bytes.value(at))?),
                )
            }
            other => downcast_integer! {
                other => (integers),
                _ => Err(Error::Type(format!(
                    "a column of items must have strings, binaries or integers, not {other}"
                ).into())),
            },
        }
    }

    fn append_bytes<T: ByteArrayType<Native: AsRef<[u8]>>>(
        &mut self,
        batch: &mut Batch,
        position: impl Fn(usize) -> Option<usize>,
        values: &GenericByteArray<T>,
    ) -> Result<(), Error> {
        let (offsets, bytes) = (values.value_offsets(), values.value_data());
        self.append_each(batch, position, |batch, at| {
            let range = offsets[at].as_usize()..offsets[at + 1].as_usize();
            Ok(batch.push(&bytes[range])?)
        })
    }

    fn append_views<T: ByteViewType<Native: AsRef<[u8]>>>(
        &mut self,
        batch: &mut Batch,
        position: impl Fn(usize) -> Option<usize>,
        values: &GenericByteViewArray<T>,
    ) -> Result<(), Error> {
        self.append_each(batch, position, |batch, at| {
            Ok(batch.push(values.value(at).as_ref())?)
        })
    }

    #[inline(always)]
    fn append_each(
        &mut self,
        batch: &mut Batch,
        position: impl Fn(usize) -> Option<usize>,
        push: impl Fn(&mut Batch, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        while !self.is_empty() && !batch.is_full() {
            let at = position(self.next).ok_or_else(|| Error::null(self.before + self.next))?;
            push(batch, at)?;
            self.next += 1;
        }
        Ok(())
    }

    fn check_nulls(&self) -> Result<(), Error> {
        if *self.array.data_type() == DataType::Null && !self.array.is_empty() {
            return Err(Error::null(self.before));
        }
        let position = plain(self.array.nulls());
        match (0..self.array.len()).find(|&at| position(at).is_none()) {
            None => Ok(()),
            Some(position) => Err(Error::null(self.before + position)),
        }
    }
}

/// The positions of the elements of an array that is no dictionary.
fn plain(nulls: Option<&NullBuffer>) -> impl Fn(usize) -> Option<usize> {
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
    move |at| nulls.is_none_or(|nulls| nulls.is_valid(at)).then_some(at)
}

/// The positions in a dictionary of so many elements from the first one on, or of all that are left.
fn positions(
    dictionary: &dyn AnyDictionaryArray,
    first: usize,
    len: usize,
) -> Result<Vec<Option<usize>>, Error> {
    let (keys, values) = (dictionary.keys(), dictionary.values());
    let range = first..keys.len().min(first + len);
    let mut positions = with_capacity(range.len())?;
    downcast_integer_array! {
        keys => positions.extend(range.map(|at| {
            let key = keys.is_valid(at).then(|| keys.value(at).as_usize())?;
            (key < values.len() && values.is_valid(key)).then_some(key)
        })),
        _ => {}
    }
    Ok(positions)
}

/// Appends the numbers of an array, if its type is one of these, and returns.
macro_rules! append_all {
    ($array:ident, $numbers:ident, $convert:expr, $common:ty: [$($type:ty),+]) => {
        $(if let Some(array) = $array.as_primitive_opt::<$type>() {
            reserve($numbers, array.len())?;
            for &number in array.values() {
                let number = $convert(<$common>::from(number));
                $numbers.push(number.ok_or(Error::value("a number is out of range"))?);
            }
            return Ok(());
        })+
    };
}

/// A type of numbers to which a column is converted.
pub trait Number: ArrowNativeType {
    /// The type of a column of these numbers.
    type Type: ArrowPrimitiveType<Native = Self>;

    /// Appends the numbers of an array without nulls.
    fn append(array: &dyn Array, numbers: &mut Vec<Self>) -> Result<(), Error>;
}

impl Number for i64 {
    type Type = Int64Type;

    fn append(array: &dyn Array, numbers: &mut Vec<Self>) -> Result<(), Error> {
        let convert = |number| Self::try_from(number).ok();
        append_all!(array, numbers, convert, i128: [Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type]);
        Err(no_numbers(array, "integers"))
    }
}

impl Number for f64 {
    type Type = Float64Type;

    fn append(array: &dyn Array, numbers: &mut Vec<Self>) -> Result<(), Error> {
        append_all!(array, numbers, Some, f64: [Float64Type, Float32Type]);
        append_all!(array, numbers, |number: i128| Some(number as f64), i128: [Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type]);
        Err(no_numbers(array, "numbers"))
    }
}

/// Appends the timestamps of an array without nulls.
fn append_milliseconds(array: &dyn Array, times: &mut Vec<i64>) -> Result<(), Error> {
    reserve(times, array.len())?;
    macro_rules! append {
        ($($type:ident: $ms:expr),+) => {
            $(if let Some(array) = array.as_primitive_opt::<$type>() {
                times.extend(array.values().iter().map($ms));
                return Ok(());
            })+
        };
    }
    append!(
        TimestampSecondType: |seconds| seconds.saturating_mul(1000),
        TimestampMillisecondType: |&ms| ms,
        TimestampMicrosecondType: |micros| micros.div_euclid(1000),
        TimestampNanosecondType: |nanos| nanos.div_euclid(1_000_000)
    );
    Err(no_numbers(array, "timestamps"))
}

fn no_numbers(array: &dyn Array, kind: &str) -> Error {
    Error::Type(format!("the column must have {kind}, not {}", array.data_type()).into())
}
