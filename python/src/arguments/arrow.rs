//! Columns in Arrow's memory layout as arguments: objects with the PyCapsule interface, such as the columns of polars, pandas,
//! pyarrow and DuckDB. None of these packages is required, and no Python object is created per element.

use crate::arguments::arrow_import::{Aligned, Array, Chunks, Nulls, export};
use crate::arguments::batch::{BATCH_ITEMS, Batch, reserve};
use crate::arguments::numpy_array::{has_numpy_elements, is_plain};
use crate::error::Error;
use arrow_schema::{DataType, TimeUnit};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use roughly_sketch::memory::{try_push, with_capacity};
use std::time::{Duration, Instant};

/// The time between two checks for signals while a column is read.
pub const SIGNAL_TIME: Duration = Duration::from_millis(20);

/// The elements of a column: chunk after chunk.
pub struct Column {
    /// The name of an element in errors.
    name: &'static str,
    chunks: Chunks,
    is_ended: bool,
    /// Chunks that were read ahead, and how many of them have been returned.
    ahead: Vec<Array>,
    next: usize,
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
    Ok(!is_plain(object)
        && (object.hasattr(intern!(py, "__arrow_c_array__"))?
            || object.hasattr(intern!(py, "__arrow_c_stream__"))?))
}

/// The column of an argument with the PyCapsule interface; `None` for other objects, and for those whose elements are in a NumPy
/// array. `name` is that of the elements in errors.
pub fn of(argument: &Bound<'_, PyAny>, name: &'static str) -> PyResult<Option<Column>> {
    if !is_column(argument)? || has_numpy_elements(argument)? {
        return Ok(None);
    }
    let exported = match export(argument) {
        Ok(Some(exported)) => exported,
        Ok(None) => return Ok(None),
        // The export of pandas needs pyarrow.
        Err(_) if argument.hasattr(intern!(argument.py(), "to_numpy"))? => return Ok(None),
        Err(error) => return Err(error),
    };
    let chunks = Chunks::of(&exported)?;
    if let Some(name) = chunks.extension()
        && !PLAIN_EXTENSIONS.contains(&name)
    {
        let text = format!(
            "columns of the type {name} are not supported: convert the column, for example to strings"
        );
        return Err(PyTypeError::new_err(text));
    }
    let mut data_type = chunks.data_type().clone();
    // A table is a structure of its columns.
    if let DataType::Struct(fields) = &data_type
        && chunks.is_table()
    {
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
        let text = "columns of the type Object are not supported: convert the column, for example to strings";
        return Err(PyTypeError::new_err(text));
    }
    // Polars exports such columns in a form that the reader refuses.
    if data_type == DataType::Null && argument.len().is_ok_and(|len| len > 0) {
        return Err(Error::null(name, 0).into());
    }
    Ok(Some(Column {
        name,
        chunks,
        is_ended: false,
        ahead: Vec::new(),
        next: 0,
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

    /// Whether the elements are floating-point numbers.
    pub fn has_floats(&self) -> bool {
        self.data_type.is_floating()
    }

    /// Whether the elements are floating-point numbers of 64 bits.
    pub fn has_doubles(&self) -> bool {
        self.data_type == DataType::Float64
    }

    /// The next chunk. Call it without the GIL, for which the producer of the column may wait.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>, Error> {
        let array = match self.ahead.get(self.next) {
            Some(array) => array.range(0..array.len()),
            None if self.is_ended => return Ok(None),
            None => match self.chunks.next()? {
                Some(array) => array,
                None => return Ok(None),
            },
        };
        self.next += 1;
        let before = self.before;
        self.before += array.len();
        let column = match self.chunks.is_table() {
            true => array.first_column()?,
            false => None,
        };
        Ok(Some(Chunk {
            array: column.unwrap_or(array),
            before,
            next: 0,
        }))
    }

    /// Reads all chunks, which remain for [`Column::rewind`], and returns the number of elements. Elements are not copied, but a
    /// producer that computes them needs memory for all of them.
    ///
    /// # Errors
    /// Those of the producer, or of a signal.
    pub fn read_ahead(&mut self, py: Python<'_>) -> PyResult<usize> {
        while !self.is_ended {
            py.check_signals()?;
            py.detach(|| {
                let start = Instant::now();
                while !self.is_ended && start.elapsed() < SIGNAL_TIME {
                    match self.chunks.next()? {
                        Some(array) => try_push(&mut self.ahead, array)?,
                        None => self.is_ended = true,
                    }
                }
                Ok::<_, Error>(())
            })?;
        }
        Ok(self.ahead.iter().map(Array::len).sum())
    }

    /// Begins again with the first chunk that was read ahead.
    pub fn rewind(&mut self) {
        (self.next, self.before) = (0, 0);
    }

    /// Passes the numbers of all chunks to `read` in parts. They are copies: another thread may write to the column.
    ///
    /// # Errors
    /// A null, elements of another type, a number out of range, those of the producer, of a signal and of `read`. The numbers before
    /// have been passed.
    pub fn for_each_numbers<T: Number + Send>(
        &mut self,
        py: Python<'_>,
        mut read: impl FnMut(&[T]) -> PyResult<()>,
    ) -> PyResult<()> {
        let mut numbers = Vec::new();
        let mut chunk = None;
        loop {
            py.check_signals()?;
            let appended = py.detach(|| {
                let start = Instant::now();
                while numbers.len() < PART_NUMBERS && start.elapsed() < SIGNAL_TIME {
                    match self.current(&mut chunk)? {
                        Some(chunk) => chunk.append_numbers(&mut numbers)?,
                        None => return Ok(false),
                    }
                }
                Ok::<_, Error>(true)
            });
            read(&numbers)?;
            numbers.clear();
            if !appended? {
                return Ok(());
            }
        }
    }

    /// The chunk, or the next one if no element of it is left; `None` after the last one. Call it without the GIL.
    ///
    /// # Errors
    /// Those of the producer.
    pub fn current<'c>(
        &mut self,
        chunk: &'c mut Option<Chunk>,
    ) -> Result<Option<&'c mut Chunk>, Error> {
        if chunk.as_ref().is_none_or(Chunk::is_empty) {
            *chunk = self.next_chunk()?;
        }
        Ok(chunk.as_mut())
    }

    /// The timestamps of all chunks in Unix milliseconds, rounded down. Call it without the GIL.
    ///
    /// # Errors
    /// A null, elements of another type.
    pub fn milliseconds(&mut self) -> Result<Vec<i64>, Error> {
        let mut times = Vec::new();
        while let Some(chunk) = self.next_chunk()? {
            check_nulls(&chunk.array, chunk.before, self.name)?;
            append_milliseconds(&chunk.array, &mut times)?;
        }
        Ok(times)
    }

    /// The numbers of all chunks. One chunk of this type is not copied. Call it without the GIL.
    ///
    /// # Errors
    /// A null, elements of another type, a number out of range.
    pub fn numbers<T: Number>(&mut self) -> Result<ColumnNumbers<T>, Error> {
        let mut next = self.next_chunk()?;
        let mut numbers = Vec::new();
        while let Some(Chunk { array, before, .. }) = next {
            check_nulls(&array, before, self.name)?;
            next = self.next_chunk()?;
            if next.is_none() && numbers.is_empty() && array.aligned::<T>().is_some() {
                return Ok(ColumnNumbers::Chunk(array));
            }
            T::append(&array, &mut numbers)?;
        }
        Ok(ColumnNumbers::Vec(numbers))
    }
}

