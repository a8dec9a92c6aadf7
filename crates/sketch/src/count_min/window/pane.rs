//! A pane: exact counts, or an array of cells.

use super::exact::{Entry, Exact, sums};
use super::{Cell, SeededRows};
use crate::blocks::{BlockMover, BlockVisitor};
use crate::buffer::Buffer;
use crate::count_min::Dimensions;
use crate::memory::{Budget, OutOfMemory};
use crate::seed::Seed;
use crate::window::Window;
use std::convert::Infallible;

/// The largest number of bytes of the hashes and counts of a pane that has no array.
const MAX_EXACT_BYTES: u64 = 1 << 16;

/// Panes that could hold fewer entries have arrays from the first increment on.
const MIN_ENTRIES: u64 = 8;

/// The largest array that can be made from exact counts, in a uniform window: it takes up to 0.06 s, because each cell is in another
/// page of memory. Panes with larger arrays have them from the first increment on.
const MAX_CONVERTED_BYTES: u64 = 64 << 20;

/// As [`MAX_CONVERTED_BYTES`], in a window whose panes grow with age: a step over many panes can make hundreds of arrays.
const MAX_CONVERTED_BYTES_IN_STEP: u64 = 1 << 20;

/// The largest number of cells of the exact counts of a pane, in a window whose panes grow with age.
const MAX_CELLS_IN_STEP: u64 = 1 << 15;

/// A pane with increments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pane {
    /// The sum of all increments, not 0.
    pub total: u64,
    /// The counts, none above the total.
    pub counts: PaneCounts,
}

/// What a pane contains.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PaneCounts {
    /// The count of each item, for at most [`Grid::max_entries`] items.
    Exact(Exact),
    /// As many cells as the sketch has.
    Array(Buffer),
}

impl Default for PaneCounts {
    fn default() -> Self {
        Self::Exact(Exact::default())
    }
}

/// The rows of the sketch, and the limits of its panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    pub rows: SeededRows,
    /// The bytes of an array.
    pub array_bytes: u64,
    /// The largest number of entries of a pane without an array, see [`max_entries`].
    pub max_entries: usize,
}

impl Grid {
    pub fn new(dimensions: Dimensions, window: Window, seed: Seed) -> Self {
        Self {
            rows: SeededRows {
                width: dimensions.width() as usize,
                depth: dimensions.depth() as usize,
                seed,
            },
            array_bytes: dimensions.bytes().unwrap_or(u64::MAX),
            max_entries: max_entries(dimensions, window),
        }
    }
}

/// The largest number of entries of a pane without an array: a quarter of the bytes of an array, at most [`MAX_EXACT_BYTES`]. 0 if
/// all panes have arrays.
fn max_entries(dimensions: Dimensions, window: Window) -> usize {
    let array_bytes = dimensions.bytes().unwrap_or(u64::MAX);
    let entries = (array_bytes / 4).min(MAX_EXACT_BYTES) / size_of::<Entry>() as u64;
    let (max_array, entries) = match window.levels() {
        0 => (MAX_CONVERTED_BYTES, entries),
        _ => (
            MAX_CONVERTED_BYTES_IN_STEP,
            entries.min(MAX_CELLS_IN_STEP / dimensions.depth()),
        ),
    };
    match entries >= MIN_ENTRIES && array_bytes <= max_array {
        true => entries as usize,
        false => 0,
    }
}

/// Allocates the memory of panes that are merged.
pub(super) trait Allocate: Copy {
    type Error;

    /// An array of zeros.
    fn array(self, bytes: u64) -> Result<Buffer, Self::Error>;

    /// See [`Exact::new`].
    fn exact(
        self,
        len: usize,
        entries: impl Iterator<Item = Entry> + Clone,
    ) -> Result<Exact, Self::Error>;
}

/// Memory that is requested. A table of exact counts is small, and is not.
impl Allocate for Budget<'_> {
    type Error = OutOfMemory;

    fn array(self, bytes: u64) -> Result<Buffer, OutOfMemory> {
        self.request(bytes)?;
        Buffer::zeroed(bytes)
    }

    fn exact(
        self,
        len: usize,
        entries: impl Iterator<Item = Entry> + Clone,
    ) -> Result<Exact, OutOfMemory> {
        Exact::new(len, entries)
    }
}

/// The memory of a step to a later pane, which cannot fail: without memory, the process ends.
#[derive(Clone, Copy)]
pub(super) struct Step;

impl Allocate for Step {
    type Error = Infallible;

