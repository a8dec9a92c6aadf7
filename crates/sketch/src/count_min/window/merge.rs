//! Merges: every pane becomes the weighted sum of the operands' panes, in the order of the operands.
//!
//! The operands count as if they had been advanced to the newest pane of all. A merge that is refused changes nothing: the new
//! panes are computed before the sketch changes.

use super::super::{MAX_TOTAL, MergeSource};
use super::pane::Grid;
use super::*;
use crate::memory::{Purpose, with_capacity};
use crate::merge::{Distinct, check_work};
use crate::window::UnitRange;
use std::ptr;

type WindowSource<'a> = MergeSource<'a, CountMinWindow>;

/// A distinct operand of a merge.
struct Operand<'a> {
    sketch: &'a CountMinWindow,
    /// The sum of its weights, which saturates: a larger sum takes any count out of range.
    weight: u64,
    /// The sums of its panes in those panes of the result that contain several of them.
    merged: PaneList<Pane>,
}

impl Operand<'_> {
    /// Its pane in a pane of the result.
    fn pane_in(&self, range: UnitRange) -> Option<&Pane> {
        match self.sketch.panes.within(range) {
            [] => None,
            [pane] => Some(&pane.content),
            _ => self.merged.get(range.first),
        }
    }

    /// Computes [`Operand::merged`].
    fn merge_panes<C: Cell>(
        &mut self,
        ranges: &[UnitRange],
        newest: u64,
        budget: Budget<'_>,
    ) -> Result<(), OutOfMemory> {
        let mut timeline = self.sketch.timeline;
        let panes = ranges.iter().map(|&range| self.sketch.panes.within(range));
        let several = panes.filter(|panes| panes.len() > 1);
        let len = several.clone().map(<[_]>::len).sum();
        self.merged.reserve(len, &timeline, budget)?;
        for pane in several.flatten() {
            budget.request(pane.content.block_bytes())?;
            self.merged.push(pane.first, pane.content.try_clone()?);
        }
        let (grid, mut result) = (self.sketch.grid, Ok(()));
        let merge = |older: &mut Pane, younger: Pane, _: &_| {
            if let Err(error) = older.add::<C, _>(&younger, 1, grid, budget) {
                result = Err(error);
            }
        };
        self.merged.advance(&mut timeline, newest, merge, drop);
        result
    }
}

/// A merge whose total is in range.
struct Plan<'a> {
    /// The timeline of the result: advanced to the newest pane of all.
    timeline: Timeline,
    grid: Grid,
    /// The destination, with weight 0 if it is no source, and the sources.
    operands: Vec<Operand<'a>>,
    /// The panes of the result.
    ranges: Vec<UnitRange>,
    /// The total of the result.
    total: u64,
}

