//! Reads. While the newest pane is the current one and all panes count, the list answers. Otherwise the first read computes the
//! list of the panes that count, and keeps it for the reads that follow.
//!
//! The list of some panes consists of candidates, whichever pane lists them.

use super::cache::{Ranking, RankingCache};
use super::candidates::{Candidate, HeapIndex, NONE, saturated};
use super::largest::{Largest, Order};
use super::table::{BUCKET_BYTES, CELL_BYTES, CELLS, HEAVY_CELLS, fingerprint_of};
use super::{ItemHash, Pane, TopKWindow, sum_of_estimates};
use crate::memory::{OutOfMemory, optional, with_capacity};
use crate::top_k::item_hash::order;
use crate::top_k::pairs::Pairs;
use crate::window::{Panes, StoredPane};
use std::cell::Cell;
use std::mem::take;
use std::ops::Range;

/// The largest number of cells that [`TopKWindow::unnamed_above`] reads, about. A candidate that it compares counts as a cell.
const MAX_CELLS: usize = 500_000;

/// The largest number of words of [`Fingerprints`], 1 MiB.
const MAX_WORDS: usize = 1 << 17;

/// In place of a sum that was not read. Sums are smaller.
const UNKNOWN: u64 = u64::MAX;

/// The fingerprints that occur in some panes: a bit for each value of their low bits, sixteen per cell of a table.
struct Fingerprints(Vec<u64>);

impl Fingerprints {
    /// Cost: a pass over the tables.
    fn of(panes: &[StoredPane<Pane>]) -> Result<Self, OutOfMemory> {
        let bytes = panes.iter().map(|pane| pane.content.table.bytes.len());
        let words = bytes.max().unwrap_or(0).div_ceil(CELL_BYTES * 4);
        let words = words.next_power_of_two().min(MAX_WORDS);
        let mut bits = with_capacity(words)?;
        bits.resize(words, 0);
        let mut occurring = Self(bits);
        for pane in panes {
            for fingerprint in pane.content.table.fingerprints() {
                let (word, bit) = occurring.place(fingerprint);
                occurring.0[word] |= bit;
            }
        }
        Ok(occurring)
    }

    /// False only if no pane has it.
    fn contains(&self, fingerprint: u32) -> bool {
        let (word, bit) = self.place(fingerprint);
        self.0[word] & bit != 0
    }

    fn place(&self, fingerprint: u32) -> (usize, u64) {
        let word = (fingerprint >> 6) as usize & (self.0.len() - 1);
        (word, 1 << (fingerprint & 63))
    }
}

impl TopKWindow {
    /// The items of the list with counts above 0 and their counts, the largest count first. Items with equal counts are
    /// in the order of their bytes. Copies no item.
    ///
    /// Cost: O(n + k log k) for n candidates. Unless the newest pane is the current one and all panes count, the first read after a
    /// write, or of other panes than before, takes two buckets of at most half of the panes for each candidate.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses sixteen bytes per item of the list and sixteen per candidate.
    pub fn list_at(
        &self,
        panes: Panes,
        cache: &mut RankingCache,
    ) -> Result<impl ExactSizeIterator<Item = (&[u8], u32)>, OutOfMemory> {
        let listed = self.candidates_at(panes, cache)?;
        Ok(listed.map(|(candidate, count)| (candidate.item.bytes(), count)))
    }

    /// As [`TopKWindow::list_at`], with the hash of each item instead of the item. Cost: also as there.
    pub(in crate::top_k) fn hashes_at(
        &self,
        panes: Panes,
        cache: &mut RankingCache,
    ) -> Result<impl ExactSizeIterator<Item = (ItemHash, u32)>, OutOfMemory> {
        let listed = self.candidates_at(panes, cache)?;
        Ok(listed.map(|(candidate, count)| (ItemHash::seeded(candidate.hash), count)))
    }

    fn candidates_at(
        &self,
        panes: Panes,
        cache: &mut RankingCache,
    ) -> Result<impl ExactSizeIterator<Item = (&Candidate, u32)>, OutOfMemory> {
        let listed = if self.is_listed(panes) {
            self.listed()?
        } else {
            let top = &self.ranking(panes, cache)?.top;
            let mut listed = with_capacity(top.len())?;
            let largest_first = (0..top.len()).rev().map(|position| top.get(position));
            listed.extend(largest_first.take_while(|&(count, _)| count > 0));
            listed
        };
        Ok(listed
            .into_iter()
            .map(|(count, number_plus_1)| (self.candidates.get(number_plus_1 - 1), count)))
    }

    /// Whether the item is in the list of these panes, with a count above 0. Cost: one pass over the item and a hash lookup; if not all panes
    /// count, the first read takes the work of [`TopKWindow::list_at`].
    ///
    /// # Errors
    /// As [`TopKWindow::list_at`]. Only if not all panes count.
    pub fn query_at(
        &self,
        item: &[u8],
        panes: Panes,
        cache: &mut RankingCache,
    ) -> Result<bool, OutOfMemory> {
        self.lists_at(self.candidate(item), panes, cache)
    }

