//! The stored panes of a sketch, and the step to a later pane.

use super::{Panes, Timeline, UnitRange};
use crate::blocks::{BlockMover, BlockVisitor};
use crate::format::{FormatError, Sink, Source};
use crate::memory::{Budget, OutOfMemory, capacity_for, shrink, with_capacity};
use std::mem::take;
use std::ops::Range;

/// A live pane with increments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoredPane<T> {
    /// The first unit of the pane. Its level follows from the newest pane.
    pub first: u64,
    /// What the pane contains.
    pub content: T,
}

/// The live panes with increments, oldest first. A sketch may keep its newest pane here or elsewhere.
#[derive(Debug, PartialEq, Eq)]
pub struct PaneList<T> {
    panes: Vec<StoredPane<T>>,
}

impl<T> Default for PaneList<T> {
    fn default() -> Self {
        Self { panes: Vec::new() }
    }
}

impl<T> PaneList<T> {
    /// All of them, oldest first.
    #[must_use]
    #[inline]
    pub fn all(&self) -> &[StoredPane<T>] {
        &self.panes
    }

    /// Those that count, oldest first. Cost: logarithmic in the number of panes.
    #[must_use]
    #[inline]
    pub fn counted(&self, panes: Panes) -> &[StoredPane<T>] {
        &self.panes[self.positions(panes)]
    }

    /// The positions of those that count in [`PaneList::all`]. Cost: logarithmic in the number of panes.
    #[must_use]
    #[inline]
    pub fn positions(&self, panes: Panes) -> Range<usize> {
        let before = |unit| self.panes.partition_point(|pane| pane.first < unit);
        let start = match self.panes.first() {
            Some(pane) if pane.first < panes.oldest() => before(panes.oldest()),
            _ => 0,
        };
        let end = match self.panes.last() {
            Some(pane) if pane.first >= panes.end() => before(panes.end()),
            _ => self.panes.len(),
        };
        start..end
    }

    /// The content of the pane that begins with this unit. Cost: logarithmic in the number of panes.
    #[must_use]
    pub fn get(&self, first: u64) -> Option<&T> {
        let at = self.panes.binary_search_by_key(&first, |pane| pane.first);
        at.ok().map(|at| &self.panes[at].content)
    }

    /// As [`PaneList::get`], to change it.
    #[must_use]
    pub fn get_mut(&mut self, first: u64) -> Option<&mut T> {
        let at = self.panes.binary_search_by_key(&first, |pane| pane.first);
        at.ok().map(|at| &mut self.panes[at].content)
    }

    /// The content of the newest pane, if it is in the list. Cost: constant.
    #[must_use]
    #[inline]
    pub fn newest(&self, timeline: &Timeline) -> Option<&T> {
        let last = self.panes.last()?;
        (last.first == timeline.newest()).then_some(&last.content)
    }

    /// As [`PaneList::newest`], to change it.
    #[must_use]
    #[inline]
    pub fn newest_mut(&mut self, timeline: &Timeline) -> Option<&mut T> {
        let last = self.panes.last_mut()?;
        (last.first == timeline.newest()).then_some(&mut last.content)
    }

    /// The content of the last pane, to change it, and the panes before it.
    #[must_use]
    #[inline]
    pub fn split_last_mut(&mut self) -> Option<(&mut T, &[StoredPane<T>])> {
        let (last, before) = self.panes.split_last_mut()?;
        Some((&mut last.content, before))
    }

    /// The content of the pane at a position, to change it, and the panes after it.
    #[must_use]
    pub fn split_mut(&mut self, position: usize) -> Option<(&mut T, &[StoredPane<T>])> {
        let (pane, after) = self.panes.get_mut(position..)?.split_first_mut()?;
        Some((&mut pane.content, after))
    }

