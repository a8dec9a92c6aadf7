//! Count-min sketch: how often was an item counted, at most?
//!
//! `depth` rows of `width` counters. An item has one cell in each row, chosen by a hash of the row's
//! own; counting adds to all of them, and the least of them is the estimate. It is never below the
//! truth as long as nothing is taken away that was not added, and exceeds it where other items share
//! all of its cells. G. Cormode and S. Muthukrishnan, "An improved data stream summary: the count-min
//! sketch and its applications", Journal of Algorithms 55 (2005). The layout, the hashes and the
//! limits are those of the spec page count-min-sketch.md, so that data can be exchanged.
//!
//! [`shape`] has the dimensions and what they are for a wanted error, [`cell`] the counters, [`count`]
//! adding and asking, [`merge`] weighted sums of sketches, [`stored`] the forms a sketch is kept in.
//!
//! ```
//! use roughly_sketch::memory::Budget;
//! use roughly_sketch::count_min::{CellSize, CountMin, dimensions_for};
//! use roughly_sketch::memory::Budget;
//!
//! let (width, depth) = dimensions_for(0.001, 0.01)?;
//! let mut sketch = CountMin::new(width, depth, CellSize::default(), Budget::UNLIMITED)?;
//! assert_eq!(sketch.increment(b"apple", 3), Ok(3));
//! assert_eq!(sketch.increment(b"apple", -1), Ok(2));
//! assert_eq!(sketch.query(b"apple"), 2);
//! # Ok::<(), roughly_sketch::count_min::CountMinError>(())
//! ```

pub mod cell;
pub mod count;
pub mod merge;
pub mod shape;
pub mod stored;

#[cfg(test)]
mod tests;

pub use cell::CellSize;
pub use merge::Weighted;
pub use shape::{Shape, dimensions_for};

use super::blocks::{BlockMover, BlockVisitor, Blocks};
use super::buffer::Buffer;
use super::merge::TooMuchWork;
use super::rows::{self, SHALLOW_ROWS, item_bytes};
use crate::memory::{Budget, OutOfMemory};
use crate::modulus::Modulus;

/// The greatest total that a sketch counts to.
pub const MAX_TOTAL: u64 = i64::MAX as u64;

/// What can go wrong with a sketch. Whatever did, the sketch is as before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CountMinError {
    /// A width or depth of 0, not finite, or more than 2^63 - 1 cells.
    #[error("the width and depth of a sketch are at least 1, its cells at most 2^63 - 1")]
    InvalidDimensions,
    /// The memory for the cells may not or cannot be had.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// An increment would take a cell or the total above its maximum.
    #[error("the increment would take a count above its maximum")]
    Overflow,
    /// An increment would make a cell or the total negative.
    #[error("the increment would make a count negative")]
    Underflow,
    /// A source of a merge has another width or depth.
    #[error("a source has another width or depth")]
    OtherDimensions,
    /// A source of a merge has cells of another size.
    #[error("a source has cells of another size")]
    OtherCellSize,
    /// A merge would make a cell or the total negative or take it above its maximum, or its sums do
    /// not fit in 64 bits with a sign.
    #[error("the merged counts would be outside their range")]
    MergeOverflow,
    /// A merge would read more than its limit.
    #[error(transparent)]
    TooMuchWork(#[from] TooMuchWork),
}

/// A count-min sketch.
///
/// All counts are in one block of `width × depth × cell_size` bytes, row by row and little-endian: the
/// very bytes that are stored.
#[derive(Debug, PartialEq, Eq)]
pub struct CountMin {
    shape: Shape,
    /// Sum of all increments, at most [`MAX_TOTAL`].
    total: u64,
    columns: Modulus<u32>,
    cells: Buffer,
}

impl CountMin {
    /// An empty sketch of `depth` rows of `width` cells.
    ///
    /// `budget` is asked once whether so many bytes may be allocated. Cost: none for the cells until
    /// they are touched.
    ///
    /// # Errors
    /// [`CountMinError::InvalidDimensions`], [`CountMinError::OutOfMemory`].
    pub fn new(
        width: u64,
        depth: u64,
        cell_size: CellSize,
        budget: Budget<'_>,
    ) -> Result<Self, CountMinError> {
        let shape = Shape::new(width, depth, cell_size)?;
        Ok(Self::empty(shape, budget)?)
    }

    /// An empty sketch of this shape; see [`CountMin::new`].
    fn empty(shape: Shape, budget: Budget<'_>) -> Result<Self, OutOfMemory> {
        let bytes = shape.bytes().unwrap_or(u64::MAX);
        budget.request(bytes)?;
        Ok(Self::with_cells(shape, 0, Buffer::zeroed(bytes)?))
    }

    /// A sketch with these cells: as many bytes as the shape has, none above its maximum.
    fn with_cells(shape: Shape, total: u64, cells: Buffer) -> Self {
        debug_assert_eq!(shape.bytes(), Some(cells.len() as u64));
        debug_assert!(total <= MAX_TOTAL);
        Self {
            shape,
            total,
            columns: Modulus::<u32>::new(shape.width()),
            cells,
        }
    }

    /// Width, depth and cell size.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether hashing these items takes a bearable time: always up to 32 rows, else up to 4 GiB in all
    /// passes. Cost: a step an item where there are more rows.
    #[must_use]
    pub fn is_bearable<'a>(&self, items: impl Iterator<Item = &'a [u8]>) -> bool {
        let rows = self.shape.depth();
        rows <= SHALLOW_ROWS || rows::is_bearable(items.map(|item| item_bytes(item, rows)))
    }

    /// The sum of all increments, at most [`MAX_TOTAL`].
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }
}

impl Blocks for CountMin {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        self.cells.visit(visitor);
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        if index == 0 {
            self.cells.relocate(mover);
        }
        index == 0
    }
}