/// The numbers of a column.
pub enum ColumnNumbers<T> {
    /// One chunk, which has aligned numbers of this type.
    Chunk(Array),
    /// Copies.
    Vec(Vec<T>),
}

impl<T: Number> ColumnNumbers<T> {
    /// The numbers.
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::Chunk(array) => array.aligned().unwrap_or_default(),
            Self::Vec(numbers) => numbers,
        }
    }
}

/// Numbers that are copied at once.
const PART_NUMBERS: usize = 1 << 16;

/// A chunk of a column.
pub struct Chunk {
    array: Array,
    /// The elements of the chunks before.
    before: usize,
    next: usize,
}

impl Chunk {
    /// Appends numbers, at most [`PART_NUMBERS`].
    ///
    /// # Errors
    /// A null, elements of another type, a number out of range.
    fn append_numbers<T: Number>(&mut self, numbers: &mut Vec<T>) -> Result<(), Error> {
        let end = self.array.len().min(self.next + PART_NUMBERS);
        let part = self.array.range(self.next..end);
        if let Some(position) = null_of(&part)? {
            T::append(&part.range(0..position), numbers)?;
            return Err(Error::null("item", self.before + self.next + position));
        }
        T::append(&part, numbers)?;
        self.next = end;
        Ok(())
    }

