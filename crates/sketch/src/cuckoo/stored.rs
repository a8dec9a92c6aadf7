//! The stored forms: RDB values, and the header and chunks of SCANDUMP (docs/contributing/formats.md, "Cuckoo filters").
//!
//! Both are decoded to [`Unchecked`], which one function validates.

use super::CuckooFilter;
use super::parameters::{MAX_SUB_FILTERS, Parameters, Sizes};
use super::sub_filter::{Excess, SubFilter};
use crate::format::chunks::{ChunkError, ChunkPosition};
use crate::format::{Fields, FormatError, Sink, Source};
use crate::memory::{Budget, OutOfMemory};
use crate::one_or_many::{OneOrMany, Part};
use crate::stored::Stored;
use std::ffi::CStr;

/// Length of the SCANDUMP header in bytes: four 64-bit and three 16-bit integers.
pub const HEADER_BYTES: usize = 4 * 8 + 3 * 2;
/// The first encoding version that stores the parameters. Older ones store only counts and slots.
const FIRST_WITH_PARAMETERS: u16 = 4;

/// The integers of a stored filter, not validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unchecked {
    items: u64,
    num_buckets: u64,
    deletes: u64,
    filters: u64,
    bucket_size: u64,
    max_iterations: u64,
    expansion: u64,
}

impl Unchecked {
    fn decode_header(header: &[u8]) -> Result<Self, FormatError> {
        let header: &[u8; HEADER_BYTES] = header.try_into().map_err(|_| FormatError::Truncated)?;
        let mut fields = Fields::new(header);
        Ok(Self {
            items: fields.u64()?,
            num_buckets: fields.u64()?,
            deletes: fields.u64()?,
            filters: fields.u64()?,
            bucket_size: fields.u16()?.into(),
            max_iterations: fields.u16()?.into(),
            expansion: fields.u16()?.into(),
        })
    }

    /// Encoding versions before 4 do not store the parameters, so `defaults` are used. If there are several
    /// sub-filters, they have the same size, so the expansion is 1 instead of the default.
    fn decode_values(
        source: &mut dyn Source,
        encoding_version: u16,
        defaults: &Parameters,
    ) -> Result<Self, FormatError> {
        let filters = source.read_unsigned()?;
        let mut parts = Self {
            filters,
            num_buckets: source.read_unsigned()?,
            items: source.read_unsigned()?,
            deletes: 0,
            bucket_size: defaults.bucket_size.into(),
            max_iterations: defaults.max_iterations.into(),
            expansion: match filters {
                0 | 1 => defaults.expansion.into(),
                _ => 1,
            },
        };
        if encoding_version >= FIRST_WITH_PARAMETERS {
            parts.deletes = source.read_unsigned()?;
            parts.bucket_size = source.read_unsigned()?;
            parts.max_iterations = source.read_unsigned()?;
            parts.expansion = source.read_unsigned()?;
        }
        Ok(parts)
    }

    /// Validates everything before memory is allocated. Returns a filter without its sub-filters, and their number: 1 to
    /// 65535. `Sizes` has a size for each.
    fn validate(&self) -> Result<(CuckooFilter, usize), FormatError> {
        let invalid = FormatError::Invalid;
        let parameters = Parameters {
            bucket_size: (self.bucket_size.try_into())
                .map_err(|_| invalid("bucket size out of range"))?,
            max_iterations: (self.max_iterations.try_into())
                .map_err(|_| invalid("maximum of iterations out of range"))?,
            expansion: (self.expansion.try_into())
                .map_err(|_| invalid("expansion out of range"))?,
        };
        let sizes = Sizes::new(self.num_buckets, parameters).map_err(invalid)?;
        let sub_filters = usize::try_from(self.filters)
            .ok()
            .filter(|filters| (1..=MAX_SUB_FILTERS).contains(filters))
            .ok_or(invalid("number of sub-filters out of range"))?;
        // No sub-filter is smaller than an older one, so it is enough to check the last one.
        sizes
            .num_buckets_of(sub_filters - 1)
            .ok_or(invalid("sub-filters beyond what the expansion allows"))?;
        let filter = CuckooFilter {
            sizes,
            items: self.items,
            deletes: self.deletes,
            sub_filters: OneOrMany::default(),
        };
        Ok((filter, sub_filters))
    }
}

impl Stored for CuckooFilter {
    const TYPE_NAME: &'static CStr = c"MBbloomCF";
    const ENCODING_VERSION: u16 = 4;
    const MIN_ENCODING_VERSION: u16 = 0;
    /// The configured parameters, which encodings before 4 do not store.
    type Cache = ();
    type LoadOptions = Parameters;