impl<'a> Plan<'a> {
    /// That of a merge after an advance to `pane`.
    fn new(
        destination: &'a CountMinWindow,
        sources: &[WindowSource<'a>],
        pane: u64,
        max_bytes: u64,
    ) -> Result<Self, CountMinError> {
        let address = |source: &WindowSource<'_>| source.sketch.map_or(ptr::null(), ptr::from_ref);
        let distinct = Distinct::of(sources.iter().map(address))?;
        let mut weights = with_capacity(distinct.firsts.len())?;
        weights.resize(distinct.firsts.len(), 0u64);
        for (source, number) in sources.iter().zip(distinct.numbers) {
            let weight =
                u64::try_from(source.weight).map_err(|_| CountMinError::WindowDecrement)?;
            weights[number] = weights[number].saturating_add(weight);
        }
        let operand = |sketch, weight| Operand {
            sketch,
            weight,
            merged: PaneList::default(),
        };
        let mut timeline = destination.timeline;
        timeline.advance(pane);
        let mut operands = with_capacity(1 + distinct.firsts.len())?;
        operands.push(operand(destination, 0));
        for (&first, weight) in distinct.firsts.iter().zip(weights) {
            match sources[first].sketch {
                None => operands[0].weight = weight,
                Some(sketch) => {
                    destination.check_source(sketch)?;
                    timeline.advance(sketch.timeline.newest());
                    operands.push(operand(sketch, weight));
                }
            }
        }
        let ranges = timeline.counted_panes(Panes::ALL)?;
        let (mut bytes, mut total) = (0u64, 0u128);
        for operand in operands.iter().filter(|operand| operand.weight > 0) {
            let panes = ranges
                .iter()
                .flat_map(|&range| operand.sketch.panes.within(range));
            for StoredPane { content, .. } in panes {
                bytes = bytes.saturating_add(content.bytes_read(destination.grid));
                let weighted = u128::from(content.total) * u128::from(operand.weight);
                total = total.saturating_add(weighted);
            }
        }
        let in_range = u64::try_from(total)
            .ok()
            .filter(|&total| total <= MAX_TOTAL);
        let total = in_range.ok_or(CountMinError::MergeOverflow)?;
        let is_operand =
            |operand: &&Operand<'_>| operand.weight > 0 || !ptr::eq(operand.sketch, destination);
        check_work(operands.iter().filter(is_operand).count(), bytes, max_bytes)?;
        Ok(Self {
            timeline,
            grid: destination.grid,
            operands,
            ranges,
            total,
        })
    }

    /// Computes the panes of the operands. Must be called before [`Plan::pane`].
    fn merge_panes<C: Cell>(&mut self, budget: Budget<'_>) -> Result<(), OutOfMemory> {
        for operand in self
            .operands
            .iter_mut()
            .filter(|operand| operand.weight > 0)
        {
            operand.merge_panes::<C>(&self.ranges, self.timeline.newest(), budget)?;
        }
        Ok(())
    }

    /// The operands with a weight above 0 that have a pane in a pane of the result, and these panes.
    fn panes_in(&self, range: UnitRange) -> impl Iterator<Item = (&Operand<'a>, &Pane)> {
        let operands = self.operands.iter().filter(|operand| operand.weight > 0);
        operands.filter_map(move |operand| Some((operand, operand.pane_in(range)?)))
    }

    /// A pane of the result, and whether it has a count above the maximum of a cell, which became the maximum.
    fn pane<C: Cell>(
        &self,
        range: UnitRange,
        budget: Budget<'_>,
    ) -> Result<(Pane, bool), OutOfMemory> {
        let (mut pane, mut is_saturated) = (Pane::default(), false);
        for (operand, other) in self.panes_in(range) {
            is_saturated |= pane.add::<C, _>(other, operand.weight, self.grid, budget)?;
        }
        Ok((pane, is_saturated))
    }

    /// The pane of the destination that is also that of the result, because it is the only operand and has the weight 1.
    fn unchanged_pane(&self, range: UnitRange) -> Option<&Pane> {
        let mut panes = self.panes_in(range);
        let (operand, pane) = panes.next()?;
        let is_own = operand.weight == 1 && ptr::eq(operand, &raw const self.operands[0]);
        (is_own && panes.next().is_none()).then_some(pane)
    }

    /// The number of panes of the result that the destination does not have.
    fn new_panes(&self) -> usize {
        let destination = &self.operands[0].sketch.panes;
        let ranges = self.ranges.iter();
        ranges
            .filter(|&&range| destination.within(range).is_empty())
            .filter(|&&range| self.panes_in(range).next().is_some())
            .count()
    }

    /// Calls `visit` with the panes of the result that can differ from those of the destination.
    ///
    /// # Errors
    /// [`CountMinError::MergeOverflow`] if the total and the sum of the largest counts of all panes are above the maximum of a
    /// cell; [`CountMinError::OutOfMemory`].
    fn changed_panes<C: Cell>(
        &self,
        budget: Budget<'_>,
        mut visit: impl FnMut(UnitRange, Pane),
    ) -> Result<(), CountMinError> {
        let is_large = self.total > C::MAX_COUNT;
        let mut sum = 0u64;
        let mut check = |pane: &Pane, is_saturated: bool| {
            if is_large {
                sum = sum.saturating_add(pane.largest::<C>());
            }
            let overflows = is_large && (is_saturated || sum > C::MAX_COUNT);
            refuse_if!(overflows => CountMinError::MergeOverflow);
            Ok(())
        };
        for &range in &self.ranges {
            match self.unchanged_pane(range) {
                Some(pane) => check(pane, false)?,
                None => {
                    let (pane, is_saturated) = self.pane::<C>(range, budget)?;
                    check(&pane, is_saturated)?;
                    visit(range, pane);
                }
            }
        }
        Ok(())
    }
}

impl CountMinWindow {
    /// Whether `source` may be merged into this sketch.
    ///
    /// # Errors
    /// [`CountMinError::DimensionMismatch`], [`CountMinError::CellSizeMismatch`], [`CountMinError::WindowMismatch`],
    /// [`CountMinError::SeedMismatch`], in this order.
    pub fn check_source(&self, source: &Self) -> Result<(), CountMinError> {
        self.dimensions.check_source(source.dimensions)?;
        if self.timeline.window() != source.timeline.window() {
            return Err(CountMinError::WindowMismatch);
        }
        refuse_if!(self.seed() != source.seed() => CountMinError::SeedMismatch);
        Ok(())
    }

