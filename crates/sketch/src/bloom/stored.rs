//! The stored forms of a chain: RDB values and the SCANDUMP header, with common validation.
//!
//! Format: docs/contributing/formats.md, "Bloom filters".

use super::shape::{OfChain, Shape, hashes_for};
use super::{Chain, Filter, Layout, MAX_ITEMS, options};
use crate::buffer::Buffer;
use crate::chain::MAX_FILTERS;
use crate::format::{Fields, FormatError, Sink, Source};
use crate::memory::{Budget, OutOfMemory};
use crate::stored::Stored;
use std::ffi::CStr;

/// Expansion of chains of encoding versions below 4, which do not store it.
const OLD_EXPANSION: u64 = 2;
/// Bits per item at the smallest rate above 0 (2^-1074), rounded up. A filter has at most
/// [`MAX_HASHES_PER_FILTER`](crate::chain::MAX_HASHES_PER_FILTER) hash functions.
pub(super) const MAX_BITS_PER_ENTRY: f64 = 1550.0;
/// Bytes of a header before its filters.
const HEADER_FIXED_BYTES: usize = 20;
/// Bytes of each filter in a header.
const HEADER_FILTER_BYTES: usize = 53;

/// The stored fields of a filter without its bits, not validated.
#[derive(Debug, Clone, Copy)]
struct FilterParts {
    items: u64,
    capacity: u64,
    error_rate: f64,
    bits_per_entry: f64,
    hashes: u64,
    bits: u64,
    power: u64,
    bytes: u64,
}

/// Validates the stored fields of a chain, and returns those that its filters store.
fn validate_chain(filters: u64, options: u64, expansion: u64) -> Result<OfChain, FormatError> {
    let options = u32::try_from(options)
        .ok()
        .filter(|options| options & !options::ALL == 0)
        .ok_or(FormatError::Invalid("unknown options"))?;
    let scaling = options & options::NONSCALING == 0;
    if !(1..=MAX_FILTERS).contains(&filters) {
        return Err(FormatError::Invalid("number of filters out of range"));
    }
    if !scaling && filters > 1 {
        return Err(FormatError::Invalid(
            "several filters in a chain that does not scale",
        ));
    }
    let expansion =
        u32::try_from(expansion).map_err(|_| FormatError::Invalid("expansion out of range"))?;
    Ok(OfChain {
        options: options as u8,
        expansion,
    })
}

impl FilterParts {
    /// Whether RedisBloom appended this filter when it failed to grow.
    fn is_failed_growth(&self) -> bool {
        let integers = [
            self.items,
            self.capacity,
            self.hashes,
            self.bits,
            self.power,
        ];
        let rates = [self.error_rate, self.bits_per_entry];
        integers == [0; 5] && rates == [0.0; 2] && self.bytes == 0
    }

    /// Validates everything that other operations rely on.
    fn validate(self, of_chain: OfChain) -> Result<Shape, FormatError> {
        if self.is_failed_growth() {
            return Ok(Shape {
                of_chain,
                ..Shape::FAILED_GROWTH
            });
        }
        let refuse = |what| Err(FormatError::Invalid(what));
        if !(self.error_rate > 0.0 && self.error_rate < 1.0) {
            return refuse("error rate outside (0, 1)");
        }
        if !(self.bits_per_entry > 0.0 && self.bits_per_entry <= MAX_BITS_PER_ENTRY) {
            return refuse("bits per entry out of range");
        }
        let hashes = match u16::try_from(hashes_for(self.bits_per_entry)) {
            Ok(hashes) if hashes > 0 && u64::from(hashes) == self.hashes => hashes,
            _ => return refuse("hashes do not follow from bits per entry"),
        };
        refuse_if!(self.capacity == 0 => "no capacity");
        refuse_if!(self.bits == 0 || self.bits.div_ceil(8) > self.bytes => "fewer bytes than bits");
        let power = match u8::try_from(self.power) {
            Ok(power) if power < 64 => power,
            _ => return refuse("power of two out of range"),
        };
        refuse_if!(power > 0 && self.bits < 1 << power => "fewer bits than the modulus");
        Ok(Shape {
            capacity: self.capacity,
            error_rate: self.error_rate,
            bits_per_entry: self.bits_per_entry,
            bits: self.bits,
            hashes,
            power,
            of_chain,
        })
    }
}

