//! The step to a later pane.

use super::TopKWindow;
use super::candidates::{NO_PANE, saturated};
use super::counts::{Batch, Step};
use super::heap_index::HeapIndex;
use super::ranking::select_largest;
use crate::blocks::{BlockChanges, BlockVisitor};
use crate::window::{Timed, Timeline};
use std::ops::RangeInclusive;

impl TopKWindow {
    /// The step from the sums of the closed panes to a pane whose oldest live pane is `oldest`.
    pub(super) fn step_to(&self, oldest: u64) -> Step {
        let newest = self.timeline.newest();
        self.step(self.timeline.oldest(), oldest, Some(newest))
    }

    /// The step from sums of the panes from `before` on to those from `oldest` on. The known sums include all panes up
    /// to the newest one, or up to that before `newest`.
    pub(super) fn step(&self, before: u64, oldest: u64, newest: Option<u64>) -> Step {
        let has_table = |pane: &u64| self.pane(*pane).table.is_allocated();
        let tables = |panes: &RangeInclusive<u64>| panes.clone().filter(has_table).count();
        // The ends are exclusive below; an empty range has its end below its start.
        let range = |start: u64, end: u64| match end.checked_sub(1) {
            Some(last) => start..=last,
            None => RangeInclusive::new(1, 0),
        };
        let end = newest.unwrap_or(self.timeline.newest() + 1);
        let dropped = range(before, oldest.min(end));
        let kept = range(oldest.max(before), end);
        let (dropped_tables, kept_tables) = (tables(&dropped), tables(&kept));
        Step {
            dropped,
            kept,
            newest,
            subtract: dropped_tables <= kept_tables,
            is_idle: dropped_tables == 0 && !newest.is_some_and(|newest| has_table(&newest)),
            drops_all: oldest > self.timeline.newest(),
        }
    }

    /// For each slot of the ring, whether its pane is `oldest` or a later one.
    pub(super) fn slots_from(&self, oldest: u64) -> [bool; Self::MAX_PANES as usize + 1] {
        let (slots, newest) = (self.panes.len() as u64, self.timeline.newest());
        let mut from = [false; Self::MAX_PANES as usize + 1];
        for (slot, is_from) in (0..slots).zip(&mut from) {
            // The pane in the slot is the newest one with this remainder.
            let age = (newest + slots - slot) % slots;
            *is_from = newest.checked_sub(age).is_some_and(|pane| pane >= oldest);
        }
        from
    }

    /// [`Timed::advance_recorded`](crate::window::Timed::advance_recorded).
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
        self.stamp.change();
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
    }

    fn remove_from_heaps(&mut self, number: u32) {
        for (members, heap) in [
            (&mut self.heap, HeapIndex::Heap),
            (&mut self.list, HeapIndex::List),
        ] {
            if let Some(position) = self.candidates.clear_position(number, heap) {
                members.elements.set(position as usize, (0, 0));
            }
        }
    }

    /// Closes the newest pane: adds its estimates to the sums of the candidates, subtracts those of the panes that
    /// expire, empties the heap, and computes the list.
    fn move_counts(&mut self, step: &Step, after: &Timeline) {
        let closing = self.timeline.slot(self.timeline.newest());
        let live_slots = self.slots_from(after.oldest());
        let mut batch = Batch::new(self.candidates.len(), self.rows.depth);
        let mut numbers = 0..self.candidates.len();
        while !numbers.is_empty() {
            let known = |number| self.candidates.closed(number);
            for counts in batch.count(self, step, &mut numbers, known) {
                let number = counts.number;
                let candidate = self.candidates.get(number);
                let was_in_heap =
                    candidate.positions[HeapIndex::Heap as usize] != super::heap_index::NONE;
                let kept_by = self.candidates.kept_by(number);
                if was_in_heap && counts.newest > 0 {
                    self.candidates.set_kept_by(number, closing as u8);
                } else if kept_by != NO_PANE && !live_slots[usize::from(kept_by)] {
                    self.candidates.set_kept_by(number, NO_PANE);
                }
                self.candidates.set_closed(number, counts.sum);
                self.remove_from_heaps(number);
            }
        }
        let counts = (0..self.candidates.len())
            .map(|number| (saturated(self.candidates.closed(number)), number));
        let used = select_largest(&mut self.list.elements, counts, &self.candidates);
        let len = self.list.elements.len();
        for position in len - used..len {
            let (_, number_plus_1) = self.list.elements.get(position);
            // A position is below k, which has 32 bits.
            self.candidates.get_mut(number_plus_1 - 1).positions[HeapIndex::List as usize] =
                position as u32;
        }
    }

    /// Removes the candidates that nothing keeps, the last one first, so that only candidates that stay are renumbered.
    fn remove_unused_candidates(&mut self, changes: &mut BlockChanges<impl BlockVisitor>) {
        for number in (0..self.candidates.len()).rev() {
            if self.candidates.is_unused(number) {
                let (heap, list) = (&mut self.heap, &mut self.list);
                let item = self.candidates.remove(number, |positions, number| {
                    heap.renumber(positions, number);
                    list.renumber(positions, number);
                });
                changes.freed.visit(&item);
            }
        }
        self.candidates.shrink(changes);
    }
}
