//! The list of advised arrays.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The maximum number of advised arrays.
pub(super) const CAPACITY: usize = 8192;

/// The addresses and sizes of the advised arrays, in a hash table with linear probing.
///
/// It has no lock and allocates no memory: blocks are also freed on background threads, and a child process, which may
/// have been forked while such a thread held a lock, allocates and frees blocks as well.
#[derive(Debug)]
pub(super) struct Arrays {
    len: AtomicUsize,
    entries: [ArrayEntry; CAPACITY],
}

#[derive(Debug)]
struct ArrayEntry {
    /// 0: the entry is free.
    address: AtomicUsize,
    bytes: AtomicUsize,
}

impl ArrayEntry {
    const fn free() -> Self {
        Self {
            address: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
        }
    }

    /// Changes the address. Returns false if it is not `from`.
    fn change(&self, from: usize, to: usize) -> bool {
        (self.address)
            .compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }
}

impl Arrays {
    pub(super) const fn new() -> Self {
        Self {
            len: AtomicUsize::new(0),
            entries: [const { ArrayEntry::free() }; CAPACITY],
        }
    }

    /// Number of arrays.
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// All entries, in the order in which an address is searched.
    fn entries(&self, address: usize) -> impl Iterator<Item = &ArrayEntry> {
        // Large blocks begin at least 32 MiB apart.
        let (before, after) = self.entries.split_at((address >> 25) % CAPACITY);
        after.iter().chain(before)
    }

    /// Adds an array. Returns false if there are `max` arrays already.
    pub(super) fn add(&self, address: usize, bytes: usize, max: usize) -> bool {
        let max = max.min(CAPACITY);
        let more = |len| (len < max).then_some(len + 1);
        if (self.len)
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_err()
        {
            return false;
        }
        match self.entries(address).find(|entry| entry.change(0, address)) {
            Some(entry) => {
                entry.bytes.store(bytes, Ordering::Relaxed);
                true
            }
            None => {
                // Other threads took the entries in front of the search and freed some behind it.
                self.len.fetch_sub(1, Ordering::Relaxed);
                false
            }
        }
    }

    /// Removes an array. Returns false if it is not in the list.
    pub(super) fn remove(&self, address: usize) -> bool {
        let is_removed =
            self.len() > 0 && self.entries(address).any(|entry| entry.change(address, 0));
        if is_removed {
            self.len.fetch_sub(1, Ordering::Relaxed);
        }
        is_removed
    }

    /// Addresses and sizes. Other threads may add and remove arrays meanwhile; a size may be that of an array that had the
    /// entry before.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, usize)> {
        let load = |entry: &ArrayEntry| {
            let address = entry.address.load(Ordering::Relaxed);
            (address, entry.bytes.load(Ordering::Relaxed))
        };
        self.entries.iter().map(load).filter(|entry| entry.0 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARRAY: usize = 32 << 20;

    #[test]
    fn arrays_are_added_up_to_the_maximum_and_removed_once() {
        let arrays = Arrays::new();
        let addresses = || (1..=CAPACITY + 1).map(|n| n * ARRAY);
        let added = addresses().filter(|&address| arrays.add(address, ARRAY, CAPACITY));
        assert_eq!(added.count(), CAPACITY);
        assert!(!arrays.remove(ARRAY / 2));
        assert!(arrays.remove(ARRAY) && !arrays.remove(ARRAY));
        assert!(!arrays.add(ARRAY, ARRAY, 100) && arrays.add(ARRAY, ARRAY, CAPACITY));
        let removed = addresses().filter(|&address| arrays.remove(address));
        assert_eq!((removed.count(), arrays.len()), (CAPACITY, 0));
        assert!(!arrays.add(ARRAY, ARRAY, 0));
    }

    #[test]
    fn colliding_addresses_are_found() {
        let arrays = Arrays::new();
        let addresses = [1, 2, 3].map(|n| n * ARRAY * CAPACITY);
        assert!(
            addresses
                .iter()
                .all(|&address| arrays.add(address, ARRAY, 3))
        );
        assert!(arrays.remove(addresses[1]) && arrays.remove(addresses[2]));
        let left: Vec<_> = arrays.iter().collect();
        assert_eq!((left, arrays.len()), (vec![(addresses[0], ARRAY)], 1));
    }

    #[test]
    fn threads_share_a_set() {
        let arrays = Arrays::new();
        std::thread::scope(|scope| {
            for thread in 1..=4 {
                let arrays = &arrays;
                scope.spawn(move || {
                    for n in 0..2000 {
                        let address = (thread * 10_000 + n) * ARRAY;
                        assert!(arrays.add(address, ARRAY, CAPACITY));
                        assert!(n % 2 == 0 || arrays.remove(address));
                    }
                });
            }
        });
        assert_eq!(arrays.len(), 4000);
    }
}