    /// The candidate with this item, for [`TopKWindow::lists_at`]. Cost: one pass over the item and a hash lookup.
    #[must_use]
    pub fn candidate(&self, item: &[u8]) -> Option<u32> {
        self.candidates.find(item, self.hash(item).of_seed())
    }

    /// [`TopKWindow::query_at`] for an item with this candidate ([`TopKWindow::candidate`]).
    ///
    /// # Errors
    /// As [`TopKWindow::query_at`].
    pub fn lists_at(
        &self,
        candidate: Option<u32>,
        panes: Panes,
        cache: &mut RankingCache,
    ) -> Result<bool, OutOfMemory> {
        let Some(number) = candidate else {
            return Ok(false);
        };
        if self.is_listed(panes) {
            let position = self.candidates.get(number).positions[HeapIndex::List as usize];
            return Ok(position != NONE && self.list.elements.get(position as usize).0 > 0);
        }
        Ok(self.ranking(panes, cache)?.sums[number as usize] > 0)
    }

    /// The sum of all increments of the panes; saturates. No count exceeds it. Cost: a step per pane.
    #[must_use]
    pub fn total(&self) -> u64 {
        let totals = self.panes.all().iter().map(|pane| pane.content.total);
        totals.fold(0, u64::saturating_add)
    }

    /// The estimated number of occurrences of an item in these panes; see [`TopKWindow::count_hashed_at`].
    #[must_use]
    pub fn count_at(&self, item: &[u8], panes: Panes) -> u32 {
        self.count_hashed_at(&self.hash(item), panes)
    }

    /// The estimated number of occurrences of an item, with its hash ([`TopKWindow::hash`]), in these
    /// panes: the sum, over the panes, of the count of its cell, at most 2^32 - 1. Cost: two buckets per pane.
    #[must_use]
    pub fn count_hashed_at(&self, hash: &ItemHash, panes: Panes) -> u32 {
        let item = self.buckets.places(hash.of_seed());
        saturated(sum_of_estimates(self.panes.counted(panes), item))
    }

    /// The sums, over these panes, of the count of the item's heavy cell, and of the smallest count of the heavy cells of its
    /// buckets. Cost: two buckets per pane.
    pub(in crate::top_k) fn heavy_counts(&self, panes: Panes, hash: &ItemHash) -> [u64; 2] {
        let item = self.buckets.places(hash.of_seed());
        let panes = self.panes.counted(panes).iter();
        let counts = panes.map(|pane| pane.content.table.heavy_counts(item).map(u64::from));
        counts.fold([0; 2], |sums, of_pane| {
            [sums[0] + of_pane[0], sums[1] + of_pane[1]]
        })
    }

    /// About how many items with sums above `count` over these panes are no candidates: the tables have their cells, but not their
    /// names. The work is limited by [`MAX_CELLS`]; items have random buckets, so the first ones are a sample of all.
    /// A period in the past has its share of it, because a series reads as many of them as there are panes.
    pub(in crate::top_k) fn unnamed_above(&self, panes: Panes, count: u32) -> u64 {
        let is_past = panes.is_past();
        let panes = self.panes.counted(panes);
        let max_cells = match is_past {
            true => MAX_CELLS * panes.len() / self.panes.all().len().max(1),
            false => MAX_CELLS,
        };
        // A table has less than 2^32 buckets.
        let all = (self.buckets.bytes() / BUCKET_BYTES as u64) as u32;
        let work = Cell::new(0);
        let add_work = |cells: usize| work.set(work.get() + cells);
        let (mut read, mut above) = (0, 0);
        for bucket in 0..all {
            for (position, pane) in panes.iter().enumerate() {
                add_work(HEAVY_CELLS);
                for (fingerprint, of_pane) in pane.content.table.heavy_cells(bucket) {
                    let item = self.buckets.places_of(bucket, fingerprint);
                    let is_item = |hash| {
                        add_work(1);
                        self.buckets.places(hash).is_same(item)
                    };
                    // The largest count of an item is at least the mean one.
                    if work.get() > max_cells
                        || u64::from(of_pane) * panes.len() as u64 <= count.into()
                        || self.candidates.has_fingerprint(fingerprint, is_item)
                    {
                        continue;
                    }
                    // It is counted in the pane with its first largest count.
                    let (mut sum, mut is_largest) = (0, true);
                    for (other, pane) in panes.iter().enumerate() {
                        let estimate = pane.content.table.estimate(item);
                        sum += u64::from(estimate);
                        is_largest &=
                            estimate < of_pane || estimate == of_pane && other >= position;
                    }
                    add_work(2 * CELLS * panes.len());
                    above += u64::from(is_largest && sum > count.into());
                }
            }
            read = bucket + 1;
            if work.get() > max_cells {
                break;
            }
        }
        (above * u64::from(all))
            .checked_div(read.into())
            .unwrap_or(0)
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
        listed.sort_unstable_by(|one: &(u32, u32), other| {
            let item = |pair: &(u32, u32)| self.candidates.item(pair.1 - 1);
            (other.0.cmp(&one.0)).then_with(|| order(item(one), item(other)))
        });
        Ok(listed)
    }

