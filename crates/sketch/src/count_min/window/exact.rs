//! The different items of a pane with their exact counts.
//!
//! An ordered hash table (O. Amble and D. E. Knuth, "Ordered hash tables", The Computer Journal 17, 1974) that is hashed by the
//! first bits of the hashes: the whole table is in ascending order, with empty slots between the entries. Most look-ups read one or two
//! slots; with hashes that a client chose in a stored form, at most all of them.

use crate::blocks::{BlockMover, BlockVisitor};
use crate::memory::{Budget, OutOfMemory, with_capacity};

/// An item with its count. With a count of 0, an empty slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub hash: u64,
    pub count: u64,
}

/// Entries with different hashes.
#[derive(Debug, Default)]
pub(super) struct Exact {
    /// In ascending order of the hashes, where they are not empty. An entry's home is the slot that the first bits of its
    /// hash select. There is no empty slot between it and its home, or, if it is before its home, after it.
    slots: Vec<Entry>,
    len: usize,
}

/// The number of slots for this many entries: at most 1.5 times as many. It depends on the number only, so copies take as
/// much memory as the original.
fn slots_for(len: usize) -> usize {
    let mut slots = len.min(1);
    while len > max_entries(slots) {
        let first = max_entries(slots) + 1;
        slots = first + first / 2;
    }
    slots
}

/// The number of entries for which there are this many slots: at most seven of eight are used.
fn max_entries(slots: usize) -> usize {
    slots - slots / 8
}

impl Exact {
    /// The bytes of a table of this many entries.
    pub fn bytes_for(len: usize) -> u64 {
        (slots_for(len) * size_of::<Entry>()) as u64
    }

    /// The table of `len` entries with different hashes, in ascending order, in these empty slots, [`slots_for`] `len`.
    fn place(mut slots: Vec<Entry>, len: usize, entries: impl Iterator<Item = Entry>) -> Self {
        let mut next = 0;
        for (left, entry) in (0..len).rev().zip(entries) {
            let last = slots.len() - 1 - left;
            let at = home(entry.hash, slots.len()).max(next).min(last);
            slots[at] = entry;
            next = at + 1;
        }
        Self { slots, len }
    }

    /// A table of `len` entries with different hashes, in ascending order.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses.
    pub fn new(len: usize, entries: impl Iterator<Item = Entry>) -> Result<Self, OutOfMemory> {
        let mut slots = with_capacity(slots_for(len))?;
        slots.resize(slots_for(len), Entry::default());
        Ok(Self::place(slots, len, entries))
    }

    /// As [`Exact::new`]; the process ends if the allocator refuses.
    pub fn allocate(len: usize, entries: impl Iterator<Item = Entry>) -> Self {
        Self::place(vec![Entry::default(); slots_for(len)], len, entries)
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The entries in ascending order of their hashes.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + Clone {
        let slots = self.slots.iter().copied();
        slots.filter(|slot| slot.count > 0)
    }

    /// The slot of this hash, or the one that it would take.
    #[inline]
    fn find(&self, hash: u64) -> Result<usize, usize> {
        let slots = &self.slots[..];
        let home = home(hash, slots.len());
        let is_used = |at: usize| slots.get(at).is_some_and(|slot| slot.count > 0);
        let mut at = home;
        while is_used(at) && slots[at].hash < hash {
            at += 1;
        }
        if at == home && is_used(home) {
            // The entry may be before its home.
            while at > 0 && is_used(at - 1) && slots[at - 1].hash >= hash {
                at -= 1;
            }
        }
        match slots.get(at) {
            Some(slot) if slot.hash == hash && slot.count > 0 => Ok(at),
            _ => Err(at),
        }
    }

    /// The count of the item with this hash; 0 if it has no entry.
    #[inline]
    pub fn count(&self, hash: u64) -> u64 {
        self.find(hash).map_or(0, |at| self.slots[at].count)
    }

    /// Sets the count of the item with this hash, which is above 0. A new entry requests the memory of a larger table
    /// from `budget`, if it needs one.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the budget or the allocator refuses; then nothing has changed.
    #[inline]
    pub fn set(&mut self, hash: u64, count: u64, budget: Budget<'_>) -> Result<(), OutOfMemory> {
        match self.find(hash) {
            Ok(at) => self.slots[at].count = count,
            Err(mut at) => {
                if self.len == max_entries(self.slots.len()) {
                    self.grow(budget)?;
                    at = self.find(hash).unwrap_or_else(|at| at);
                }
                self.insert(at, Entry { hash, count });
            }
        }
        Ok(())
    }

    /// Moves the entries to a table for one more.
    #[cold]
    fn grow(&mut self, budget: Budget<'_>) -> Result<(), OutOfMemory> {
        let slots = slots_for(self.len + 1);
        budget.request(((slots - self.slots.len()) * size_of::<Entry>()) as u64)?;
        let mut empty = with_capacity(slots)?;
        empty.resize(slots, Entry::default());
        *self = Self::place(empty, self.len, self.entries());
        Ok(())
    }

    /// Inserts an entry before the one in this slot. There is an empty slot.
    fn insert(&mut self, at: usize, entry: Entry) {
        let is_empty = |slot: &Entry| slot.count == 0;
        let (before, after) = self.slots.split_at(at);
        let place = match after.iter().position(is_empty) {
            Some(used) => {
                self.slots.copy_within(at..at + used, at + 1);
                at
            }
            None => {
                let empty = before.iter().rposition(is_empty).unwrap_or(0);
                self.slots.copy_within(empty + 1..at, empty);
                at - 1
            }
        };
        self.slots[place] = entry;
        self.len += 1;
    }

    /// A copy with separate memory.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Self::new(self.len, self.entries())
    }

