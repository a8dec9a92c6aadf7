//! The payload of BF.LOAD, which a rewritten append-only file also has.
//!
//! Format: docs/contributing/formats.md, "Bloom filters of valkey-bloom".

use super::ValkeyChain;
use super::filter::{BLOB_HEADER_BYTES, BlobHeader};
use super::sizes::{restored_size, size};
use super::stored::{FilterChecks, FilterParts};
use crate::buffer::Buffer;
use crate::format::{Fields, FormatError};
use crate::memory::{Budget, OutOfMemory, with_capacity};

/// The first byte of a payload.
const PAYLOAD_VERSION: u8 = 1;
/// Bytes of a payload before its filters.
const FIXED_BYTES: u64 = 1 + 4 + 8 + 8 + 1 + 8;
/// Bytes of each filter without its bits.
const FILTER_BYTES: u64 = 8 + BLOB_HEADER_BYTES as u64 + 8 + 8;

/// Why a payload is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The first byte is not the known version.
    #[error("unknown version of the payload")]
    Version,
    /// The error rate or the tightening ratio is outside (0, 1).
    #[error("error rate or tightening ratio outside (0, 1)")]
    Rate,
    /// The chain exceeds the memory limit.
    #[error("the filter exceeds its memory limit")]
    Size,
    /// The payload is empty, ends early or contradicts the format.
    #[error("the payload is damaged")]
    Invalid,
    /// The payload is valid, but memory for it was refused.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

impl From<FormatError> for LoadError {
    fn from(error: FormatError) -> Self {
        match error {
            FormatError::OutOfMemory(refused) => Self::OutOfMemory(refused),
            _ => Self::Invalid,
        }
    }
}

/// Reads the next filter: its numbers and its stored form.
fn read_filter<'a>(fields: &mut Fields<'a>) -> Result<(FilterParts, &'a [u8]), LoadError> {
    let blob = fields.string()?;
    let header = BlobHeader::of_blob(blob)?;
    let items = fields.u64()?;
    let capacity = fields.u64()?;
    let parts = FilterParts {
        capacity,
        items,
        header,
    };
    Ok((parts, blob))
}

impl ValkeyChain {
    /// The chain of a BF.LOAD payload. Bytes after its end are ignored, and so are the items of all filters but the
    /// newest, which are full. Neither [`ValkeyChain::size`] nor [`ValkeyChain::restored_size`] may exceed `max_size` bytes. Then
    /// the bytes of the stored filters are requested from `budget`. Everything is checked before memory is allocated.
    ///
    /// A chain that is marked as having the fixed seed, but has another one, is marked as having a random one.
    ///
    /// Format: docs/contributing/formats.md, "Bloom filters of valkey-bloom".
    ///
    /// # Errors
    /// Any [`LoadError`]. The first invalid field in the order of the payload determines the error.
    pub fn from_load_payload(
        payload: &[u8],
        max_size: u64,
        budget: Budget<'_>,
    ) -> Result<Self, LoadError> {
        let mut fields = Fields::new(payload);
        if fields.u8()? != PAYLOAD_VERSION {
            return Err(LoadError::Version);
        }
        let expansion = fields.u32()?;
        let ratios = [fields.f64()?, fields.f64()?];
        if ratios.iter().any(|ratio| !(*ratio > 0.0 && *ratio < 1.0)) {
            return Err(LoadError::Rate);
        }
        let flag = fields.u8()?;
        if flag > 1 {
            return Err(LoadError::Invalid);
        }
        let filters = fields.u64()?;
        if filters > fields.rest().len() as u64 / (FILTER_BYTES + 1) {
            return Err(LoadError::Invalid);
        }
        let mut chain = Self::of_stored(filters, expansion.into(), ratios, flag == 1)?;
        let mut checks = FilterChecks::new(filters);
        let mut unread = fields.clone();
        for _ in 0..filters {
            checks.check(&read_filter(&mut unread)?.0)?;
        }
        let bit_bytes = checks.blob_bytes - filters * BLOB_HEADER_BYTES as u64;
        if size(filters, filters, bit_bytes).max(restored_size(filters, bit_bytes)) > max_size {
            return Err(LoadError::Size);
        }
        budget.request(checks.blob_bytes)?;
        chain.layout.seed_is_random |= !checks.has_fixed_seed();
        let mut checks = FilterChecks::new(filters);
        for _ in 0..filters {
            let (parts, blob) = read_filter(&mut fields)?;
            let items = checks.check(&parts)?;
            chain.push_blob(&parts, items, Buffer::copy_of(blob)?)?;
        }
        chain.layout.slots = filters as u32;
        Ok(chain)
    }

    /// Bytes of [`ValkeyChain::load_payload`].
    #[must_use]
    pub fn load_payload_bytes(&self) -> u64 {
        FIXED_BYTES + FILTER_BYTES * self.filters().len() as u64 + self.layout.bit_bytes
    }

    /// The BF.LOAD payload of the chain.
    ///
    /// Format: docs/contributing/formats.md, "Bloom filters of valkey-bloom".
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses [`ValkeyChain::load_payload_bytes`] bytes.
    pub fn load_payload(&self) -> Result<Vec<u8>, OutOfMemory> {
        let bytes = self.load_payload_bytes();
        let bytes = usize::try_from(bytes).map_err(|_| OutOfMemory { bytes })?;
        let mut payload = with_capacity(bytes)?;
        payload.push(PAYLOAD_VERSION);
        payload.extend_from_slice(&self.layout.expansion.to_le_bytes());
        payload.extend_from_slice(&self.layout.error_rate.to_le_bytes());
        payload.extend_from_slice(&self.layout.tightening.to_le_bytes());
        payload.push(u8::from(self.layout.seed_is_random));
        payload.extend_from_slice(&(self.filters().len() as u64).to_le_bytes());
        for filter in self.filters() {
            payload.extend_from_slice(&(filter.block().len() as u64).to_le_bytes());
            payload.extend_from_slice(filter.block());
            payload.extend_from_slice(&filter.items().to_le_bytes());
            payload.extend_from_slice(&filter.capacity().to_le_bytes());
        }
        Ok(payload)
    }
}
