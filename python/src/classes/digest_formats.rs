//! t-digests as bytes of other libraries: DataSketches' digests of doubles, and the reference implementation's `MergingDigest` in its verbose
//! and small encodings. docs/contributing/formats.md describes them.

use crate::arguments::batch::reserve;
use crate::error::Error;
use pyo3::prelude::*;
use pyo3::types::PyString;
use roughly_sketch::memory::with_capacity;
use roughly_sketch::t_digest::{Centroid, MAX_COMPRESSION};

/// The argument `format`.
#[derive(Clone, Copy, PartialEq)]
pub enum Format {
    /// DataSketches, doubles.
    DataSketches,
    /// The reference implementation: written verbose, read in both encodings.
    Reference,
    /// Its small encoding.
    ReferenceSmall,
}

impl<'py> FromPyObject<'_, 'py> for Format {
    type Error = PyErr;

    fn extract(format: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let Ok(format) = format.cast::<PyString>() else {
            return Err(Error::Type("format must be a string".into()).into());
        };
        match &*format.to_cow()? {
            "datasketches" => Ok(Self::DataSketches),
            "reference" => Ok(Self::Reference),
            "reference-small" => Ok(Self::ReferenceSmall),
            _ => Err(Error::value(
                "format must be 'datasketches', 'reference' or 'reference-small'",
            )
            .into()),
        }
    }
}

/// What the formats contain.
#[derive(Debug, Default)]
pub struct Parts {
    /// The compression, `k` of DataSketches.
    pub compression: i64,
    /// The smallest sample, if there are centroids.
    pub min: f64,
    /// The largest sample.
    pub max: f64,
    /// The centroids, in the order of their means.
    pub centroids: Vec<Centroid>,
}

impl Parts {
    /// Checks the smallest and the largest sample, which are at `offset`, of a digest that has samples.
    fn check_extent(&self, offset: usize) -> Result<(), Error> {
        match self.min.is_finite() && self.max.is_finite() {
            true => Ok(()),
            false => at_byte(offset, "the minimum or maximum is not finite"),
        }
    }

    /// Checks means and weights. `position` is the name of the centroid with this number.
    ///
    /// # Errors
    /// `ValueError` with the position: a number that is not finite, a weight below 1, a mean outside minimum and maximum, or a sum of the
    /// weights above 2^63 - 1.
    pub fn check(&self, position: impl Fn(usize) -> String) -> Result<(), Error> {
        let mut sum = 0i64;
        for (number, centroid) in self.centroids.iter().enumerate() {
            let added = sum.checked_add(centroid.weight);
            let reason = match added {
                _ if !centroid.mean.is_finite() => "the mean is not finite",
                _ if centroid.weight < 1 => "the weight is not an integer of at least 1",
                _ if !(self.min..=self.max).contains(&centroid.mean) => {
                    "the mean is outside minimum and maximum"
                }
                None => "the sum of the weights exceeds 2^63 - 1",
                Some(added) => {
                    sum = added;
                    continue;
                }
            };
            return Err(refused(&position(number), reason));
        }
        Ok(())
    }
}

fn refused(position: &str, reason: &str) -> Error {
    Error::Value(format!("T-Digest: {position}: {reason}").into())
}

/// The error of the bytes at this offset.
fn at_byte<T>(offset: usize, reason: &str) -> Result<T, Error> {
    Err(refused(&format!("byte {offset}"), reason))
}

/// Bytes that are read from the start to the end.
struct Input<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl Input<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        match self.bytes[self.offset..].first_chunk() {
            Some(array) => {
                self.offset += N;
                Ok(*array)
            }
            None => at_byte(self.bytes.len(), "the bytes end early"),
        }
    }

    /// Checks that this number of bytes is left, before memory is allocated for what they contain.
    fn check_left(&self, bytes: u64) -> Result<(), Error> {
        let left = (self.bytes.len() - self.offset) as u64;
        match left == bytes {
            true => Ok(()),
            false => at_byte(
                self.offset,
                &format!("{bytes} bytes must follow, not {left}"),
            ),
        }
    }

    /// The centroids whose bytes are left, each of this size, in the order of their means.
    fn centroids(
        &mut self,
        parts: &mut Parts,
        count: u64,
        size: usize,
        read: impl Fn(&mut Self) -> Result<Centroid, Error>,
    ) -> Result<(), Error> {
        let start = self.offset;
        parts.centroids = with_capacity(count as usize)?;
        let mut last = f64::NEG_INFINITY;
        for _ in 0..count {
            let offset = self.offset;
            let centroid = read(self)?;
            if centroid.mean < last {
                return at_byte(offset, "the means are not in order");
            }
            last = centroid.mean;
            parts.centroids.push(centroid);
        }
        parts.check(|number| format!("byte {}", start + number * size))
    }
}

