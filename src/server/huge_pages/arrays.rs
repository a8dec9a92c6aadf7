//! The set of advised arrays.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The maximum number of advised arrays.
pub(super) const CAPACITY: usize = 8192;

/// The addresses of the advised arrays, in a hash table with linear probing.
///
/// It has no lock and allocates no memory: blocks are also freed on background threads, and a child process, which may
/// have been forked while such a thread held a lock, allocates and frees blocks as well.
#[derive(Debug)]
pub(super) struct Arrays {
    len: AtomicUsize,
    /// 0: free.
    addresses: [AtomicUsize; CAPACITY],
}

impl Arrays {
    pub(super) const fn new() -> Self {
        Self {
            len: AtomicUsize::new(0),
            addresses: [const { AtomicUsize::new(0) }; CAPACITY],
        }
    }

    /// Number of arrays.
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// All places of the table, in the order in which an address is searched.
    fn places(&self, address: usize) -> impl Iterator<Item = &AtomicUsize> {
        // Blocks are at least 32 MiB apart.
        let (before, after) = self.addresses.split_at((address >> 25) % CAPACITY);
        after.iter().chain(before)
    }

    /// Adds an array. Returns false if there are `max` arrays already.
    pub(super) fn add(&self, address: usize, max: usize) -> bool {
        let max = max.min(CAPACITY);
        let more = |len| (len < max).then_some(len + 1);
        if (self.len)
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_err()
        {
            return false;
        }
        let is_added = self.places(address).any(|place| {
            place
                .compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        });
        if !is_added {
            // Other threads took the places in front of the search and freed those behind it.
            self.len.fetch_sub(1, Ordering::Relaxed);
        }
        is_added
    }

    /// Removes an array. Returns false if the set does not have it.
    pub(super) fn remove(&self, address: usize) -> bool {
        if self.len() == 0 {
            return false;
        }
        let is_removed = self.places(address).any(|place| {
            place
                .compare_exchange(address, 0, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        });
        if is_removed {
            self.len.fetch_sub(1, Ordering::Relaxed);
        }
        is_removed
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
        let added = addresses().filter(|&address| arrays.add(address, CAPACITY));
        assert_eq!(added.count(), CAPACITY);
        assert!(!arrays.remove(ARRAY / 2));
        assert!(arrays.remove(ARRAY) && !arrays.remove(ARRAY));
        assert!(!arrays.add(ARRAY, 100) && arrays.add(ARRAY, CAPACITY));
        let removed = addresses().filter(|&address| arrays.remove(address));
        assert_eq!((removed.count(), arrays.len()), (CAPACITY, 0));
        assert!(!arrays.add(ARRAY, 0));
    }

    #[test]
    fn colliding_addresses_are_found() {
        let arrays = Arrays::new();
        let addresses = [1, 2, 3].map(|n| n * ARRAY * CAPACITY);
        assert!(addresses.iter().all(|&address| arrays.add(address, 3)));
        assert!(arrays.remove(addresses[1]) && arrays.remove(addresses[2]));
        assert_eq!(arrays.len(), 1);
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
                        assert!(arrays.add(address, CAPACITY));
                        assert!(n % 2 == 0 || arrays.remove(address));
                    }
                });
            }
        });
        assert_eq!(arrays.len(), 4000);
    }
}
