//! The list of large arrays.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The minimum size of a large array.
pub(super) const MIN_BYTES: usize = 32 << 20;

/// The maximum number of arrays. Further ones get no huge pages.
const CAPACITY: usize = 8192;

/// The large arrays of this process.
pub(super) static ARRAYS: Arrays = Arrays::new();

/// A list of large arrays. It has no lock and allocates no memory: background threads free arrays, and a child process, which
/// may have been forked meanwhile, allocates and frees some as well. Only the main thread adds and reads arrays.
#[derive(Debug)]
pub(super) struct Arrays {
    entries: [Entry; CAPACITY],
    /// The entries from here on have never been used.
    end: AtomicUsize,
    /// Increases with each change of the list.
    version: AtomicUsize,
}

#[derive(Debug)]
struct Entry {
    /// 0: the entry is free.
    address: AtomicUsize,
    bytes: AtomicUsize,
    /// The version that added the array.
    id: AtomicUsize,
}

/// A large array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Array {
    address: usize,
    bytes: usize,
    /// Differs from the number of every array that had the entry before.
    pub(super) id: usize,
}

impl Array {
    /// The addresses of the whole huge pages of this size in the array. Empty if there are none.
    pub(super) fn pages(self, page_bytes: usize) -> Range<usize> {
        let end = self.address.saturating_add(self.bytes) / page_bytes * page_bytes;
        match self.address.checked_next_multiple_of(page_bytes) {
            Some(first) if first < end => first..end,
            _ => 0..0,
        }
    }
}

impl Entry {
    const fn free() -> Self {
        Self {
            address: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            id: AtomicUsize::new(0),
        }
    }

    /// Changes the address. Returns false if it is not `from`.
    fn change(&self, from: usize, to: usize) -> bool {
        (self.address)
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    fn array(&self) -> Option<Array> {
        let address = self.address.load(Ordering::Acquire);
        (address != 0).then(|| Array {
            address,
            bytes: self.bytes.load(Ordering::Relaxed),
            id: self.id.load(Ordering::Relaxed),
        })
    }
}

impl Arrays {
    const fn new() -> Self {
        Self {
            entries: [const { Entry::free() }; CAPACITY],
            end: AtomicUsize::new(0),
            version: AtomicUsize::new(0),
        }
    }

    fn used(&self) -> &[Entry] {
        &self.entries[..self.end.load(Ordering::Acquire)]
    }

    /// Equal values of two calls mean that the list did not change between them.
    pub(super) fn version(&self) -> usize {
        self.version.load(Ordering::Acquire)
    }

    /// Adds an array, if the list is not full.
    pub(super) fn add(&self, address: usize, bytes: usize) {
        let entries = self.entries.iter().enumerate();
        for (number, entry) in entries {
            if entry.change(0, address) {
                entry.bytes.store(bytes, Ordering::Relaxed);
                let id = self.version.fetch_add(1, Ordering::AcqRel) + 1;
                entry.id.store(id, Ordering::Relaxed);
                self.end.fetch_max(number + 1, Ordering::AcqRel);
                return;
            }
        }
    }

    /// Removes an array if it is in the list.
    pub(super) fn remove(&self, address: usize) {
        if self.used().iter().any(|entry| entry.change(address, 0)) {
            self.version.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// The array of each entry.
    pub(super) fn iter(&self) -> impl Iterator<Item = Option<Array>> {
        self.used().iter().map(Entry::array)
    }

    /// Whether the entry with this number has the array with this id.
    pub(super) fn contains(&self, number: usize, id: usize) -> bool {
        let array = self.used().get(number).and_then(Entry::array);
        array.is_some_and(|array| array.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARRAY: usize = 32 << 20;
    const PAGE: usize = 2 << 20;

    fn left(arrays: &Arrays) -> Vec<Array> {
        arrays.iter().flatten().collect()
    }

    #[test]
    fn arrays_are_added_up_to_the_maximum_and_removed_on_other_threads() {
        let arrays = Arrays::new();
        let addresses = 1..=CAPACITY + 1;
        addresses.clone().for_each(|n| arrays.add(n * ARRAY, ARRAY));
        assert_eq!(left(&arrays).len(), CAPACITY);
        arrays.remove(ARRAY / 2);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let mine = addresses.clone().filter(move |n| n % 4 == thread);
                let arrays = &arrays;
                scope.spawn(move || mine.for_each(|n| arrays.remove(n * ARRAY)));
            }
        });
        assert_eq!(left(&arrays), []);
    }

    #[test]
    fn a_new_array_at_an_old_address_has_a_new_number() {
        let arrays = Arrays::new();
        arrays.add(ARRAY, ARRAY);
        let (id, version) = (left(&arrays)[0].id, arrays.version());
        assert!(arrays.contains(0, id));
        arrays.remove(ARRAY);
        assert!(arrays.version() != version && !arrays.contains(0, id));
        arrays.add(ARRAY, ARRAY);
        assert!(!arrays.contains(0, id));
    }

    #[test]
    fn only_whole_pages_are_replaced() {
        for (address, bytes, expected) in [
            (PAGE, 3 * PAGE, PAGE..4 * PAGE),
            (PAGE + 16, 3 * PAGE, 2 * PAGE..4 * PAGE),
            (PAGE - 1, 2 * PAGE, PAGE..2 * PAGE),
            (PAGE, 2 * PAGE - 1, PAGE..2 * PAGE),
            (PAGE + 1, 2 * PAGE - 2, 0..0),
            (usize::MAX - PAGE, 2 * PAGE, 0..0),
        ] {
            let id = 0;
            let array = Array { address, bytes, id };
            assert_eq!(array.pages(PAGE), expected, "{address} {bytes}");
        }
    }
}
