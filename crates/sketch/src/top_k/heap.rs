//! The k items with the largest counts: a min-heap in an array, with lookup by item.
//!
//! The heap array holds counts and slot numbers only, so that sifting moves eight bytes and follows no pointer. Items
//! stay in their slots. An [`Index`] maps a hash to the slot, and the slot holds the position in the heap. A small heap has no index: a
//! search reads its slots.
//!
//! The first item with a fingerprint has it as its hash in the index. Further items with the same one have a hash with a secret key: a client
//! can choose long items with equal fingerprints, and a lookup must not compare all of them.
//!
//! The order of equal counts is part of the format, so the sifting must not be replaced by another
//! algorithm. It only sifts down, as RedisBloom does: an element whose count dropped stays below parents with larger
//! counts, and the root need not be the smallest element.

use super::index::Index;
use super::item::{Item, Spare};
use super::item_hash::{are_equal, fingerprint_of};
use super::pairs::{PAIR_BYTES, Pairs, sift_down};
use super::records::Records;
use crate::blocks::{BlockChanges, BlockMover, BlockVisitor, Blocks};
use crate::memory::{Budget, OutOfMemory, capacity_for, reserve_for, shrink, with_capacity};
use std::cmp::Reverse;
use std::hash::{BuildHasher, RandomState};
use std::mem::replace;

/// In larger heaps, all items have hashes with a secret key: a client can choose items whose fingerprints are next to each other in the index,
/// and a lookup then reads the entries of all of them.
const MAX_FINGERPRINT_HASHES: u32 = 4096;

/// Heaps of at most this many elements have no index.
const MAX_WITHOUT_INDEX: usize = 16;

/// An item of the heap.
#[derive(Debug)]
struct HeapItem {
    item: Item,
    fingerprint: u32,
    /// Its position in the heap array.
    position: u32,
}

/// An element of the heap that holds an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Element<'a> {
    /// Position in the heap array, from 0.
    pub position: u32,
    pub fingerprint: u32,
    pub count: u32,
    pub item: &'a [u8],
}

/// Maximum bytes of slots and index per item. The capacity of both tables doubles; afterwards at least a quarter of
/// the index is occupied.
pub(super) const MAX_ELEMENT_BYTES: usize = 2 * size_of::<HeapItem>() + 4 * PAIR_BYTES as usize;

/// The heap; see the module documentation.
#[derive(Debug)]
#[repr(C)] // so that the fields that an addition reads are in few cache lines
pub(super) struct Heap {
    /// (count, slot + 1) in heap order; (0, 0) for an element without an item.
    elements: Pairs,
    /// Memory for the next item; then the one that it expelled.
    spare: Spare,
    index: Index,
    /// The number of hashes in the index that have the secret key.
    keyed_hashes: usize,
    slots: Vec<HeapItem>,
    /// The hash with a secret key.
    keyed_hash: RandomState,
    /// Memory for the elements in the RDB format.
    records: Records,
}

/// Count, position and item of an element, in the order of a list.
pub(super) type Listed<'a> = (Reverse<u32>, u32, &'a [u8]);

impl Heap {
    /// A heap of `k` ≥ 1 elements without items.
    pub fn new(k: u32) -> Result<Self, OutOfMemory> {
        Ok(Self {
            elements: Pairs::zeroed(k.into())?,
            slots: Vec::new(),
            index: Index::default(),
            keyed_hash: RandomState::new(),
            keyed_hashes: 0,
            spare: Spare::default(),
            records: Records::new(k)?,
        })
    }

