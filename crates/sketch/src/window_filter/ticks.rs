//! Ticks: consecutive numbers of the panes that have additions.
//!
//! Slots store ticks instead of panes. A pane without additions uses no tick, so the ticks of a filter do not jump when
//! nothing is added for a long time. There are at most as many live ticks as live panes.

use crate::buffer::Buffer;
use crate::memory::OutOfMemory;
use std::ops::{Range, RangeInclusive};

/// The live ticks at some time: `oldest` to `newest`, none if `newest` is below `oldest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveTicks {
    /// The first live tick, at least 1.
    pub oldest: u64,
    /// The last tick.
    pub newest: u64,
}

/// The live ticks of a filter and their panes.
#[derive(Debug, PartialEq, Eq)]
pub struct Ticks {
    live: LiveTicks,
    /// The pane of each live tick, plus 1.
    panes: Ring,
}

impl Ticks {
    /// No ticks. The first will be number `next`, which is at least 1. `live_panes` is the largest number of live panes.
    pub fn new(next: u64, live_panes: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            live: LiveTicks {
                oldest: next,
                newest: next - 1,
            },
            panes: Ring::zeroed(live_panes)?,
        })
    }

    /// Ticks that were stored. `None` unless `panes` has exactly the panes of the live ticks, in order and in this range.
    pub fn checked(live: LiveTicks, panes: Ring, live_panes: RangeInclusive<u64>) -> Option<Self> {
        let LiveTicks { oldest, newest } = live;
        let count = newest.checked_add(1)?.checked_sub(oldest)?;
        if oldest == 0 || panes.non_zero() as u64 != count {
            return None;
        }
        let ticks = Self { live, panes };
        let mut next = *live_panes.start();
        for tick in oldest..=newest {
            // A pane of 0 in the ring is none.
            let pane = ticks.panes.get(tick).checked_sub(1)?;
            if !(next..=*live_panes.end()).contains(&pane) {
                return None;
            }
            next = pane + 1;
        }
        // Ticks begin with 1, panes with 0, and each tick has a pane of its own. Without live ticks, the next tick has
        // the newest pane or a later one.
        let most = if count > 0 { next } else { *live_panes.end() };
        (newest <= most).then_some(ticks)
    }

    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            panes: self.panes.try_clone()?,
            ..*self
        })
    }

    /// The pane of each live tick, plus 1.
    pub fn panes(&self) -> &Ring {
        &self.panes
    }

    /// The same, for relocation.
    pub fn panes_mut(&mut self) -> &mut Ring {
        &mut self.panes
    }

    /// The live ticks.
    pub fn live(&self) -> LiveTicks {
        self.live
    }

    /// The pane of a live tick.
    pub fn pane_of(&self, tick: u64) -> u64 {
        self.panes.get(tick).wrapping_sub(1)
    }

    /// The tick of a live pane, `None` if the pane has no additions.
    pub fn tick_of(&self, pane: u64) -> Option<u64> {
        let tick = self.oldest_from(pane);
        (tick <= self.live.newest && self.pane_of(tick) == pane).then_some(tick)
    }

    /// The first live tick whose pane is `pane` or later. Cost: logarithmic in the number of ticks.
    pub fn oldest_from(&self, pane: u64) -> u64 {
        let LiveTicks { oldest, newest } = self.live;
        let (mut low, mut high) = (oldest, newest + 1);
        if low < high && self.pane_of(low) >= pane {
            return low;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.pane_of(middle) < pane {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The tick of additions in `pane`, which is not before that of the newest tick: the newest tick or the next one.
    pub fn tick_for(&self, pane: u64) -> u64 {
        let LiveTicks { oldest, newest } = self.live;
        if oldest <= newest && self.pane_of(newest) == pane {
            newest
        } else {
            newest + 1
        }
    }

    /// Makes the result of [`Ticks::tick_for`] the newest tick. Returns whether it is a new one.
    pub fn begin(&mut self, tick: u64, pane: u64) -> bool {
        if tick <= self.live.newest {
            return false;
        }
        self.live.newest = tick;
        self.panes.set(tick, pane + 1);
        true
    }

    /// Removes the ticks whose panes are before `pane`, and returns them.
    pub fn expire_before(&mut self, pane: u64) -> Range<u64> {
        let expired = self.live.oldest..self.oldest_from(pane);
        self.panes.clear(expired.clone());
        self.live.oldest = expired.end;
        expired
    }
}

/// A number for each live tick, little-endian: tick `t` has the place `t mod length`. There are at most as many live
/// ticks as live panes, so different live ticks have different places. The other places contain 0.
#[derive(Debug, PartialEq, Eq)]
pub struct Ring(Buffer);

impl Ring {
    /// A ring of zeros for this many live panes.
    pub fn zeroed(live_panes: usize) -> Result<Self, OutOfMemory> {
        Buffer::zeroed(live_panes as u64 * 8).map(Self)
    }

    /// A ring with these bytes. `None` if their number is wrong.
    pub fn from_bytes(bytes: Buffer, live_panes: usize) -> Option<Self> {
        (bytes.len() == live_panes * 8).then_some(Self(bytes))
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ticks_are_consecutive_numbers_of_panes_with_additions(
            steps in prop::collection::vec(0u64..8, 1..100), panes in 1u64..10,
        ) {
            let mut ticks = Ticks::new(1, panes as usize + 1).unwrap();
            let mut all = Vec::new();
            let mut pane = 0;
            for step in steps {
                pane += step;
                let oldest = pane.saturating_sub(panes);
                ticks.expire_before(oldest);
                let tick = ticks.tick_for(pane);
                prop_assert_eq!(ticks.begin(tick, pane), all.last() != Some(&pane));
                if all.last() != Some(&pane) {
                    all.push(pane);
                }
                let live: Vec<_> = all.iter().copied().filter(|&pane| pane >= oldest).collect();
                prop_assert_eq!(tick as usize, all.len());
                let LiveTicks { oldest: first, newest: last } = ticks.live();
                let stored: Vec<_> = (first..=last).map(|tick| ticks.pane_of(tick)).collect();
                prop_assert_eq!(&stored, &live);
                for (place, &pane) in all.iter().enumerate() {
                    let is_live = pane >= oldest;
                    prop_assert_eq!(ticks.tick_of(pane), is_live.then_some(place as u64 + 1));
                }
            }
        }
    }
}
