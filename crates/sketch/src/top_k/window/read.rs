//! Reads. While all panes count, the list answers. Later, when panes have expired that the next write will drop, the first
//! read computes the list that the write will have, and keeps it for the reads that follow.
//!
//! The list of a part of the window consists of items that were among the k most frequent items of one of its panes. A
//! candidate stores the newest such pane, and every part ends with the newest pane.

use super::cache::{Ranking, RankingCache};
use super::candidates::saturated;
use super::counts::Batch;
use super::counts::Step;
use super::heap_index::{HeapIndex, NONE};
use super::ranking::select_largest;
use super::{ItemHash, TopKWindow, sum_of_estimates};
use crate::memory::{OutOfMemory, with_capacity};
use crate::top_k::pairs::Pairs;
use crate::window::Panes;
use std::cmp::Reverse;

impl TopKWindow {
    /// The items of the list with counts above 0 and their counts, the largest count first. Items with equal counts are
    /// in the order of their bytes. Copies no item.
    ///
    /// Cost: O(n + k log k) for n candidates. The first read after a write in a pane after the newest one also takes the
    /// work of [`Timed::advance`](crate::window::Timed::advance); the first read in each later pane takes the work
    /// for the panes that have expired since.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses sixteen bytes per item of the list and eight per candidate.
    pub fn list_at(
        &self,
        panes: Panes,
        cache: &mut RankingCache,
    ) -> Result<impl ExactSizeIterator<Item = (&[u8], u32)>, OutOfMemory> {
        let listed = match self.later_step(panes) {
            None => self.listed()?,
            Some(step) if step.drops_all => Vec::new(),
            Some(step) => {
                let Ranking { top, .. } = self.ranking(&step, panes, cache)?;
                let mut listed = with_capacity(top.len())?;
                let largest_first = (0..top.len()).rev().map(|position| top.get(position));
                listed.extend(largest_first.take_while(|&(count, _)| count > 0));
                listed
            }
        };
        Ok(listed
            .into_iter()
            .map(|(count, number_plus_1)| (self.candidates.item(number_plus_1 - 1), count)))
    }

