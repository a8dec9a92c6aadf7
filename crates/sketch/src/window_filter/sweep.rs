//! Sweeping of expired entries.
//!
//! The states of entries are ticks modulo a cycle, which is a few ticks longer than the window. An expired entry must be
//! removed before its state is used again. The ticks are divided into generations, and the buckets into groups. The first
//! write to a group in a generation sweeps the group: it empties all expired slots and stores the generation. A group of
//! generation `g` therefore contains only ticks that were live when `g` began, or that are in `g`. These have different
//! states, so each state has one tick, for any number of later ticks. A group that is not written needs no sweep, and a jump
//! by years is no special case.
//!
//! The stored generation has 16 bits, so its group must be swept before 2^16 further generations. Each new tick visits a
//! few groups in turn and sweeps those whose generation is old. The cost of a write is bounded by the size of a group,
//! not of the filter.
//!
//! So no expired entry becomes live again when the 16 bits wrap: a generation has at least one tick, and ticks advance
//! only by a write that stores an entry, one at a time. Each visits the groups of all sub-filters, so a group is visited
//! at least every 2^15 ticks, and swept if it is 2^14 generations old or more. Its age is therefore below
//! 2^14 + 2^15 generations, at which it is exact. Panes without additions, however many, have no tick.

use super::slot::StoredTicks;
use super::sub_filter::SubFilter;

/// Each group is visited at least once in this many ticks.
const MAX_TICKS_UNTIL_VISIT: u64 = 1 << 15;
/// A visit sweeps a group whose generation is so many generations old. With the ticks until the next visit, the age is
/// below 2^16.
const MIN_AGE: u16 = 1 << 14;

impl SubFilter {
    /// Sweeps a group, unless it was swept in this generation.
    #[inline(always)]
    pub fn sweep_if_old(&mut self, ticks: &StoredTicks, group: u64) {
        if self.generation_of(group) != ticks.generation as u16 {
            self.sweep(ticks, group);
        }
    }

    /// Empties the expired slots of a group and stores the generation. Returns whether a slot or the generation changed.
    #[inline(never)]
    fn sweep(&mut self, ticks: &StoredTicks, group: u64) -> bool {
        let layout = self.layout;
        let generation = self.generation_of(group);
        let live = layout.live_states(ticks, generation);
        let group_slots = self.slots_of_group(group);
        let mut changed = generation != ticks.generation as u16;
        let slots = &mut self.slots;
        for slot in group_slots {
            let value = layout.get(slots, slot);
            if value != 0 && layout.live_tick(&live, value).is_none() {
                layout.set(slots, slot, 0);
                changed = true;
            }
        }
        let bytes = (ticks.generation as u16).to_le_bytes();
        self.generations[group as usize * 2..][..2].copy_from_slice(&bytes);
        changed
    }

    /// Visits the groups whose turn it is at a new tick.
    pub fn sweep_due(&mut self, ticks: &StoredTicks, tick: u64) {
        for group in visited(self.groups(), tick) {
            let age = (ticks.generation as u16).wrapping_sub(self.generation_of(group));
            if age >= MIN_AGE {
                self.sweep(ticks, group);
            }
        }
    }

    /// Sweeps all groups. Returns whether a slot or a generation changed.
    pub fn sweep_all(&mut self, ticks: &StoredTicks) -> bool {
        (0..self.groups()).fold(false, |any, group| self.sweep(ticks, group) | any)
    }
}

/// The groups, of so many, that a new tick visits.
fn visited(groups: u64, tick: u64) -> impl Iterator<Item = u64> {
    let number = groups.div_ceil(MAX_TICKS_UNTIL_VISIT);
    let first = (tick % groups).wrapping_mul(number) % groups;
    (first..first + number).map(move |group| group % groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_is_visited_in_time() {
        for groups in [1, 2, 1000, 1 << 15, (1 << 15) + 1, 100_000, (1 << 17) + 5] {
            for first in [1, 7, 1_000_003, 1 << 40] {
                let mut unvisited = vec![true; groups as usize];
                for tick in first..first + MAX_TICKS_UNTIL_VISIT {
                    for group in visited(groups, tick) {
                        unvisited[group as usize] = false;
                    }
                }
                assert!(!unvisited.contains(&true), "{groups} {first}");
            }
        }
    }
}