    /// The contents, oldest pane first, to change them.
    pub fn contents_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.panes.iter_mut().map(|pane| &mut pane.content)
    }

    /// The capacity of a list of this many panes.
    fn capacity_for(len: usize, timeline: &Timeline) -> usize {
        capacity_for(len, timeline.window().live_panes())
    }

    /// Bytes that [`PaneList::reserve`] requests for a list of this many panes.
    #[must_use]
    pub fn growth(&self, len: usize, timeline: &Timeline) -> u64 {
        let capacity = Self::capacity_for(len, timeline);
        let more = capacity.saturating_sub(self.panes.capacity());
        (more * size_of::<StoredPane<T>>()) as u64
    }

    /// Allocates a larger block for a list of this many panes in total, if it is needed. Nothing changes until it is passed to
    /// [`PaneList::set_block`]. Requests its bytes from `budget`.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the budget or the allocator refuses.
    pub fn block_for(
        &self,
        len: usize,
        timeline: &Timeline,
        budget: Budget<'_>,
    ) -> Result<Option<Vec<StoredPane<T>>>, OutOfMemory> {
        let growth = self.growth(len, timeline);
        if growth == 0 {
            return Ok(None);
        }
        budget.request(growth)?;
        with_capacity(Self::capacity_for(len, timeline)).map(Some)
    }

    /// Replaces the block by a larger one from [`PaneList::block_for`].
    pub fn set_block(&mut self, block: Option<Vec<StoredPane<T>>>) {
        if let Some(mut larger) = block {
            larger.append(&mut self.panes);
            self.panes = larger;
        }
    }

    /// Reserves memory for a list of this many panes in total.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the budget or the allocator refuses; then nothing has changed.
    pub fn reserve(
        &mut self,
        len: usize,
        timeline: &Timeline,
        budget: Budget<'_>,
    ) -> Result<(), OutOfMemory> {
        let block = self.block_for(len, timeline, budget)?;
        self.set_block(block);
        Ok(())
    }

    /// Reduces the capacity to that of a list of `len` panes, at least of those that it has. It stays larger if the allocator
    /// refuses the smaller block.
    pub fn shrink(&mut self, len: usize, timeline: &Timeline) {
        let capacity = Self::capacity_for(len.max(self.panes.len()), timeline);
        shrink(&mut self.panes, capacity);
    }

    /// Adds a pane that begins after all others. Allocates nothing if it was reserved.
    pub fn push(&mut self, first: u64, content: T) {
        self.panes.push(StoredPane { first, content });
    }

    /// Those inside the units of a later pane, oldest first. Cost: logarithmic in the number of panes.
    #[must_use]
    pub fn within(&self, range: UnitRange) -> &[StoredPane<T>] {
        let at = |unit| self.panes.partition_point(|pane| pane.first < unit);
        &self.panes[at(range.first)..at(range.end)]
    }

    /// Adds a pane, which is not in the list. Allocates nothing if it was reserved.
    pub fn insert(&mut self, first: u64, content: T) {
        let at = self.panes.partition_point(|pane| pane.first < first);
        self.panes.insert(at, StoredPane { first, content });
    }

    /// Writes the number of panes, and the first unit and the content of each.
    pub fn save(&self, sink: &mut dyn Sink, mut save: impl FnMut(&T, &mut dyn Sink)) {
        sink.write_unsigned(self.panes.len() as u64);
        for pane in &self.panes {
            sink.write_unsigned(pane.first);
            save(&pane.content, sink);
        }
    }

    /// Reads what [`PaneList::save`] writes.
    ///
    /// # Errors
    /// [`FormatError::Invalid`] if a number is not the first unit of a live pane, or not above those before it; the errors
    /// of the source and of `load`.
    pub fn load(
        timeline: &Timeline,
        source: &mut dyn Source,
        mut load: impl FnMut(&mut dyn Source) -> Result<T, FormatError>,
    ) -> Result<Self, FormatError> {
        let len = source.read_unsigned()?;
        if len > timeline.window().live_panes() as u64 {
            return Err(FormatError::Invalid("the number of panes is out of range"));
        }
        let (mut list, mut next) = (Self::default(), 0);
        list.reserve(len as usize, timeline, Budget::UNLIMITED)?;
        for _ in 0..len {
            let first = source.read_unsigned()?;
            if first < next || timeline.level_of(first).is_none() {
                return Err(FormatError::Invalid("a pane is not live or not in order"));
            }
            // The number of a pane has 63 bits.
            next = first + 1;
            list.push(first, load(source)?);
        }
        Ok(list)
    }

    /// Removes the panes for which `is_kept` returns false.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&mut StoredPane<T>) -> bool) {
        self.panes.retain_mut(|pane| is_kept(pane));
    }

    /// Removes all panes and frees the block.
    pub fn clear(&mut self) {
        self.panes = Vec::new();
    }

    /// Bytes of the block of the list.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        self.panes.capacity() * size_of::<StoredPane<T>>()
    }

    /// Visits the block of the list, but not those of the contents.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.panes);
    }

    /// Passes the block of the list to a mover.
    pub fn relocate(&mut self, mover: &mut impl BlockMover) {
        mover.relocate(&mut self.panes);
    }
}

