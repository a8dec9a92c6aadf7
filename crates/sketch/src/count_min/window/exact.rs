//! The different items of a pane with their exact counts.
//!
//! An ordered hash table (O. Amble and D. E. Knuth, "Ordered hash tables", The Computer Journal 17, 1974) whose slots are in
//! ascending order: a hash is scaled to the number of slots. Most look-ups read the four slots from there on; with hashes that a
//! client chose in a stored form, at most all slots.

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
    /// In ascending order of the hashes, where they are not empty. Each entry is in its home or after it, with no empty slot
    /// between.
    slots: Vec<Entry>,
    /// The number of homes: hashes are scaled to it. The slots after them are for entries that do not fit before.
    homes: usize,
    len: usize,
}

/// Slots that a look-up compares without branches.
const COMPARED: usize = 4;

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

/// The number of entries for which there are this many slots: at most three of four are used, so that entries are near their homes.
fn max_entries(slots: usize) -> usize {
    slots - slots / 4
}

/// The home of a hash among this many.
#[inline]
fn home(hash: u64, homes: usize) -> usize {
    ((u128::from(hash) * homes as u128) >> 64) as usize
}

impl Exact {
    /// The bytes of a table of this many entries.
    pub fn bytes_for(len: usize) -> u64 {
        (slots_for(len) * size_of::<Entry>()) as u64
    }

    /// The table of `len` entries with different hashes, in ascending order, in these empty slots.
    fn place(
        mut slots: Vec<Entry>,
        len: usize,
        entries: impl Iterator<Item = Entry> + Clone,
    ) -> Self {
        let places = |homes| {
            entries.clone().scan(0, move |next, entry| {
                let at = home(entry.hash, homes).max(*next);
                *next = at + 1;
                Some((at, entry))
            })
        };
        // With random hashes, the first number of homes is sufficient; with one home, the entries are not spread.
        let mut behind = COMPARED + slots.len() / 32;
        let homes = loop {
            let homes = slots.len().saturating_sub(behind).max(1);
            let last = places(homes).last();
            if last.is_none_or(|(at, _)| at < slots.len()) {
                break homes;
            }
            behind *= 2;
        };
        for (at, entry) in places(homes) {
            slots[at] = entry;
        }
        Self { slots, homes, len }
    }

    /// A table of `len` entries with different hashes, in ascending order.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses.
    pub fn new(
        len: usize,
        entries: impl Iterator<Item = Entry> + Clone,
    ) -> Result<Self, OutOfMemory> {
        let mut slots = with_capacity(slots_for(len))?;
        slots.resize(slots_for(len), Entry::default());
        Ok(Self::place(slots, len, entries))
    }

    /// As [`Exact::new`]; the process ends if the allocator refuses.
    pub fn allocate(len: usize, entries: impl Iterator<Item = Entry> + Clone) -> Self {
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
    fn find(&self, hash: u64) -> Result<usize, usize> {
        let mut at = home(hash, self.homes);
        while let Some(slot) = self.slots.get(at)
            && slot.count > 0
            && slot.hash <= hash
        {
            if slot.hash == hash {
                return Ok(at);
            }
            at += 1;
        }
        Err(at)
    }

    /// The count of the item with this hash; 0 if it has no entry.
    #[inline]
    pub fn count(&self, hash: u64) -> u64 {
        let from_home = self.slots.get(home(hash, self.homes)..);
        let Some(first) = from_home.and_then(<[Entry]>::first_chunk::<COMPARED>) else {
            return self.count_by_search(hash);
        };
        // Without branches: where the entry is, is hard to predict.
        let mut count = 0;
        for slot in first {
            count |= if slot.hash == hash { slot.count } else { 0 };
        }
        let last = first[COMPARED - 1];
        match count == 0 && last.count > 0 && last.hash < hash {
            true => self.count_by_search(hash),
            false => count,
        }
    }

    /// As [`Exact::count`], for any table.
    #[cold]
    fn count_by_search(&self, hash: u64) -> u64 {
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
            Err(at) => {
                let after = self.slots[at..].iter();
                let used = after.take_while(|slot| slot.count > 0).count();
                if self.len < max_entries(self.slots.len()) && at + used < self.slots.len() {
                    self.slots.copy_within(at..at + used, at + 1);
                    self.slots[at] = Entry { hash, count };
                    self.len += 1;
                } else {
                    self.grow(Entry { hash, count }, budget)?;
                }
            }
        }
        Ok(())
    }

    /// Moves the entries, and a new one, to another table.
    #[cold]
    fn grow(&mut self, new: Entry, budget: Budget<'_>) -> Result<(), OutOfMemory> {
        let bytes = Self::bytes_for(self.len + 1) - Self::bytes_for(self.len);
        if bytes > 0 {
            budget.request(bytes)?;
        }
        *self = Self::new(self.len + 1, sums(self.entries(), std::iter::once(new), 1))?;
        Ok(())
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
        for (at, slot) in table.slots.iter().enumerate() {
            let home = home(slot.hash, table.homes);
            let mut before = table.slots[home.min(at)..at].iter();
            assert!(slot.count == 0 || home <= at && before.all(|slot| slot.count > 0));
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
            let slots = table.slots.len();
            let refused = table.set(n, 1, none);
            assert_eq!(refused.is_err(), slots < slots_for(n as usize + 1));
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
