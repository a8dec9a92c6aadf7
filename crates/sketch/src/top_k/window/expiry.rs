//! The step to a later pane.
//!
//! The newest pane is closed: its heap becomes its list, with items of the window's list. Then panes are merged and expire, and the
//! candidates that no pane lists are removed. The sums of the others, and the list, are computed once, after all that.

use super::candidates::{Candidate, HeapIndex, NONE};
use super::largest::{Largest, Order};
use super::{Pane, TopKWindow, max_listed, order, saturated, sum_of_estimates};
use crate::blocks::{BlockChanges, BlockVisitor};
use crate::window::{StoredPane, Timeline, Window};
use std::mem::take;

/// The positions of some panes in a list of panes.
struct Positions {
    numbers: [u8; Window::MAX_LIVE_PANES],
    len: usize,
}

impl Positions {
    fn none() -> Self {
        Self {
            numbers: [0; Window::MAX_LIVE_PANES],
            len: 0,
        }
    }

    fn push(&mut self, position: usize) {
        // There are at most 255 panes.
        self.numbers[self.len] = position as u8;
        self.len += 1;
    }

    /// The panes at these positions.
    fn of<'a>(
        &self,
        panes: &'a [StoredPane<Pane>],
    ) -> impl Iterator<Item = &'a StoredPane<Pane>> + Clone {
        (self.numbers[..self.len].iter()).map(|&position| &panes[usize::from(position)])
    }
}

/// The panes that a step reads to compute the sums of the candidates.
struct Plan {
    /// The closed panes that change, before the step.
    leaving: Positions,
    /// The panes that the sums do not include yet, after the step.
    entering: Positions,
    /// The panes that are merged, before the step.
    merged: Positions,
    /// The panes of level 0 with more than k candidates that become longer without a merge of their own, before the step.
    shortened: Positions,
    /// Whether fewer panes stay than change: then the step adds up all panes instead.
    starts_at_0: bool,
}

impl Plan {
    /// That of a step to a later timeline.
    fn of(panes: &[StoredPane<Pane>], before: &Timeline, later: &Timeline, k: u32) -> Self {
        let [
            mut leaving,
            mut entering,
            mut merged,
            mut all,
            mut shortened,
        ] = [(); 5].map(|()| Positions::none());
        let mut staying = 0;
        for position in 0..panes.len() {
            let change = Change::of(panes, position, later);
            let is_closed = panes[position].first != before.newest();
            let stays = change == Change::Stays && is_closed;
            if stays {
                staying += 1;
            } else if is_closed {
                leaving.push(position);
            }
            if matches!(change, Change::Grows | Change::IsAdded) {
                merged.push(position);
            }
            if panes[position].content.listed.len() > k as usize
                && becomes_longer_alone(panes, position, later)
            {
                shortened.push(position);
            }
            if matches!(change, Change::Stays | Change::Grows) {
                if !stays {
                    entering.push(all.len);
                }
                all.push(all.len);
            }
        }
        let starts_at_0 = leaving.len > staying;
        Self {
            leaving,
            entering: if starts_at_0 { all } else { entering },
            merged,
            shortened,
            starts_at_0,
        }
    }
}

/// Whether the pane at a position, which has level 0, has a higher level in `later`, and its sibling has no additions.
fn becomes_longer_alone(panes: &[StoredPane<Pane>], position: usize, later: &Timeline) -> bool {
    let first = panes[position].first;
    let is_sibling = |at: usize| panes.get(at).is_some_and(|pane| pane.first == first ^ 1);
    let becomes_longer = later
        .pane_of(first)
        .is_some_and(|range| range.end - range.first > 1);
    becomes_longer && !is_sibling(position.wrapping_sub(1)) && !is_sibling(position + 1)
}

/// What a step does to a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Stays,
    Expires,
    /// Another pane is added to it.
    Grows,
    /// It is added to another pane.
    IsAdded,
}

impl Change {
    /// That of the pane at a position, if the timeline becomes `later`.
    fn of(panes: &[StoredPane<Pane>], position: usize, later: &Timeline) -> Self {
        let Some(range) = later.pane_of(panes[position].first) else {
            return Self::Expires;
        };
        let before = position.checked_sub(1);
        if before.is_some_and(|before| panes[before].first >= range.first) {
            return Self::IsAdded;
        }
        match panes.get(position + 1) {
            Some(next) if next.first < range.end => Self::Grows,
            _ => Self::Stays,
        }
    }
}

