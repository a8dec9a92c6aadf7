//! [`FilterList`]: the filters of a chain. The only filter of a chain is stored in the chain itself.

use super::{Filter, FilterShape};
use crate::blocks::{BlockMover, BlockVisitor};
use crate::memory::OutOfMemory;
use std::mem::take;
use std::ops::{Deref, DerefMut};

/// The filters of a chain, oldest first. Most chains have one filter, for which there is no block of a list: neither its
/// memory nor an access to it.
#[derive(Debug)]
pub(crate) enum FilterList<S> {
    /// One filter.
    One(Filter<S>),
    /// Several filters; none while the chain is created.
    Many {
        /// The filters.
        filters: Vec<Filter<S>>,
        /// The items of all filters but the newest, saturating.
        older_items: u64,
    },
}

impl<S> Default for FilterList<S> {
    fn default() -> Self {
        Self::Many {
            filters: Vec::new(),
            older_items: 0,
        }
    }
}

impl<S: FilterShape> FilterList<S> {
    /// Appends a filter. `reserve` reserves memory for a number of filters in total.
    pub fn push(
        &mut self,
        filter: Filter<S>,
        reserve: impl FnOnce(&mut Vec<Filter<S>>, usize) -> Result<(), OutOfMemory>,
    ) -> Result<(), OutOfMemory> {
        let older_items = self.items();
        match self {
            Self::Many { filters, .. } if filters.is_empty() => *self = Self::One(filter),
            Self::Many {
                filters,
                older_items: counted,
            } => {
                reserve(filters, filters.len() + 1)?;
                filters.push(filter);
                *counted = older_items;
            }
            Self::One(_) => {
                let mut filters = Vec::new();
                reserve(&mut filters, 2)?;
                if let Self::One(first) = take(self) {
                    filters.push(first);
                }
                filters.push(filter);
                *self = Self::Many {
                    filters,
                    older_items,
                };
            }
        }
        Ok(())
    }

    /// A copy. `reserve` is that of [`FilterList::push`].
    pub fn copy(
        &self,
        reserve: impl FnOnce(&mut Vec<Filter<S>>, usize) -> Result<(), OutOfMemory>,
    ) -> Result<Self, OutOfMemory> {
        Ok(match self {
            Self::One(filter) => Self::One(filter.try_clone()?),
            Self::Many {
                filters,
                older_items,
            } => {
                let mut copies = Vec::new();
                reserve(&mut copies, filters.len())?;
                for filter in filters {
                    copies.push(filter.try_clone()?);
                }
                Self::Many {
                    filters: copies,
                    older_items: *older_items,
                }
            }
        })
    }

    /// Removes the newest filters until `len` are left.
    pub fn truncate(&mut self, len: usize) {
        let Self::Many { filters, .. } = self else {
            return;
        };
        filters.truncate(len);
        if let (true, Some(first)) = (len == 1, filters.pop()) {
            *self = Self::One(first);
        }
        self.count_items();
    }

    /// The items of all filters, saturating.
    #[inline]
    pub fn items(&self) -> u64 {
        let newest = self.last().map_or(0, Filter::items);
        self.older_items().saturating_add(newest)
    }

    /// The items of all filters but the newest, saturating.
    #[inline(always)]
    pub fn older_items(&self) -> u64 {
        match self {
            Self::One(_) => 0,
            Self::Many { older_items, .. } => *older_items,
        }
    }

    /// Adds up the items of the filters, after their numbers were changed.
    pub fn count_items(&mut self) {
        if let Self::Many {
            filters,
            older_items,
        } = self
        {
            let older = filters.split_last().map_or(&[][..], |(_, older)| older);
            *older_items = (older.iter().map(Filter::items)).fold(0, u64::saturating_add);
        }
    }

    /// The filters but the newest.
    #[inline(always)]
    pub fn older(&self) -> &[Filter<S>] {
        match self {
            Self::One(_) => &[],
            Self::Many { filters, .. } => filters.split_last().map_or(&[], |(_, older)| older),
        }
    }

    /// The newest filter.
    #[inline(always)]
    pub fn newest(&self) -> Option<&Filter<S>> {
        match self {
            Self::One(filter) => Some(filter),
            Self::Many { filters, .. } => filters.last(),
        }
    }

    /// The newest filter, for writing.
    #[inline(always)]
    pub fn newest_mut(&mut self) -> Option<&mut Filter<S>> {
        match self {
            Self::One(filter) => Some(filter),
            Self::Many { filters, .. } => filters.last_mut(),
        }
    }

    /// Passes the block of the list, if there is one, and those of the filters to `visitor`.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        if let Self::Many { filters, .. } = self {
            visitor.visit(filters);
        }
        for filter in self.iter() {
            filter.block().visit(visitor);
        }
    }

    /// Passes a block to `mover`: that of the list has number 0 also if there is none, that of filter i number i + 1. Returns
    /// false after the last.
    pub fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        let Some(filter) = index.checked_sub(1) else {
            if let Self::Many { filters, .. } = self {
                mover.relocate(filters);
            }
            return true;
        };
        let Some(filter) = self.get_mut(filter) else {
            return false;
        };
        filter.block_mut().relocate(mover);
        true
    }
}

impl<S> Deref for FilterList<S> {
    type Target = [Filter<S>];
    #[inline(always)]
    fn deref(&self) -> &[Filter<S>] {
        match self {
            Self::One(filter) => std::slice::from_ref(filter),
            Self::Many { filters, .. } => filters,
        }
    }
}

impl<S> DerefMut for FilterList<S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [Filter<S>] {
        match self {
            Self::One(filter) => std::slice::from_mut(filter),
            Self::Many { filters, .. } => filters,
        }
    }
}
