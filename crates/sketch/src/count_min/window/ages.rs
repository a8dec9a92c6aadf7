//! The ages of blocks of cells.

use crate::buffer::Buffer;
use crate::memory::OutOfMemory;

/// The age of each block: the number of panes that began since the block was current. A current block (age 0) has no
/// cells of expired panes. Ages are at most the number of slots, at which all cells of a block have expired.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Ages {
    /// 16 bits per block, little-endian, as they are stored.
    ages: Buffer,
    /// The number of blocks that are not current.
    stale: usize,
    /// The block that is tested next for expired cells. 0 if no block is stale.
    cursor: usize,
}

impl Ages {
    /// The bytes of the ages of this many blocks.
    pub(super) fn bytes_for(blocks: u64) -> u64 {
        blocks.saturating_mul(2)
    }

    /// The ages of this many current blocks.
    pub(super) fn current(blocks: u64) -> Result<Self, OutOfMemory> {
        Ok(Self {
            ages: Buffer::zeroed(Self::bytes_for(blocks))?,
            ..Self::default()
        })
    }

    /// Ages in their stored form. `None` if an age exceeds `max_age`, if no block is stale, or if there is no block at
    /// `cursor`.
    pub(super) fn stored(ages: Buffer, cursor: u64, max_age: u64) -> Option<Self> {
        let all = || ages.as_chunks().0.iter().copied().map(u16::from_le_bytes);
        let stale = all().filter(|&age| age != 0).count();
        let cursor = usize::try_from(cursor).ok()?;
        let is_valid = all().all(|age| u64::from(age) <= max_age) && stale != 0;
        (is_valid && cursor < ages.len() / 2).then_some(Self {
            ages,
            stale,
            cursor,
        })
    }

    /// The stored form: empty if all blocks are current.
    pub(super) fn as_bytes(&self) -> &[u8] {
        if self.stale == 0 { &[] } else { &self.ages }
    }

    /// The number of blocks that are not current.
    #[inline]
    pub(super) fn stale(&self) -> usize {
        self.stale
    }

    /// The block that is tested next for expired cells.
    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Moves the cursor to the next block and returns the block at which it was.
    pub(super) fn next(&mut self) -> usize {
        let block = self.cursor;
        self.cursor = (block + 1) % (self.ages.len() / 2).max(1);
        block
    }

    /// The age of a block, at most the number of slots.
    #[inline]
    pub(super) fn get(&self, block: usize) -> u64 {
        u16::from_le_bytes(self.ages.as_chunks().0[block]).into()
    }

    /// Adds `panes`, at least 1, to all ages. Cost: linear in the number of blocks; the loop uses vector instructions.
    pub(super) fn add(&mut self, panes: u64, max_age: u16) {
        let panes = u16::try_from(panes).map_or(max_age, |panes| panes.min(max_age));
        let ages = self.ages.as_chunks_mut().0;
        for age in ages.iter_mut() {
            // Below 2^16, since both are at most `Window::MAX_PANES` + 1.
            *age = (u16::from_le_bytes(*age) + panes)
                .min(max_age)
                .to_le_bytes();
        }
        self.stale = ages.len();
    }

    /// Makes a stale block current.
    pub(super) fn set_current(&mut self, block: usize) {
        self.ages.as_chunks_mut().0[block] = 0u16.to_le_bytes();
        self.stale -= 1;
        if self.stale == 0 {
            self.cursor = 0;
        }
    }

    /// Makes all blocks current.
    pub(super) fn set_all_current(&mut self) {
        self.ages.fill(0);
        (self.stale, self.cursor) = (0, 0);
    }

    /// A copy.
    pub(super) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            ages: Buffer::copy_of(&self.ages)?,
            stale: self.stale,
            cursor: self.cursor,
        })
    }

    /// The heap block of the ages.
    pub(super) fn buffer(&self) -> &Buffer {
        &self.ages
    }

    /// The heap block of the ages, for a move.
    pub(super) fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.ages
    }
}
