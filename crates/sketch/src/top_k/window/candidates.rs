//! The candidates: the items that may be in the list, each stored once, with lookup by item.

use crate::blocks::{BlockChanges, BlockMover, BlockVisitor};
use crate::memory::{
    Budget, OutOfMemory, copy_of, optional, reserve_exact, try_collect, with_capacity,
};
use crate::top_k::index::Index;
use crate::top_k::item::{Item, Spare};
use crate::top_k::item_hash::{are_equal, order};

/// The largest sum of a candidate; above that of 255 panes.
pub(super) const MAX_SUM: u64 = (1 << 40) - 1;

/// The items of all candidates have at most this many bytes, because a step to a later pane compares them.
pub(super) const MAX_ITEM_BYTES: usize = 16 << 20;

/// At most this many quarters of the entries of the index are occupied.
const MAX_INDEX_QUARTERS: usize = 3;

/// An item that may be in the list.
#[derive(Debug)]
pub(super) struct Candidate {
    pub item: Item,
    /// The hash of the item.
    pub hash: u64,
    /// Its positions in the two heaps, by [`HeapIndex`].
    pub positions: [u32; 2],
}

/// What is stored of a candidate apart from [`Candidate`], where it would take eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Apart {
    /// The sum of its estimates in the closed panes, little-endian.
    closed: [u8; 5],
    /// The number of closed panes that list it.
    pub lists: u8,
}

impl Apart {
    /// The sum of its estimates in the closed panes.
    #[inline]
    pub fn closed(self) -> u64 {
        let [a, b, c, d, e] = self.closed;
        u64::from_le_bytes([a, b, c, d, e, 0, 0, 0])
    }

    /// Sums above [`MAX_SUM`] become this sum.
    #[inline]
    pub fn set_closed(&mut self, sum: u64) {
        let [a, b, c, d, e, ..] = sum.min(MAX_SUM).to_le_bytes();
        self.closed = [a, b, c, d, e];
    }
}

/// The candidates, numbered from 0 without gaps. The numbers are a function of the operations and part of the stored form.
///
/// Those that closed panes list precede the others, because only a step lists items, and it removes the others. So if one of the
/// others is removed and the last candidate gets its number, no list changes.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    slots: Vec<Candidate>,
    apart: Vec<Apart>,
    /// Bytes of all items.
    item_bytes: usize,
    index: Index<MAX_INDEX_QUARTERS>,
    /// Memory for the next item. Holds the last removed item if that was expelled from the list.
    spare: Spare,
}

/// The count that is reported for a sum: at most 2^32 - 1.
#[inline]
pub(super) fn saturated(sum: u64) -> u32 {
    u32::try_from(sum).unwrap_or(u32::MAX)
}

