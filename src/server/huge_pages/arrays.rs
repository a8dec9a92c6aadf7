//! The list of large arrays, and what is known of each huge page of them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The maximum number of arrays. Further ones get no huge pages.
pub(super) const CAPACITY: usize = 8192;

/// The large arrays of this process.
pub(super) static ARRAYS: Arrays = Arrays::new();

/// The address of an entry that is being written. No block has it.
const RESERVED: usize = 1;

/// A list of large arrays, in a hash table with linear probing.
///
/// It has no lock and allocates no memory: blocks are also freed on background threads, and a child process, which may
/// have been forked while such a thread held a lock, allocates and frees blocks as well.
#[derive(Debug)]
pub(super) struct Arrays {
    len: AtomicUsize,
    /// Increases before and after each change of the entries.
    version: AtomicUsize,
    entries: [Entry; CAPACITY],
}

#[derive(Debug)]
struct Entry {
    /// 0: the entry is free.
    address: AtomicUsize,
    bytes: AtomicUsize,
    id: AtomicUsize,
}

/// A large array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Array {
    pub(super) address: usize,
    pub(super) bytes: usize,
    /// Differs from the number of every array that had the address before.
    pub(super) id: usize,
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
        (address > RESERVED).then(|| Array {
            address,
            bytes: self.bytes.load(Ordering::Relaxed),
            id: self.id.load(Ordering::Relaxed),
        })
    }
}

impl Arrays {
    pub(super) const fn new() -> Self {
        Self {
            len: AtomicUsize::new(0),
            version: AtomicUsize::new(0),
            entries: [const { Entry::free() }; CAPACITY],
        }
    }

    /// Number of arrays.
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::SeqCst)
    }

    /// Equal values of two calls mean that the list did not change between them.
    pub(super) fn version(&self) -> usize {
        self.version.load(Ordering::Acquire)
    }

    /// All entries, in the order in which an address is searched.
    fn entries(&self, address: usize) -> impl Iterator<Item = &Entry> {
        // Large blocks begin at least 32 MiB apart.
        let (before, after) = self.entries.split_at((address >> 25) % CAPACITY);
        after.iter().chain(before)
    }

    /// Adds an array. It keeps the number of the array that it continues, if any. Returns false if the list is full.
    pub(super) fn add(&self, address: usize, bytes: usize, continued: Option<usize>) -> bool {
        let more = |len| (len < CAPACITY).then_some(len + 1);
        if (self.len)
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, more)
            .is_err()
        {
            return false;
        }
        let new = self.version.fetch_add(1, Ordering::AcqRel);
        let entry = (self.entries(address)).find(|entry| entry.change(0, RESERVED));
        match entry {
            Some(entry) => {
                entry.bytes.store(bytes, Ordering::Relaxed);
                entry.id.store(continued.unwrap_or(new), Ordering::Relaxed);
                entry.address.store(address, Ordering::Release);
                self.version.fetch_add(1, Ordering::AcqRel);
            }
            // Other threads took the entries in front of the search and freed some behind it.
            None => _ = self.len.fetch_sub(1, Ordering::SeqCst),
        }
        entry.is_some()
    }

    /// Removes an array. Returns its number, or `None` if it is not in the list.
    pub(super) fn remove(&self, address: usize) -> Option<usize> {
        if self.len() == 0 {
            return None;
        }
        let mut entries = self.entries(address);
        let id = entries.find_map(|entry| {
            // Only the owner of the block adds and removes it, so the number does not change meanwhile.
            let id = entry.id.load(Ordering::Relaxed);
            entry.change(address, 0).then_some(id)
        })?;
        self.len.fetch_sub(1, Ordering::SeqCst);
        self.version.fetch_add(1, Ordering::AcqRel);
        Some(id)
    }

    /// The arrays. Other threads may add and remove some meanwhile; a size may then be that of an array that had the entry
    /// before.
    pub(super) fn iter(&self) -> impl Iterator<Item = Array> {
        self.entries.iter().filter_map(Entry::array)
    }

    /// Whether the array is still in the list.
    pub(super) fn contains(&self, address: usize, id: usize) -> bool {
        let mut arrays = self.entries(address).filter_map(Entry::array);
        arrays.any(|array| (array.address, array.id) == (address, id))
    }
}

/// A part of an array that one huge page can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    /// Not known to be in use.
    #[default]
    Unused,
    /// In use, with ordinary pages.
    Waiting,
    /// A huge page.
    Huge,
    /// The kernel provides no huge page for it.
    Refused,
}

/// The states of the huge pages of one array.
#[derive(Debug)]
pub(super) struct ArrayPages {
    pub(super) address: usize,
    pub(super) id: usize,
    /// The address of the first huge page.
    pub(super) start: usize,
    pub(super) states: Vec<State>,
}

/// The states of the huge pages of all arrays. Small arrays are first: they get more commands per page, if commands use all
/// keys equally.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pub(super) arrays: Vec<ArrayPages>,
}

