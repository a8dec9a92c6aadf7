//! The k items with the largest counts: a min-heap in an array, found by item as well.
//!
//! The array holds counts and slot numbers only, so sifting moves eight bytes and follows no pointer;
//! items stay in their slots, and an [`Index`] leads from a tag to the slot and from there to the
//! place in the heap. The order of equal counts is part of the contract (spec: top-k.md), so the
//! sifting here is not to be replaced by another one. It only ever sifts down, so that an element whose
//! count became smaller stays below parents with larger counts, and the root need not be the
//! smallest: all that follows from a heap's order here is what the peer replies.

use super::index::Index;
use super::pairs::{PAIR_BYTES, Pairs};
use super::records::Records;
use super::rows::fingerprint_of;
use crate::blocks::{BlockChanges, BlockMover, BlockVisitor, Blocks};
use crate::memory::{Budget, OutOfMemory, capacity_for, reserve_exact, reserve_for, shrink};
use std::cmp::Reverse;
use std::hash::{BuildHasher, RandomState};

/// An expelled item's memory is kept for the next one up to this many bytes.
const SPARE_BYTES: usize = 4096;

/// Elements up to which the index goes by fingerprints. Anyone can make items of one fingerprint, and a
/// search looks at all of them: at so many that takes microseconds. In larger heaps the index goes by a
/// hash with a secret key.
const FINGERPRINTED: u32 = 4096;

/// An item of the heap.
#[derive(Debug)]
struct Slot {
    /// The item and a NUL, as it is saved.
    terminated: Vec<u8>,
    fingerprint: u32,
    /// Its place in the heap array.
    place: u32,
}

impl Slot {
    #[inline]
    fn item(&self) -> &[u8] {
        unterminated(&self.terminated)
    }
}

/// An element of the heap that holds an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Element<'a> {
    /// Place in the heap array, from 0.
    pub place: u32,
    pub fingerprint: u32,
    pub count: u32,
    pub item: &'a [u8],
}

/// Bytes of the slot and the index entry that an item takes at most: both tables double, and the index is
/// at least a quarter full after that.
pub(super) const MAX_ELEMENT_BYTES: usize = 2 * size_of::<Slot>() + 4 * PAIR_BYTES as usize;

/// See the module's comment.
#[derive(Debug)]
pub(super) struct Heap {
    /// (count, slot + 1) in heap order; second number 0: no item yet (its count is 0 then).
    elements: Pairs,
    slots: Vec<Slot>,
    index: Index,
    /// What items are tagged with in the index instead of their fingerprints.
    tags: Option<RandomState>,
    /// Takes the next item and its NUL; then holds the one that it expelled.
    spare: Vec<u8>,
    records: Records,
}

impl Heap {
    /// A heap of `k` ≥ 1 elements without items.
    pub fn new(k: u32) -> Result<Self, OutOfMemory> {
        Ok(Self {
            elements: Pairs::zeroed(k.into())?,
            slots: Vec::new(),
            index: Index::default(),
            tags: (k > FINGERPRINTED).then(RandomState::new),
            spare: Vec::new(),
            records: Records::new(k)?,
        })
    }

