//! Merges: every cell of a pane becomes a weighted sum of the sources' cells in this pane.
//!
//! Weights are not negative, so no sum is out of range if the sum over all panes is not. The totals show that in most cases,
//! because no cell is above the total of its pane. Otherwise the sums of the cells are computed twice: first to check them,
//! because a merge that is refused must change nothing. They are computed block by block, so that they stay in the cache.

use super::super::{MAX_TOTAL, MergeSource};
use super::*;
use crate::memory::with_capacity;
use crate::merge::{Distinct, check_work};
use crate::window::Span;
use std::ptr;

/// Cells summed at a time: 8 KiB of sums.
const BLOCK_CELLS: usize = 1024;

type Source<'a> = MergeSource<'a, CountMinWindow>;

/// The distinct sources with the sums of their weights, which saturate: a larger sum takes any count out of range.
struct Operands<'a> {
    /// The timeline of the result: advanced to the newest pane of all.
    timeline: Timeline,
    /// The weight of the destination; 0 if it is no source.
    own: u64,
    others: Vec<(&'a CountMinWindow, u64)>,
}

/// A merge that is in range.
struct Plan<'a> {
    operands: Operands<'a>,
    /// The panes of the result.
    spans: Vec<Span>,
    /// Those that the sketch does not have.
    new: Vec<u64>,
}

impl<'a> Operands<'a> {
    fn of(destination: &CountMinWindow, sources: &[Source<'a>]) -> Result<Self, CountMinError> {
        let address = |source: &Source<'_>| source.sketch.map_or(ptr::null(), ptr::from_ref);
        let distinct = Distinct::of(sources.iter().map(address))?;
        let mut weights = with_capacity(distinct.firsts.len())?;
        weights.resize(distinct.firsts.len(), 0u64);
        for (source, number) in sources.iter().zip(distinct.numbers) {
            let weight =
                u64::try_from(source.weight).map_err(|_| CountMinError::WindowDecrement)?;
            weights[number] = weights[number].saturating_add(weight);
        }
        let mut operands = Self {
            timeline: destination.timeline,
            own: 0,
            others: with_capacity(weights.len())?,
        };
        for (&first, weight) in distinct.firsts.iter().zip(weights) {
            match sources[first].sketch {
                None => operands.own = weight,
                Some(sketch) => {
                    destination.check_source(sketch)?;
                    operands.timeline.advance(sketch.timeline.newest());
                    operands.others.push((sketch, weight));
                }
            }
        }
        Ok(operands)
    }

    /// The panes of the sources except for the destination in a pane of the result, with their weights, which are not 0.
    fn panes_in(&self, span: Span) -> impl Iterator<Item = (&'a Pane, u64)> + Clone {
        let others = self.others.iter().filter(|(_, weight)| *weight > 0);
        others.flat_map(move |&(sketch, weight)| {
            let panes = sketch.panes.in_span(span).iter();
            panes.map(move |pane| (&pane.content, weight))
        })
    }
}

impl CountMinWindow {
    /// Whether `source` may be merged into this sketch.
    ///
    /// # Errors
    /// [`CountMinError::DimensionMismatch`], [`CountMinError::CellSizeMismatch`], [`CountMinError::WindowMismatch`],
    /// [`CountMinError::SeedMismatch`], in this order.
    pub fn check_source(&self, source: &Self) -> Result<(), CountMinError> {
        self.shape.check_source(source.shape)?;
        if self.timeline.window() != source.timeline.window() {
            return Err(CountMinError::WindowMismatch);
        }
        if self.seed() != source.seed() {
            return Err(CountMinError::SeedMismatch);
        }
        Ok(())
    }