/// Checks that the number of items of a chain is the sum over its filters and at most [`MAX_ITEMS`].
fn validate_items(
    items: u64,
    mut of_filters: impl Iterator<Item = u64>,
) -> Result<(), FormatError> {
    let sum = of_filters.try_fold(0u64, u64::checked_add);
    refuse_if!(sum != Some(items) || items > MAX_ITEMS => "items do not add up");
    Ok(())
}

/// Reads the fields of a filter and, with `read_array`, its bits. Returns the fields and what holds the bits.
fn load_filter<S: Source + ?Sized>(
    source: &mut S,
    encoding_version: u16,
    read_array: impl FnOnce(&mut S) -> Result<(u64, Buffer), FormatError>,
) -> Result<(FilterParts, Buffer), FormatError> {
    let capacity = source.read_unsigned()?;
    let error_rate = source.read_double()?;
    let hashes = source.read_unsigned()?;
    let bits_per_entry = source.read_double()?;
    let (bits, power) = if encoding_version == 0 {
        ((capacity as f64 * bits_per_entry) as u64, 0)
    } else {
        (source.read_unsigned()?, source.read_unsigned()?)
    };
    let (bytes, buffer) = read_array(source)?;
    let items = source.read_unsigned()?;
    let parts = FilterParts {
        items,
        capacity,
        error_rate,
        bits_per_entry,
        hashes,
        bits,
        power,
        bytes,
    };
    Ok((parts, buffer))
}

/// The fields of the filters in a header.
fn header_filters(
    mut fields: Fields<'_>,
    filters: u32,
) -> impl Iterator<Item = Result<FilterParts, FormatError>> {
    (0..filters).map(move |_| {
        Ok(FilterParts {
            bytes: fields.u64()?,
            bits: fields.u64()?,
            items: fields.u64()?,
            error_rate: fields.f64()?,
            bits_per_entry: fields.f64()?,
            hashes: u64::from(fields.u32()?),
            capacity: fields.u64()?,
            power: u64::from(fields.u8()?),
        })
    })
}

impl Chain {
    /// Validates the next stored filter.
    fn validate_next(&self, parts: FilterParts, of_chain: OfChain) -> Result<Shape, FormatError> {
        let shape = parts.validate(of_chain)?;
        let is_after_failed =
            (self.filters().last()).is_some_and(|last| last.shape().is_failed_growth());
        let is_first = self.filters().is_empty();
        if is_after_failed || is_first && shape.is_failed_growth() {
            return Err(FormatError::Invalid("a filter without capacity"));
        }
        Ok(shape)
    }

    /// Reads the values of an encoding version from [`Stored::MIN_ENCODING_VERSION`] to [`Stored::MAX_ENCODING_VERSION`].
    /// `read_array` reads a bit array, and returns its length and the buffer of the filter.
    pub(super) fn load_with<S: Source + ?Sized>(
        source: &mut S,
        encoding_version: u16,
        mut read_array: impl FnMut(&mut S) -> Result<(u64, Buffer), FormatError>,
    ) -> Result<Self, FormatError> {
        let items = source.read_unsigned()?;
        let filters = source.read_unsigned()?;
        let options = match encoding_version {
            0..2 => 0,
            _ => source.read_unsigned()?,
        };
        let expansion = match encoding_version {
            0..4 => OLD_EXPANSION,
            _ => source.read_unsigned()?,
        };
        let of_chain = validate_chain(filters, options, expansion)?;
        let mut chain = Self::without_filters(Layout);
        for _ in 0..filters {
            let (parts, bits) = load_filter(source, encoding_version, &mut read_array)?;
            let shape = chain.validate_next(parts, of_chain)?;
            chain.push(Filter::new(shape, parts.items, bits))?;
        }
        validate_items(items, chain.filters().iter().map(Filter::items))?;
        Ok(chain)
    }

