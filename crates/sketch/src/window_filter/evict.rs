//! Evictions: an entry in a full bucket moves to its other bucket, and so on, until a slot is free.
//!
//! A breadth-first search finds the shortest chain of moves before anything changes, so an insertion that fails leaves
//! the sub-filter as it was (Li et al., "Algorithmic Improvements for Fast Concurrent Cuckoo Hashing", EuroSys 2014,
//! section 4.3.2). The order of the search depends on the slots only, so equal filters make equal moves.

use super::slot::StoredTicks;
use super::sub_filter::{Place, SubFilter};

/// Buckets that a first search visits. Almost all insertions need no more.
const FEW_BUCKETS: usize = 32;
/// Buckets that a search visits before it fails.
const MAX_BUCKETS: usize = 1024;
/// Slots that the searches for one item may read: those of a first and a second search with four slots per bucket. Large
/// buckets need fewer evictions.
pub const MAX_SLOTS: u64 = ((FEW_BUCKETS + MAX_BUCKETS) * 4 * 4) as u64;
/// Entries whose other buckets are prefetched together.
const PREFETCHED: u64 = 8;

/// What the searches for one item may still read, in all sub-filters together. So the time of an insertion depends on
/// no stored count: those of a crafted payload can say that thousands of full sub-filters are almost empty.
#[derive(Debug)]
pub struct SearchBudget {
    slots: u64,
    max_evictions: u16,
    /// Whether the last search left out buckets, because it had visited the most.
    is_cut: bool,
}

impl SearchBudget {
    /// The budget of an item, for which at most `max_evictions` entries move.
    pub fn new(max_evictions: u16) -> Self {
        Self {
            slots: MAX_SLOTS,
            max_evictions,
            is_cut: false,
        }
    }

    /// Takes the slots of a bucket. Returns false if the budget has less.
    fn take(&mut self, slots: u64) -> bool {
        let left = self.slots.checked_sub(slots);
        self.slots = left.unwrap_or(0);
        left.is_some()
    }
}

/// A bucket that the search has reached.
#[derive(Debug, Clone, Copy, Default)]
struct Node {
    bucket: u64,
    /// The slot whose entry would move to this bucket.
    slot: u64,
    /// The number of the node with this slot.
    parent: u16,
    /// Moves from one of the item's buckets to this bucket.
    moves: u16,
}

impl SubFilter {
    /// A free slot in one of the item's buckets, after moves of other entries if they are full.
    /// `None`, and nothing has changed, if there is none, or if the budget does not suffice to find one.
    #[inline]
    pub fn make_room(
        &mut self,
        ticks: &StoredTicks,
        place: &Place,
        budget: &mut SearchBudget,
    ) -> Option<u64> {
        let free = place.buckets.map(|bucket| self.free_slots(ticks, bucket));
        // The emptier bucket: fewer buckets are full, so fewer insertions evict.
        match free {
            [Some((count, slot)), second] if second.is_none_or(|(other, _)| count >= other) => {
                return Some(slot);
            }
            [_, Some((_, slot))] => return Some(slot),
            _ => {}
        }
        if budget.slots == 0 {
            return None;
        }
        self.evict(ticks, place, budget)
    }

    /// Whether [`SubFilter::make_room`] would find a slot.
    pub fn has_room(&self, ticks: &StoredTicks, place: &Place, budget: &mut SearchBudget) -> bool {
        let mut buckets = place.buckets.into_iter();
        if buckets.any(|bucket| self.free_slot(ticks, bucket).is_some()) {
            return true;
        }
        if budget.slots == 0 {
            return false;
        }
        (self.find_path::<FEW_BUCKETS>(ticks, place, budget)).is_some()
            || budget.is_cut && (self.find_path::<MAX_BUCKETS>(ticks, place, budget)).is_some()
    }

    #[inline(never)]
    fn evict(
        &mut self,
        ticks: &StoredTicks,
        place: &Place,
        budget: &mut SearchBudget,
    ) -> Option<u64> {
        match self.evict_within::<FEW_BUCKETS>(ticks, place, budget) {
            None if budget.is_cut => self.evict_within::<MAX_BUCKETS>(ticks, place, budget),
            slot => slot,
        }
    }