    /// Advances to the newest pane of this sketch and the sources, and replaces every cell and total of each live pane by
    /// Σ weight × source. Panes of a source that have expired then do not count. Returns whether anything changed.
    ///
    /// The sums, and their sums over all panes, must be in the range of a cell and of the total. The sketch's own counts
    /// contribute only if it is a source. `max_bytes` limits the bytes read, see [`check_work`]. Missing arrays are requested
    /// from `budget`. Cost: one pass over all arrays of the distinct sources, two if the sum of the totals is above the maximum
    /// of a cell; and the advance.
    ///
    /// # Errors
    /// [`CountMinError::WindowDecrement`] if a weight is negative, those of [`CountMinWindow::check_source`],
    /// [`CountMinError::MergeOverflow`], [`CountMinError::TooMuchWork`], [`CountMinError::OutOfMemory`].
    pub fn merge_within(
        &mut self,
        sources: &[Source<'_>],
        max_bytes: u64,
        budget: Budget<'_>,
    ) -> Result<bool, CountMinError> {
        let plan = self.plan(sources, self.timeline.newest(), max_bytes)?;
        with_cell!(self.shape.cell_size(), C => self.write_sums::<C>(&plan, budget))
    }

    /// The result of [`CountMinWindow::merge_within`] after an advance to `pane`. Nothing has changed.
    ///
    /// # Errors
    /// Those of [`CountMinWindow::merge_within`], but not for the memory of the arrays.
    pub fn check_merge(
        &self,
        sources: &[Source<'_>],
        pane: u64,
        max_bytes: u64,
    ) -> Result<(), CountMinError> {
        self.plan(sources, pane, max_bytes).map(|_| ())
    }

    /// Checks a merge after an advance to `pane`.
    fn plan<'a>(
        &self,
        sources: &[Source<'a>],
        pane: u64,
        max_bytes: u64,
    ) -> Result<Plan<'a>, CountMinError> {
        let mut operands = Operands::of(self, sources)?;
        operands.timeline.advance(pane);
        let spans = operands.timeline.counted_spans(Panes::ALL)?;
        let (mut arrays, mut total) = (0, 0u128);
        let mut new = with_capacity(spans.len())?;
        for &span in &spans {
            let mut in_others = operands.panes_in(span).peekable();
            if in_others.peek().is_some() && self.panes.in_span(span).is_empty() {
                new.push(span.first);
            }
            for (pane, weight) in self.own_panes(&operands, span).chain(in_others) {
                arrays += 1;
                total = total.saturating_add(u128::from(pane.total) * u128::from(weight));
            }
        }
        if total > MAX_TOTAL.into() {
            return Err(CountMinError::MergeOverflow);
        }
        check_work(
            operands.others.len() + usize::from(operands.own > 0),
            self.array_bytes().saturating_mul(arrays),
            max_bytes,
        )?;
        with_cell!(self.shape.cell_size(), C => {
            if total > C::MAX_COUNT.into() && !self.sums_fit::<C>(&operands, &spans) {
                return Err(CountMinError::MergeOverflow);
            }
        });
        Ok(Plan {
            operands,
            spans,
            new,
        })
    }

    /// The own panes in a pane of the result with their weight; none if the sketch is no source.
    fn own_panes(&self, operands: &Operands<'_>, span: Span) -> impl Iterator<Item = (&Pane, u64)> {
        let weight = operands.own;
        let panes = self.panes.in_span(span).iter();
        let panes = panes.map(move |pane| (&pane.content, weight));
        panes.filter(|(_, weight)| *weight > 0)
    }

    /// Whether the sums of all cells over all panes are in range.
    fn sums_fit<C: Cell>(&self, operands: &Operands<'_>, spans: &[Span]) -> bool {
        let mut sums = [0; BLOCK_CELLS];
        let len = self.rows.width * self.rows.depth;
        (0..len).step_by(BLOCK_CELLS).all(|start| {
            let sums = &mut sums[..BLOCK_CELLS.min(len - start)];
            sums.fill(0);
            for &span in spans {
                let own = self.own_panes(operands, span);
                for (pane, weight) in own.chain(operands.panes_in(span)) {
                    for (sum, &cell) in sums.iter_mut().zip(&C::all(&pane.cells)[start..]) {
                        *sum = u64::saturating_add(*sum, C::count(cell).saturating_mul(weight));
                    }
                }
            }
            sums.iter().all(|&sum| sum <= C::MAX_COUNT)
        })
    }

    /// Writes the sums. Returns whether anything changed.
    ///
    /// # Errors
    /// [`CountMinError::OutOfMemory`]; nothing has changed.
    fn write_sums<C: Cell>(
        &mut self,
        Plan {
            operands,
            spans,
            new,
        }: &Plan<'_>,
        budget: Budget<'_>,
    ) -> Result<bool, CountMinError> {
        let array_bytes = self.array_bytes();
        let mut arrays = with_capacity(new.len())?;
        for _ in new {
            budget.request(array_bytes)?;
            arrays.push(Buffer::zeroed(array_bytes)?);
        }
        let len = self.panes.all().len() + new.len();
        self.panes.reserve(len, &operands.timeline, budget)?;
        let mut changed = self.advance(operands.timeline.newest()) | !new.is_empty();
        for (&first, cells) in new.iter().zip(arrays) {
            self.panes.insert(first, Pane { total: 0, cells });
        }
        let before = self.panes.all().len();
        self.panes.retain(|pane| {
            let span = spans.iter().find(|span| span.first == pane.first);
            let others = span.into_iter().flat_map(|&span| operands.panes_in(span));
            changed |= pane.content.replace_by_sums::<C>(operands.own, others);
            pane.content.total > 0
        });
        if self.panes.all().is_empty() {
            self.panes.clear();
        }
        self.total = self.panes.all().iter().map(|pane| pane.content.total).sum();
        Ok(changed | (self.panes.all().len() != before))
    }
}

impl Pane {
    /// Replaces the counts by `own` times themselves and the weighted counts of other panes. Returns whether a count changed. Cost:
    /// constant if none does.
    fn replace_by_sums<'a, C: Cell>(
        &mut self,
        own: u64,
        others: impl Iterator<Item = (&'a Pane, u64)> + Clone,
    ) -> bool {
        if own == 1 && others.clone().next().is_none() {
            return false;
        }
        let total = others.clone().map(|(pane, weight)| pane.total * weight);
        let total = self.total * own + total.sum::<u64>();
        let mut difference = self.total ^ total;
        self.total = total;
        if total == 0 {
            return true;
        }
        let mut sums = [0; BLOCK_CELLS];
        let blocks = C::all_mut(&mut self.cells).chunks_mut(BLOCK_CELLS);
        for (start, block) in (0..).step_by(BLOCK_CELLS).zip(blocks) {
            for (sum, &mut cell) in sums.iter_mut().zip(&mut *block) {
                *sum = C::count(cell) * own;
            }
            for (pane, weight) in others.clone() {
                for (sum, &cell) in sums.iter_mut().zip(&C::all(&pane.cells)[start..]) {
                    *sum += C::count(cell) * weight;
                }
            }
            for (cell, sum) in block.iter_mut().zip(sums) {
                difference |= C::count(*cell) ^ sum;
                *cell = C::with_count(sum);
            }
        }
        difference != 0
    }
}