    /// Whether no element is left.
    pub fn is_empty(&self) -> bool {
        self.next == self.array.len()
    }

    /// Appends elements to a batch until it is full or none is left.
    ///
    /// # Errors
    /// A null, elements of another type. The elements before are in the batch.
    pub fn append(&mut self, batch: &mut Batch) -> Result<(), Error> {
        let Self {
            array,
            before,
            next,
        } = self;
        let first = *next;
        let elements = Elements {
            len: array.len(),
            before: *before,
            next,
            batch,
        };
        let Some(dictionary) = array.dictionary()? else {
            let nulls = array.nulls()?;
            // Most columns have none.
            return match nulls {
                Nulls::None => elements.append_from(array, Some),
                _ => elements.append_from(array, |at| (!nulls.is_null(at)).then_some(at)),
            };
        };
        let positions = positions(array, &dictionary, first, BATCH_ITEMS)?;
        elements.append_from(&dictionary, |at| positions[at - first])
    }
}

/// Elements of a chunk that are appended to a batch.
struct Elements<'a> {
    /// The number of elements of the chunk.
    len: usize,
    /// The elements of the chunks before.
    before: usize,
    next: &'a mut usize,
    batch: &'a mut Batch,
}

impl Elements<'_> {
    /// Appends elements that are those of `values` at the positions of the function, which returns `None` for a null.
    fn append_from(
        self,
        values: &Array,
        position: impl Fn(usize) -> Option<usize>,
    ) -> Result<(), Error> {
        macro_rules! integers {
            ($type:ty) => {{
                let numbers = values.elements()?;
                self.append_each(position, |batch, at| {
                    batch.push_integer(<$type>::from_ne_bytes(numbers[at]))
                })
            }};
        }
        macro_rules! strings {
            ($type:ty) => {{
                let offset = |bytes| i64::from(<$type>::from_ne_bytes(bytes));
                let (offsets, bytes) = values.strings(offset)?;
                self.append_each(position, |batch, at| {
                    // A negative offset is out of range.
                    let range = offset(offsets[at]) as usize..offset(offsets[at + 1]) as usize;
                    Ok(batch.push(bytes.get(range).ok_or(INVALID)?)?)
                })
            }};
        }
        match values.data_type() {
            DataType::Null => self.append_each(|_| None, |_, _| Ok(())),
            DataType::Utf8 | DataType::Binary => strings!(i32),
            DataType::LargeUtf8 | DataType::LargeBinary => strings!(i64),
            DataType::Utf8View | DataType::BinaryView => {
                let views = values.views()?;
                self.append_each(position, |batch, at| {
                    Ok(batch.push(views.get(at).ok_or(INVALID)?)?)
                })
            }
            &DataType::FixedSizeBinary(len) => {
                let len = usize::try_from(len).map_err(|_| INVALID)?;
                let bytes = values.fixed(len)?;
                self.append_each(position, |batch, at| {
                    Ok(batch.push(&bytes[at * len..(at + 1) * len])?)
                })
            }
            DataType::Int8 => integers!(i8),
            DataType::Int16 => integers!(i16),
            DataType::Int32 => integers!(i32),
            DataType::Int64 => integers!(i64),
            DataType::UInt8 => integers!(u8),
            DataType::UInt16 => integers!(u16),
            DataType::UInt32 => integers!(u32),
            DataType::UInt64 => integers!(u64),
            other => Err(Error::Type(
                format!("a column of items must have strings, binaries or integers, not {other}")
                    .into(),
            )),
        }
    }

    #[inline(always)]
    fn append_each(
        self,
        position: impl Fn(usize) -> Option<usize>,
        push: impl Fn(&mut Batch, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        while *self.next < self.len && !self.batch.is_full() {
            let at = position(*self.next)
                .ok_or_else(|| Error::null("item", self.before + *self.next))?;
            push(self.batch, at)?;
            *self.next += 1;
        }
        Ok(())
    }
}

