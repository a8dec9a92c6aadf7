//! The stored forms of a chain: RDB values and the SCANDUMP header, with common validation.
//!
//! The RDB values are those of valkey-bloom. valkey-bloom has no SCANDUMP; only this crate reads the header: mark, expansion,
//! error rate, tightening ratio, flag, slots of the list, items of the newest filter, number of filters, and for each filter
//! its capacity and the 45 bytes that precede its bits in the RDB. All are little-endian; the flag has one byte, the expansion
//! and the number of filters four, all others eight. The chunks are parts of the bit arrays.
//!
//! Format: docs/contributing/formats.md, "Bloom filters of valkey-bloom". Digest: valkey-bloom's.

use super::filter::{BLOB_HEADER_BYTES, BlobHeader, Filter, Seed};
use super::sizes::{MAX_BYTES, MAX_CAPACITY, restored_size};
use super::{FIXED_SEED, Parameters, ValkeyChain};
use crate::buffer::Buffer;
use crate::chain::{MAX_TOTAL_HASHES, allows_hashes};
use crate::format::{Fields, FormatError, Sink, Source};
use crate::memory::{Budget, OutOfMemory, with_capacity};
use crate::stored::Stored;
use std::ffi::CStr;

/// Bytes of a header before its filters.
const HEADER_FIXED_BYTES: usize = 8 + 4 + 8 + 8 + 1 + 8 + 8 + 4;
/// Bytes of each filter in a header.
const HEADER_FILTER_BYTES: usize = 8 + BLOB_HEADER_BYTES;

/// The stored numbers of a filter, not validated. The header of its bits is.
#[derive(Debug, Clone, Copy)]
pub(super) struct FilterParts {
    pub(super) capacity: u64,
    /// Only the items of the newest filter are used: all others are full.
    pub(super) items: u64,
    pub(super) header: BlobHeader,
}

/// Validates the numbers of filters in order, without memory.
#[derive(Debug)]
pub(super) struct FilterChecks {
    filters: u64,
    checked: u64,
    /// The sum of the capacities.
    capacity: u64,
    /// The sum of the hash functions.
    hashes: u64,
    /// The seed of all filters; `None` before the first one.
    seed: Option<Seed>,
    /// Bytes of all stored filters.
    pub(super) blob_bytes: u64,
}

impl FilterChecks {
    /// Checks for a chain of `filters`.
    pub(super) fn new(filters: u64) -> Self {
        Self {
            filters,
            checked: 0,
            capacity: 0,
            hashes: 0,
            seed: None,
            blob_bytes: 0,
        }
    }

    /// Whether the next filter is the newest one.
    pub(super) fn is_at_newest(&self) -> bool {
        self.checked + 1 == self.filters
    }

    /// Validates the capacity of the next filter.
    pub(super) fn check_capacity(&self, capacity: u64) -> Result<(), FormatError> {
        if capacity == 0 || capacity > MAX_CAPACITY - self.capacity {
            return Err(FormatError::Invalid("capacity out of range"));
        }
        Ok(())
    }

    /// Validates the next filter. Returns the number of its items.
    pub(super) fn check(&mut self, parts: &FilterParts) -> Result<u64, FormatError> {
        self.check_capacity(parts.capacity)?;
        let items = if self.is_at_newest() {
            parts.items
        } else {
            parts.capacity
        };
        refuse_if!(items > parts.capacity => "more items than the capacity");
        // Each filter with another seed would hash the item again.
        if *self.seed.get_or_insert(parts.header.seed) != parts.header.seed {
            return Err(FormatError::Invalid("the filters have different seeds"));
        }
        refuse_if!(!allows_hashes(self.hashes, parts.header.hashes) => "too many hashes in total");
        self.checked += 1;
        self.capacity += parts.capacity;
        self.hashes += u64::from(parts.header.hashes);
        self.blob_bytes = (self.blob_bytes)
            .checked_add(parts.header.blob_bytes())
            .filter(|&bytes| bytes <= MAX_BYTES)
            .ok_or(OutOfMemory { bytes: u64::MAX })?;
        Ok(items)
    }