impl Pages {
    /// Adopts a list of arrays. States of arrays that still exist remain.
    pub(super) fn update(&mut self, arrays: impl Iterator<Item = Array>, page_bytes: usize) {
        let old = self.arrays.drain(..);
        let mut old: HashMap<_, _> = old
            .map(|array| ((array.address, array.id), array.states))
            .collect();
        self.arrays.extend(arrays.map(|array| {
            let Array { address, bytes, id } = array;
            let pages = whole_pages(address, bytes, page_bytes);
            let mut states = old.remove(&(address, id)).unwrap_or_default();
            states.resize(pages.len() / page_bytes, State::Unused);
            ArrayPages {
                address,
                id,
                start: pages.start,
                states,
            }
        }));
        self.arrays.sort_by_key(|array| array.states.len());
    }

    /// Forgets all states.
    pub(super) fn forget(&mut self) {
        for array in &mut self.arrays {
            array.states.fill(State::Unused);
        }
    }

    /// Number of pages with a state.
    pub(super) fn count(&self, state: State) -> usize {
        let states = self.arrays.iter().flat_map(|array| &array.states);
        states.filter(|&&other| other == state).count()
    }
}

/// The addresses of the whole huge pages in a block. Empty if there are none.
fn whole_pages(start: usize, bytes: usize, page_bytes: usize) -> Range<usize> {
    let end = start.saturating_add(bytes) / page_bytes * page_bytes;
    match start.checked_next_multiple_of(page_bytes) {
        Some(first) if first < end => first..end,
        _ => 0..0,
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
        let added = addresses().filter(|&address| arrays.add(address, ARRAY, None));
        assert_eq!(added.count(), CAPACITY);
        assert_eq!(arrays.remove(ARRAY / 2), None);
        assert!(arrays.remove(ARRAY).is_some() && arrays.remove(ARRAY).is_none());
        let removed = addresses().filter(|&address| arrays.remove(address).is_some());
        assert_eq!((removed.count(), arrays.len()), (CAPACITY - 1, 0));
    }

    #[test]
    fn colliding_addresses_are_found() {
        let arrays = Arrays::new();
        let addresses = [1, 2, 3].map(|n| n * ARRAY * CAPACITY);
        let add = |&address: &usize| arrays.add(address, ARRAY, None);
        assert!(addresses.iter().all(add));
        assert!(arrays.remove(addresses[1]).is_some() && arrays.remove(addresses[2]).is_some());
        let left: Vec<_> = arrays.iter().map(|array| array.address).collect();
        assert_eq!((left, arrays.len()), (vec![addresses[0]], 1));
    }

    #[test]
    fn a_new_array_at_an_old_address_has_a_new_number() {
        let arrays = Arrays::new();
        let number = || arrays.iter().next().map(|array| array.id);
        arrays.add(ARRAY, 2 * ARRAY, None);
        let (first, version) = (number().unwrap(), arrays.version());
        assert_eq!(arrays.remove(ARRAY), Some(first));
        assert!(arrays.add(ARRAY, ARRAY, Some(first)) && arrays.contains(ARRAY, first));
        assert!(arrays.version() != version);
        arrays.remove(ARRAY);
        arrays.add(ARRAY, ARRAY, None);
        assert!(!arrays.contains(ARRAY, first) && number() != Some(first));
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
                        assert!(arrays.add(address, ARRAY, None));
                        assert!(n % 2 == 0 || arrays.remove(address).is_some());
                    }
                });
            }
        });
        assert_eq!((arrays.len(), arrays.iter().count()), (4000, 4000));
    }

    const PAGE: usize = 2 << 20;

    fn array(address: usize, pages: usize, id: usize) -> Array {
        Array {
            address,
            bytes: pages * PAGE,
            id,
        }
    }

    #[test]
    fn only_whole_pages_are_replaced() {
        for (start, bytes, expected) in [
            (PAGE, 3 * PAGE, PAGE..4 * PAGE),
            (PAGE + 16, 3 * PAGE, 2 * PAGE..4 * PAGE),
            (PAGE - 1, 2 * PAGE, PAGE..2 * PAGE),
            (PAGE, 2 * PAGE - 1, PAGE..2 * PAGE),
            (PAGE + 1, 2 * PAGE - 2, 0..0),
            (usize::MAX - PAGE, PAGE, 0..0),
            (usize::MAX - PAGE, 2 * PAGE, 0..0),
        ] {
            assert_eq!(whole_pages(start, bytes, PAGE), expected, "{start} {bytes}");
        }
    }

    #[test]
    fn states_remain_while_the_array_exists() {
        let mut pages = Pages::default();
        let (large, small) = (array(100 * PAGE, 50, 1), array(PAGE, 16, 2));
        pages.update([large, small].into_iter(), PAGE);
        let lens = |pages: &Pages| {
            let arrays = pages.arrays.iter();
            arrays.map(|array| array.states.len()).collect::<Vec<_>>()
        };
        assert_eq!(lens(&pages), [16, 50]);
        for array in &mut pages.arrays {
            array.states.fill(State::Huge);
        }
        pages.update([small, large].into_iter(), PAGE);
        assert_eq!(pages.count(State::Huge), 66);
        // One becomes smaller, and another array takes the address of the other.
        let arrays = [array(100 * PAGE, 20, 1), array(PAGE, 16, 3)];
        pages.update(arrays.into_iter(), PAGE);
        assert_eq!(lens(&pages), [16, 20]);
        let counts = [State::Huge, State::Unused].map(|state| pages.count(state));
        assert_eq!(counts, [20, 16]);
        pages.forget();
        assert_eq!(pages.count(State::Unused), 36);
    }
}