const INVALID: Error = Error::value("the Arrow array is invalid");

/// The position of the first null.
fn null_of(array: &Array) -> Result<Option<usize>, Error> {
    let nulls = array.nulls()?;
    Ok(match nulls {
        Nulls::None => None,
        _ => (0..array.len()).find(|&at| nulls.is_null(at)),
    })
}

/// Checks that no element is null. `before` are the elements before the array.
fn check_nulls(array: &Array, before: usize, name: &str) -> Result<(), Error> {
    let position = null_of(array)?;
    position.map_or(Ok(()), |position| Err(Error::null(name, before + position)))
}

/// The positions in a dictionary of so many elements from the first one on, or of all that are left. `None` is a null.
fn positions(
    keys: &Array,
    dictionary: &Array,
    first: usize,
    len: usize,
) -> Result<Vec<Option<usize>>, Error> {
    let range = first..keys.len().min(first + len);
    let (nulls, nulls_of_values) = (keys.nulls()?, dictionary.nulls()?);
    let mut positions = with_capacity(range.len())?;
    macro_rules! push {
        ($type:ty) => {{
            let elements = keys.elements()?;
            positions.extend(range.map(|at| {
                // A key that does not fit is out of range. The key of a null is undefined.
                let key = <$type>::from_ne_bytes(elements[at]) as usize;
                let is_key = !nulls.is_null(at) && key < dictionary.len();
                (is_key && !nulls_of_values.is_null(key)).then_some(key)
            }));
        }};
    }
    let DataType::Dictionary(key, _) = keys.data_type() else {
        return Err(INVALID);
    };
    match **key {
        DataType::Int8 => push!(i8),
        DataType::Int16 => push!(i16),
        DataType::Int32 => push!(i32),
        DataType::Int64 => push!(i64),
        DataType::UInt8 => push!(u8),
        DataType::UInt16 => push!(u16),
        DataType::UInt32 => push!(u32),
        DataType::UInt64 => push!(u64),
        _ => return Err(INVALID),
    }
    Ok(positions)
}

/// Appends the numbers of an array, if it has one of these types.
macro_rules! append_all {
    ($array:ident, $numbers:ident, $convert:expr, $common:ty: [$($data_type:ident $type:ty),+]) => {
        match $array.data_type() {
            $(DataType::$data_type => {
                for &number in $array.elements()? {
                    let number = $convert(<$common>::from(<$type>::from_ne_bytes(number)));
                    $numbers.push(number.ok_or(OUT_OF_RANGE)?);
                }
                return Ok(());
            })+
            // It has no elements, as they would be nulls.
            DataType::Null => return Ok(()),
            _ => {}
        }
    };
}

/// A type of numbers to which a column is converted.
pub trait Number: Aligned {
    /// Appends the numbers of an array without nulls.
    fn append(array: &Array, numbers: &mut Vec<Self>) -> Result<(), Error>;
}

