//! Ticks: consecutive numbers of the panes that have additions.
//!
//! Slots store ticks instead of panes. A pane without additions uses no tick, so the ticks of a filter do not jump when
//! nothing is added for a long time. There are at most as many live ticks as live panes.

use crate::buffer::Buffer;
use crate::format::FormatError;
use crate::memory::OutOfMemory;
use crate::window::Window;
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
    /// The pane of the newest tick. 0 if there are no live ticks.
    newest_pane: u64,
    /// The low 16 bits of the pane of each live tick. There are fewer panes in the window.
    pub panes: Ring,
}

/// The panes of live ticks have this many bytes.
const PANE_WIDTH: Width = Width::Two;
const _: () = assert!(
    Window::MAX_PANES < 1 << 16,
    "the low 16 bits identify a live pane"
);

impl Ticks {
    /// No ticks. The first will be number `next`, which is at least 1. `live_panes` is the largest number of live panes.
    pub fn new(next: u64, live_panes: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            live: LiveTicks {
                oldest: next,
                newest: next - 1,
            },
            newest_pane: 0,
            panes: Ring::zeroed(live_panes, PANE_WIDTH)?,
        })
    }

    /// The bytes that [`Ticks::new`] allocates.
    pub fn bytes(live_panes: usize) -> u64 {
        PANE_WIDTH.bytes_of(live_panes)
    }

    /// Ticks that were stored. [`FormatError::Invalid`] unless `panes` has exactly the panes of the live ticks, in order and in
    /// this range.
    pub fn checked(
        live: LiveTicks,
        panes: StoredRing<'_>,
        live_panes: RangeInclusive<u64>,
    ) -> Result<Self, FormatError> {
        const BAD_TICKS: FormatError =
            FormatError::Invalid("the live ticks are not those of live panes");
        let LiveTicks { oldest, newest } = live;
        let next_tick = newest.checked_add(1).ok_or(BAD_TICKS)?;
        let count = next_tick.checked_sub(oldest).ok_or(BAD_TICKS)?;
        refuse_if!(oldest == 0 || panes.non_zero() as u64 != count => BAD_TICKS);
        let mut ticks = Self::new(oldest, panes.len())?;
        let mut next = *live_panes.start();
        for tick in oldest..=newest {
            // A pane of 0 in the ring is none.
            let pane = panes.get(tick).checked_sub(1).ok_or(BAD_TICKS)?;
            refuse_if!(!(next..=*live_panes.end()).contains(&pane) => BAD_TICKS);
            ticks.begin(tick, pane);
            next = pane + 1;
        }
        // Ticks begin with 1, panes with 0, and each tick has a pane of its own. Without live ticks, the next tick has
        // the newest pane or a later one.
        let most = if count > 0 { next } else { *live_panes.end() };
        refuse_if!(newest > most => BAD_TICKS);
        Ok(ticks)
    }

    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            panes: self.panes.try_clone()?,
            ..*self
        })
    }

    /// Passes the pane of each live tick, plus 1, as it is stored, to `save`.
    pub fn with_stored_panes(&self, save: impl FnOnce(&[u8])) {
        let LiveTicks { oldest, newest } = self.live;
        let panes = (oldest..=newest).map(|tick| (tick, self.pane_of(tick) + 1));
        with_stored(self.panes.len(PANE_WIDTH), panes, save);
    }

    /// The live ticks.
    pub fn live(&self) -> LiveTicks {
        self.live
    }

    /// The pane of a live tick.
    pub fn pane_of(&self, tick: u64) -> u64 {
        let low = self.panes.get(PANE_WIDTH, tick) as u16;
        let before_newest = (self.newest_pane as u16).wrapping_sub(low);
        self.newest_pane.wrapping_sub(before_newest.into())
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
        if oldest <= newest && self.newest_pane == pane {
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
        self.newest_pane = pane;
        self.panes.set(PANE_WIDTH, tick, pane & 0xffff);
        true
    }

    /// Removes the ticks whose panes are before `pane`, and returns them.
    pub fn expire_before(&mut self, pane: u64) -> Range<u64> {
        let expired = self.live.oldest..self.oldest_from(pane);
        self.panes.clear(PANE_WIDTH, expired.clone());
        self.live.oldest = expired.end;
        if self.live.newest < self.live.oldest {
            self.newest_pane = 0;
        }
        expired
    }
}

