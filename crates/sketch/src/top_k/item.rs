//! Items in slots: a slot contains a short item, a longer one has a block of its own.

use crate::blocks::{BlockChanges, BlockMover, BlockVisitor};
use crate::memory::{Budget, OutOfMemory, copy_of, with_capacity};

/// The length of the longest item that its slot contains.
pub(super) const MAX_SHORT: usize = 14;

/// Up to this many bytes, the memory of a replaced item is kept for the next one.
const MAX_SPARE_BYTES: usize = 4096;

/// An item and a NUL, as in the RDB format.
#[derive(Debug)]
pub(super) enum Item {
    /// The length, and the item with zeros after it.
    Short(u8, [u8; MAX_SHORT + 1]),
    /// With the NUL.
    Long(Vec<u8>),
}

// As many as a vector.
const _: () = assert!(size_of::<Item>() == 24);

impl Item {
    /// A copy without spare capacity.
    pub fn copy_of(item: &[u8]) -> Result<Self, OutOfMemory> {
        if item.len() <= MAX_SHORT {
            return Ok(Self::short(item));
        }
        let mut block = with_capacity(item.len() + 1)?;
        terminate(&mut block, item);
        Ok(Self::Long(block))
    }

    /// Of at most [`MAX_SHORT`] bytes.
    #[inline]
    fn short(item: &[u8]) -> Self {
        let mut bytes = [0; MAX_SHORT + 1];
        bytes[..item.len()].copy_from_slice(item);
        Self::Short(item.len() as u8, bytes)
    }

    /// The item.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Short(len, bytes) => &bytes[..usize::from(*len)],
            Self::Long(block) => &block[..block.len() - 1],
        }
    }

    /// The item and a NUL.
    pub fn terminated(&self) -> &[u8] {
        match self {
            Self::Short(len, bytes) => &bytes[..=usize::from(*len)],
            Self::Long(block) => block,
        }
    }

    /// The capacity of its block.
    pub fn block_bytes(&self) -> usize {
        match self {
            Self::Short(..) => 0,
            Self::Long(block) => block.capacity(),
        }
    }

    /// Passes its block, if there is one, to `visitor`.
    #[inline]
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        if let Self::Long(block) = self {
            visitor.visit(block);
        }
    }

    /// Passes its block, if there is one, to `mover`, which may move it.
    pub fn relocate(&mut self, mover: &mut impl BlockMover) {
        if let Self::Long(block) = self {
            mover.relocate(block);
        }
    }
}

/// Memory for the next item. May contain the one that was replaced last.
#[derive(Debug)]
pub(super) struct Spare(Item);

impl Default for Spare {
    fn default() -> Self {
        Self(Item::short(b""))
    }
}

impl Spare {
    /// Whether it is too small for an item of this length, or too large to be kept.
    #[inline]
    pub fn lacks(&self, item_len: usize) -> bool {
        match &self.0 {
            Item::Short(..) => item_len > MAX_SHORT,
            Item::Long(block) => block.capacity() <= item_len || block.capacity() > MAX_SPARE_BYTES,
        }
    }

    /// Allocates the memory for an item of this length if it lacks it. Requests the block from `budget`; `changes` records the freed
    /// and allocated blocks.
    #[inline]
    pub fn reserve(
        &mut self,
        item_len: usize,
        budget: Budget<'_>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Result<(), OutOfMemory> {
        if !self.lacks(item_len) {
            return Ok(());
        }
        if item_len <= MAX_SHORT {
            self.free(changes);
            return Ok(());
        }
        budget.request(item_len as u64 + 1)?;
        self.free(changes);
        self.0 = Item::Long(with_capacity(item_len + 1)?);
        self.visit(&mut changes.allocated);
        Ok(())
    }

    /// The bytes that [`Spare::reserve`] allocates less those that it frees.
    pub fn growth(&self, item_len: usize) -> usize {
        match item_len {
            ..=MAX_SHORT => 0,
            long => (long + 1).saturating_sub(self.0.block_bytes()),
        }
    }

    /// The item in this memory, which the caller has reserved. A block that is far too large is replaced: otherwise short items could hold
    /// the memory of long ones.
    #[inline]
    pub fn fill(&mut self, item: &[u8], changes: &mut BlockChanges<impl BlockVisitor>) -> Item {
        match std::mem::take(self).0 {
            Item::Long(mut block) if item.len() > MAX_SHORT => {
                block.clear();
                terminate(&mut block, item);
                // If the smaller block is refused, the large one stays.
                if block.capacity() > 2 * block.len() + 64
                    && let Ok(exact) = copy_of(&block)
                {
                    changes.freed.visit(&block);
                    changes.allocated.visit(&exact);
                    block = exact;
                }
                Item::Long(block)
            }
            other => {
                other.visit(&mut changes.freed);
                Item::short(item)
            }
        }
    }

    /// Keeps an item that was replaced, with its memory, in place of what was kept before.
    #[inline]
    pub fn keep(&mut self, item: Item, changes: &mut BlockChanges<impl BlockVisitor>) -> &[u8] {
        self.visit(&mut changes.freed);
        self.0 = item;
        self.0.bytes()
    }

    /// Frees the memory.
    pub fn free(&mut self, changes: &mut BlockChanges<impl BlockVisitor>) {
        self.visit(&mut changes.freed);
        *self = Self::default();
    }

    /// The capacity of its block.
    #[cfg(test)]
    pub fn block_bytes(&self) -> usize {
        self.0.block_bytes()
    }

    /// As [`Item::visit`].
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        self.0.visit(visitor);
    }

    /// As [`Item::relocate`].
    pub fn relocate(&mut self, mover: &mut impl BlockMover) {
        self.0.relocate(mover);
    }
}

fn terminate(block: &mut Vec<u8>, item: &[u8]) {
    block.extend_from_slice(item);
    block.push(0);
}