    /// A copy with separate memory.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut slots = Vec::new();
        reserve_for(&mut slots, self.slots.len(), self.len())?;
        for slot in &self.slots {
            slots.push(HeapItem {
                item: Item::copy_of(slot.item.bytes())?,
                ..*slot
            });
        }
        Ok(Self {
            elements: self.elements.try_clone()?,
            slots,
            index: self.index.try_clone()?,
            keyed_hash: self.keyed_hash.clone(),
            keyed_hashes: self.keyed_hashes,
            spare: Spare::default(),
            // The number of elements is k, which has 32 bits.
            records: Records::new(self.elements.len() as u32)?,
        })
    }

    /// k, the number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Number of elements that hold an item, whatever its count.
    pub fn occupied(&self) -> usize {
        self.slots.len()
    }

    /// Whether the root holds no item. If so, any item that is not in the heap enters it, in a new slot. The root holds
    /// no item until the heap is full or an item with count 0 becomes the root.
    #[inline]
    pub fn has_vacant_root(&self) -> bool {
        self.elements.get(0).1 == 0
    }

    /// Count of the root: the count that an item needs to enter.
    #[inline]
    pub fn root_count(&self) -> u32 {
        self.elements.get(0).0
    }

    /// The position of the item in the heap. Cost: a hash lookup, which compares one item. If items have equal fingerprints or
    /// the heap is large, also a pass over the item, and a second lookup.
    #[inline]
    pub fn find(&self, item: &[u8], fingerprint: u32) -> Option<usize> {
        let is_item = |slot: &HeapItem| are_equal(slot.item.bytes(), item);
        if !self.is_indexed() {
            let mut slots = self.slots.iter();
            let found = slots.find(|slot| slot.fingerprint == fingerprint && is_item(slot));
            return found.map(|slot| slot.position as usize);
        }
        let is_item = |slot: u32| is_item(&self.slots[slot as usize]);
        let mut found = None;
        if self.uses_fingerprints() {
            found = self.index.find(fingerprint, is_item);
        }
        if found.is_none() && self.keyed_hashes > 0 {
            found = self.index.find(self.keyed_hash(item), is_item);
        }
        found.map(|slot| self.slots[slot as usize].position as usize)
    }

    /// The elements that hold items, in heap order. Cost: one step per element, with or without an item.
    pub fn iter(&self) -> impl Iterator<Item = Element<'_>> {
        (0..self.elements.len()).filter_map(|position| self.element(position))
    }

    /// The element at `position`, if it holds an item.
    pub fn element(&self, position: usize) -> Option<Element<'_>> {
        let (count, slot_plus_1) = self.elements.get(position);
        let slot = &self.slots[slot_plus_1.checked_sub(1)? as usize];
        Some(Element {
            position: slot.position,
            fingerprint: slot.fingerprint,
            count,
            item: slot.item.bytes(),
        })
    }

    /// The stored form of the item at `position`: the item, if there is one, and a NUL.
    pub fn terminated(&self, position: usize) -> &[u8] {
        match self.elements.get(position).1.checked_sub(1) {
            Some(slot) => self.slots[slot as usize].item.terminated(),
            None => &[0],
        }
    }

    /// Memory for the elements in the RDB format.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Whether [`Heap::replace_root`] needs memory for an item of `item_len` bytes that is not in the heap: always
    /// while the root is vacant, because every such item then enters the heap.
    #[inline]
    pub fn needs_memory(&self, item_len: usize) -> bool {
        self.has_vacant_root() || self.spare.lacks(item_len)
    }

    /// Allocates the memory that [`Heap::replace_root`] needs for an item of `item_len` bytes that is not in the
    /// heap. Requests each block from `budget`; `changes` records the freed and allocated blocks.
    #[inline]
    pub fn reserve(
        &mut self,
        item_len: usize,
        budget: Budget<'_>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Result<(), OutOfMemory> {
        self.spare.reserve(item_len, budget, changes)?;
        if self.has_vacant_root() {
            self.reserve_slot(budget, changes)?;
        }
        Ok(())
    }

    /// The bytes that [`Heap::reserve`] allocates less those that it frees, for an item of `item_len` bytes.
    pub fn growth(&self, item_len: usize) -> u64 {
        let mut bytes = self.spare.growth(item_len);
        if self.has_vacant_root() {
            let new_slots = self.next_capacity().saturating_sub(self.slots.capacity());
            bytes += new_slots * size_of::<HeapItem>();
            bytes += if self.is_indexed() {
                self.index.growth()
            } else {
                0
            };
        }
        bytes as u64
    }

    /// Capacity of the slots after one more is added.
    fn next_capacity(&self) -> usize {
        capacity_for(self.slots.len() + 1, self.len())
    }

    /// Allocates the memory for one more slot and its index entry.
    #[inline]
    fn reserve_slot(
        &mut self,
        budget: Budget<'_>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Result<(), OutOfMemory> {
        if self.slots.len() == self.slots.capacity() {
            self.reserve_slots(budget, changes)?;
        }
        match self.is_indexed() {
            true => self.index.reserve_one(budget, changes),
            false => Ok(()),
        }
    }

    #[cold]
    fn reserve_slots(
        &mut self,
        budget: Budget<'_>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Result<(), OutOfMemory> {
        let slots = self.next_capacity() as u64;
        budget.request(slots.saturating_mul(size_of::<HeapItem>() as u64))?;
        changes.freed.visit(&self.slots);
        let (len, max_len) = (self.slots.len() + 1, self.len());
        let reserved = reserve_for(&mut self.slots, len, max_len);
        changes.allocated.visit(&self.slots);
        reserved
    }

    /// Replaces the count of the element at `position` and sifts the element down, even if the count dropped (see the
    /// module documentation).
    ///
    /// Returns whether the heap changed. It can change even if the count does not: the element then swaps with a child
    /// of equal count.
    #[inline]
    pub fn set_count(&mut self, position: usize, count: u32) -> bool {
        let (before, slot_plus_1) = self.elements.get(position);
        self.elements.set(position, (count, slot_plus_1));
        self.sift_down(position) != position || count != before
    }

    /// Replaces the root by an item that is not in the heap, and sifts it down. Returns the item that was the root, if
    /// any. The caller has called [`Heap::reserve`] with the item's length.
    pub fn replace_root(
        &mut self,
        item: &[u8],
        fingerprint: u32,
        count: u32,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Option<&[u8]> {
        let new = self.spare.fill(item, changes);
        let Some(slot) = self.elements.get(0).1.checked_sub(1) else {
            let slot = self.push_slot(new, fingerprint, 0);
            self.set_root(count, slot);
            return None;
        };
        let place = &mut self.slots[slot as usize];
        let old = replace(&mut place.item, new);
        let before = replace(&mut place.fingerprint, fingerprint);
        self.remove_from_index(old.bytes(), before, slot);
        self.insert_in_index(item, fingerprint, slot);
        self.set_root(count, slot);
        Some(self.spare.keep(old, changes))
    }

    /// Makes the item in this slot the root, and sifts it down.
    fn set_root(&mut self, count: u32, slot: u32) {
        self.elements.set(0, (count, slot + 1));
        self.sift_down(0);
    }

    /// Allocates the slots and the index for `items` items, so that [`Heap::put`] does not grow them.
    pub fn reserve_items(&mut self, items: usize) -> Result<(), OutOfMemory> {
        let max_items = self.len();
        reserve_for(&mut self.slots, items, max_items)?;
        self.resize_index(items)
    }

    fn resize_index(&mut self, items: usize) -> Result<(), OutOfMemory> {
        let items = if self.is_indexed() { items } else { 0 };
        self.index.resize_for(items)
    }

    /// Shrinks the slots and the index if there are fewer items than reserved, so that the memory depends on the
    /// items only.
    pub fn trim(&mut self) -> Result<(), OutOfMemory> {
        let capacity = capacity_for(self.slots.len(), self.len());
        shrink(&mut self.slots, capacity);
        self.resize_index(self.slots.len())
    }

    /// Puts an item into the empty element at `position` without sifting. An item that is already in the heap keeps its position and
    /// gets the larger of the two counts.
    pub fn put(&mut self, position: u32, item: &[u8], count: u32) -> Result<(), OutOfMemory> {
        let fingerprint = fingerprint_of(item);
        if let Some(present) = self.find(item, fingerprint) {
            let (present_count, slot_plus_1) = self.elements.get(present);
            let max_count = present_count.max(count);
            self.elements.set(present, (max_count, slot_plus_1));
            return Ok(());
        }
        self.reserve_slot(Budget::UNLIMITED, &mut BlockChanges::<()>::default())?;
        let slot = self.push_slot(Item::copy_of(item)?, fingerprint, position);
        self.elements.set(position as usize, (count, slot + 1));
        Ok(())
    }

    /// Restores the heap order. Cost: one step per item, and one per element if the order was violated.
    pub fn restore_order(&mut self) {
        let len = self.elements.len();
        let count_at = |position: usize| self.elements.get(position).0;
        let in_order = self.slots.iter().all(|slot| {
            let position = slot.position as usize;
            (2 * position + 1..len.min(2 * position + 3))
                .all(|child| count_at(position) <= count_at(child))
        });
        if !in_order {
            for position in (0..len / 2).rev() {
                self.sift_down(position);
            }
        }
    }

    /// The elements with counts above 0, from the largest count to the smallest; equal counts in heap order.
    pub fn by_count(&self) -> Result<Vec<Listed<'_>>, OutOfMemory> {
        let mut listed = with_capacity(self.slots.len())?;
        listed.extend(self.slots.iter().filter_map(|slot| {
            let (count, _) = self.elements.get(slot.position as usize);
            (count > 0).then_some((Reverse(count), slot.position, slot.item.bytes()))
        }));
        listed.sort_unstable();
        Ok(listed)
    }

    /// Prefetches the index entry where the search for an item starts.
    #[inline]
    pub fn prefetch(&self, item: &[u8], fingerprint: u32) {
        self.index.prefetch(match self.uses_fingerprints() {
            true => fingerprint,
            false => self.keyed_hash(item),
        });
    }

    #[inline]
    fn is_indexed(&self) -> bool {
        self.elements.len() > MAX_WITHOUT_INDEX
    }

    /// Whether the hashes in the index can be fingerprints.
    #[inline]
    fn uses_fingerprints(&self) -> bool {
        self.elements.len() <= MAX_FINGERPRINT_HASHES as usize
    }

    #[inline]
    fn keyed_hash(&self, item: &[u8]) -> u32 {
        self.keyed_hash.hash_one(item) as u32
    }

    /// Adds the index entry of a slot. The caller has reserved it.
    #[inline]
    fn insert_in_index(&mut self, item: &[u8], fingerprint: u32, slot: u32) {
        if !self.is_indexed() {
            return;
        }
        let is_keyed =
            !self.uses_fingerprints() || self.index.find(fingerprint, |_| true).is_some();
        let hash = match is_keyed {
            true => self.keyed_hash(item),
            false => fingerprint,
        };
        self.keyed_hashes += usize::from(is_keyed);
        self.index.insert(hash, slot);
    }

    /// Removes the index entry of a slot, which had this item with this fingerprint.
    #[inline]
    fn remove_from_index(&mut self, item: &[u8], fingerprint: u32, slot: u32) {
        if !self.is_indexed() {
            return;
        }
        if !self.uses_fingerprints() || !self.index.remove(fingerprint, slot) {
            let hash = self.keyed_hash(item);
            self.keyed_hashes -= usize::from(self.index.remove(hash, slot));
        }
    }

    pub fn index_bytes(&self) -> usize {
        self.index.bytes()
    }

    /// Adds a slot and its index entry. The caller has reserved the memory.
    fn push_slot(&mut self, item: Item, fingerprint: u32, position: u32) -> u32 {
        // Fewer slots than k, which has 32 bits.
        let slot = self.slots.len() as u32;
        self.insert_in_index(item.bytes(), fingerprint, slot);
        self.slots.push(HeapItem {
            item,
            fingerprint,
            position,
        });
        slot
    }

    /// Sifts an element down and returns its new position.
    fn sift_down(&mut self, position: usize) -> usize {
        let slots = &mut self.slots;
        sift_down(&mut self.elements, position, |slot, position| {
            slots[slot as usize].position = position;
        })
    }
}

/// Blocks 0 to 4 are the arrays and the spare memory; block 5 + i is the item in slot i.
impl Blocks for Heap {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        self.elements.bytes.visit(visitor);
        visitor.visit(&self.slots);
        self.index.visit(visitor);
        self.spare.visit(visitor);
        self.records.visit(visitor);
        for slot in &self.slots {
            slot.item.visit(visitor);
        }
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        match index {
            0 => self.elements.bytes.relocate(mover),
            1 => mover.relocate(&mut self.slots),
            2 => self.index.relocate(mover),
            3 => self.spare.relocate(mover),
            4 => self.records.relocate(mover),
            _ => match self.slots.get_mut(index - 5) {
                Some(slot) => slot.item.relocate(mover),
                None => return false,
            },
        }
        true
    }
}

#[cfg(test)]
impl Heap {
    /// Bytes of the blocks of all items and of the spare memory.
    pub fn item_bytes(&self) -> usize {
        let items = self.slots.iter().map(|slot| slot.item.block_bytes());
        items.sum::<usize>() + self.spare.block_bytes()
    }
}
