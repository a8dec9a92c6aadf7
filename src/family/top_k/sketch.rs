//! What the commands need of a sketch, with or without a window.

use crate::server::data_type::DataType;
use crate::server::memory_usage::MemoryUsage;
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::memory::{Budget, OutOfMemory};
use roughly_sketch::top_k::{Added, ItemHash, TopK, TopKWindow};
use roughly_sketch::window::Panes;

/// A top-k sketch. The methods are those of [`TopK`] and [`TopKWindow`]. Those without a window
/// ignore the panes of a read.
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

    fn query(&self, item: &[u8], panes: Panes) -> Result<bool, OutOfMemory>;

    fn count_hashed(&self, item: &[u8], hash: &ItemHash, panes: Panes) -> u32;

    fn list(
        &self,
        panes: Panes,
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
    fn query(&self, item: &[u8], _panes: Panes) -> Result<bool, OutOfMemory> {
        Ok(self.query(item))
    }

    #[inline]
    fn count_hashed(&self, item: &[u8], hash: &ItemHash, _panes: Panes) -> u32 {
        self.count_hashed(item, hash)
    }

    fn list(
        &self,
        _panes: Panes,
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

    fn query(&self, item: &[u8], panes: Panes) -> Result<bool, OutOfMemory> {
        self.query_at(item, panes)
    }

    fn count_hashed(&self, item: &[u8], hash: &ItemHash, panes: Panes) -> u32 {
        self.count_hashed_at(item, hash, panes)
    }

    fn list(
        &self,
        panes: Panes,
    ) -> Result<impl ExactSizeIterator<Item = (&[u8], u32)>, OutOfMemory> {
        self.list_at(panes)
    }

    fn has_kept_list(&self) -> bool {
        self.has_kept_list()
    }
}