    /// Whether the list is that of these panes.
    fn is_listed(&self, panes: Panes) -> bool {
        let is_unchanged = !panes.is_later() || self.panes.newest(&self.timeline).is_none();
        self.timeline.counts_all(panes) && !panes.is_part() && is_unchanged
    }

    /// The list of these panes.
    fn ranking<'c>(
        &self,
        panes: Panes,
        cache: &'c mut RankingCache,
    ) -> Result<&'c Ranking, OutOfMemory> {
        let key = (self.stamp.number(), panes);
        let place = &mut cache.rankings[usize::from(panes.is_past())];
        if place.as_ref().is_none_or(|kept| kept.key != key) {
            let len = self.candidates.len();
            cache.changes += 1;
            let mut ranking = match place.take() {
                Some(kept) if kept.key.0 == key.0 => kept,
                _ => Ranking {
                    key,
                    sums: with_capacity(len as usize)?,
                    top: Pairs::zeroed(self.k().min(len).into())?,
                    ranks: Vec::new(),
                    compared: 0,
                },
            };
            if ranking.ranks.is_empty() && ranking.compared > self.candidates.few_passes() {
                ranking.ranks = self.candidates.ranks()?;
            }
            let ranking = place.insert(ranking);
            ranking.key = key;
            self.rank(ranking, panes);
        }
        Ok(place.as_ref().expect("computed above"))
    }

    /// Computes the list of these panes.
    fn rank(&self, ranking: &mut Ranking, panes: Panes) {
        let Ranking { sums, top, .. } = ranking;
        let order = Order::new(&self.candidates, &ranking.ranks);
        let Range { start, end } = self.panes.positions(panes);
        let closed_len = match self.panes.newest(&self.timeline) {
            Some(_) => self.panes.all().len() - 1,
            None => self.panes.all().len(),
        };
        let (all_closed, newest) = self.panes.all().split_at(closed_len);
        let newest = if end > closed_len && start < end {
            newest
        } else {
            &[]
        };
        let (before, counted) = all_closed.split_at(start.min(closed_len));
        let (closed, after) = counted.split_at(end.min(closed_len) - before.len());
        let skipped = || before.iter().chain(after);
        // An upper bound of the sum: that of all closed panes, which is stored, and the estimate in the newest.
        let bound_of = |number: u32| {
            let closed = self.candidates.apart(number).closed();
            if newest.is_empty() {
                return closed;
            }
            let item = self.buckets.places(self.candidates.get(number).hash);
            closed.saturating_add(sum_of_estimates(newest, item))
        };
        // First, the candidates that these panes list: few of the others have a larger sum.
        sums.clear();
        sums.resize(self.candidates.len() as usize, UNKNOWN);
        let heap = newest.iter().flat_map(|_| self.heap.iter());
        let members = heap.chain(self.list.iter());
        let members = members.map(|(_, _, number)| number);
        let listed = closed.iter().flat_map(|pane| &pane.content.listed).copied();
        for number in listed.chain(members) {
            if sums[number as usize] == UNKNOWN {
                sums[number as usize] = bound_of(number);
            }
        }
        let subtracts = all_closed.len() - closed.len() <= closed.len();
        let sum_of = |number: u32, bound: u64| {
            let item = self.buckets.places(self.candidates.get(number).hash);
            let in_newest = || bound.saturating_sub(self.candidates.apart(number).closed());
            saturated(match subtracts {
                true => bound.saturating_sub(sum_of_estimates(skipped(), item)),
                false => sum_of_estimates(closed, item).saturating_add(in_newest()),
            })
        };
        // Of these, the ones with the largest bounds first.
        let mut largest = Largest::new(top, &order);
        for (&bound, number) in (sums.iter().zip(0..)).filter(|(bound, _)| **bound != UNKNOWN) {
            largest.offer(saturated(bound), number);
        }
        largest.replace_counts(|number| sum_of(number, take(&mut sums[number as usize])));
        let mut offer = |number, bound| {
            if saturated(bound) >= largest.min_count() {
                largest.offer(sum_of(number, bound), number);
            }
        };
        for (&bound, number) in sums.iter().zip(0..) {
            if ![0, UNKNOWN].contains(&bound) {
                offer(number, bound);
            }
        }
        // Most items occur in none of a few panes of the past, of which a series reads as many as there are.
        let is_few = newest.is_empty() && !subtracts;
        let occurring = is_few.then(|| optional(|| Fingerprints::of(closed)));
        let occurring = occurring.and_then(Result::ok);
        for (&bound, number) in sums.iter().zip(0..) {
            let hash = || self.candidates.get(number).hash;
            let may_occur = |occurring: &Fingerprints| occurring.contains(fingerprint_of(hash()));
            if bound == UNKNOWN && occurring.as_ref().is_none_or(may_occur) {
                offer(number, bound_of(number));
            }
        }
        let used = largest.sort();
        ranking.compared += order.compared.get();
        sums.fill(0);
        for (count, number_plus_1) in (top.len() - used..top.len()).map(|at| top.get(at)) {
            sums[number_plus_1 as usize - 1] = count.into();
        }
    }
}