    /// Advances to the newest pane of this sketch and the sources, and replaces the counts and the total of each live pane by
    /// Σ weight × source, in the order of the sources, this sketch first. Panes of a source that have expired then
    /// do not count. Returns whether anything changed.
    ///
    /// The sketch's own counts contribute only if it is a source. `max_bytes` limits the bytes read, see [`check_work`]. The
    /// memory of the result is requested from `budget`, and what the sketch then has more than before as [`Purpose::Add`].
    /// Cost: one pass over all panes of the distinct sources, and the advance.
    ///
    /// # Errors
    /// [`CountMinError::WindowDecrement`] if a weight is negative, those of [`CountMinWindow::check_source`],
    /// [`CountMinError::MergeOverflow`] if the total would be out of range, or both the total and the sum of the largest counts of all
    /// panes above the maximum of a cell; [`CountMinError::TooMuchWork`], [`CountMinError::OutOfMemory`].
    pub fn merge_within(
        &mut self,
        sources: &[WindowSource<'_>],
        max_bytes: u64,
        budget: Budget<'_>,
    ) -> Result<bool, CountMinError> {
        let mut plan = Plan::new(self, sources, self.timeline.newest(), max_bytes)?;
        let mut panes = with_capacity(plan.ranges.len())?;
        let (mut bytes, mut replaced) = (0, 0);
        with_cell!(self.dimensions.cell_size(), C => {
            plan.merge_panes::<C>(budget)?;
            plan.changed_panes::<C>(budget, |range, content| {
                let own = self.panes.within(range).iter();
                replaced += own.map(|pane| pane.content.block_bytes()).sum::<u64>();
                bytes += content.block_bytes();
                panes.push(StoredPane {
                    first: range.first,
                    content,
                });
            })?;
        });
        let (timeline, new) = (plan.timeline, plan.new_panes());
        let budget = budget.for_purpose(Purpose::Add);
        if bytes > replaced {
            budget.request(bytes - replaced)?;
        }
        let len = self.panes.all().len() + new;
        self.panes.reserve(len, &timeline, budget)?;
        Ok(self.replace(panes, timeline.newest()))
    }

    /// The result of [`CountMinWindow::merge_within`] after an advance to `pane`. Nothing has changed.
    ///
    /// # Errors
    /// Those of [`CountMinWindow::merge_within`], but not for the memory of the result.
    pub fn check_merge(
        &self,
        sources: &[WindowSource<'_>],
        pane: u64,
        max_bytes: u64,
    ) -> Result<(), CountMinError> {
        let mut plan = Plan::new(self, sources, pane, max_bytes)?;
        with_cell!(self.dimensions.cell_size(), C => {
            if plan.total > C::MAX_COUNT {
                // One pane at a time.
                plan.merge_panes::<C>(Budget::UNLIMITED)?;
                plan.changed_panes::<C>(Budget::UNLIMITED, |_, _| ())?;
            }
        });
        Ok(())
    }

    /// Advances to a pane and replaces these panes. There is room for them in the list. Returns whether anything changed.
    fn replace(&mut self, panes: Vec<StoredPane<Pane>>, newest: u64) -> bool {
        let mut changed = self.advance(newest);
        for StoredPane { first, content } in panes {
            match self.panes.get_mut(first) {
                Some(pane) if *pane == content => (),
                Some(pane) => {
                    *pane = content;
                    changed = true;
                }
                None if content.total > 0 => {
                    self.panes.insert(first, content);
                    changed = true;
                }
                None => (),
            }
        }
        self.panes.retain(|pane| pane.content.total > 0);
        if self.panes.all().is_empty() {
            self.panes.clear();
        }
        self.total = self.panes.all().iter().map(|pane| pane.content.total).sum();
        changed
    }
}