    /// The SCANDUMP header: 20 bytes and 53 per filter, at most 107 KiB.
    #[must_use]
    pub fn header_bytes(&self) -> Vec<u8> {
        let mut header =
            Vec::with_capacity(HEADER_FIXED_BYTES + self.filters().len() * HEADER_FILTER_BYTES);
        header.extend_from_slice(&self.items().to_le_bytes());
        header.extend_from_slice(&(self.filters().len() as u32).to_le_bytes());
        header.extend_from_slice(&self.options().to_le_bytes());
        header.extend_from_slice(&self.expansion().to_le_bytes());
        for filter in self.filters() {
            let shape = filter.shape();
            header.extend_from_slice(&(filter.bits().len() as u64).to_le_bytes());
            header.extend_from_slice(&shape.bits.to_le_bytes());
            header.extend_from_slice(&filter.items().to_le_bytes());
            header.extend_from_slice(&shape.error_rate.to_le_bytes());
            header.extend_from_slice(&shape.bits_per_entry.to_le_bytes());
            header.extend_from_slice(&u32::from(shape.hashes).to_le_bytes());
            header.extend_from_slice(&shape.capacity.to_le_bytes());
            header.push(shape.power);
        }
        header
    }
}

impl Stored for Chain {
    const TYPE_NAME: &'static CStr = c"MBbloom--";
    const ENCODING_VERSION: u16 = 4;
    const MIN_ENCODING_VERSION: u16 = 0;
    type Cache = ();
    type LoadOptions = ();

    fn load_values(
        source: &mut dyn Source,
        encoding_version: u16,
        (): &Self::LoadOptions,
    ) -> Result<Self, FormatError> {
        Self::load_with(source, encoding_version, |source| {
            let bits = source.read_bytes()?;
            Ok((bits.len() as u64, bits))
        })
    }

    fn save(&self, sink: &mut dyn Sink) {
        sink.write_unsigned(self.items());
        sink.write_unsigned(self.filters().len() as u64);
        sink.write_unsigned(u64::from(self.options()));
        sink.write_unsigned(u64::from(self.expansion()));
        for filter in self.filters() {
            let shape = filter.shape();
            sink.write_unsigned(shape.capacity);
            sink.write_double(shape.error_rate);
            sink.write_unsigned(u64::from(shape.hashes));
            sink.write_double(shape.bits_per_entry);
            sink.write_unsigned(shape.bits);
            sink.write_unsigned(u64::from(shape.power));
            sink.write_bytes(filter.bits());
            sink.write_unsigned(filter.items());
        }
    }

    /// False for chains from old files whose bits are not whole bytes: a header cannot describe them.
    fn has_header(&self) -> bool {
        let mut filters = self.filters().iter();
        filters.all(|filter| filter.shape().bits == filter.bits().len() as u64 * 8)
    }

    fn header(&self) -> Result<Vec<u8>, OutOfMemory> {
        Ok(self.header_bytes())
    }

    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError> {
        let mut fields = Fields::new(header);
        let items = fields.u64()?;
        let filters = fields.u32()?;
        let (options, expansion) = (fields.u32()?, fields.u32()?);
        let of_chain = validate_chain(filters.into(), options.into(), expansion.into())?;
        let mut chain = Self::without_filters(Layout);
        let described = (filters as usize).checked_mul(HEADER_FILTER_BYTES);
        if described != Some(fields.rest().len()) {
            return Err(FormatError::Invalid("length does not fit the filters"));
        }
        let counts = header_filters(fields.clone(), filters)
            .map(|parts| parts.map_or(0, |parts| parts.items));
        validate_items(items, counts)?;
        let mut total = 0u64;
        for parts in header_filters(fields.clone(), filters) {
            let parts = parts?;
            parts.validate(of_chain)?;
            if Some(parts.bits) != parts.bytes.checked_mul(8) {
                return Err(FormatError::Invalid("bits are not whole bytes"));
            }
            total = total
                .checked_add(parts.bytes)
                .ok_or(OutOfMemory { bytes: u64::MAX })?;
        }
        budget.request(total)?;
        for parts in header_filters(fields, filters) {
            let parts = parts?;
            let shape = chain.validate_next(parts, of_chain)?;
            let bits = Buffer::zeroed(parts.bytes)?;
            chain.push(Filter::new(shape, parts.items, bits))?;
        }
        Ok(chain)
    }

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        self.filters().iter().map(Filter::bits)
    }

    fn array_mut(&mut self, number: usize) -> Option<&mut [u8]> {
        Some(self.filters_mut().get_mut(number)?.bits_mut())
    }

    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        feed(&self.header_bytes());
        self.arrays().for_each(feed);
    }

    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        self.copy()
    }
}
