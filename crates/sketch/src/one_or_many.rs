//! [`OneOrMany`]: the parts of a filter. The only part of a filter is stored in the filter itself.

use crate::blocks::{BlockMover, BlockVisitor, Blocks};
use crate::buffer::{Buffer, NarrowVec};
use crate::memory::{OutOfMemory, reserve_exact, shrink, with_capacity};
use std::mem::take;
use std::ops::{Deref, DerefMut};

/// A part of a filter, with one block.
pub(crate) trait Part: Sized {
    /// The capacity of a list of `len` parts. It depends on `len` only, so that copies and loaded filters use as much memory as
    /// the original.
    fn capacity_for(len: usize) -> usize;
    /// A copy.
    fn try_clone(&self) -> Result<Self, OutOfMemory>;
    /// The block.
    fn block(&self) -> &Buffer;
    /// The block, for relocation.
    fn block_mut(&mut self) -> &mut Buffer;
}

/// Parts, oldest first. Most filters have one, for which there is no block of a list: neither its memory nor an access to it.
#[derive(Debug)]
pub(crate) enum OneOrMany<T, S> {
    /// One part.
    One(T),
    /// Several parts, or none while the filter is created; and a summary of them, which the filter updates.
    Many(NarrowVec<T>, S),
}

impl<T, S: Default> Default for OneOrMany<T, S> {
    fn default() -> Self {
        Self::Many(NarrowVec::default(), S::default())
    }
}

impl<T: Part, S: Copy + Default> OneOrMany<T, S> {
    /// Appends a part.
    pub fn push(&mut self, part: T) -> Result<(), OutOfMemory> {
        match self {
            Self::Many(parts, _) if parts.is_empty() => *self = Self::One(part),
            Self::Many(parts, _) => parts.change(|parts| {
                if parts.len() == parts.capacity() {
                    reserve_exact(parts, T::capacity_for(parts.len() + 1) - parts.len())?;
                }
                parts.push(part);
                Ok(())
            })?,
            Self::One(_) => {
                let mut parts = with_capacity(T::capacity_for(2))?;
                if let Self::One(first) = take(self) {
                    parts.extend([first, part]);
                }
                *self = Self::Many(parts.into(), S::default());
            }
        }
        Ok(())
    }

    /// A copy.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(match self {
            Self::One(part) => Self::One(part.try_clone()?),
            Self::Many(parts, summary) => {
                let mut copies = with_capacity(T::capacity_for(parts.len()))?;
                for part in parts.iter() {
                    copies.push(part.try_clone()?);
                }
                Self::Many(copies.into(), *summary)
            }
        })
    }

    /// Removes the newest parts until `len` are left, at least one. The list keeps its block if the allocator refuses the
    /// smaller one.
    pub fn truncate(&mut self, len: usize) {
        let Self::Many(parts, _) = self else {
            return;
        };
        let only = parts.change(|parts| {
            parts.truncate(len.max(1));
            if parts.len() == 1 {
                return parts.pop();
            }
            shrink(parts, T::capacity_for(parts.len()));
            None
        });
        if let Some(only) = only {
            *self = Self::One(only);
        }
    }

    /// The parts but the newest.
    #[inline(always)]
    pub fn older(&self) -> &[T] {
        match self {
            Self::One(_) => &[],
            Self::Many(parts, _) => parts.split_last().map_or(&[], |(_, older)| older),
        }
    }

    /// The newest part.
    #[inline(always)]
    pub fn newest(&self) -> Option<&T> {
        match self {
            Self::One(part) => Some(part),
            Self::Many(parts, _) => parts.last(),
        }
    }

    /// The newest part, for writing.
    #[inline(always)]
    pub fn newest_mut(&mut self) -> Option<&mut T> {
        match self {
            Self::One(part) => Some(part),
            Self::Many(parts, _) => parts.last_mut(),
        }
    }

    /// The summary of several parts, the default of others.
    #[inline(always)]
    pub fn summary(&self) -> S {
        match self {
            Self::One(_) => S::default(),
            Self::Many(_, summary) => *summary,
        }
    }

    /// Replaces the summary of several parts.
    pub fn set_summary(&mut self, new: S) {
        if let Self::Many(_, summary) = self {
            *summary = new;
        }
    }
}

/// The block of the list has number 0 also if there is none, that of part i number i + 1.
impl<T: Part, S: Copy + Default> Blocks for OneOrMany<T, S> {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        if let Self::Many(parts, _) = self {
            parts.visit(visitor);
        }
        for part in self.iter() {
            part.block().visit(visitor);
        }
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        match (index.checked_sub(1), &mut *self) {
            (None, Self::Many(parts, _)) => parts.change(|parts| mover.relocate(parts)),
            (None, Self::One(_)) => {}
            (Some(part), _) => match self.get_mut(part) {
                Some(part) => part.block_mut().relocate(mover),
                None => return false,
            },
        }
        true
    }
}

impl<T, S> Deref for OneOrMany<T, S> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        match self {
            Self::One(part) => std::slice::from_ref(part),
            Self::Many(parts, _) => parts,
        }
    }
}

impl<T, S> DerefMut for OneOrMany<T, S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::One(part) => std::slice::from_mut(part),
            Self::Many(parts, _) => parts,
        }
    }
}

impl<T: PartialEq, S> PartialEq for OneOrMany<T, S> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq, S> Eq for OneOrMany<T, S> {}