    /// Whether the filters have the fixed seed.
    pub(super) fn has_fixed_seed(&self) -> bool {
        self.seed == Some(FIXED_SEED)
    }

    /// Checks that a chain that is marked as having the fixed seed has no other one.
    fn check_seed(&self, seed_is_random: bool) -> Result<(), FormatError> {
        refuse_if!(!seed_is_random && !self.has_fixed_seed() => "the seed is not the fixed one");
        Ok(())
    }
}

/// The fields of the filters in a header. The items are those of the newest filter.
fn header_filters(
    mut fields: Fields<'_>,
    filters: u32,
    items: u64,
) -> impl Iterator<Item = Result<FilterParts, FormatError>> {
    (0..filters).map(move |_| {
        Ok(FilterParts {
            capacity: fields.u64()?,
            items,
            header: BlobHeader::read(&mut fields)?,
        })
    })
}

impl ValkeyChain {
    /// A chain without filters with these stored parameters, which are validated. `filters` is the number of its filters.
    pub(super) fn of_stored(
        filters: u64,
        expansion: u64,
        [error_rate, tightening]: [f64; 2],
        seed_is_random: bool,
    ) -> Result<Self, FormatError> {
        let invalid = FormatError::Invalid;
        // Each filter has at least one hash function.
        if !(1..=MAX_TOTAL_HASHES).contains(&filters) {
            return Err(invalid("number of filters out of range"));
        }
        for ratio in [error_rate, tightening] {
            if !(ratio > 0.0 && ratio < 1.0) {
                return Err(invalid("error rate or tightening ratio outside (0, 1)"));
            }
        }
        // The filters have the capacity and the seed.
        let mut chain = Self::of(&Parameters {
            capacity: 0,
            error_rate,
            tightening,
            expansion: u32::try_from(expansion).map_err(|_| invalid("expansion out of range"))?,
            seed: FIXED_SEED,
            seed_is_random,
        });
        chain.layout.seed_is_random = seed_is_random;
        Ok(chain)
    }

    /// Appends a validated filter with its stored form.
    pub(super) fn push_blob(
        &mut self,
        parts: &FilterParts,
        items: u64,
        blob: Buffer,
    ) -> Result<(), OutOfMemory> {
        let filter = Filter::with_blob(parts.capacity, items, &parts.header, blob);
        self.push(filter)
    }
}

impl Stored for ValkeyChain {
    const TYPE_NAME: &'static CStr = c"bloomfltr";
    const ENCODING_VERSION: u16 = 1;
    /// As a little-endian integer, it exceeds `i64::MAX`, the largest first field of a
    /// [`bloom::Chain`](crate::bloom::Chain) header.
    const HEADER_MARK: &'static [u8] = b"vb-blm1\xff";
    type Cache = ();
    /// The largest [`ValkeyChain::restored_size`] in bytes; see docs/families/bloom.md, "valkey-bloom's type".
    type LoadOptions = Option<u64>;

    fn load_values(
        source: &mut dyn Source,
        _: u16,
        max_size: &Option<u64>,
    ) -> Result<Self, FormatError> {
        let (filters, expansion) = (source.read_unsigned()?, source.read_unsigned()?);
        let ratios = [source.read_double()?, source.read_double()?];
        let seed_is_random = source.read_unsigned()? == 1;
        let mut chain = Self::of_stored(filters, expansion, ratios, seed_is_random)?;
        let mut checks = FilterChecks::new(filters);
        let mut counted_bytes = 0u64;
        for index in 0..filters {
            let capacity = source.read_unsigned()?;
            checks.check_capacity(capacity)?;
            let items = if checks.is_at_newest() {
                source.read_unsigned()?
            } else {
                capacity
            };
            let blob = source.read_bytes()?;
            let header = BlobHeader::of_blob(&blob)?;
            counted_bytes = counted_bytes.saturating_add(header.bytes);
            if max_size.is_some_and(|max| restored_size(index + 1, counted_bytes) > max) {
                return Err(FormatError::Invalid("larger than the memory limit"));
            }
            let parts = FilterParts {
                capacity,
                items,
                header,
            };
            let items = checks.check(&parts)?;
            checks.check_seed(chain.layout.seed_is_random)?;
            chain.push_blob(&parts, items, blob)?;
        }
        Ok(chain)
    }

