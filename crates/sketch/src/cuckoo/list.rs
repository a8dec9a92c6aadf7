//! [`SubFilters`]: the sub-filters of a cuckoo filter. The only one of a filter is stored in the filter itself.

use super::MAX_SUB_FILTERS;
use super::sub_filter::SubFilter;
use crate::blocks::{BlockMover, BlockVisitor};
use crate::buffer::NarrowVec;
use crate::memory::{OutOfMemory, capacity_for, reserve_for, shrink};
use std::mem::take;
use std::ops::{Deref, DerefMut};

/// The sub-filters, oldest first. Most filters have one, for which there is no block of a list: neither its memory nor an
/// access to it.
#[derive(Debug)]
pub(super) enum SubFilters {
    /// One sub-filter.
    One(SubFilter),
    /// Several; none while the filter is created.
    Many(NarrowVec<SubFilter>),
}

impl Default for SubFilters {
    fn default() -> Self {
        Self::Many(NarrowVec::default())
    }
}

impl SubFilters {
    /// Reserves memory for `len` sub-filters in total. The capacity of the list depends on `len` only.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses.
    pub fn reserve(&mut self, len: usize) -> Result<(), OutOfMemory> {
        if len < 2 {
            return Ok(());
        }
        let mut longer = match self {
            Self::One(_) => Vec::new(),
            Self::Many(list) => list.take(),
        };
        let reserved = reserve_for(&mut longer, len, MAX_SUB_FILTERS);
        match (reserved, take(self)) {
            (Err(_), one @ Self::One(_)) => *self = one,
            (Ok(()), Self::One(first)) => {
                longer.push(first);
                *self = Self::Many(longer.into());
            }
            (_, Self::Many(_)) => *self = Self::Many(longer.into()),
        }
        reserved
    }

    /// The bytes of the list of `len` sub-filters.
    pub fn list_bytes(len: usize) -> u64 {
        match len {
            0 | 1 => 0,
            _ => (capacity_for(len, MAX_SUB_FILTERS) * size_of::<SubFilter>()) as u64,
        }
    }

    /// Appends a sub-filter.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses.
    pub fn push(&mut self, sub_filter: SubFilter) -> Result<(), OutOfMemory> {
        self.reserve(self.len() + 1)?;
        match self {
            Self::Many(list) if list.capacity() > 0 => {
                let mut longer = list.take();
                longer.push(sub_filter);
                *list = longer.into();
            }
            _ => *self = Self::One(sub_filter),
        }
        Ok(())
    }

    /// Frees the newest sub-filters until `len` are left, at least one.
    pub fn truncate(&mut self, len: usize) {
        let Self::Many(list) = self else {
            return;
        };
        let mut shorter = list.take();
        shorter.truncate(len.max(1));
        if shorter.len() > 1 {
            shrink(&mut shorter, MAX_SUB_FILTERS);
            *list = shorter.into();
        } else if let Some(only) = shorter.pop() {
            *self = Self::One(only);
        }
    }

    /// A copy.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut copy = Self::default();
        copy.reserve(self.len())?;
        for sub_filter in self.iter() {
            copy.push(sub_filter.try_clone()?)?;
        }
        Ok(copy)
    }

    /// Passes the block of the list, if there is one, and those of the sub-filters to `visitor`.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        if let Self::Many(list) = self {
            list.visit(visitor);
        }
        for sub_filter in self.iter() {
            sub_filter.slots().visit(visitor);
        }
    }

    /// Passes a block to `mover`: that of the list has number 0 also if there is none, that of sub-filter i number i + 1. Returns
    /// false after the last.
    pub fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        let Some(sub_filter) = index.checked_sub(1) else {
            if let Self::Many(list) = self {
                list.relocate(mover);
            }
            return true;
        };
        let Some(sub_filter) = self.get_mut(sub_filter) else {
            return false;
        };
        sub_filter.slots_mut().relocate(mover);
        true
    }
}

impl Deref for SubFilters {
    type Target = [SubFilter];
    #[inline(always)]
    fn deref(&self) -> &[SubFilter] {
        match self {
            Self::One(sub_filter) => std::slice::from_ref(sub_filter),
            Self::Many(list) => list,
        }
    }
}

impl DerefMut for SubFilters {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [SubFilter] {
        match self {
            Self::One(sub_filter) => std::slice::from_mut(sub_filter),
            Self::Many(list) => list,
        }
    }
}

impl PartialEq for SubFilters {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for SubFilters {}