impl Number for i64 {
    fn append(array: &Array, numbers: &mut Vec<Self>) -> Result<(), Error> {
        reserve(numbers, array.len())?;
        let convert = |number| Self::try_from(number).ok();
        append_all!(array, numbers, convert, i128: [Int8 i8, Int16 i16, Int32 i32, Int64 i64, UInt8 u8, UInt16 u16, UInt32 u32, UInt64 u64]);
        let is_decimal = for_each_decimal(array, |decimal, scale| {
            let integer =
                integer_of(decimal, scale).ok_or_else(|| no_numbers(array, "integers"))?;
            numbers.push(convert(integer).ok_or(OUT_OF_RANGE)?);
            Ok(())
        })?;
        if is_decimal {
            return Ok(());
        }
        Err(no_numbers(array, "integers"))
    }
}

impl Number for f64 {
    fn append(array: &Array, numbers: &mut Vec<Self>) -> Result<(), Error> {
        reserve(numbers, array.len())?;
        append_all!(array, numbers, Some, f64: [Float64 f64, Float32 f32]);
        append_all!(array, numbers, |number: i128| Some(number as f64), i128: [Int8 i8, Int16 i16, Int32 i32, Int64 i64, UInt8 u8, UInt16 u16, UInt32 u32, UInt64 u64]);
        let is_decimal = for_each_decimal(array, |decimal, scale| {
            numbers.push(nearest(decimal, scale).ok_or(OUT_OF_RANGE)?);
            Ok(())
        })?;
        if is_decimal {
            return Ok(());
        }
        Err(no_numbers(array, "numbers"))
    }
}

const OUT_OF_RANGE: Error = Error::value("a number is out of range");

/// Passes the elements of an array of decimals without nulls, which are integers times ten to the power of minus the scale. Returns
/// false for an array of another type.
fn for_each_decimal(
    array: &Array,
    mut push: impl FnMut(i128, i8) -> Result<(), Error>,
) -> Result<bool, Error> {
    macro_rules! push_all {
        ($type:ty, $scale:expr) => {
            for &decimal in array.elements()? {
                push(<$type>::from_ne_bytes(decimal).into(), $scale)?;
            }
        };
    }
    match *array.data_type() {
        DataType::Decimal32(_, scale) => push_all!(i32, scale),
        DataType::Decimal64(_, scale) => push_all!(i64, scale),
        DataType::Decimal128(_, scale) => push_all!(i128, scale),
        _ => return Ok(false),
    }
    Ok(true)
}

/// The integer that a decimal is.
fn integer_of(decimal: i128, scale: i8) -> Option<i128> {
    let power = 10i128.checked_pow(scale.unsigned_abs().into())?;
    match scale {
        ..0 => decimal.checked_mul(power),
        _ => (decimal % power == 0).then_some(decimal / power),
    }
}

/// The double that is nearest to a decimal.
fn nearest(decimal: i128, scale: i8) -> Option<f64> {
    match scale {
        0 => Some(decimal as f64),
        _ => format!("{decimal}e{}", -i32::from(scale)).parse().ok(),
    }
}

/// Appends the timestamps of an array without nulls.
fn append_milliseconds(array: &Array, times: &mut Vec<i64>) -> Result<(), Error> {
    let DataType::Timestamp(unit, _) = array.data_type() else {
        return Err(no_numbers(array, "timestamps"));
    };
    let ms = |time: i64| match unit {
        TimeUnit::Second => time.saturating_mul(1000),
        TimeUnit::Millisecond => time,
        TimeUnit::Microsecond => time.div_euclid(1000),
        TimeUnit::Nanosecond => time.div_euclid(1_000_000),
    };
    reserve(times, array.len())?;
    let elements = array.elements()?.iter();
    times.extend(elements.map(|&time| ms(i64::from_ne_bytes(time))));
    Ok(())
}

fn no_numbers(array: &Array, kind: &str) -> Error {
    Error::Type(format!("the column must have {kind}, not {}", array.data_type()).into())
}