    /// Moves entries along the shortest path among the first `N` buckets, and returns the slot that is then free.
    fn evict_within<const N: usize>(
        &mut self,
        ticks: &StoredTicks,
        place: &Place,
        budget: &mut SearchBudget,
    ) -> Option<u64> {
        let (slots, len) = self.find_path::<N>(ticks, place, budget)?;
        for step in slots[..len].windows(2) {
            if let [to, from] = *step {
                let value = self.layout.get(&self.slots, from);
                self.write(ticks, to, value);
            }
        }
        slots[..len].last().copied()
    }

    /// The shortest path among the first `N` buckets: the slots from a free one to one of the item's, and their number.
    /// Each but the first contains an entry that fits in the one before it. Both buckets of the item are full.
    fn find_path<const N: usize>(
        &self,
        ticks: &StoredTicks,
        place: &Place,
        budget: &mut SearchBudget,
    ) -> Option<([u64; N], usize)> {
        #[cfg(test)]
        searches::count();
        budget.is_cut = false;
        let mut nodes = [Node::default(); N];
        for (node, bucket) in nodes.iter_mut().zip(place.buckets) {
            node.bucket = bucket;
        }
        let (mut len, mut number) = (2, 0);
        while number < len {
            let node = nodes[number];
            if node.moves == budget.max_evictions {
                return None;
            }
            let first = self.first_slot(node.bucket);
            let end = first + self.bucket_size();
            let mut start = first;
            while start < end {
                let some = start..end.min(start + PREFETCHED);
                start = some.end;
                let mut others = [0; PREFETCHED as usize];
                for (other, slot) in others.iter_mut().zip(some.clone()) {
                    let value = self.layout.get(&self.slots, slot);
                    let fingerprint = self.layout.fingerprint_of(value);
                    *other = self.other_bucket(node.bucket, fingerprint);
                    self.prefetch_bucket(*other);
                }
                for (&other, slot) in others.iter().zip(some) {
                    // These were full when they were reached.
                    if place.buckets.contains(&other) || other == nodes[node.parent as usize].bucket
                    {
                        continue;
                    }
                    if !budget.take(self.bucket_size()) {
                        return None;
                    }
                    #[cfg(test)]
                    searches::count_bucket();
                    if let Some(free) = self.free_slot(ticks, other) {
                        return Some(Self::path(&nodes, number, slot, free));
                    }
                    if len < N {
                        nodes[len] = Node {
                            bucket: other,
                            slot,
                            parent: number as u16,
                            moves: node.moves + 1,
                        };
                        len += 1;
                    } else {
                        budget.is_cut = true;
                    }
                }
            }
            number += 1;
        }
        None
    }

    /// The path to a free slot from the entry in `slot`, which is in the bucket of a node.
    fn path<const N: usize>(
        nodes: &[Node; N],
        mut number: usize,
        slot: u64,
        free: u64,
    ) -> ([u64; N], usize) {
        let mut slots = [0; N];
        (slots[0], slots[1]) = (free, slot);
        let mut len = 2;
        while nodes[number].moves > 0 {
            slots[len] = nodes[number].slot;
            len += 1;
            number = nodes[number].parent as usize;
        }
        (slots, len)
    }
}

#[cfg(test)]
pub mod searches {
    //! Counts searches and the buckets that they read.

    use std::cell::Cell;

    thread_local! {
        static COUNTS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    }

    /// Counts a search.
    pub fn count() {
        let (searches, buckets) = COUNTS.get();
        COUNTS.set((searches + 1, buckets));
    }

    /// Counts a bucket.
    pub fn count_bucket() {
        let (searches, buckets) = COUNTS.get();
        COUNTS.set((searches, buckets + 1));
    }

    /// The searches and the buckets since the last call.
    pub fn take() -> (u64, u64) {
        COUNTS.take()
    }
}