    fn load_values(
        source: &mut dyn Source,
        encoding_version: u16,
        defaults: &Parameters,
    ) -> Result<Self, FormatError> {
        let parts = Unchecked::decode_values(source, encoding_version, defaults)?;
        let (mut filter, sub_filters) = parts.validate()?;
        let bucket_size = filter.sizes.parameters.bucket_size;
        for index in 0..sub_filters {
            let num_buckets = filter.sizes.num_buckets_of(index);
            let stored = match encoding_version {
                FIRST_WITH_PARAMETERS.. => source.read_unsigned()?,
                _ => parts.num_buckets,
            };
            let num_buckets =
                num_buckets
                    .filter(|&expected| stored == expected)
                    .ok_or(FormatError::Invalid(
                        "a sub-filter's size does not follow from the header",
                    ))?;
            let sub_filter = SubFilter::from_slots(num_buckets, bucket_size, source.read_bytes()?)
                .ok_or(FormatError::Invalid(
                    "a sub-filter's slots are not of its size",
                ))?;
            filter.sub_filters.push(sub_filter)?;
        }
        Ok(filter)
    }

    fn save(&self, sink: &mut dyn Sink) {
        let parts = self.parts();
        sink.write_unsigned(parts.filters);
        sink.write_unsigned(parts.num_buckets);
        sink.write_unsigned(parts.items);
        sink.write_unsigned(parts.deletes);
        sink.write_unsigned(parts.bucket_size);
        sink.write_unsigned(parts.max_iterations);
        sink.write_unsigned(parts.expansion);
        for sub_filter in self.sub_filters.iter() {
            sink.write_unsigned(sub_filter.bucket_mask() + 1);
            sink.write_bytes(sub_filter.slots());
        }
    }

    fn header(&self) -> Result<Vec<u8>, OutOfMemory> {
        Ok(self.header_bytes().to_vec())
    }

    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError> {
        let (mut filter, sub_filters) = Unchecked::decode_header(header)?.validate()?;
        let sizes = filter.sizes;
        let listed = match sub_filters {
            1 => 0,
            several => SubFilter::capacity_for(several) * size_of::<SubFilter>(),
        };
        let bytes = (0..sub_filters).try_fold(listed as u64, |sum, index| {
            sum.checked_add(sizes.slots_of(index)?)
        });
        let bytes = bytes.ok_or(OutOfMemory { bytes: u64::MAX })?;
        budget.request(bytes)?;
        for num_buckets in (0..sub_filters).map_while(|index| sizes.num_buckets_of(index)) {
            let sub_filter = SubFilter::zeroed(num_buckets, sizes.parameters.bucket_size)?;
            filter.sub_filters.push(sub_filter)?;
        }
        filter.sub_filters[0].excess = Excess::UNKNOWN;
        Ok(filter)
    }

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        self.sub_filters.iter().map(|each| &**each.slots())
    }

    fn array_mut(&mut self, number: usize) -> Option<&mut [u8]> {
        self.sub_filters[0].excess = Excess::UNKNOWN;
        Some(self.sub_filters.get_mut(number)?.slots_mut())
    }

    fn check_chunk(&self, _position: ChunkPosition, chunk: &[u8]) -> Result<(), ChunkError> {
        refuse_if!(chunk.is_empty() => ChunkError::NoArray);
        Ok(())
    }

    /// Feeds the header, which determines the length of the rest, and the slots.
    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        feed(&self.header_bytes());
        self.arrays().for_each(feed);
    }

    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            sub_filters: self.sub_filters.try_clone()?,
            ..*self
        })
    }
}

impl CuckooFilter {
    /// The SCANDUMP header.
    #[must_use]
    pub fn header_bytes(&self) -> [u8; HEADER_BYTES] {
        let parts = self.parts();
        let mut header = [0; HEADER_BYTES];
        let (long, short) = header.split_at_mut(4 * 8);
        let fields = [parts.items, parts.num_buckets, parts.deletes, parts.filters];
        for (bytes, field) in long.as_chunks_mut().0.iter_mut().zip(fields) {
            *bytes = field.to_le_bytes();
        }
        let fields = [parts.bucket_size, parts.max_iterations, parts.expansion];
        for (bytes, field) in short.as_chunks_mut().0.iter_mut().zip(fields) {
            *bytes = (field as u16).to_le_bytes();
        }
        header
    }

    fn parts(&self) -> Unchecked {
        let parameters = self.sizes.parameters;
        Unchecked {
            items: self.items,
            num_buckets: self.sizes.num_buckets(),
            deletes: self.deletes,
            filters: self.sub_filters.len() as u64,
            bucket_size: parameters.bucket_size.into(),
            max_iterations: parameters.max_iterations.into(),
            expansion: parameters.expansion.into(),
        }
    }
}
