//! [`QuantileSketch`]: what digests with and without a window have in common.

use super::{Compressed, DigestError, Info, TDigest};
use crate::memory::{Budget, OutOfMemory};
use crate::stored::Stored;
use crate::window::Panes;
use std::ops::Deref;

/// A digest, with or without a window. Reads take the panes that count; a digest without a window ignores them.
pub trait QuantileSketch: Stored {
    /// A reference to the compressed form.
    type Answers<'a>: Deref<Target = Compressed>
    where
        Self: 'a;

    /// Adds samples of weight 1, in this order. Requests the growth of the digest from `budget` before it grows.
    ///
    /// # Errors
    /// [`DigestError::NotFinite`], [`DigestError::Overflow`] or [`DigestError::OutOfMemory`]; then nothing has changed.
    fn add_within(&mut self, values: &[f64], budget: Budget<'_>) -> Result<(), DigestError>;

    /// Removes all samples and frees their memory. The compression stays.
    fn reset(&mut self);

    /// Whether the digest contains what a new one contains.
    fn is_new(&self) -> bool;

    /// The compression parameter.
    fn compression(&self) -> u32;

    /// Bytes of all its blocks.
    fn block_bytes(&self) -> usize;

    /// The number of samples.
    fn observations_at(&self, panes: Panes) -> i64;

    /// The smallest sample; nan if empty.
    fn min_at(&self, panes: Panes) -> f64;

    /// The largest sample; nan if empty.
    fn max_at(&self, panes: Panes) -> f64;

    /// The fields of TDIGEST.INFO.
    fn info_at(&self, panes: Panes) -> Info;

    /// Whether the compressed form is kept, so that the next read does not compute it.
    fn is_compressed_at(&self, panes: Panes) -> bool;

    /// The compressed form of the samples, which answers queries. It is kept until the next write.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses; the digest has not changed.
    fn compressed_at(&self, panes: Panes) -> Result<Self::Answers<'_>, OutOfMemory>;
}

impl QuantileSketch for TDigest {
    type Answers<'a> = &'a Compressed;

    #[inline]
    fn add_within(&mut self, values: &[f64], budget: Budget<'_>) -> Result<(), DigestError> {
        TDigest::add_within(self, values, budget)
    }

    fn reset(&mut self) {
        TDigest::reset(self);
    }

    fn is_new(&self) -> bool {
        TDigest::is_new(self)
    }

    fn compression(&self) -> u32 {
        TDigest::compression(self)
    }

    #[inline]
    fn block_bytes(&self) -> usize {
        TDigest::block_bytes(self)
    }

    fn observations_at(&self, _panes: Panes) -> i64 {
        self.observations()
    }

    fn min_at(&self, _panes: Panes) -> f64 {
        self.min()
    }

    fn max_at(&self, _panes: Panes) -> f64 {
        self.max()
    }

    fn info_at(&self, _panes: Panes) -> Info {
        self.info()
    }

    fn is_compressed_at(&self, _panes: Panes) -> bool {
        self.is_compressed()
    }

    fn compressed_at(&self, _panes: Panes) -> Result<&Compressed, OutOfMemory> {
        self.compressed()
    }
}