    /// A copy in memory of its own.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut slots = Vec::new();
        reserve_for(&mut slots, self.slots.len(), self.len())?;
        for slot in &self.slots {
            slots.push(Slot {
                terminated: copy_of(&slot.terminated)?,
                ..*slot
            });
        }
        Ok(Self {
            elements: self.elements.try_clone()?,
            slots,
            index: self.index.try_clone()?,
            tags: self.tags.clone(),
            spare: Vec::new(),
            // As many as there are elements, which is k.
            #[allow(clippy::cast_possible_truncation)]
            records: Records::new(self.elements.len() as u32)?,
        })
    }

    /// k, the number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// How many elements hold an item (of whatever count).
    pub fn occupied(&self) -> usize {
        self.slots.len()
    }

    /// Whether the root holds no item. Then any item that is not in the heap enters it, in a slot of its own. It is so
    /// until the heap is full, or until the root is an item with count 0.
    #[inline]
    pub fn has_vacant_root(&self) -> bool {
        self.elements.get(0).1 == 0
    }

    /// Count of the root: what an item needs to enter.
    #[inline]
    pub fn root_count(&self) -> u32 {
        self.elements.get(0).0
    }

    /// Where the item is in the heap. Cost: a hash look-up; with items chosen to collide, a look at each
    /// of [`FINGERPRINTED`] elements at most.
    #[inline]
    pub fn find(&self, item: &[u8], fingerprint: u32) -> Option<usize> {
        let is_wanted = |slot: u32| self.slots[slot as usize].item() == item;
        self.index
            .find(self.tag(item, fingerprint), is_wanted)
            .map(|slot| self.slots[slot as usize].place as usize)
    }

    /// The elements that hold items, in heap order. Cost: one step an element, with items or without.
    pub fn iter(&self) -> impl Iterator<Item = Element<'_>> {
        (0..self.elements.len()).filter_map(|place| self.element(place))
    }

    /// The element at `place`, if it holds an item.
    pub fn element(&self, place: usize) -> Option<Element<'_>> {
        let (count, marked) = self.elements.get(place);
        let slot = &self.slots[marked.checked_sub(1)? as usize];
        Some(Element {
            place: slot.place,
            fingerprint: slot.fingerprint,
            count,
            item: slot.item(),
        })
    }

    /// What is saved of the item at `place`: the item, if there is one, and a NUL.
    pub fn terminated(&self, place: usize) -> &[u8] {
        match self.elements.get(place).1.checked_sub(1) {
            Some(slot) => &self.slots[slot as usize].terminated,
            None => &[0],
        }
    }

    /// Memory for the elements in their stored form.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Item and count of the element at `place`, which holds an item.
    pub fn item_at(&self, place: usize) -> (&[u8], u32) {
        let (count, marked) = self.elements.get(place);
        (self.slots[marked as usize - 1].item(), count)
    }

    /// Gets the memory that [`Heap::replace_root`] will need for an item of `item_len` bytes that is not in the
    /// heap. `budget` is asked before each block; `changes` is shown those that go and come.
    #[inline]
    pub fn reserve(
        &mut self,
        item_len: usize,
        budget: Budget<'_>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Result<(), OutOfMemory> {
        let terminated_len = item_len + 1;
        if self.spare.capacity() < terminated_len || self.spare.capacity() > SPARE_BYTES {
            budget.request(terminated_len as u64)?;
            changes.gone.visit(&self.spare);
            self.spare = Vec::new();
            let reserved = reserve_exact(&mut self.spare, terminated_len);
            changes.came.visit(&self.spare);
            reserved?;
        }
        if self.has_vacant_root() {
            self.reserve_slot(budget, changes)?;
        }
        Ok(())
    }

    /// Bytes that [`Heap::reserve`] would take more than it gives back, for an item of `item_len` bytes.
    pub fn growth(&self, item_len: usize) -> u64 {
        let mut bytes = (item_len + 1).saturating_sub(self.spare.capacity());
        if self.has_vacant_root() {
            let more_slots = self.next_slots().saturating_sub(self.slots.capacity());
            bytes += more_slots * size_of::<Slot>() + self.index.growth();
        }
        bytes as u64
    }

    /// Slots that there is room for once there is one more.
    fn next_slots(&self) -> usize {
        capacity_for(self.slots.len() + 1, self.len())
    }

    /// Gets the memory for one more slot and its entry in the index.
    #[inline]
    fn reserve_slot(
        &mut self,
        budget: Budget<'_>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Result<(), OutOfMemory> {
        if self.slots.len() == self.slots.capacity() {
            self.reserve_slots(budget, changes)?;
        }
        self.index.reserve_one(budget, changes)
    }

    #[cold]
    fn reserve_slots(
        &mut self,
        budget: Budget<'_>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Result<(), OutOfMemory> {
        let slots = self.next_slots() as u64;
        budget.request(slots.saturating_mul(size_of::<Slot>() as u64))?;
        changes.gone.visit(&self.slots);
        let (len, most) = (self.slots.len() + 1, self.len());
        let reserved = reserve_for(&mut self.slots, len, most);
        changes.came.visit(&self.slots);
        reserved
    }

    /// Gives the element at `place` another count and sifts it down from there, also where the count
    /// became smaller (after decay): see the module's comment.
    ///
    /// Tells whether anything changed; with the same count it can, since the element then changes
    /// places with a child of that count.
    #[inline]
    pub fn set_count(&mut self, place: usize, count: u32) -> bool {
        let (before, marked) = self.elements.get(place);
        self.elements.set(place, (count, marked));
        self.sift_down(place) != place || count != before
    }

    /// Puts an item that is not in the heap at the root and sifts it down. Gives the item that was
    /// there, if any. [`Heap::reserve`] has been called with the item's length.
    pub fn replace_root(
        &mut self,
        item: &[u8],
        fingerprint: u32,
        count: u32,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Option<&[u8]> {
        self.spare.clear();
        self.spare.extend_from_slice(item);
        self.spare.push(0);
        self.trim_spare(changes);
        let marked = self.elements.get(0).1;
        let (slot, was_occupied) = match marked.checked_sub(1) {
            None => {
                let terminated = std::mem::take(&mut self.spare);
                (self.push_slot(terminated, fingerprint, 0), false)
            }
            Some(number) => {
                let slot = &mut self.slots[number as usize];
                std::mem::swap(&mut slot.terminated, &mut self.spare);
                let tags = &self.tags;
                let tag_before = tag(tags, unterminated(&self.spare), slot.fingerprint);
                self.index.remove(tag_before, number);
                slot.fingerprint = fingerprint;
                self.index.insert(tag(tags, item, fingerprint), number);
                (number, true)
            }
        };
        self.elements.set(0, (count, slot + 1));
        self.sift_down(0);
        was_occupied.then(|| unterminated(&self.spare))
    }

    /// Allocates the slots and the index for `items` items, in place of growth during [`Heap::put`].
    pub fn reserve_items(&mut self, items: usize) -> Result<(), OutOfMemory> {
        let max_items = self.len();
        reserve_for(&mut self.slots, items, max_items)?;
        self.index.resize_for(items)
    }

    /// Shrinks the slots and the index if there are fewer items than reserved, so that the memory depends on the
    /// items only.
    pub fn trim(&mut self) -> Result<(), OutOfMemory> {
        let max_items = self.len();
        shrink(&mut self.slots, max_items);
        self.index.resize_for(self.slots.len())
    }

    /// Puts an item, which comes with a NUL behind it, into the element at `place`, which holds none, without
    /// sifting. An item that is in the heap already stays where it is, with the larger count.
    pub fn put(&mut self, place: u32, terminated: Vec<u8>, count: u32) -> Result<(), OutOfMemory> {
        let fingerprint = fingerprint_of(unterminated(&terminated));
        if let Some(held) = self.find(unterminated(&terminated), fingerprint) {
            let (held_count, marked) = self.elements.get(held);
            self.elements.set(held, (held_count.max(count), marked));
            return Ok(());
        }
        self.reserve_slot(Budget::UNLIMITED, &mut BlockChanges::<()>::default())?;
        let slot = self.push_slot(terminated, fingerprint, place);
        self.elements.set(place as usize, (count, slot + 1));
        Ok(())
    }

    /// Brings the elements into heap order where they are not. Cost: one step an item, and one an
    /// element if there is something to do.
    pub fn restore_order(&mut self) {
        let len = self.elements.len();
        let count_at = |place: usize| self.elements.get(place).0;
        let in_order = self.slots.iter().all(|slot| {
            let place = slot.place as usize;
            (2 * place + 1..len.min(2 * place + 3)).all(|child| count_at(place) <= count_at(child))
        });
        if !in_order {
            for place in (0..len / 2).rev() {
                self.sift_down(place);
            }
        }
    }

    /// Numbers of the elements that hold items with counts above 0, by count from the largest,
    /// equal counts in heap order.
    pub fn by_count(&self) -> Result<Vec<u32>, OutOfMemory> {
        let mut places = Vec::new();
        reserve_exact(&mut places, self.slots.len())?;
        let count_at = |place: u32| self.elements.get(place as usize).0;
        places.extend(
            self.slots
                .iter()
                .map(|slot| slot.place)
                .filter(|&place| count_at(place) > 0),
        );
        places.sort_unstable_by_key(|&place| (Reverse(count_at(place)), place));
        Ok(places)
    }

    /// Asks for the memory where the search for an item starts.
    #[inline]
    pub fn prefetch(&self, item: &[u8], fingerprint: u32) {
        self.index.prefetch(self.tag(item, fingerprint));
    }

    #[inline]
    fn tag(&self, item: &[u8], fingerprint: u32) -> u32 {
        tag(&self.tags, item, fingerprint)
    }

    /// Bytes of the table that [`Heap::prefetch`] reaches into.
    pub fn index_bytes(&self) -> usize {
        self.index.bytes()
    }

    fn push_slot(&mut self, terminated: Vec<u8>, fingerprint: u32, place: u32) -> u32 {
        // Fewer slots than k, which fits 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        let slot = self.slots.len() as u32;
        let tag = self.tag(unterminated(&terminated), fingerprint);
        self.slots.push(Slot {
            terminated,
            fingerprint,
            place,
        });
        self.index.insert(tag, slot);
        slot
    }

    /// Memory that a longer item left is not kept for an item that it is far too large for, lest k
    /// short items hold the memory of k long ones.
    #[inline]
    fn trim_spare(&mut self, changes: &mut BlockChanges<impl BlockVisitor>) {
        if self.spare.capacity() > 2 * self.spare.len() + 64 {
            // Without memory for a smaller block the large one goes on serving.
            if let Ok(exact) = copy_of(&self.spare) {
                changes.gone.visit(&self.spare);
                changes.came.visit(&exact);
                self.spare = exact;
            }
        }
    }

    /// Moves an element down to where it belongs. Of two children with the same count the left one is
    /// taken; a child with the parent's count moves up at the first step only. This is the peer's order.
    /// Gives the place where it came to rest.
    fn sift_down(&mut self, mut place: usize) -> usize {
        let sifted = self.elements.get(place);
        let mut moves_up: fn(u32, u32) -> bool = |child, parent| child <= parent;
        while let Some((child_place, child)) = self.smaller_child(place) {
            if !moves_up(child.0, sifted.0) {
                break;
            }
            moves_up = |child, parent| child < parent;
            self.settle(place, child);
            place = child_place;
        }
        self.settle(place, sifted);
        place
    }

    #[inline]
    fn smaller_child(&self, place: usize) -> Option<(usize, (u32, u32))> {
        let (left_place, right_place) = (2 * place + 1, 2 * place + 2);
        if left_place >= self.elements.len() {
            return None;
        }
        let left = self.elements.get(left_place);
        if right_place < self.elements.len() {
            let right = self.elements.get(right_place);
            if right.0 < left.0 {
                return Some((right_place, right));
            }
        }
        Some((left_place, left))
    }

    /// Writes an element to `place` and tells its slot.
    #[inline]
    fn settle(&mut self, place: usize, element: (u32, u32)) {
        self.elements.set(place, element);
        if let Some(slot) = element.1.checked_sub(1) {
            // A place is below k, which fits 32 bits.
            #[allow(clippy::cast_possible_truncation)]
            let place = place as u32;
            self.slots[slot as usize].place = place;
        }
    }
}

