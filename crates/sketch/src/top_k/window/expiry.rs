//! The step to a later pane.

use super::candidates::{Candidate, NO_PANE};
use super::members::Place;
use super::ranking::select_largest;
use super::{ItemHash, TopKWindow, closed_sum};
use crate::blocks::{BlockChanges, BlockVisitor};
use crate::prefetch::prefetch;
use crate::window::Timeline;
use std::ops::RangeInclusive;

/// The panes that have a table, in relation to a later pane.
#[derive(Debug)]
pub(super) struct Step {
    /// The panes that the later pane drops.
    dropped: RangeInclusive<u64>,
    /// The closed panes that it keeps; the newest pane is not one of them.
    kept: RangeInclusive<u64>,
    /// Whether to subtract the dropped panes from the known sums, instead of adding up the kept ones.
    subtract: bool,
    /// Whether the counts stay the same: neither the newest pane nor one that is dropped has a table.
    pub is_idle: bool,
    /// Whether the later pane drops all panes.
    pub drops_all: bool,
}

/// The counts of a candidate in relation to a later pane.
pub(super) struct Counts {
    /// In all panes that are kept and in the newest pane; at most 2^32 - 1.
    pub sum: u32,
    /// In the newest pane.
    newest: u32,
}

/// Hashes candidates a few numbers ahead and prefetches what [`TopKWindow::counts_after`] reads: items and the buckets
/// of the panes that are dropped are rarely in the caches.
#[derive(Debug, Default)]
pub(super) struct HashesAhead {
    hashes: [ItemHash; AHEAD as usize],
}

/// The number of candidates to hash ahead.
const AHEAD: u32 = 8;

impl HashesAhead {
    /// The hash of a candidate. Called for all candidates in the order of their numbers.
    #[inline]
    pub fn hash(&mut self, sketch: &TopKWindow, step: &Step, number: u32) -> ItemHash {
        if number == 0 {
            for first in 0..AHEAD {
                self.load(sketch, step, first);
            }
        }
        let hash = self.hashes[(number % AHEAD) as usize];
        self.load(sketch, step, number.saturating_add(AHEAD));
        hash
    }

    #[inline]
    fn load(&mut self, sketch: &TopKWindow, step: &Step, number: u32) {
        if number >= sketch.candidates.len() {
            return;
        }
        let hash = ItemHash::new(sketch.candidates.item(number), sketch.rows);
        self.hashes[(number % AHEAD) as usize] = hash;
        let newest = sketch.timeline.newest();
        for pane in (newest..=newest).chain(step.dropped.clone().take(1)) {
            sketch.pane(pane).table.prefetch_always(&hash, sketch.rows);
        }
        let later = number.saturating_add(AHEAD);
        if later < sketch.candidates.len() {
            prefetch(sketch.candidates.item(later), 0);
        }
    }
}

impl TopKWindow {
    /// The step from the newest pane to one whose oldest live pane is `oldest`.
    pub(super) fn step_to(&self, oldest: u64) -> Step {
        let newest = self.timeline.newest();
        let before = self.timeline.oldest();
        let tables = |panes: RangeInclusive<u64>| {
            panes
                .filter(|&pane| self.pane(pane).table.is_allocated())
                .count()
        };
        // The ends are exclusive below; an empty range has its end below its start.
        let range = |start: u64, end: u64| match end.checked_sub(1) {
            Some(last) => start..=last,
            None => RangeInclusive::new(1, 0),
        };
        let dropped = range(before, oldest.min(newest));
        let kept = range(oldest.max(before), newest);
        let (dropped_tables, kept_tables) = (tables(dropped.clone()), tables(kept.clone()));
        Step {
            dropped,
            kept,
            subtract: self.sums_are_known && dropped_tables <= kept_tables,
            is_idle: dropped_tables == 0 && !self.pane(newest).table.is_allocated(),
            drops_all: oldest > newest,
        }
    }

    /// The counts of a candidate, with its hash, after a step that does not drop all panes. Cost: one bucket per row of
    /// the newest pane and of each table that is dropped (or kept, if these are fewer).
    pub(super) fn counts_after(
        &self,
        step: &Step,
        candidate: &Candidate,
        hash: &ItemHash,
    ) -> Counts {
        let item = &candidate.item;
        let sum_of = |panes: &RangeInclusive<u64>| -> u64 {
            let estimates = panes.clone().map(|pane| {
                let table = &self.pane(pane).table;
                match table.is_allocated() {
                    true => u64::from(table.estimate(item, hash, self.rows)),
                    false => 0,
                }
            });
            estimates.sum()
        };
        let newest = self.timeline.newest();
        let newest = sum_of(&(newest..=newest));
        // A saturated sum is not exact.
        let kept = if step.subtract && candidate.closed != u32::MAX {
            u64::from(candidate.closed).saturating_sub(sum_of(&step.dropped))
        } else {
            sum_of(&step.kept)
        };
        Counts {
            sum: u32::try_from(kept + newest).unwrap_or(u32::MAX),
            // An estimate has 32 bits.
            newest: newest as u32,
        }
    }

