//! Sweeping of expired entries.
//!
//! Tags are numbers of ticks modulo a cycle, which is a few ticks longer than the window. An expired entry must be
//! removed before its tag is used again. The ticks are divided into generations, and the buckets into regions. The first
//! write to a region in a generation sweeps the region: it empties all expired slots and stores the generation. A region of generation `g` therefore contains only ticks that were live when `g` began, or
//! that are in `g`. These have different tags, so each tag has one tick, for any number of later ticks. A region that
//! is not written needs no sweep, and a jump by years is no special case.
//!
//! The stored generation has 16 bits, so its region must be swept before 2^16 further generations. Each new tick visits a
//! few regions in turn and sweeps those whose generation is old. The cost of a write is bounded by the size of a region,
//! not of the filter.
//!
//! So no expired entry becomes live again when the 16 bits wrap: a generation has at least one tick, and ticks advance
//! only by a write that stores an entry, one at a time. Each visits the regions of all sub-filters, so a region is visited
//! at least every 2^15 ticks, and swept if it is 2^14 generations old or more. Its age is therefore below
//! 2^14 + 2^15 generations, at which it is exact. Panes without additions, however many, have no tick.

use super::slot::View;
use super::sub_filter::SubFilter;

/// Each region is visited at least once in this many ticks.
const MAX_TICKS_UNTIL_VISIT: u64 = 1 << 15;
/// A visit sweeps a region whose generation is so many generations old. With the ticks until the next visit, the age is
/// below 2^16.
const MIN_AGE: u16 = 1 << 14;

impl SubFilter {
    /// Sweeps a region, unless it was swept in this generation.
    #[inline(always)]
    pub fn sweep_if_old(&mut self, view: &View, region: u64) {
        if self.generation_of(region) != view.generation as u16 {
            self.sweep(view, region);
        }
    }

    /// Empties the expired slots of a region and stores the generation. Returns whether a slot or the generation changed.
    #[inline(never)]
    fn sweep(&mut self, view: &View, region: u64) -> bool {
        let layout = *self.layout();
        let generation = self.generation_of(region);
        let live = layout.live_tags(view, generation);
        let region_slots = self.slots_of_region(region);
        let mut changed = generation != view.generation as u16;
        let slots = self.slots_mut();
        for slot in region_slots {
            let value = layout.get(slots, slot);
            if value != 0 && layout.live_tick(&live, value).is_none() {
                layout.set(slots, slot, 0);
                changed = true;
            }
        }
        let bytes = (view.generation as u16).to_le_bytes();
        self.generations_mut()[region as usize * 2..][..2].copy_from_slice(&bytes);
        changed
    }

    /// Visits the regions whose turn it is at a new tick.
    pub fn sweep_due(&mut self, view: &View, tick: u64) {
        for region in visited(self.regions(), tick) {
            let age = (view.generation as u16).wrapping_sub(self.generation_of(region));
            if age >= MIN_AGE {
                self.sweep(view, region);
            }
        }
    }

    /// Sweeps all regions. Returns whether a slot or a generation changed.
    pub fn sweep_all(&mut self, view: &View) -> bool {
        (0..self.regions()).fold(false, |any, region| self.sweep(view, region) | any)
    }
}

/// The regions, of so many, that a new tick visits.
fn visited(regions: u64, tick: u64) -> impl Iterator<Item = u64> {
    let number = regions.div_ceil(MAX_TICKS_UNTIL_VISIT);
    let first = (tick % regions).wrapping_mul(number) % regions;
    (first..first + number).map(move |region| region % regions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_region_is_visited_in_time() {
        for regions in [1, 2, 1000, 1 << 15, (1 << 15) + 1, 100_000, (1 << 17) + 5] {
            for first in [1, 7, 1_000_003, 1 << 40] {
                let mut unvisited = vec![true; regions as usize];
                for tick in first..first + MAX_TICKS_UNTIL_VISIT {
                    for region in visited(regions, tick) {
                        unvisited[region as usize] = false;
                    }
                }
                assert!(!unvisited.contains(&true), "{regions} {first}");
            }
        }
    }
}
