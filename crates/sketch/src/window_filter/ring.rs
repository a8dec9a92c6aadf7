//! A number per live tick.

use crate::buffer::Buffer;
use crate::memory::OutOfMemory;
use std::ops::Range;

/// A number for each live tick, little-endian: tick `t` has the place `t mod length`. There are at most as many live
/// ticks as live panes, so different live ticks have different places. The other places contain 0.
#[derive(Debug, PartialEq, Eq)]
pub struct Ring(Buffer);

impl Ring {
    /// A ring of zeros for this many live panes.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn zeroed(live_panes: usize) -> Result<Self, OutOfMemory> {
        Buffer::zeroed(live_panes as u64 * 8).map(Self)
    }

    /// A ring with these bytes. `None` if their number is wrong.
    pub fn from_bytes(bytes: Buffer, live_panes: usize) -> Option<Self> {
        (bytes.len() == live_panes * 8).then_some(Self(bytes))
    }

    /// A copy.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Buffer::copy_of(&self.0).map(Self)
    }

    /// The number of a tick.
    pub fn get(&self, tick: u64) -> u64 {
        let start = self.start(tick);
        let bytes = self.0[start..].first_chunk();
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// Replaces the number of a tick.
    pub fn set(&mut self, tick: u64, number: u64) {
        let start = self.start(tick);
        self.0[start..][..8].copy_from_slice(&number.to_le_bytes());
    }

    /// The sum of the numbers of consecutive ticks: at most as many as there are places.
    pub fn sum(&self, ticks: Range<u64>) -> u64 {
        let numbers = self.0.as_chunks::<8>().0;
        let [first, second] = self.parts(ticks).map(|part| &numbers[part]);
        let numbers = first.iter().chain(second);
        numbers.map(|bytes| u64::from_le_bytes(*bytes)).sum()
    }

    /// Replaces the numbers of consecutive ticks by 0.
    pub fn clear(&mut self, ticks: Range<u64>) {
        for part in self.parts(ticks) {
            self.0.as_chunks_mut::<8>().0[part].fill([0; 8]);
        }
    }

    /// The bytes, for storing, memory accounting and relocation.
    pub fn buffer(&self) -> &Buffer {
        &self.0
    }

    /// The bytes, for relocation.
    pub fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.0
    }

    /// How many numbers are not 0.
    pub fn non_zero(&self) -> usize {
        let numbers = self.0.as_chunks::<8>().0.iter();
        numbers.filter(|bytes| **bytes != [0; 8]).count()
    }

    /// The first byte of a tick's number.
    fn start(&self, tick: u64) -> usize {
        (tick % self.len()) as usize * 8
    }

    /// The number of places.
    fn len(&self) -> u64 {
        self.0.len() as u64 / 8
    }

    /// The places of consecutive ticks: up to the end of the ring, and from its start on.
    fn parts(&self, ticks: Range<u64>) -> [Range<usize>; 2] {
        let count = ticks.end.saturating_sub(ticks.start).min(self.len());
        let first = ticks.start % self.len();
        let end = (first + count).min(self.len());
        [
            first as usize..end as usize,
            0..(first + count - end) as usize,
        ]
    }
}