impl<T: Default> PaneList<T> {
    /// Makes `newest` the newest pane: merges and removes panes. Returns false, and changes nothing, if it is not above the
    /// newest pane of `timeline`.
    ///
    /// `merge` adds the content of a younger pane to that of an older one, and receives the panes that are younger than both, as they
    /// were before; `expire` receives the content of a pane that expires. If the result depends on both contents only, the content of a
    /// pane is the same after any steps to the same newest pane: it is the merge of its halves, which are made in the same way; a half
    /// that is not stored is no operand.
    ///
    /// A pane that expires is not merged before. The memory of the list stays reserved, see [`PaneList::shrink`]. Cost: one
    /// step per stored pane, and the merges, of which there are fewer than stored panes.
    pub fn advance(
        &mut self,
        timeline: &mut Timeline,
        newest: u64,
        mut merge: impl FnMut(&mut T, T, &[StoredPane<T>]),
        mut expire: impl FnMut(T),
    ) -> bool {
        if timeline.advance(newest).is_none() {
            return false;
        }
        let mut pane_of = timeline.ascending();
        // The panes before `len` are those of the result, except that the last ones are not merged to the end: those from
        // `start` on become one pane.
        let (mut len, mut start, mut current) = (0, 0, None);
        for next in 0..self.panes.len() {
            let first = self.panes[next].first;
            let Some((range, _)) = pane_of(first) else {
                expire(take(&mut self.panes[next].content));
                continue;
            };
            if current != Some(range.first) {
                self.finish_pane(&mut len, start, current, next, &mut merge);
                (start, current) = (len, Some(range.first));
            } else {
                let level = common_level(self.panes[len - 1].first, first);
                self.merge_last(&mut len, start, level, next, &mut merge);
            }
            self.panes.swap(len, next);
            len += 1;
        }
        let next = self.panes.len();
        self.finish_pane(&mut len, start, current, next, &mut merge);
        self.panes.truncate(len);
        true
    }

    /// Merges the last two of the panes from `start` to `len` while the level of their merge is below `level`. The panes from `next` on
    /// are younger.
    fn merge_last(
        &mut self,
        len: &mut usize,
        start: usize,
        level: u32,
        next: usize,
        merge: &mut impl FnMut(&mut T, T, &[StoredPane<T>]),
    ) {
        while *len - start >= 2 {
            let (before, rest) = self.panes.split_at_mut(next);
            let [.., older, younger] = &mut before[..*len] else {
                break;
            };
            if common_level(older.first, younger.first) >= level {
                break;
            }
            merge(&mut older.content, take(&mut younger.content), rest);
            *len -= 1;
        }
    }

    /// Merges the panes from `start` to `len`, which become the pane that begins at `first`, if there are any.
    fn finish_pane(
        &mut self,
        len: &mut usize,
        start: usize,
        first: Option<u64>,
        next: usize,
        merge: &mut impl FnMut(&mut T, T, &[StoredPane<T>]),
    ) {
        self.merge_last(len, start, u32::MAX, next, merge);
        if let (Some(first), Some(pane)) = (first, self.panes.get_mut(start)) {
            pane.first = first;
        }
    }
}

/// The level of the smallest pane that would contain both units.
fn common_level(one: u64, other: u64) -> u32 {
    u64::BITS - (one ^ other).leading_zeros()
}