/// The digest in bytes of a format.
///
/// # Errors
/// `ValueError` with the offset of bytes that are damaged or refused, and `MemoryError`.
pub fn decode(bytes: &[u8], format: Format) -> Result<Parts, Error> {
    let mut input = Input { bytes, offset: 0 };
    match format {
        Format::DataSketches => decode_datasketches(&mut input),
        Format::Reference | Format::ReferenceSmall => decode_reference(&mut input),
    }
}

const SERIAL_VERSION: u8 = 1;
const FAMILY: u8 = 20;
const IS_EMPTY: u8 = 1;
const IS_SINGLE: u8 = 2;

fn decode_datasketches(input: &mut Input<'_>) -> Result<Parts, Error> {
    let [preamble, version, family, k, k_high, flags, _, _] = input.array()?;
    if family != FAMILY {
        return at_byte(2, "not a t-digest of DataSketches");
    }
    if version != SERIAL_VERSION {
        return at_byte(1, &format!("unknown version {version}"));
    }
    let expected = if flags & (IS_EMPTY | IS_SINGLE) == 0 {
        2
    } else {
        1
    };
    if preamble != expected {
        return at_byte(
            0,
            &format!("the preamble has {preamble} instead of {expected} units"),
        );
    }
    let mut parts = Parts {
        compression: u16::from_le_bytes([k, k_high]).into(),
        ..Parts::default()
    };
    if parts.compression == 0 {
        return at_byte(3, "k is 0");
    }
    let double = |input: &mut Input<'_>| input.array().map(f64::from_le_bytes);
    if flags & IS_EMPTY != 0 {
        input.check_left(0)?;
    } else if flags & IS_SINGLE != 0 {
        input.check_left(8)?;
        let mean = double(input)?;
        (parts.min, parts.max) = (mean, mean);
        parts.centroids.push(Centroid { mean, weight: 1 });
        parts.check(|_| "byte 8".to_owned())?;
    } else {
        let count = u64::from(u32::from_le_bytes(input.array()?));
        let buffered = u64::from(u32::from_le_bytes(input.array()?));
        (parts.min, parts.max) = (double(input)?, double(input)?);
        if count + buffered > 0 {
            parts.check_extent(16)?;
        }
        input.check_left(16 * count + 8 * buffered)?;
        input.centroids(&mut parts, count, 16, |input| {
            Ok(Centroid {
                mean: double(input)?,
                // One above 63 bits is below 1.
                weight: u64::from_le_bytes(input.array()?).cast_signed(),
            })
        })?;
        let start = input.offset;
        reserve(&mut parts.centroids, buffered as usize)?;
        for _ in 0..buffered {
            let mean = double(input)?;
            parts.centroids.push(Centroid { mean, weight: 1 });
        }
        parts.check(|number| {
            format!(
                "byte {}",
                start + 8 * (number.saturating_sub(count as usize))
            )
        })?;
    }
    Ok(parts)
}

const VERBOSE: i32 = 1;
const SMALL: i32 = 2;

fn decode_reference(input: &mut Input<'_>) -> Result<Parts, Error> {
    let encoding = i32::from_be_bytes(input.array()?);
    if ![VERBOSE, SMALL].contains(&encoding) {
        return at_byte(0, &format!("unknown encoding {encoding}"));
    }
    let double = |input: &mut Input<'_>| input.array().map(f64::from_be_bytes);
    let float = |input: &mut Input<'_>| input.array().map(f32::from_be_bytes);
    let short = |input: &mut Input<'_>| input.array().map(i16::from_be_bytes);
    let mut parts = Parts {
        min: double(input)?,
        max: double(input)?,
        ..Parts::default()
    };
    let offset = input.offset;
    let (compression, count) = match encoding {
        VERBOSE => (double(input)?, i32::from_be_bytes(input.array()?)),
        _ => {
            let compression = f64::from(float(input)?);
            // The sizes of the arrays of a `MergingDigest`.
            short(input)?;
            short(input)?;
            (compression, short(input)?.into())
        }
    };
    if !(1.0..=f64::from(MAX_COMPRESSION)).contains(&compression) {
        return at_byte(
            offset,
            &format!("the compression {compression} is out of range"),
        );
    }
    parts.compression = compression.ceil() as i64;
    let Ok(count) = u64::try_from(count) else {
        return at_byte(28, &format!("{count} centroids"));
    };
    let size = if encoding == VERBOSE { 16 } else { 8 };
    input.check_left(count * size as u64)?;
    if count > 0 {
        parts.check_extent(4)?;
    }
    // Rounding to 32 bits can put a mean outside.
    let (min, max) = (parts.min, parts.max);
    let (small_min, small_max) = (f64::from(min as f32), f64::from(max as f32));
    let rounded = move |mean: f64| match mean {
        _ if mean < min && mean >= small_min => min,
        _ if mean > max && mean <= small_max => max,
        _ => mean,
    };
    input.centroids(&mut parts, count, size, |input| {
        let (weight, mean) = match encoding {
            VERBOSE => (double(input)?, double(input)?),
            _ => (float(input)?.into(), rounded(float(input)?.into())),
        };
        // Of fractions and nan, 0, which is refused. The conversion saturates.
        let integer = weight as i64;
        let weight = if integer as f64 == weight { integer } else { 0 };
        Ok(Centroid { mean, weight })
    })?;
    Ok(parts)
}

