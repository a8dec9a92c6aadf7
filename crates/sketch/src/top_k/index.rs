//! From tags to heap slots: a small hash table with linear probing.
//!
//! Looking an item up among k = 10,000 reads one or two cache lines of it, where a scan of the
//! fingerprints reads 625. The tag is a hash of the item already, so its low bits are the place to start
//! from; it stands in the entry, so an item's bytes are compared only where it matches. Which hash that
//! is the heap decides.

use super::pairs::{PAIR_BYTES, Pairs};
use crate::blocks::{BlockChanges, BlockMover, BlockVisitor};
use crate::memory::{Budget, OutOfMemory};
use crate::prefetch::prefetch;

/// Entries of the smallest table: one cache line.
const LEAST_ENTRIES: u64 = 8;

/// A table of (tag, slot + 1); second number 0 means vacant. At most half of it is occupied, so
/// that a search ends after one or two entries.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: Pairs,
    occupied: usize,
}

impl Index {
    /// A copy in memory of its own.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            entries: self.entries.try_clone()?,
            occupied: self.occupied,
        })
    }

    /// Makes room for one more entry. Cost: every entry is moved when the table doubles. `budget` is
    /// asked for the new table; `changes` is shown both.
    #[inline]
    pub fn reserve_one(
        &mut self,
        budget: Budget<'_>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Result<(), OutOfMemory> {
        if (self.occupied + 1) * 2 <= self.entries.len() {
            return Ok(());
        }
        self.grow(budget, changes)
    }

    /// Bytes that [`Index::reserve_one`] would take more than it gives back.
    pub fn growth(&self) -> usize {
        if (self.occupied + 1) * 2 <= self.entries.len() {
            return 0;
        }
        let entries = (self.entries.len() * 2).max(LEAST_ENTRIES as usize);
        (entries - self.entries.len()) * PAIR_BYTES as usize
    }

    #[cold]
    fn grow(
        &mut self,
        budget: Budget<'_>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Result<(), OutOfMemory> {
        let entries = (self.entries.len() as u64 * 2).max(LEAST_ENTRIES);
        self.resize(entries, budget, changes)
    }

    /// Gives the table the size that it has after `occupied` calls of [`Index::reserve_one`]. No fewer entries
    /// are in it.
    pub fn resize_for(&mut self, occupied: usize) -> Result<(), OutOfMemory> {
        let entries = match occupied {
            0 => 0,
            _ => (occupied as u64 * 2).next_power_of_two().max(LEAST_ENTRIES),
        };
        if entries == self.entries.len() as u64 {
            return Ok(());
        }
        let mut uncounted = BlockChanges::<()>::default();
        self.resize(entries, Budget::UNLIMITED, &mut uncounted)
    }

    fn resize(
        &mut self,
        entries: u64,
        budget: Budget<'_>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Result<(), OutOfMemory> {
        budget.request(entries * PAIR_BYTES)?;
        let mut larger = Self {
            entries: Pairs::zeroed(entries)?,
            occupied: 0,
        };
        for place in 0..self.entries.len() {
            if let (tag, marked @ 1..) = self.entries.get(place) {
                larger.insert(tag, marked - 1);
            }
        }
        self.visit(&mut changes.gone);
        larger.visit(&mut changes.came);
        *self = larger;
        Ok(())
    }

    /// The slot with this tag that `is_wanted` accepts, if there is one.
    #[inline]
    pub fn find(&self, tag: u32, is_wanted: impl Fn(u32) -> bool) -> Option<u32> {
        if self.occupied == 0 {
            return None;
        }
        for place in self.places_from(self.home(tag)) {
            match self.entries.get(place) {
                (_, 0) => return None,
                (found, marked) if found == tag && is_wanted(marked - 1) => {
                    return Some(marked - 1);
                }
                _ => {}
            }
        }
        None
    }

    /// Adds an entry; [`Index::reserve_one`] has made room for it.
    pub fn insert(&mut self, tag: u32, slot: u32) {
        let mut places = self.places_from(self.home(tag));
        if let Some(vacant) = places.find(|&place| self.entries.get(place).1 == 0) {
            self.entries.set(vacant, (tag, slot + 1));
            self.occupied += 1;
        }
    }

    /// Takes the entry of `slot` out and closes the gap, so that no search stops short of an entry. Without
    /// such an entry nothing changes.
    pub fn remove(&mut self, tag: u32, slot: u32) {
        let mut places = self.places_from(self.home(tag));
        let entry = (tag, slot + 1);
        let Some(mut gap) = places.find(|&place| self.entries.get(place) == entry) else {
            return;
        };
        let mask = self.entries.len() - 1;
        for place in self.places_from(self.after(gap)) {
            let entry = self.entries.get(place);
            if entry.1 == 0 {
                break;
            }
            // An entry moves into the gap unless its search starts behind it.
            let from_home = place.wrapping_sub(self.home(entry.0)) & mask;
            let from_gap = place.wrapping_sub(gap) & mask;
            if from_home >= from_gap {
                self.entries.set(gap, entry);
                gap = place;
            }
        }
        self.entries.set(gap, (0, 0));
        self.occupied -= 1;
    }

    /// Asks for the cache line where the search for `tag` starts.
    #[inline]
    pub fn prefetch(&self, tag: u32) {
        if self.occupied != 0 {
            let place = self.home(tag);
            prefetch(self.entries.bytes(), place * PAIR_BYTES as usize);
        }
    }

    /// Bytes of the table.
    pub fn bytes(&self) -> usize {
        self.entries.bytes().len()
    }

    /// Calls `visit` with the heap block, if there is one.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        self.entries.visit(visitor);
    }

    /// Lets `mover` put the block elsewhere.
    pub fn relocate(&mut self, mover: &mut impl BlockMover) {
        self.entries.relocate(mover);
    }

    /// Where the search for a tag starts. The table is not empty.
    #[inline]
    fn home(&self, tag: u32) -> usize {
        tag as usize & (self.entries.len() - 1)
    }

    #[inline]
    fn after(&self, place: usize) -> usize {
        (place + 1) & (self.entries.len() - 1)
    }

    /// Every place once, from this one on: a search ends also in a table without the entry that it looks
    /// for and without a vacant place.
    #[inline]
    fn places_from(&self, first: usize) -> impl Iterator<Item = usize> + use<> {
        let len = self.entries.len();
        (first..first + len).map(move |place| place & (len - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entries(index: &Index) -> Vec<(u32, u32)> {
        (0..index.entries.len())
            .map(|place| index.entries.get(place))
            .collect()
    }

    #[test]
    fn an_entry_that_is_not_there_is_not_removed() {
        let mut index = Index::default();
        let mut changes = BlockChanges::<()>::default();
        for slot in 0..4 {
            index.reserve_one(Budget::UNLIMITED, &mut changes).unwrap();
            index.insert(5, slot);
        }
        let before = entries(&index);
        for (tag, slot) in [(5, 7), (6, 1), (0, 0)] {
            index.remove(tag, slot);
            assert_eq!((entries(&index), index.occupied), (before.clone(), 4));
        }
    }

    /// More entries than the heap has announced.
    #[test]
    fn searches_end_in_a_full_table() {
        let mut index = Index::default();
        index
            .reserve_one(Budget::UNLIMITED, &mut BlockChanges::<()>::default())
            .unwrap();
        let places = index.entries.len() as u32;
        for slot in 0..places + 1 {
            index.insert(slot, slot);
        }
        assert_eq!(index.occupied, places as usize);
        assert_eq!(index.find(places + 1, |_| true), None);
        assert_eq!(index.find(1, |slot| slot == places), None);
        index.remove(places + 1, 1);
        assert_eq!(index.occupied, places as usize);
        for slot in 0..places {
            index.remove(slot, slot);
        }
        assert_eq!((entries(&index), index.occupied), (vec![(0, 0); 8], 0));
    }

    proptest! {
        /// Fingerprints collide often, as whole numbers and in their low bits.
        #[test]
        fn it_finds_what_a_list_holds(
            steps in prop::collection::vec((any::<bool>(), 0u32..6, 0u32..40), 0..200),
        ) {
            let mut index = Index::default();
            let mut model: Vec<(u32, u32)> = Vec::new();
            for (insert, high, slot) in steps {
                let fingerprint = (high << 8) | (slot % 3);
                let at = model.iter().position(|&(_, held)| held == slot);
                match at {
                    None if insert => {
                        index.reserve_one(Budget::UNLIMITED, &mut BlockChanges::<()>::default()).unwrap();
                        index.insert(fingerprint, slot);
                        model.push((fingerprint, slot));
                    }
                    Some(at) if !insert => {
                        let (fingerprint, slot) = model.swap_remove(at);
                        index.remove(fingerprint, slot);
                    }
                    _ => {}
                }
                for slot in 0..40 {
                    let held = model.iter().find(|&&(_, held)| held == slot);
                    for high in 0..6 {
                        let fingerprint = (high << 8) | (slot % 3);
                        let wanted = held.filter(|held| held.0 == fingerprint).map(|held| held.1);
                        prop_assert_eq!(index.find(fingerprint, |found| found == slot), wanted);
                    }
                }
            }
        }
    }
}