    /// Whether the item is in the list of these panes. Cost: one pass over the item and a hash lookup; if not all panes
    /// count, also log2(k) comparisons, and the first read takes the work of
    /// [`TopKWindow::list_at`].
    ///
    /// # Errors
    /// As [`TopKWindow::list_at`]. Only if not all panes count.
    pub fn query_at(
        &self,
        item: &[u8],
        panes: Panes,
        cache: &mut RankingCache,
    ) -> Result<bool, OutOfMemory> {
        let hash = ItemHash::new(item, self.rows);
        let Some(number) = self.candidates.find(item, hash.fingerprint) else {
            return Ok(false);
        };
        let candidate = self.candidates.get(number);
        let Some(step) = self.later_step(panes) else {
            return Ok(candidate.positions[HeapIndex::List as usize] != NONE);
        };
        if step.drops_all {
            return Ok(false);
        }
        let Ranking { sums, top, .. } = self.ranking(&step, panes, cache)?;
        let wanted = (saturated(sums[number as usize]), Reverse(item));
        let (mut low, mut high) = (0, top.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let (count, number_plus_1) = top.get(middle);
            let is_below = match number_plus_1.checked_sub(1) {
                None => true,
                Some(number) => (count, Reverse(self.candidates.item(number))) < wanted,
            };
            if is_below {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low < top.len() && top.get(low).1 == number + 1)
    }

    /// The estimated number of occurrences of an item in these panes; see [`TopKWindow::count_hashed_at`].
    #[must_use]
    pub fn count_at(&self, item: &[u8], panes: Panes) -> u32 {
        self.count_hashed_at(item, &ItemHash::new(item, self.rows), panes)
    }

    /// The estimated number of occurrences of an item, with its hash ([`TopKWindow::hash`]), in these
    /// panes: the sum of the largest counts of the buckets that hold its fingerprint, at
    /// most 2^32 - 1. Cost: one bucket per row and live pane and, beyond seven rows, one pass over the item.
    #[must_use]
    pub fn count_hashed_at(&self, item: &[u8], hash: &ItemHash, panes: Panes) -> u32 {
        let panes = self.timeline.counted(panes).map(|pane| self.pane(pane));
        saturated(sum_of_estimates(panes, item, hash, self.rows))
    }

    /// (count, candidate + 1) of the elements of the list with counts above 0, the largest count first.
    fn listed(&self) -> Result<Vec<(u32, u32)>, OutOfMemory> {
        let elements = || {
            let positions = (self.candidates.iter())
                .map(|candidate| candidate.positions[HeapIndex::List as usize]);
            positions
                .filter(|&position| position != NONE)
                .map(|position| self.list.elements.get(position as usize))
                .filter(|&(count, _)| count > 0)
        };
        let mut listed = with_capacity(elements().count())?;
        listed.extend(elements());
        listed.sort_unstable_by_key(|&(count, number_plus_1): &(u32, u32)| {
            (Reverse(count), self.candidates.item(number_plus_1 - 1))
        });
        Ok(listed)
    }

    /// The step that leaves these panes; `None` if the list answers their reads.
    fn later_step(&self, panes: Panes) -> Option<Step> {
        if self.timeline.counts_all(panes) && !panes.is_part() {
            return None;
        }
        let step = self.step_to(panes.oldest());
        (!step.is_idle || panes.is_part()).then_some(step)
    }

    /// The list of these panes, which `step` leaves. They are not empty.
    fn ranking<'c>(
        &self,
        step: &Step,
        panes: Panes,
        cache: &'c mut RankingCache,
    ) -> Result<&'c Ranking, OutOfMemory> {
        let stamp = self.stamp.number();
        if cache
            .ranking
            .as_ref()
            .is_none_or(|kept| kept.stamp != stamp)
        {
            cache.changes += 1;
            cache.ranking = None;
            let len = self.candidates.len();
            let mut sums = with_capacity(len as usize)?;
            sums.resize(len as usize, 0);
            cache.ranking = Some(Ranking {
                stamp,
                panes: None,
                sums,
                top: Pairs::zeroed(self.k().min(len).into())?,
            });
        }
        let ranking = cache.ranking.as_mut().expect("created above");
        match ranking.panes {
            Some(before) if before == panes => {}
            _ if panes.is_part() => self.rank_part(ranking, step, panes),
            Some(before) if !before.is_part() && before.oldest() < panes.oldest() => {
                let step = self.step(before.oldest(), panes.oldest(), None);
                if !step.is_idle {
                    self.rank(ranking, &step, |sums, number| sums[number as usize]);
                }
            }
            _ => self.rank(ranking, step, |_, number| self.candidates.closed(number)),
        }
        ranking.panes = Some(panes);
        Ok(ranking)
    }

    /// Computes the list after a step. `known` returns the sum of a candidate from which the step starts; its first
    /// argument are the sums of the list so far.
    fn rank(&self, ranking: &mut Ranking, step: &Step, known: impl Fn(&[u64], u32) -> u64) {
        let sums = &mut ranking.sums;
        let mut batch = Batch::new(self.candidates.len(), self.rows.depth);
        let mut numbers = 0..self.candidates.len();
        while !numbers.is_empty() {
            for counts in batch.count(self, step, &mut numbers, |number| known(sums, number)) {
                sums[counts.number as usize] = counts.sum;
            }
        }
        self.select(ranking);
    }

    /// Computes the list of a part of the window.
    fn rank_part(&self, ranking: &mut Ranking, step: &Step, panes: Panes) {
        let slots = self.slots_from(panes.oldest());
        let is_kept = |number: u32| {
            let slot = usize::from(self.candidates.kept_by(number));
            slots.get(slot).copied().unwrap_or(false)
        };
        let is_in_heap =
            |number: u32| self.candidates.get(number).positions[HeapIndex::Heap as usize] != NONE;
        ranking.sums.fill(0);
        let mut batch = Batch::new(self.candidates.len(), self.rows.depth);
        let mut numbers = (0..self.candidates.len())
            .filter(|&number| is_kept(number) || is_in_heap(number))
            .peekable();
        while numbers.peek().is_some() {
            let known = |number| self.candidates.closed(number);
            for counts in batch.count(self, step, &mut numbers, known) {
                // As when a pane closes, an item without occurrences is not among its most frequent ones.
                if counts.newest > 0 || is_kept(counts.number) {
                    ranking.sums[counts.number as usize] = counts.sum;
                }
            }
        }
        self.select(ranking);
    }

    /// Selects the list from the sums.
    fn select(&self, Ranking { sums, top, .. }: &mut Ranking) {
        top.bytes_mut().fill(0);
        let counts = sums.iter().copied().map(saturated).zip(0..);
        select_largest(top, counts, &self.candidates);
    }
}