    /// Passes the block to `visitor`.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.slots);
    }

    /// Passes the block to `mover`, which may move it.
    pub fn relocate(&mut self, mover: &mut impl BlockMover) {
        mover.relocate(&mut self.slots);
    }
}

/// The home of a hash in this many slots.
#[inline]
fn home(hash: u64, slots: usize) -> usize {
    ((u128::from(hash) * slots as u128) >> 64) as usize
}

/// The entries of two sequences in ascending order of their hashes, whose counts are added, with those of the second one multiplied
/// by `weight`. Sums above 64 bits become the largest number.
pub(super) fn sums(
    one: impl Iterator<Item = Entry> + Clone,
    other: impl Iterator<Item = Entry> + Clone,
    weight: u64,
) -> impl Iterator<Item = Entry> + Clone {
    let other = other.map(move |entry| Entry {
        count: entry.count.saturating_mul(weight),
        ..entry
    });
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(a), Some(b)) if a.hash == b.hash => {
            let (a, b) = (one.next()?, other.next()?);
            Some(Entry {
                count: a.count.saturating_add(b.count),
                ..a
            })
        }
        (Some(a), Some(b)) if a.hash > b.hash => other.next(),
        (None, _) => other.next(),
        _ => one.next(),
    })
}

/// Equality of the entries.
impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.entries().eq(other.entries())
    }
}

impl Eq for Exact {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Checks the order, the homes and the number of slots.
    fn check(table: &Exact, expected: &BTreeMap<u64, u64>) {
        let entries = table.entries().map(|entry| (entry.hash, entry.count));
        assert!(entries.eq(expected.iter().map(|(&hash, &count)| (hash, count))));
        assert_eq!(table.len, expected.len());
        assert_eq!(table.slots.len(), slots_for(table.len));
        assert!(2 * table.slots.len() <= 3 * table.len);
        let is_used = |slots: &[Entry]| slots.iter().all(|slot| slot.count > 0);
        for (at, slot) in table.slots.iter().enumerate() {
            let home = home(slot.hash, table.slots.len());
            assert!(match at < home {
                true => slot.count == 0 || is_used(&table.slots[at..]),
                false => slot.count == 0 || is_used(&table.slots[home..at]),
            });
        }
    }

    /// Hashes as they come, and those that a client would choose: equal homes, the first and the last home, neighbors.
    #[test]
    fn entries_are_found_whatever_their_hashes() {
        let random = |n: u64| (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let hashes: [fn(u64) -> u64; 6] = [
            |n| (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            |n| n * 3,
            |n| u64::MAX - n * 3,
            |n| (1 << 63) + (n ^ 5),
            |n| u64::MAX / 7000 * n,
            |n| if n % 2 == 0 { n } else { u64::MAX - n },
        ];
        for hash_of in hashes {
            let (mut table, mut expected) = (Exact::default(), BTreeMap::new());
            assert_eq!(table.count(hash_of(1)), 0);
            for n in 0..700u64 {
                let hash = hash_of(random(n) % 997 * 7);
                let count = expected.get(&hash).copied().unwrap_or(0) + 1 + n % 3;
                table.set(hash, count, Budget::UNLIMITED).unwrap();
                expected.insert(hash, count);
                if n < 80 || n % 50 == 0 {
                    check(&table, &expected);
                }
            }
            for (&hash, &count) in &expected {
                assert_eq!(table.count(hash), count);
                for other in [hash.wrapping_add(1), hash.wrapping_sub(1)] {
                    let count = expected.get(&other).copied().unwrap_or(0);
                    assert_eq!(table.count(other), count);
                }
            }
            let copy = table.try_clone().unwrap();
            check(&copy, &expected);
            assert_eq!(copy, table);
            let allocated = Exact::allocate(table.len, table.entries());
            check(&allocated, &expected);
        }
    }

    #[test]
    fn memory_is_requested_for_new_entries_only() {
        let none = Budget::new(&|_| false);
        let mut table = Exact::default();
        for n in 0..500u64 {
            let bytes = table.slots.len();
            let refused = table.set(n, 1, none);
            assert_eq!(refused.is_err(), bytes < slots_for(n as usize + 1));
            table.set(n, 2, Budget::UNLIMITED).unwrap();
            assert_eq!(table.set(n, 3, none), Ok(()));
            assert_eq!((table.len as u64, table.count(n)), (n + 1, 3));
        }
        assert_eq!(Exact::bytes_for(500), 16 * table.slots.len() as u64);
    }

    #[test]
    fn sums_of_equal_hashes_are_added() {
        let entries = |entries: &[(u64, u64)]| {
            let entries = entries.iter().map(|&(hash, count)| Entry { hash, count });
            entries.collect::<Vec<_>>()
        };
        let one = entries(&[(0, 1), (5, 2), (7, u64::MAX)]);
        let other = entries(&[(1, 10), (5, 20), (7, 1), (9, u64::MAX / 2)]);
        let sums: Vec<_> = sums(one.into_iter(), other.into_iter(), 3).collect();
        let expected = [(0, 1), (1, 30), (5, 62), (7, u64::MAX), (9, u64::MAX)];
        assert_eq!(sums, entries(&expected));
    }
}