/// The bytes of a number in a [`Ring`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    Two = 2,
    Four = 4,
    Eight = 8,
}

impl Width {
    /// That of numbers up to `max`.
    pub fn of(max: u64) -> Self {
        if max <= u16::MAX.into() {
            Self::Two
        } else if max <= u32::MAX.into() {
            Self::Four
        } else {
            Self::Eight
        }
    }

    /// The bytes of a ring for this many live panes.
    pub fn bytes_of(self, live_panes: usize) -> u64 {
        (live_panes * self as usize) as u64
    }
}

/// A number for each live tick, little-endian: tick `t` has the place `t mod length`. There are at most as many live
/// ticks as live panes, so different live ticks have different places. The other places contain 0. All calls have the same
/// width.
#[derive(Debug, PartialEq, Eq)]
pub struct Ring(pub Buffer);

impl Ring {
    /// A ring of zeros for this many live panes.
    pub fn zeroed(live_panes: usize, width: Width) -> Result<Self, OutOfMemory> {
        Buffer::zeroed(width.bytes_of(live_panes)).map(Self)
    }

    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Buffer::copy_of(&self.0).map(Self)
    }

    /// The number of a tick.
    pub fn get(&self, width: Width, tick: u64) -> u64 {
        let bytes = &self.0[self.place(width, tick)];
        match width {
            Width::Two => sum_of::<2>(bytes),
            Width::Four => sum_of::<4>(bytes),
            Width::Eight => sum_of::<8>(bytes),
        }
    }

    /// Replaces the number of a tick.
    pub fn set(&mut self, width: Width, tick: u64, number: u64) {
        let place = self.place(width, tick);
        self.0[place].copy_from_slice(&number.to_le_bytes()[..width as usize]);
    }

    /// The sum of the numbers of consecutive ticks: at most as many as there are places.
    pub fn sum(&self, width: Width, ticks: Range<u64>) -> u64 {
        let parts = self.parts(width, ticks).map(|part| &self.0[part]);
        let sums = parts.map(|part| match width {
            Width::Two => sum_of::<2>(part),
            Width::Four => sum_of::<4>(part),
            Width::Eight => sum_of::<8>(part),
        });
        sums[0] + sums[1]
    }

    /// Replaces the numbers of consecutive ticks by 0.
    pub fn clear(&mut self, width: Width, ticks: Range<u64>) {
        for part in self.parts(width, ticks) {
            self.0[part].fill(0);
        }
    }

    /// Passes the numbers, as they are stored, to `save`.
    pub fn with_stored(&self, width: Width, save: impl FnOnce(&[u8])) {
        let places = 0..self.len(width) as u64;
        let numbers = places.map(|place| (place, self.get(width, place)));
        with_stored(self.len(width), numbers, save);
    }

    /// The bytes of a tick's number.
    fn place(&self, width: Width, tick: u64) -> Range<usize> {
        let start = (tick % self.len(width) as u64) as usize * width as usize;
        start..start + width as usize
    }

    /// The number of places.
    fn len(&self, width: Width) -> usize {
        self.0.len() / width as usize
    }

    /// The bytes of the places of consecutive ticks: up to the end of the ring, and from its start on.
    fn parts(&self, width: Width, ticks: Range<u64>) -> [Range<usize>; 2] {
        let len = self.len(width) as u64;
        let count = ticks.end.saturating_sub(ticks.start).min(len);
        let first = ticks.start % len;
        let end = (first + count).min(len);
        [first..end, 0..first + count - end]
            .map(|part| part.start as usize * width as usize..part.end as usize * width as usize)
    }
}

/// The sum of little-endian numbers of `N` bytes.
#[inline(always)]
fn sum_of<const N: usize>(bytes: &[u8]) -> u64 {
    let numbers = bytes.as_chunks::<N>().0.iter();
    let numbers = numbers.map(|bytes| {
        let mut number = [0; STORED_BYTES];
        number[..N].copy_from_slice(bytes);
        u64::from_le_bytes(number)
    });
    numbers.sum()
}

/// The bytes of a number of a ring as it is stored.
pub const STORED_BYTES: usize = 8;