impl Candidates {
    /// A copy with separate memory.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let len = self.slots.len();
        let mut slots = with_capacity(capacity_for(len))?;
        let mut apart = with_capacity(capacity_for(len))?;
        apart.extend_from_slice(&self.apart);
        for slot in &self.slots {
            slots.push(Candidate {
                item: Item::copy_of(slot.item.bytes())?,
                ..*slot
            });
        }
        Ok(Self {
            slots,
            apart,
            item_bytes: self.item_bytes,
            index: self.index.try_clone()?,
            spare: Spare::default(),
        })
    }

    /// Number of candidates.
    #[inline]
    pub fn len(&self) -> u32 {
        // The index stores numbers plus 1 in 32 bits, see `reserve`.
        self.slots.len() as u32
    }

    #[inline]
    pub fn get(&self, number: u32) -> &Candidate {
        &self.slots[number as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, number: u32) -> &mut Candidate {
        &mut self.slots[number as usize]
    }

    #[inline]
    pub fn item(&self, number: u32) -> &[u8] {
        self.get(number).item.bytes()
    }

    /// The rank of each candidate in the order of the bytes of their items.
    ///
    /// Cost: O(n log n) comparisons of items for n candidates.
    pub fn ranks(&self) -> Result<Vec<u32>, OutOfMemory> {
        let mut numbers = try_collect(0..self.len())?;
        numbers.sort_unstable_by(|&one, &other| order(self.item(one), self.item(other)));
        let mut ranks = copy_of(&numbers)?;
        for (&number, rank) in numbers.iter().zip(0..) {
            ranks[number as usize] = rank;
        }
        Ok(ranks)
    }

    /// The work of a few passes over all items, as [`Order::compared`](super::largest::Order::compared) counts it.
    pub fn few_passes(&self) -> u64 {
        4 * (self.item_bytes + 64 * self.slots.len()) as u64
    }

    /// Whether the limit of [`MAX_ITEM_BYTES`] permits another item of this length.
    #[inline]
    pub fn has_room(&self, item_len: usize) -> bool {
        item_len <= MAX_ITEM_BYTES - self.item_bytes
    }

    /// All candidates in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &Candidate> {
        self.slots.iter()
    }

    /// All candidates in the order of their numbers, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&mut Candidate, &mut Apart)> {
        self.slots.iter_mut().zip(&mut self.apart)
    }

    #[inline]
    pub fn apart(&self, number: u32) -> Apart {
        self.apart[number as usize]
    }

    #[inline]
    pub fn apart_mut(&mut self, number: u32) -> &mut Apart {
        &mut self.apart[number as usize]
    }

    /// Whether neither a heap nor a closed pane contains a candidate.
    pub fn is_unused(&self, number: u32) -> bool {
        self.apart(number).lists == 0 && self.get(number).positions == [NONE; 2]
    }

    /// The number of the candidate with this item. Cost: a hash lookup.
    #[inline]
    pub fn find(&self, item: &[u8], hash: u64) -> Option<u32> {
        // The index compares half of the hash. Who has the seed can choose long items with this half.
        let is_item = |number: u32| {
            let candidate = self.get(number);
            candidate.hash == hash && are_equal(candidate.item.bytes(), item)
        };
        self.index.find(hash as u32, is_item)
    }

    /// Whether a candidate has this fingerprint, which is half of its hash, and a hash with this property.
    pub fn has_fingerprint(&self, fingerprint: u32, is_item: impl Fn(u64) -> bool) -> bool {
        let is_item = |number: u32| is_item(self.get(number).hash);
        self.index.find(fingerprint, is_item).is_some()
    }

    /// Prefetches the index entry where the search for an item starts.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        self.index.prefetch(hash as u32);
    }

    pub fn index_bytes(&self) -> usize {
        self.index.bytes()
    }

    /// Allocates the memory that [`Candidates::insert`] needs for an item of `item_len` bytes. Requests each block from
    /// `budget`; `changes` records the freed and allocated blocks. Refuses an item for which there is no room.
    #[inline]
    pub fn reserve(
        &mut self,
        item_len: usize,
        budget: Budget<'_>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Result<(), OutOfMemory> {
        if !self.has_room(item_len) {
            return Err(OutOfMemory {
                bytes: item_len as u64,
            });
        }
        self.spare.reserve(item_len, budget, changes)?;
        let len = self.slots.len() + 1;
        grow(&mut self.slots, len, budget, changes)?;
        grow(&mut self.apart, len, budget, changes)?;
        self.index.reserve_one(budget, changes)
    }

    /// The bytes that [`Candidates::reserve`] allocates less those that it frees, for an item of `item_len` bytes.
    pub fn growth(&self, item_len: usize) -> u64 {
        let len = self.slots.len() + 1;
        let mut bytes = self.spare.growth(item_len) + self.index.growth();
        if len > self.slots.capacity() {
            bytes += (capacity_for(len) - self.slots.capacity()) * size_of::<Candidate>();
        }
        if len > self.apart.capacity() {
            bytes += (capacity_for(len) - self.apart.capacity()) * size_of::<Apart>();
        }
        bytes as u64
    }

    /// Adds an item that is not a candidate. The caller has called [`Candidates::reserve`] with the item's length.
    pub fn insert(
        &mut self,
        item: &[u8],
        hash: u64,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> u32 {
        let item = self.spare.fill(item, changes);
        self.push(item, hash)
    }

    /// Adds a stored item, for which there must be room, and allocates its memory. Returns false, and changes nothing, if the
    /// item is a candidate already.
    pub fn load(&mut self, item: &[u8], hash: u64, closed: u64) -> Result<bool, OutOfMemory> {
        if self.find(item, hash).is_some() {
            return Ok(false);
        }
        self.reserve(0, Budget::UNLIMITED, &mut BlockChanges::<()>::default())?;
        let number = self.push(Item::copy_of(item)?, hash);
        self.apart_mut(number).set_closed(closed);
        Ok(true)
    }

    fn push(&mut self, item: Item, hash: u64) -> u32 {
        let number = self.len();
        self.item_bytes += item.bytes().len();
        self.slots.push(Candidate {
            item,
            hash,
            positions: [NONE; 2],
        });
        self.apart.push(Apart {
            closed: [0; 5],
            lists: 0,
        });
        self.index.insert(hash as u32, number);
        number
    }

    /// Removes an unused candidate and returns its item. The last candidate gets its number: `renumber` receives its
    /// positions in the heaps and this number.
    pub fn remove(&mut self, number: u32, renumber: impl FnOnce([u32; 2], u32)) -> Item {
        let last = self.len() - 1;
        let removed = self.slots.swap_remove(number as usize);
        self.apart.swap_remove(number as usize);
        self.item_bytes -= removed.item.bytes().len();
        self.index.remove(removed.hash as u32, number);
        if number != last {
            let moved = &self.slots[number as usize];
            self.index.renumber(moved.hash as u32, last, number);
            renumber(moved.positions, number);
        }
        removed.item
    }

    /// Keeps the memory of a removed item for the next one, in place of what was kept before.
    pub fn recycle(&mut self, item: Item, changes: &mut BlockChanges<impl BlockVisitor>) -> &[u8] {
        self.spare.keep(item, changes)
    }

    /// Removes the candidates that no pane lists, and renumbers the others in the same order. `renumber` receives a function
    /// from old numbers to new ones. No candidate is in a heap.
    pub fn retain_listed(
        &mut self,
        renumber: impl FnOnce(&dyn Fn(u32) -> u32),
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) {
        if self.apart.iter().all(|apart| apart.lists > 0) {
            return;
        }
        // The positions in a heap are not used now, so they can hold the new numbers.
        let mut next = 0;
        for (slot, apart) in self.slots.iter_mut().zip(&self.apart) {
            if apart.lists > 0 {
                slot.positions[0] = next;
                next += 1;
            }
        }
        renumber(&|number| self.slots[number as usize].positions[0]);
        self.index.clear();
        self.slots.retain_mut(|slot| {
            if slot.positions[0] == NONE {
                self.item_bytes -= slot.item.bytes().len();
                slot.item.visit(&mut changes.freed);
                return false;
            }
            let number = std::mem::replace(&mut slot.positions[0], NONE);
            self.index.insert(slot.hash as u32, number);
            true
        });
        self.apart.retain(|apart| apart.lists > 0);
        self.shrink(changes);
    }

    /// Removes all candidates and frees their memory.
    pub fn clear(&mut self, changes: &mut BlockChanges<impl BlockVisitor>) {
        self.for_each_block(&mut changes.freed);
        self.slots = Vec::new();
        self.apart = Vec::new();
        self.item_bytes = 0;
        self.index = Index::default();
        self.spare = Spare::default();
    }

    /// Frees the memory that the candidates no longer need. Without memory for smaller blocks, the large ones stay.
    fn shrink(&mut self, changes: &mut BlockChanges<impl BlockVisitor>) {
        let len = self.slots.len();
        shrink(&mut self.slots, changes);
        shrink(&mut self.apart, changes);
        self.index.shrink_for(len, changes);
        self.spare.free(changes);
    }

    /// Passes the blocks to `visitor`.
    pub fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.slots);
        visitor.visit(&self.apart);
        self.index.visit(visitor);
        self.spare.visit(visitor);
        for slot in &self.slots {
            slot.item.visit(visitor);
        }
    }

    /// Passes block number `index`, in the order of [`Candidates::for_each_block`], to `mover`.
    pub fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        match index {
            0 => mover.relocate(&mut self.slots),
            1 => mover.relocate(&mut self.apart),
            2 => self.index.relocate(mover),
            3 => self.spare.relocate(mover),
            _ => match self.slots.get_mut(index - 4) {
                Some(slot) => slot.item.relocate(mover),
                None => return false,
            },
        }
        true
    }
}