    fn save(&self, sink: &mut dyn Sink) {
        sink.write_unsigned(self.filters().len() as u64);
        sink.write_unsigned(u64::from(self.layout.expansion));
        sink.write_double(self.layout.error_rate);
        sink.write_double(self.layout.tightening);
        sink.write_unsigned(u64::from(self.layout.seed_is_random));
        for (index, filter) in self.filters().iter().enumerate() {
            sink.write_unsigned(filter.capacity());
            if index + 1 == self.filters().len() {
                sink.write_unsigned(filter.items());
            }
            sink.write_bytes(filter.block());
        }
    }

    fn header(&self) -> Result<Vec<u8>, OutOfMemory> {
        let filters = self.filters().len();
        let mut header = with_capacity(HEADER_FIXED_BYTES + filters * HEADER_FILTER_BYTES)?;
        let items = self.filters().last().map_or(0, Filter::items);
        header.extend_from_slice(Self::HEADER_MARK);
        header.extend_from_slice(&self.layout.expansion.to_le_bytes());
        header.extend_from_slice(&self.layout.error_rate.to_le_bytes());
        header.extend_from_slice(&self.layout.tightening.to_le_bytes());
        header.push(u8::from(self.layout.seed_is_random));
        header.extend_from_slice(&u64::from(self.layout.slots).to_le_bytes());
        header.extend_from_slice(&items.to_le_bytes());
        header.extend_from_slice(&(filters as u32).to_le_bytes());
        for filter in self.filters() {
            header.extend_from_slice(&filter.capacity().to_le_bytes());
            header.extend_from_slice(&filter.header().to_bytes());
        }
        Ok(header)
    }

    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError> {
        let invalid = FormatError::Invalid;
        let mut fields = Fields::new(header);
        if !fields.skip(Self::HEADER_MARK) {
            return Err(invalid("not a header of this type"));
        }
        let (expansion, ratios) = (fields.u32()?, [fields.f64()?, fields.f64()?]);
        let (flag, slots, items) = (fields.u8()?, fields.u64()?, fields.u64()?);
        let filters = fields.u32()?;
        let number = u64::from(filters);
        let mut chain = Self::of_stored(number, expansion.into(), ratios, flag == 1)?;
        if flag > 1 {
            return Err(invalid("unknown flag"));
        }
        if (filters as usize).checked_mul(HEADER_FILTER_BYTES) != Some(fields.rest().len()) {
            return Err(invalid("length does not fit the filters"));
        }
        if !(number..=number.saturating_mul(2).max(4)).contains(&slots) {
            return Err(invalid("slots of the list out of range"));
        }
        let mut checks = FilterChecks::new(number);
        for parts in header_filters(fields.clone(), filters, items) {
            checks.check(&parts?)?;
        }
        checks.check_seed(chain.layout.seed_is_random)?;
        budget.request(checks.blob_bytes)?;
        let mut checks = FilterChecks::new(number);
        for parts in header_filters(fields, filters, items) {
            let parts = parts?;
            let items = checks.check(&parts)?;
            chain.push_blob(&parts, items, parts.header.empty_blob()?)?;
        }
        // In range: at most twice the number of filters, or four.
        chain.layout.slots = slots as u32;
        Ok(chain)
    }

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        self.filters().iter().map(Filter::bits)
    }

    fn array_mut(&mut self, number: usize) -> Option<&mut [u8]> {
        Some(self.filters_mut().get_mut(number)?.bits_mut())
    }

    /// Each call of `feed` is one element of valkey-bloom's digest. Integers are fed as decimal text.
    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        feed(self.layout.expansion.to_string().as_bytes());
        feed(&self.layout.error_rate.to_le_bytes());
        feed(&self.layout.tightening.to_le_bytes());
        feed(u8::from(self.layout.seed_is_random).to_string().as_bytes());
        for filter in self.filters() {
            feed(filter.block());
            feed(filter.items().to_string().as_bytes());
            feed(filter.capacity().to_string().as_bytes());
        }
    }

    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        self.copy()
    }
}