/// Passes a ring with these numbers of ticks, as it is stored, to `save`.
fn with_stored(places: usize, numbers: impl Iterator<Item = (u64, u64)>, save: impl FnOnce(&[u8])) {
    let mut stored = [0; (Window::MAX_PANES as usize + 1) * STORED_BYTES];
    for (tick, number) in numbers {
        let start = (tick % places as u64) as usize * STORED_BYTES;
        stored[start..][..STORED_BYTES].copy_from_slice(&number.to_le_bytes());
    }
    save(&stored[..places * STORED_BYTES]);
}

/// A ring as it is stored: numbers of 8 bytes.
#[derive(Debug, Clone, Copy)]
pub struct StoredRing<'a>(&'a [[u8; STORED_BYTES]]);

impl<'a> StoredRing<'a> {
    /// The ring of these bytes. `None` if their number is wrong.
    pub fn of(bytes: &'a [u8], live_panes: usize) -> Option<Self> {
        let (numbers, rest) = bytes.as_chunks();
        (numbers.len() == live_panes && rest.is_empty()).then_some(Self(numbers))
    }

    /// The number of a tick.
    pub fn get(&self, tick: u64) -> u64 {
        let place = (tick % self.0.len() as u64) as usize;
        u64::from_le_bytes(self.0[place])
    }

    /// The number of places.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// How many numbers are not 0.
    pub fn non_zero(&self) -> usize {
        let numbers = self.0.iter();
        numbers.filter(|bytes| **bytes != [0; STORED_BYTES]).count()
    }

    /// The same with numbers of another width, in which each fits.
    pub fn narrowed(&self, width: Width) -> Result<Ring, OutOfMemory> {
        let mut ring = Ring::zeroed(self.len(), width)?;
        for place in 0..self.len() as u64 {
            ring.set(width, place, self.get(place));
        }
        Ok(ring)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ticks_are_consecutive_numbers_of_panes_with_additions(
            steps in prop::collection::vec(
                prop_oneof![9 => 0u64..8, 1 => prop::sample::select(vec![65_535, 65_536, 65_537, 1 << 40])],
                1..100,
            ),
            panes in 1u64..10,
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
                let mut restored = None;
                ticks.with_stored_panes(|bytes| {
                    let panes = StoredRing::of(bytes, panes as usize + 1).unwrap();
                    restored = Ticks::checked(ticks.live(), panes, oldest..=pane).ok();
                });
                prop_assert_eq!(restored.as_ref(), Some(&ticks));
            }
        }

        #[test]
        fn a_ring_has_a_number_per_place(
            places in 1usize..20,
            calls in prop::collection::vec((any::<bool>(), any::<u64>(), 0u64..25, any::<u64>()), 1..50),
        ) {
            for (width, max) in [
                (Width::Two, u64::from(u16::MAX)),
                (Width::Four, u64::from(u32::MAX)),
                (Width::Eight, u64::MAX >> 8),
            ] {
                prop_assert_eq!(Width::of(max), width);
                let mut model = vec![0u64; places];
                let mut ring = Ring::zeroed(places, width).unwrap();
                prop_assert_eq!(ring.0.len(), places * width as usize);
                let place = |tick: u64| (tick % places as u64) as usize;
                for &(clear, tick, count, number) in &calls {
                    let tick = tick >> 1;
                    let ticks = tick..tick + count.min(places as u64);
                    if clear {
                        ring.clear(width, ticks.clone());
                        ticks.clone().for_each(|tick| model[place(tick)] = 0);
                    } else {
                        ring.set(width, tick, number & max);
                        model[place(tick)] = number & max;
                    }
                    prop_assert_eq!(ring.get(width, tick), model[place(tick)]);
                    let sum = ticks.clone().map(|tick| model[place(tick)]).sum::<u64>();
                    prop_assert_eq!(ring.sum(width, ticks), sum);
                }
                let stored: Vec<_> = model.iter().flat_map(|number| number.to_le_bytes()).collect();
                ring.with_stored(width, |bytes| assert_eq!(bytes, stored));
                let restored = StoredRing::of(&stored, places).unwrap();
                prop_assert_eq!(restored.non_zero(), model.iter().filter(|&&number| number > 0).count());
                prop_assert_eq!(restored.narrowed(width).unwrap(), ring);
            }
        }
    }
}
