//! The memory usage of a value: counted, or measured whenever it is needed.

use crate::server::memory::MemoryUsage;
use roughly_sketch::blocks::BlockChanges;
use std::cell::Cell;

/// What a value stores about its memory usage.
pub trait StoredUsage: Default {
    /// The memory usage. `measure` measures it.
    fn get(&self, measure: impl FnOnce() -> MemoryUsage) -> MemoryUsage;

    /// Replaces the counts by those of a measurement.
    fn set(&self, measured: MemoryUsage);

    /// Adds allocated blocks and subtracts freed ones.
    fn change(&self, changes: &BlockChanges<MemoryUsage>);
}

/// For types whose values keep the blocks that they are created with: nothing is stored, and the few blocks are measured. A value
/// can only exchange its state with another value, which changes the usage of each, but not the sum in INFO.
#[derive(Debug, Default)]
pub struct MeasuredUsage;

impl StoredUsage for MeasuredUsage {
    #[inline]
    fn get(&self, measure: impl FnOnce() -> MemoryUsage) -> MemoryUsage {
        measure()
    }

    fn set(&self, _: MemoryUsage) {}

    fn change(&self, _: &BlockChanges<MemoryUsage>) {}
}

/// For other types: counts in eight bytes, in a cell because reads allocate memory for the cache of a value. A count above its
/// maximum is stored as the maximum.
#[derive(Debug, Default)]
pub struct CountedUsage(Cell<u64>);

impl CountedUsage {
    /// The lower bits are the bytes: as many bits as an address of the supported processors has.
    const BYTES_BITS: u32 = 48;
    const MAX_BYTES: u64 = (1 << Self::BYTES_BITS) - 1;
    /// The number of blocks is needed only for the effort to free a value, of which the server compares the magnitude.
    const MAX_BLOCKS: u64 = u64::MAX >> Self::BYTES_BITS;
}

impl StoredUsage for CountedUsage {
    #[inline]
    fn get(&self, _: impl FnOnce() -> MemoryUsage) -> MemoryUsage {
        let counts = self.0.get();
        MemoryUsage {
            bytes: (counts & Self::MAX_BYTES) as usize,
            blocks: (counts >> Self::BYTES_BITS) as usize,
        }
    }

    #[inline]
    fn set(&self, MemoryUsage { bytes, blocks }: MemoryUsage) {
        let bytes = (bytes as u64).min(Self::MAX_BYTES);
        let blocks = (blocks as u64).min(Self::MAX_BLOCKS);
        self.0.set(blocks << Self::BYTES_BITS | bytes);
    }

    /// The maximum number of blocks stays until the next measurement, because the real one is not known.
    fn change(&self, BlockChanges { freed, allocated }: &BlockChanges<MemoryUsage>) {
        let before = self.get(MemoryUsage::default);
        let is_maximum = before.blocks as u64 == Self::MAX_BLOCKS;
        let blocks = (before.blocks + allocated.blocks).saturating_sub(freed.blocks);
        self.set(MemoryUsage {
            bytes: (before.bytes + allocated.bytes).saturating_sub(freed.bytes),
            blocks: if is_maximum { before.blocks } else { blocks },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(bytes: usize, blocks: usize) -> MemoryUsage {
        MemoryUsage { bytes, blocks }
    }

    fn counts(counted: &CountedUsage) -> (usize, usize) {
        let usage = counted.get(MemoryUsage::default);
        (usage.bytes, usage.blocks)
    }

    fn change(counted: &CountedUsage, allocated: MemoryUsage, freed: MemoryUsage) {
        counted.change(&BlockChanges { freed, allocated });
    }

    #[test]
    fn changes_are_added_and_subtracted() {
        let counted = CountedUsage::default();
        counted.set(usage(100, 3));
        change(&counted, usage(5 << 30, 60_000), usage(60, 2));
        assert_eq!(counts(&counted), ((5 << 30) + 40, 60_001));
        change(&counted, usage(0, 0), usage(6 << 30, 60_002));
        assert_eq!(counts(&counted), (0, 0));
    }

    #[test]
    fn the_maximum_number_of_blocks_stays_until_the_next_measurement() {
        let counted = CountedUsage::default();
        counted.set(usage(1 << 20, 65_534));
        change(&counted, usage(8, 2), usage(0, 0));
        assert_eq!(counts(&counted), ((1 << 20) + 8, 65_535));
        change(&counted, usage(0, 0), usage(1 << 10, 65_000));
        assert_eq!(counts(&counted), ((1 << 20) + 8 - (1 << 10), 65_535));
        counted.set(usage(16, 1));
        assert_eq!(counts(&counted), (16, 1));
    }
}
