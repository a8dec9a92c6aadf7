//! The index: a hash table from hashes to heap slots, with linear probing.
//!
//! The low bits of a hash are its home: the entry where the search for it starts. An entry contains its
//! hash, and items are compared only if the hashes are equal.
//!
//! hashbrown's `HashTable` is not suitable. It does not expose its memory as a vector, so neither the defragmenter nor
//! the memory accounting could treat it as a block (see [`crate::blocks`]). It also does not report the bytes of its
//! next allocation, which must first be requested from the budget.

use super::pairs::{PAIR_BYTES, Pairs};
use crate::blocks::{BlockChanges, BlockMover, BlockVisitor};
use crate::memory::{Budget, OutOfMemory, optional};
use crate::prefetch::prefetch;

/// Entries of the smallest table, which fills one cache line.
const MIN_ENTRIES: u64 = 8;

/// A table of (hash, slot + 1); the second number is 0 in a vacant entry. At most `QUARTERS` quarters of the entries are
/// occupied. With two, a search usually ends after one or two entries.
#[derive(Debug, Default)]
pub(super) struct Index<const QUARTERS: usize = 2> {
    entries: Pairs,
    occupied: usize,
}

impl<const QUARTERS: usize> Index<QUARTERS> {
    /// A copy with separate memory.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            entries: self.entries.try_clone()?,
            occupied: self.occupied,
        })
    }

    /// Reserves one more entry. Requests the bytes of a new table from `budget`; `changes` records both tables. Cost:
    /// moves every entry when the table doubles.
    #[inline]
    pub fn reserve_one(
        &mut self,
        budget: Budget<'_>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Result<(), OutOfMemory> {
        if self.has_room() {
            return Ok(());
        }
        self.grow(budget, changes)
    }

    /// The bytes that [`Index::reserve_one`] allocates less those that it frees.
    pub fn growth(&self) -> usize {
        if self.has_room() {
            return 0;
        }
        let entries = (self.entries.len() * 2).max(MIN_ENTRIES as usize);
        (entries - self.entries.len()) * PAIR_BYTES as usize
    }

    /// Whether one more entry fits without a new table.
    #[inline]
    fn has_room(&self) -> bool {
        (self.occupied + 1) * 4 <= self.entries.len() * QUARTERS
    }

    #[cold]
    fn grow(
        &mut self,
        budget: Budget<'_>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Result<(), OutOfMemory> {
        let entries = (self.entries.len() as u64 * 2).max(MIN_ENTRIES);
        self.resize(entries, budget, changes)
    }

    /// Resizes the table as if it had grown to `occupied` entries. At most this many entries may be occupied.
    pub fn resize_for(&mut self, occupied: usize) -> Result<(), OutOfMemory> {
        let entries = entries_for::<QUARTERS>(occupied);
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
        let mut resized = Self {
            entries: Pairs::zeroed(entries)?,
            occupied: 0,
        };
        for at in 0..self.entries.len() {
            if let (hash, slot_plus_1 @ 1..) = self.entries.get(at) {
                resized.insert(hash, slot_plus_1 - 1);
            }
        }
        self.visit(&mut changes.freed);
        resized.visit(&mut changes.allocated);
        *self = resized;
        Ok(())
    }

    /// The slot with this hash for which `is_match` returns true.
    #[inline]
    pub fn find(&self, hash: u32, is_match: impl Fn(u32) -> bool) -> Option<u32> {
        if self.occupied == 0 {
            return None;
        }
        for at in self.probe(self.home(hash)) {
            match self.entries.get(at) {
                (_, 0) => return None,
                (found, slot_plus_1) if found == hash && is_match(slot_plus_1 - 1) => {
                    return Some(slot_plus_1 - 1);
                }
                _ => {}
            }
        }
        None
    }

    /// Adds an entry. The caller has reserved it ([`Index::reserve_one`]).
    pub fn insert(&mut self, hash: u32, slot: u32) {
        let mut probe = self.probe(self.home(hash));
        if let Some(vacant) = probe.find(|&at| self.entries.get(at).1 == 0) {
            self.entries.set(vacant, (hash, slot + 1));
            self.occupied += 1;
        }
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.bytes.fill(0);
        self.occupied = 0;
    }

    /// Removes the entry of `slot` and moves later entries into the gap, so that every search still reaches its entry.
    /// Returns whether there was such an entry.
    pub fn remove(&mut self, hash: u32, slot: u32) -> bool {
        if self.occupied == 0 {
            return false;
        }
        let probe = self.probe(self.home(hash));
        let mut occupied = probe.take_while(|&at| self.entries.get(at).1 != 0);
        let entry = (hash, slot + 1);
        let Some(mut gap) = occupied.find(|&at| self.entries.get(at) == entry) else {
            return false;
        };
        let mask = self.entries.len() - 1;
        for at in self.probe((gap + 1) & mask) {
            let entry = self.entries.get(at);
            if entry.1 == 0 {
                break;
            }
            // An entry moves into the gap unless its home is after the gap.
            let from_home = at.wrapping_sub(self.home(entry.0)) & mask;
            let from_gap = at.wrapping_sub(gap) & mask;
            if from_home >= from_gap {
                self.entries.set(gap, entry);
                gap = at;
            }
        }
        self.entries.set(gap, (0, 0));
        self.occupied -= 1;
        true
    }

    /// Replaces the slot of an entry. If there is no such entry, nothing changes.
    pub fn renumber(&mut self, hash: u32, from: u32, to: u32) {
        if self.occupied == 0 {
            return;
        }
        let mut probe = self.probe(self.home(hash));
        if let Some(at) = probe.find(|&at| self.entries.get(at) == (hash, from + 1)) {
            self.entries.set(at, (hash, to + 1));
        }
    }

    /// Shrinks the table if it has more than twice the entries of one that has grown to `occupied` entries plus one.
    /// `changes` records both tables. Without memory for the smaller table, nothing changes.
    pub fn shrink_for(&mut self, occupied: usize, changes: &mut BlockChanges<impl BlockVisitor>) {
        let entries = entries_for::<QUARTERS>(occupied + 1);
        if self.entries.len() as u64 / 2 > entries {
            // The large table stays.
            let _refused = optional(|| self.resize(entries, Budget::UNLIMITED, changes));
        }
    }

    /// Prefetches the home entry of `hash`.
    #[inline]
    pub fn prefetch(&self, hash: u32) {
        if self.occupied != 0 {
            let home = self.home(hash);
            prefetch(&self.entries.bytes, home * PAIR_BYTES as usize);
        }
    }

    /// Bytes of the table.
    pub fn bytes(&self) -> usize {
        self.entries.bytes.len()
    }

    /// Passes the block to `visitor`, if there is one.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        self.entries.bytes.visit(visitor);
    }

    /// Passes the block to `mover`, which may move it.
    pub fn relocate(&mut self, mover: &mut impl BlockMover) {
        self.entries.bytes.relocate(mover);
    }

    /// The entry where the search for a hash starts. The table is not empty.
    #[inline]
    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.entries.len() - 1)
    }

    /// Every entry once, starting with `first`, so that a search ends even in a full table without a match.
    #[inline]
    fn probe(&self, first: usize) -> impl Iterator<Item = usize> + use<QUARTERS> {
        let len = self.entries.len();
        (first..first + len).map(move |at| at & (len - 1))
    }
}

