//! What the commands need of a sketch, with or without a window.

use crate::server::datatype::DataType;
use crate::server::memory_usage::MemoryUsage;
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::memory::{Budget, OutOfMemory};
use roughly_sketch::top_k::{Added, ItemHash, TopK, TopKWindow};

/// A top-k sketch. The methods are those of [`TopK`] and [`TopKWindow`]. `current` is the number of the current pane; a
/// sketch without a window ignores it.
pub trait Sketch: DataType {
    fn k(&self) -> u32;

    fn width(&self) -> u32;

    fn depth(&self) -> u32;

    fn decay(&self) -> f64;

    fn within_work_limit<'a>(&self, items: impl Iterator<Item = (&'a [u8], u32)>) -> bool;

    fn hash(&self, item: &[u8]) -> ItemHash;

    fn growth(&self, item: &[u8], hash: &ItemHash) -> u64;

    fn add_hashed(
        &mut self,
        item: &[u8],
        hash: &ItemHash,
        increment: u32,
        budget: Budget<'_>,
        changes: &mut BlockChanges<MemoryUsage>,
    ) -> Result<Added<'_>, OutOfMemory>;

    fn query(&self, item: &[u8], current: u64) -> Result<bool, OutOfMemory>;

    fn count_hashed(&self, item: &[u8], hash: &ItemHash, current: u64) -> u32;

    fn list(
        &self,
        current: u64,
    ) -> Result<impl ExactSizeIterator<Item = (&[u8], u32)>, OutOfMemory>;

    /// Whether a read has kept a list, which takes memory until the next write.
    fn has_kept_list(&self) -> bool;
}

/// Implements the methods that have the same name and arguments in both types.
macro_rules! same_methods {
    () => {
        fn k(&self) -> u32 {
            self.k()
        }

        fn width(&self) -> u32 {
            self.width()
        }

        fn depth(&self) -> u32 {
            self.depth()
        }

        fn decay(&self) -> f64 {
            self.decay()
        }

        fn within_work_limit<'a>(&self, items: impl Iterator<Item = (&'a [u8], u32)>) -> bool {
            self.within_work_limit(items)
        }

        #[inline]
        fn hash(&self, item: &[u8]) -> ItemHash {
            self.hash(item)
        }

        fn growth(&self, item: &[u8], hash: &ItemHash) -> u64 {
            self.growth(item, hash)
        }

        #[inline]
        fn add_hashed(
            &mut self,
            item: &[u8],
            hash: &ItemHash,
            increment: u32,
            budget: Budget<'_>,
            changes: &mut BlockChanges<MemoryUsage>,
        ) -> Result<Added<'_>, OutOfMemory> {
            self.add_hashed(item, hash, increment, budget, changes)
        }
    };
}

impl Sketch for TopK {
    same_methods!();

    #[inline]
    fn query(&self, item: &[u8], _current: u64) -> Result<bool, OutOfMemory> {
        Ok(self.query(item))
    }

    #[inline]
    fn count_hashed(&self, item: &[u8], hash: &ItemHash, _current: u64) -> u32 {
        self.count_hashed(item, hash)
    }

    fn list(
        &self,
        _current: u64,
    ) -> Result<impl ExactSizeIterator<Item = (&[u8], u32)>, OutOfMemory> {
        self.list()
    }

    #[inline]
    fn has_kept_list(&self) -> bool {
        false
    }
}

impl Sketch for TopKWindow {
    same_methods!();

    fn query(&self, item: &[u8], current: u64) -> Result<bool, OutOfMemory> {
        self.query_at(item, current)
    }

    fn count_hashed(&self, item: &[u8], hash: &ItemHash, current: u64) -> u32 {
        self.count_hashed_at(item, hash, current)
    }

    fn list(
        &self,
        current: u64,
    ) -> Result<impl ExactSizeIterator<Item = (&[u8], u32)>, OutOfMemory> {
        self.list_at(current)
    }

    fn has_kept_list(&self) -> bool {
        self.has_kept_list()
    }
}
