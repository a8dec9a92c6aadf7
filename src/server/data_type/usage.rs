//! The counted memory usage of a value.

use crate::server::memory::MemoryUsage;
use std::cell::Cell;

/// A memory usage in eight bytes, in a cell because reads allocate memory for the cache of a value. A count above its
/// maximum is stored as the maximum.
#[derive(Debug, Default)]
pub struct CountedUsage(Cell<u64>);

impl CountedUsage {
    /// The lower bits are the bytes: as many bits as an address of the supported processors has.
    const BYTES_BITS: u32 = 48;
    const MAX_BYTES: u64 = (1 << Self::BYTES_BITS) - 1;
    /// The number of blocks is needed only for the effort to free a value, of which the server compares the magnitude.
    const MAX_BLOCKS: u64 = u64::MAX >> Self::BYTES_BITS;

    /// Bytes of all blocks.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.0.get() & Self::MAX_BYTES
    }

    /// The number of blocks.
    #[inline]
    pub fn blocks(&self) -> u64 {
        self.0.get() >> Self::BYTES_BITS
    }

    /// Replaces the counts by those of a measurement.
    pub fn set(&self, measured: &MemoryUsage) {
        self.set_counts(measured.bytes as u64, measured.blocks as u64);
    }

    /// Adds allocated blocks and subtracts freed ones. The maximum number of blocks stays until the next measurement,
    /// because the real one is not known.
    pub fn change(&self, allocated: &MemoryUsage, freed: &MemoryUsage) {
        let bytes = self.bytes() + allocated.bytes as u64;
        let blocks = match self.blocks() {
            Self::MAX_BLOCKS => Self::MAX_BLOCKS,
            blocks => (blocks + allocated.blocks as u64).saturating_sub(freed.blocks as u64),
        };
        self.set_counts(bytes.saturating_sub(freed.bytes as u64), blocks);
    }

    fn set_counts(&self, bytes: u64, blocks: u64) {
        let blocks = blocks.min(Self::MAX_BLOCKS) << Self::BYTES_BITS;
        self.0.set(blocks | bytes.min(Self::MAX_BYTES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(bytes: usize, blocks: usize) -> MemoryUsage {
        MemoryUsage { bytes, blocks }
    }

    fn counts(counted: &CountedUsage) -> (u64, u64) {
        (counted.bytes(), counted.blocks())
    }

    #[test]
    fn changes_are_added_and_subtracted() {
        let counted = CountedUsage::default();
        counted.set(&usage(100, 3));
        counted.change(&usage(5 << 30, 60_000), &usage(60, 2));
        assert_eq!(counts(&counted), ((5 << 30) + 40, 60_001));
        counted.change(&usage(0, 0), &usage(6 << 30, 60_002));
        assert_eq!(counts(&counted), (0, 0));
    }

    #[test]
    fn the_maximum_number_of_blocks_stays_until_the_next_measurement() {
        let counted = CountedUsage::default();
        counted.set(&usage(1 << 20, 65_534));
        counted.change(&usage(8, 2), &usage(0, 0));
        assert_eq!(counts(&counted), ((1 << 20) + 8, 65_535));
        counted.change(&usage(0, 0), &usage(1 << 10, 65_000));
        assert_eq!(counts(&counted), ((1 << 20) + 8 - (1 << 10), 65_535));
        counted.set(&usage(16, 1));
        assert_eq!(counts(&counted), (16, 1));
    }
}