    /// Computes the sums of the closed panes if they are not known. Cost: one bucket per row, candidate and pane.
    pub(super) fn ensure_sums(&mut self) {
        if self.sums_are_known {
            return;
        }
        let newest = self.timeline.slot(self.timeline.newest());
        for number in 0..self.candidates.len() {
            let item = self.candidates.item(number);
            let hash = ItemHash::new(item, self.rows);
            let sum = closed_sum(&self.panes, newest, item, &hash, self.rows);
            self.candidates.get_mut(number).closed = sum;
        }
        self.sums_are_known = true;
    }

    /// [`Windowed::advance_recorded`](crate::window::Windowed::advance_recorded).
    ///
    /// Cost: for each candidate one pass over its item, and one bucket per row of the closing pane and of each pane that
    /// expires.
    pub(super) fn advance_with(
        &mut self,
        pane: u64,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> bool {
        let mut timeline = self.timeline;
        let Some(expired) = timeline.advance(pane) else {
            return false;
        };
        self.forget_ranking(changes);
        let step = self.step_to(timeline.oldest());
        if !step.is_idle {
            if step.drops_all {
                self.remove_candidates(changes);
            } else {
                self.move_counts(&step, &timeline);
                self.remove_unused_candidates(changes);
            }
            for pane in expired {
                let slot = self.timeline.slot(pane);
                self.panes[slot].table.visit(&mut changes.freed);
                self.panes[slot] = super::Pane::default();
            }
        }
        self.timeline = timeline;
        true
    }

    /// Removes all candidates.
    fn remove_candidates(&mut self, changes: &mut BlockChanges<impl BlockVisitor>) {
        for number in 0..self.candidates.len() {
            self.remove_from_heaps(number);
        }
        self.candidates.clear(changes);
        self.sums_are_known = true;
    }

    fn remove_from_heaps(&mut self, number: u32) {
        for (members, place) in [(&mut self.heap, Place::Heap), (&mut self.list, Place::List)] {
            if let Some(position) = self.candidates.clear_position(number, place) {
                members.elements.set(position as usize, (0, 0));
            }
        }
    }

    /// Closes the newest pane: adds its estimates to the sums of the candidates, subtracts those of the panes that
    /// expire, empties the heap, and computes the list.
    fn move_counts(&mut self, step: &Step, after: &Timeline) {
        let closing = self.timeline.slot(self.timeline.newest());
        let is_live = |slot: u16| {
            // The pane in the slot is the newest one with this remainder.
            let (slots, newest) = (self.panes.len() as u64, self.timeline.newest());
            let age = (newest + slots - u64::from(slot)) % slots;
            newest
                .checked_sub(age)
                .is_some_and(|pane| pane >= after.oldest())
        };
        let mut live_slots = [false; crate::window::Window::MAX_PANES as usize + 1];
        for (slot, live) in live_slots.iter_mut().enumerate().take(self.panes.len()) {
            // There are at most 1001 slots.
            *live = is_live(slot as u16);
        }
        let mut hashes = HashesAhead::default();
        for number in 0..self.candidates.len() {
            let hash = hashes.hash(self, step, number);
            let candidate = self.candidates.get(number);
            let counts = self.counts_after(step, candidate, &hash);
            let was_in_heap = candidate.positions[Place::Heap as usize] != super::NONE;
            let kept_by = self.candidates.kept_by(number);
            if was_in_heap && counts.newest > 0 {
                self.candidates.set_kept_by(number, closing as u16);
            } else if kept_by != NO_PANE && !live_slots[usize::from(kept_by)] {
                self.candidates.set_kept_by(number, NO_PANE);
            }
            self.candidates.get_mut(number).closed = counts.sum;
            self.remove_from_heaps(number);
        }
        self.sums_are_known = true;
        let counts =
            (0..self.candidates.len()).map(|number| (self.candidates.get(number).closed, number));
        let used = select_largest(&mut self.list.elements, counts, &self.candidates);
        let len = self.list.elements.len();
        for position in len - used..len {
            let (_, number_plus_1) = self.list.elements.get(position);
            // A position is below k, which has 32 bits.
            self.candidates.get_mut(number_plus_1 - 1).positions[Place::List as usize] =
                position as u32;
        }
    }

    /// Removes the candidates that nothing keeps, the last one first, so that only candidates that stay are renumbered.
    fn remove_unused_candidates(&mut self, changes: &mut BlockChanges<impl BlockVisitor>) {
        for number in (0..self.candidates.len()).rev() {
            if self.candidates.is_unused(number) {
                let (heap, list) = (&mut self.heap, &mut self.list);
                let item = self.candidates.remove(number, heap, list);
                changes.freed.visit(&item);
            }
        }
        self.candidates.shrink(changes);
    }
}