    fn array(self, bytes: u64) -> Result<Buffer, Infallible> {
        // No array has more than 512 MiB.
        Ok(vec![0; bytes as usize].into())
    }

    fn exact(
        self,
        len: usize,
        entries: impl Iterator<Item = Entry> + Clone,
    ) -> Result<Exact, Infallible> {
        Ok(Exact::allocate(len, entries))
    }
}

impl Pane {
    /// The bytes of its block.
    pub fn block_bytes(&self) -> u64 {
        match &self.counts {
            PaneCounts::Exact(exact) => Exact::bytes_for(exact.len()),
            PaneCounts::Array(cells) => cells.len() as u64,
        }
    }

    /// The bytes that a merge with it reads: an entry counts as one slot per row.
    pub fn bytes_read(&self, grid: Grid) -> u64 {
        match &self.counts {
            PaneCounts::Exact(exact) => (exact.len() * grid.rows.depth * size_of::<Entry>()) as u64,
            PaneCounts::Array(cells) => cells.len() as u64,
        }
    }

    /// The cells of its array.
    #[inline]
    pub fn array(&self) -> Option<&Buffer> {
        match &self.counts {
            PaneCounts::Exact(_) => None,
            PaneCounts::Array(cells) => Some(cells),
        }
    }

    /// As [`Pane::array`], to change them.
    pub fn array_mut(&mut self) -> Option<&mut Buffer> {
        match &mut self.counts {
            PaneCounts::Exact(_) => None,
            PaneCounts::Array(cells) => Some(cells),
        }
    }

    /// Adds the counts of another pane, multiplied by `weight`. Counts above the maximum of a cell become the maximum. Returns
    /// whether there was one.
    ///
    /// - Exact counts and exact counts: the counts of equal items are added. More than [`Grid::max_entries`] become an array, in
    ///   which each cell is the largest count of the items that share it.
    /// - An array and exact counts: these are added to the array by conservative update, in ascending order of the hashes.
    /// - Arrays: the cells are added.
    ///
    /// # Errors
    /// Those of the memory; nothing has changed.
    pub fn add<C: Cell, M: Allocate>(
        &mut self,
        other: &Self,
        weight: u64,
        grid: Grid,
        memory: M,
    ) -> Result<bool, M::Error> {
        let mut is_saturated = false;
        let mut saturated = |count: u64| {
            is_saturated |= count > C::MAX_COUNT;
            count.min(C::MAX_COUNT)
        };
        match (&mut self.counts, &other.counts) {
            (PaneCounts::Exact(own), PaneCounts::Exact(others)) => {
                let sums = sums(own.entries(), others.entries(), weight);
                let (mut len, mut largest) = (0, 0);
                for entry in sums.clone() {
                    len += 1;
                    largest = entry.count.max(largest);
                }
                saturated(largest);
                let sums = sums.map(|entry| Entry {
                    count: entry.count.min(C::MAX_COUNT),
                    ..entry
                });
                self.counts = match len <= grid.max_entries {
                    true => PaneCounts::Exact(memory.exact(len, sums)?),
                    false => {
                        let mut cells = memory.array(grid.array_bytes)?;
                        fill::<C>(&mut cells, grid.rows, sums);
                        PaneCounts::Array(cells)
                    }
                };
            }
            (PaneCounts::Exact(own), PaneCounts::Array(others)) => {
                let mut cells = memory.array(grid.array_bytes)?;
                saturated(add_cells::<C>(&mut cells, others, weight));
                for Entry { hash, count } in own.entries() {
                    update::<C>(&mut cells, grid.rows, hash, count, &mut saturated);
                }
                self.counts = PaneCounts::Array(cells);
            }
            (PaneCounts::Array(cells), PaneCounts::Exact(others)) => {
                for Entry { hash, count } in others.entries() {
                    let count = count.saturating_mul(weight);
                    update::<C>(cells, grid.rows, hash, count, &mut saturated);
                }
            }
            (PaneCounts::Array(cells), PaneCounts::Array(others)) => {
                saturated(add_cells::<C>(cells, others, weight));
            }
        }
        // The caller has checked the sum.
        let total = other.total.saturating_mul(weight);
        self.total = self.total.saturating_add(total);
        Ok(is_saturated)
    }

    /// [`Pane::add`] for a younger pane in a step to a later one.
    pub fn absorb<C: Cell>(&mut self, mut younger: Self, grid: Grid) {
        if self.array().is_none() {
            // An array is not copied.
            std::mem::swap(self, &mut younger);
        }
        let Ok(_) = self.add::<C, _>(&younger, 1, grid, Step);
    }