impl TopKWindow {
    /// [`Timed::advance_recorded`](crate::window::Timed::advance_recorded).
    ///
    /// Cost: one step per candidate. If a pane with additions is closed, merged or expires, also two buckets of each such pane for each
    /// candidate, or of all panes if these are fewer, two of half of the panes for each item of the list, and the merges
    /// ([`Merger::merge`](super::merge::Merger::merge)).
    pub(super) fn advance_with(
        &mut self,
        pane: u64,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> bool {
        let mut later = self.timeline;
        if later.advance(pane).is_none() {
            return false;
        }
        self.stamp.change();
        let had_newest = self.close(changes);
        let (k, buckets) = (self.parameters.k, self.buckets);
        let plan = Plan::of(self.panes.all(), &self.timeline, &later, k);
        if !had_newest && plan.leaving.len == 0 && plan.shortened.len == 0 {
            self.panes
                .advance(&mut self.timeline, pane, |_, _, _| (), drop);
            return true;
        }
        self.empty_heaps();
        self.subtract_leaving(&plan);
        self.free_leaving(&later, changes);
        let ranked = (plan.merged.of(self.panes.all())).chain(plan.shortened.of(self.panes.all()));
        let listed = ranked.flat_map(|pane| &pane.content.listed).copied();
        order::rank(&mut self.candidates, listed);
        let Self {
            candidates, merger, ..
        } = self;
        for &position in &plan.shortened.numbers[..plan.shortened.len] {
            if let Some((pane, rest)) = self.panes.split_mut(position.into()) {
                merger.shorten(pane, rest, candidates, k, buckets);
            }
        }
        let merge = |older: &mut Pane, younger, rest: &[StoredPane<Pane>]| {
            merger.merge(older, younger, rest, candidates, k, buckets);
        };
        self.panes.advance(&mut self.timeline, pane, merge, drop);
        if self.panes.all().is_empty() {
            self.panes.visit(&mut changes.freed);
            self.panes.clear();
            self.candidates.clear(changes);
            return true;
        }
        self.count_lists(0);
        let panes = &mut self.panes;
        let renumber = |number: &dyn Fn(u32) -> u32| {
            for listed in panes.contents_mut().flat_map(|pane| &mut pane.listed) {
                *listed = number(*listed);
            }
        };
        self.candidates.retain_listed(renumber, changes);
        order::clear(&mut self.candidates);
        self.add_entering(&plan);
        self.fill_list();
        true
    }

    /// Fills the list of the newest pane ([`TopKWindow::list_closing`]), or removes this pane if it has no increments. Returns
    /// whether it was stored.
    fn close(&mut self, changes: &mut BlockChanges<impl BlockVisitor>) -> bool {
        match self.panes.newest(&self.timeline) {
            None => return false,
            Some(newest) if newest.total > 0 => self.list_closing(),
            Some(_) => {}
        }
        self.panes.retain(|pane| {
            let has_increments = pane.content.total > 0;
            if !has_increments {
                pane.content.visit(&mut changes.freed);
            }
            has_increments
        });
        true
    }

    /// The newest pane lists its own items: those of the heap and, if panes grow with age, of the list that have an estimate above 0 in it.
    ///
    /// The oldest pane of the younger half of the window also lists the items of the list that no pane of this half lists: they are
    /// frequent in the window, but in no pane, and their names would be lost. Of too many, it lists the k with the largest sums over the
    /// half. Overwrites the elements of the heap.
    fn list_closing(&mut self) {
        let (buckets, grows) = (self.buckets, self.timeline.window().levels() > 0);
        let k = self.parameters.k as usize;
        let oldest = (self.panes.all().len() - 1) / 2;
        let Some((closing, _)) = self.panes.split_last_mut() else {
            return;
        };
        for (number, candidate) in (0..).zip(self.candidates.iter()) {
            let [in_heap, in_list] = candidate.positions.map(|position| position != NONE);
            let is_own = in_heap || in_list && grows;
            if is_own && closing.table.estimate(buckets.places(candidate.hash)) > 0 {
                closing.listed.push(number);
            }
        }
        self.count_lists(oldest);
        let Some((pane, _)) = self.panes.split_mut(oldest) else {
            return;
        };
        let mut listed = take(&mut pane.listed);
        let (half, candidates) = (&self.panes.all()[oldest..], &self.candidates);
        let sum = |number| {
            let item = buckets.places(candidates.get(number).hash);
            saturated(sum_of_estimates(half, item))
        };
        let is_lost = |number: &u32| candidates.apart(*number).lists == 0 && sum(*number) > 0;
        let lost = (self.list.iter())
            .map(|(_, _, number)| number)
            .filter(is_lost);
        let most = match self.timeline.level_of(half[0].first) {
            Some(0) => max_listed(self.parameters, self.timeline.window()),
            _ => k,
        };
        if listed.len() + lost.clone().count() <= most {
            listed.extend(lost);
        } else {
            let order = Order::new(candidates, &[]);
            let mut largest = Largest::new(&mut self.heap.elements, &order);
            for number in listed.drain(..).chain(lost) {
                largest.offer(sum(number), number);
            }
            let first = k - largest.sort();
            listed.extend((first..k).map(|at| self.heap.elements.get(at).1 - 1));
        }
        listed.sort_unstable();
        if let Some((pane, _)) = self.panes.split_mut(oldest) {
            pane.listed = listed;
        }
    }

    /// Counts the panes from a position on that list each candidate.
    fn count_lists(&mut self, from: usize) {
        for (_, apart) in self.candidates.iter_mut() {
            apart.lists = 0;
        }
        for &number in (self.panes.all()[from..].iter()).flat_map(|pane| &pane.content.listed) {
            self.candidates.apart_mut(number).lists += 1;
        }
    }

    /// Removes all candidates from the heap and the list.
    fn empty_heaps(&mut self) {
        for (candidate, _) in self.candidates.iter_mut() {
            candidate.positions = [NONE; 2];
        }
        for members in [&mut self.heap, &mut self.list] {
            members.elements.bytes.fill(0);
        }
    }

    /// Subtracts the estimates in the panes that will change from the sums, or sets these to 0.
    fn subtract_leaving(&mut self, plan: &Plan) {
        let (panes, buckets) = (self.panes.all(), self.buckets);
        for (&mut Candidate { hash, .. }, apart) in self.candidates.iter_mut() {
            apart.set_closed(match plan.starts_at_0 {
                true => 0,
                false => {
                    let leaving = sum_of_estimates(plan.leaving.of(panes), buckets.places(hash));
                    apart.closed().saturating_sub(leaving)
                }
            });
        }
    }

    /// Visits the blocks that the step frees.
    fn free_leaving(&self, later: &Timeline, changes: &mut BlockChanges<impl BlockVisitor>) {
        let panes = self.panes.all();
        for (position, pane) in panes.iter().enumerate() {
            if matches!(
                Change::of(panes, position, later),
                Change::Expires | Change::IsAdded
            ) {
                pane.content.visit(&mut changes.freed);
            }
        }
    }

    /// Adds the estimates in the panes that the sums do not include yet.
    fn add_entering(&mut self, plan: &Plan) {
        let (panes, buckets) = (self.panes.all(), self.buckets);
        for (&mut Candidate { hash, .. }, apart) in self.candidates.iter_mut() {
            let entering = sum_of_estimates(plan.entering.of(panes), buckets.places(hash));
            apart.set_closed(apart.closed().saturating_add(entering));
        }
    }

    /// Computes the list from the sums.
    fn fill_list(&mut self) {
        let order = Order::new(&self.candidates, &[]);
        let mut largest = Largest::new(&mut self.list.elements, &order);
        for number in 0..self.candidates.len() {
            let sum = self.candidates.apart(number).closed();
            largest.offer(saturated(sum), number);
        }
        let used = largest.sort();
        let len = self.list.elements.len();
        for position in len - used..len {
            let (_, number_plus_1) = self.list.elements.get(position);
            // A position is below k, which has 32 bits.
            self.candidates.get_mut(number_plus_1 - 1).positions[HeapIndex::List as usize] =
                position as u32;
        }
    }
}