/// The digest in a format.
///
/// # Errors
/// `ValueError` for what the format cannot contain, and `MemoryError`.
pub fn encode(parts: &Parts, format: Format) -> Result<Vec<u8>, Error> {
    let count = parts.centroids.len();
    let mut bytes = with_capacity(32 + 16 * count)?;
    match format {
        Format::DataSketches => encode_datasketches(parts, &mut bytes),
        Format::Reference => encode_verbose(parts, &mut bytes),
        Format::ReferenceSmall => encode_small(parts, &mut bytes)?,
    }
    Ok(bytes)
}

/// The range of `k` in DataSketches.
const MIN_K: i64 = 10;
const MAX_K: i64 = u16::MAX as i64;

fn encode_datasketches(parts: &Parts, bytes: &mut Vec<u8>) {
    let (preamble, flags) = match parts.centroids[..] {
        [] => (1, IS_EMPTY),
        // The form of one sample has no minimum and maximum.
        [Centroid { mean, weight: 1 }] if [parts.min, parts.max] == [mean; 2] => (1, IS_SINGLE),
        _ => (2, 0),
    };
    let k = parts.compression.clamp(MIN_K, MAX_K) as u16;
    bytes.extend([preamble, SERIAL_VERSION, FAMILY]);
    bytes.extend(k.to_le_bytes());
    bytes.extend([flags, 0, 0]);
    if preamble == 1 {
        let means = parts.centroids.iter().map(|each| each.mean.to_le_bytes());
        bytes.extend(means.flatten());
        return;
    }
    bytes.extend((parts.centroids.len() as u32).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(parts.min.to_le_bytes());
    bytes.extend(parts.max.to_le_bytes());
    for Centroid { mean, weight } in &parts.centroids {
        bytes.extend(mean.to_le_bytes());
        bytes.extend(weight.to_le_bytes());
    }
}

/// Writes encoding, minimum and maximum.
fn encode_reference(encoding: i32, parts: &Parts, bytes: &mut Vec<u8>) {
    let (min, max) = match parts.centroids[..] {
        [] => (f64::INFINITY, f64::NEG_INFINITY),
        _ => (parts.min, parts.max),
    };
    bytes.extend(encoding.to_be_bytes());
    bytes.extend(min.to_be_bytes());
    bytes.extend(max.to_be_bytes());
}

fn encode_verbose(parts: &Parts, bytes: &mut Vec<u8>) {
    encode_reference(VERBOSE, parts, bytes);
    bytes.extend((parts.compression as f64).to_be_bytes());
    bytes.extend((parts.centroids.len() as i32).to_be_bytes());
    for Centroid { mean, weight } in &parts.centroids {
        bytes.extend((*weight as f64).to_be_bytes());
        bytes.extend(mean.to_be_bytes());
    }
}

fn encode_small(parts: &Parts, bytes: &mut Vec<u8>) -> Result<(), Error> {
    let count = parts.centroids.len() as i64;
    // As many as the reader may need for this compression, and a buffer for five times as many.
    let capacity = count.max(2 * parts.compression + 30);
    let capacity = i16::try_from(capacity);
    let capacity = capacity.map_err(|_| {
        Error::value("T-Digest: the small encoding has at most 32767 centroids: use 'reference'")
    })?;
    encode_reference(SMALL, parts, bytes);
    bytes.extend((parts.compression as f32).to_be_bytes());
    for number in [capacity, capacity.saturating_mul(5), count as i16] {
        bytes.extend(number.to_be_bytes());
    }
    for (number, Centroid { mean, weight }) in parts.centroids.iter().enumerate() {
        let small = *mean as f32;
        if !small.is_finite() {
            let reason = "the mean does not fit in 32 bits: use 'reference'";
            return Err(refused(&format!("centroid {number}"), reason));
        }
        bytes.extend((*weight as f32).to_be_bytes());
        bytes.extend(small.to_be_bytes());
    }
    Ok(())
}