/// Blocks 0 to 4 are the arrays and the spare memory; block 5 + i is that of the item in slot i.
impl Blocks for Heap {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        self.elements.visit(visitor);
        visitor.visit(&self.slots);
        self.index.visit(visitor);
        visitor.visit(&self.spare);
        self.records.visit(visitor);
        for slot in &self.slots {
            visitor.visit(&slot.terminated);
        }
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        match index {
            0 => self.elements.relocate(mover),
            1 => mover.relocate(&mut self.slots),
            2 => self.index.relocate(mover),
            3 => mover.relocate(&mut self.spare),
            4 => self.records.relocate(mover),
            _ => match self.slots.get_mut(index - 5) {
                Some(slot) => mover.relocate(&mut slot.terminated),
                None => return false,
            },
        }
        true
    }
}

/// What stands for an item in the index.
#[inline]
fn tag(tags: &Option<RandomState>, item: &[u8], fingerprint: u32) -> u32 {
    match tags {
        None => fingerprint,
        // Half of a hash is a hash.
        #[allow(clippy::cast_possible_truncation)]
        Some(tags) => tags.hash_one(item) as u32,
    }
}

/// An item without the NUL behind it.
#[inline]
fn unterminated(terminated: &[u8]) -> &[u8] {
    &terminated[..terminated.len() - 1]
}

/// A copy of an item with a NUL behind it, without room to spare.
pub(super) fn terminated_copy_of(item: &[u8]) -> Result<Vec<u8>, OutOfMemory> {
    let mut copy = Vec::new();
    reserve_exact(&mut copy, item.len() + 1)?;
    copy.extend_from_slice(item);
    copy.push(0);
    Ok(copy)
}

/// A copy of `bytes` without room to spare.
pub(super) fn copy_of(bytes: &[u8]) -> Result<Vec<u8>, OutOfMemory> {
    let mut copy = Vec::new();
    reserve_exact(&mut copy, bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

#[cfg(test)]
impl Heap {
    /// Bytes held for items, spare ones included.
    pub fn item_bytes(&self) -> usize {
        let items: usize = (self.slots.iter())
            .map(|slot| slot.terminated.capacity())
            .sum();
        items + self.spare.capacity()
    }
}