/// Equality of the stored candidates.
impl PartialEq for Candidates {
    fn eq(&self, other: &Self) -> bool {
        let key = |slot: &Candidate| slot.positions;
        self.apart == other.apart
            && (self.slots.iter().zip(&other.slots)).all(|(left, right)| {
                left.item.bytes() == right.item.bytes() && key(left) == key(right)
            })
    }
}

/// The capacity for `len` candidates: at most 1/16 more. Doubling would take more memory than one sketch per pane.
fn capacity_for(len: usize) -> usize {
    len.next_multiple_of((len.next_power_of_two() / 32).max(4))
}

/// Reserves capacity for `len` elements in total.
#[inline]
fn grow<T>(
    vec: &mut Vec<T>,
    len: usize,
    budget: Budget<'_>,
    changes: &mut BlockChanges<impl BlockVisitor>,
) -> Result<(), OutOfMemory> {
    if len <= vec.capacity() {
        return Ok(());
    }
    let capacity = capacity_for(len);
    // Numbers plus 1 have 32 bits.
    refuse_if!(capacity > u32::MAX as usize => OutOfMemory { bytes: u64::MAX });
    budget.request((capacity as u64).saturating_mul(size_of::<T>() as u64))?;
    changes.freed.visit(vec);
    let reserved = reserve_exact(vec, capacity - vec.len());
    changes.allocated.visit(vec);
    reserved
}

/// Shrinks the capacity if it is more than twice what is needed.
fn shrink<T>(vec: &mut Vec<T>, changes: &mut BlockChanges<impl BlockVisitor>) {
    let capacity = capacity_for(vec.len() + 1);
    let mut smaller = Vec::new();
    let allocate = || reserve_exact(&mut smaller, capacity).is_ok();
    if vec.capacity() / 2 > capacity && optional(allocate) {
        smaller.append(vec);
        changes.freed.visit(vec);
        changes.allocated.visit(&smaller);
        *vec = smaller;
    }
}

/// The position of a candidate that is not in a heap.
pub(super) const NONE: u32 = u32::MAX;

/// A heap: the index of its position in a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeapIndex {
    /// The most frequent items of the newest pane.
    Heap = 0,
    /// The most frequent items of the window.
    List = 1,
}