    /// Replaces exact counts by the array of [`Pane::add`].
    ///
    /// # Errors
    /// [`OutOfMemory`] if the budget or the allocator refuses; nothing has changed.
    pub fn convert<C: Cell>(&mut self, grid: Grid, budget: Budget<'_>) -> Result<(), OutOfMemory> {
        if let PaneCounts::Exact(exact) = &self.counts {
            budget.request(grid.array_bytes.saturating_sub(self.block_bytes()))?;
            let mut cells = Buffer::zeroed(grid.array_bytes)?;
            fill::<C>(&mut cells, grid.rows, exact.entries());
            self.counts = PaneCounts::Array(cells);
        }
        Ok(())
    }

    /// The largest count.
    pub fn largest<C: Cell>(&self) -> u64 {
        let largest = match &self.counts {
            PaneCounts::Exact(exact) => exact.entries().map(|entry| entry.count).max(),
            PaneCounts::Array(cells) => C::all(cells).iter().map(|&cell| C::count(cell)).max(),
        };
        largest.unwrap_or(0)
    }

    /// A copy with separate memory.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            total: self.total,
            counts: match &self.counts {
                PaneCounts::Exact(exact) => PaneCounts::Exact(exact.try_clone()?),
                PaneCounts::Array(cells) => PaneCounts::Array(Buffer::copy_of(cells)?),
            },
        })
    }

    /// Passes the block to `visitor`.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        match &self.counts {
            PaneCounts::Exact(exact) => exact.visit(visitor),
            PaneCounts::Array(cells) => cells.visit(visitor),
        }
    }

    /// Passes the block to `mover`, which may move it.
    pub fn relocate(&mut self, mover: &mut impl BlockMover) {
        match &mut self.counts {
            PaneCounts::Exact(exact) => exact.relocate(mover),
            PaneCounts::Array(cells) => cells.relocate(mover),
        }
    }
}

/// Adds the cells of another array, multiplied by `weight`. Returns the largest sum, or a number that is above the maximum of a
/// cell if that is.
fn add_cells<C: Cell>(cells: &mut [u8], others: &[u8], weight: u64) -> u64 {
    let mut largest = 0;
    for (cell, &other) in C::all_mut(cells).iter_mut().zip(C::all(others)) {
        let (own, other) = (C::count(*cell), C::count(other));
        let sum = match weight {
            // Counts have 63 bits. The loop for this weight needs no checks.
            1 => own + other,
            _ => own.saturating_add(other.saturating_mul(weight)),
        };
        largest = sum.max(largest);
        *cell = C::with_count(sum.min(C::MAX_COUNT));
    }
    largest
}

/// Makes each cell of an array of zeros the largest count of the entries that share it: the smallest array in which no count is
/// too low. Cost: one cell per entry and row.
fn fill<C: Cell>(cells: &mut [u8], rows: SeededRows, entries: impl Iterator<Item = Entry>) {
    let cells = C::all_mut(cells);
    for Entry { hash, count } in entries {
        for place in rows.cells(hash) {
            cells[place] = C::with_count(C::count(cells[place]).max(count));
        }
    }
}

/// Adds to the count of one item: raises its cells to their smallest count plus `count`.
fn update<C: Cell>(
    cells: &mut [u8],
    rows: SeededRows,
    hash: u64,
    count: u64,
    saturated: impl FnOnce(u64) -> u64,
) {
    let cells = C::all_mut(cells);
    let counts = rows.cells(hash).map(|place| C::count(cells[place]));
    let smallest = counts.fold(u64::MAX, u64::min);
    let raised = saturated(smallest.saturating_add(count));
    for place in rows.cells(hash) {
        cells[place] = C::with_count(C::count(cells[place]).max(raised));
    }
}

/// The smallest count of the cells of an item in the array of [`fill`], which need not exist. Cost: one cell per entry and
/// row.
pub(super) fn estimate_after_conversion(exact: &Exact, rows: SeededRows, places: &[u32]) -> u64 {
    let mut largest = [0; super::MAX_DEPTH as usize];
    for Entry { hash, count } in exact.entries() {
        for ((cell, &place), largest) in rows.cells(hash).zip(places).zip(&mut largest) {
            if cell == place as usize {
                *largest = count.max(*largest);
            }
        }
    }
    largest[..places.len()].iter().copied().min().unwrap_or(0)
}