/// Entries of a table that has grown to `occupied` entries.
fn entries_for<const QUARTERS: usize>(occupied: usize) -> u64 {
    match occupied {
        0 => 0,
        _ => (occupied as u64 * 4)
            .div_ceil(QUARTERS as u64)
            .next_power_of_two()
            .max(MIN_ENTRIES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entries(index: &Index) -> Vec<(u32, u32)> {
        ((0..index.entries.len()).map(|at| index.entries.get(at))).collect()
    }

    #[test]
    fn removing_an_absent_entry_changes_nothing() {
        let mut index = <Index>::default();
        let mut changes = BlockChanges::<()>::default();
        for slot in 0..4 {
            index.reserve_one(Budget::UNLIMITED, &mut changes).unwrap();
            index.insert(5, slot);
        }
        let before = entries(&index);
        for (hash, slot) in [(5, 7), (6, 1), (0, 0)] {
            assert!(!index.remove(hash, slot));
            assert_eq!((entries(&index), index.occupied), (before.clone(), 4));
        }
    }

    /// More entries are inserted than were reserved.
    #[test]
    fn searches_end_in_a_full_table() {
        let mut index = <Index>::default();
        (index.reserve_one(Budget::UNLIMITED, &mut BlockChanges::<()>::default())).unwrap();
        let len = index.entries.len() as u32;
        for slot in 0..len + 1 {
            index.insert(slot, slot);
        }
        assert_eq!(index.occupied, len as usize);
        assert_eq!(index.find(len + 1, |_| true), None);
        assert_eq!(index.find(1, |slot| slot == len), None);
        assert!(!index.remove(len + 1, 1));
        assert_eq!(index.occupied, len as usize);
        for slot in 0..len {
            assert!(index.remove(slot, slot));
        }
        assert_eq!((entries(&index), index.occupied), (vec![(0, 0); 8], 0));
    }

    proptest! {
        /// Hashes are often equal, in whole or in their low bits.
        #[test]
        fn it_finds_the_same_entries_as_a_list(
            steps in prop::collection::vec((any::<bool>(), 0u32..6, 0u32..40), 0..200),
        ) {
            let mut index = <Index>::default();
            let mut model: Vec<(u32, u32)> = Vec::new();
            for (insert, high, slot) in steps {
                let hash = (high << 8) | (slot % 3);
                let at = model.iter().position(|&(_, present)| present == slot);
                match at {
                    None if insert => {
                        index.reserve_one(Budget::UNLIMITED, &mut BlockChanges::<()>::default()).unwrap();
                        index.insert(hash, slot);
                        model.push((hash, slot));
                    }
                    Some(at) if !insert => {
                        let (hash, slot) = model.swap_remove(at);
                        prop_assert!(index.remove(hash, slot));
                    }
                    _ => {}
                }
                for slot in 0..40 {
                    let present = model.iter().find(|&&(_, present)| present == slot);
                    for high in 0..6 {
                        let hash = (high << 8) | (slot % 3);
                        let expected = present.filter(|entry| entry.0 == hash).map(|entry| entry.1);
                        prop_assert_eq!(index.find(hash, |found| found == slot), expected);
                    }
                }
            }
        }
    }
}
