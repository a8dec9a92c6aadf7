//! Count-min sketch: an upper bound of the number of occurrences of an item.
//!
//! A sketch has `depth` rows of `width` counters. Each row hashes an item to one of its cells. An increment adds to the
//! item's cell in every row, and the estimate is the smallest of these counts. If nothing is subtracted that was not
//! added before, the estimate is never below the true count; it is above the true count if other items share the item's
//! cell in every row. G. Cormode and S. Muthukrishnan, "An improved data stream summary: the count-min sketch and its
//! applications", Journal of Algorithms 55 (2005). The layout, the hashes and the limits are those of RedisBloom
//! (docs/contributing/formats.md).
//!
//! - `accuracy`: the error of estimates
//! - [`dimensions`]: width, depth and cell size, and the dimensions for a given error
//! - [`cell`]: the counters
//! - [`count`]: increments and queries
//! - [`merge`]: weighted sums of sketches
//! - `stored`: the stored forms
//! - [`window`]: sketches with a sliding window
//!
//! ```
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

mod accuracy;
pub mod cell;
pub mod count;
pub mod dimensions;
pub mod merge;
mod stored;
pub mod window;

#[cfg(test)]
mod tests;

pub use cell::CellSize;
pub use dimensions::{Dimensions, dimensions_for};
pub use merge::MergeSource;
pub use window::CountMinWindow;

use super::blocks::{BlockMover, BlockVisitor, Blocks};
use super::buffer::Buffer;
use super::merge::TooMuchWork;
use super::work_limit::{MAX_ROWS_WITHOUT_LIMIT, hash_work, within_work_limit};
use crate::memory::{Budget, OutOfMemory};
use crate::window::{Timed, WindowError};

/// The limit of increments without a limit. A count never exceeds its limit, because an estimate is never too low. An estimate
/// can be too high, so that an increment is refused early.
pub const NO_LIMIT: u64 = u64::MAX;

/// The largest total of a sketch.
pub const MAX_TOTAL: u64 = i64::MAX as u64;

/// Why an operation failed, with the text that a command replies. The sketch has not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CountMinError {
    /// The width or depth is 0 or not finite, or there are more than 2^63 - 1 cells.
    #[error("CMS: invalid init arguments")]
    InvalidDimensions,
    /// The depth of a sketch with a window is above [`window::MAX_DEPTH`].
    #[error("CMS: a sketch with a window can have at most 32 rows")]
    TooDeepForWindow,
    /// The window has too many panes for a sketch.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// The memory for the cells was refused.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// An increment would take a cell or the total above its maximum.
    #[error("CMS: INCRBY overflow")]
    Overflow,
    /// An increment would make a cell or the total negative.
    #[error("CMS: INCRBY underflow")]
    Underflow,
    /// An increment would take the estimate above its limit, or a cell or the total above its maximum. Contains the
    /// estimate.
    #[error("CMS: INCRBY overflow")]
    AboveLimit(u64),
    /// A source of a merge has another width or depth.
    #[error("CMS: width/depth is not equal")]
    DimensionMismatch,
    /// A source of a merge has cells of another size.
    #[error("CMS: cell size is not equal")]
    CellSizeMismatch,
    /// A source of a merge has a window of another length or with other panes.
    #[error("CMS: window/panes is not equal")]
    WindowMismatch,
    /// A source of a merge has another seed.
    #[error(
        "CMS: seeds are not equal, create the sketches with COPY of one empty sketch or the same SEED"
    )]
    SeedMismatch,
    /// A negative increment of a sketch with a window.
    #[error("CMS: a sketch with a window cannot be decremented")]
    WindowDecrement,
    /// A merge would make a cell or the total negative or take it above its maximum, or its sums do not fit in a signed
    /// 64-bit integer.
    #[error("CMS: MERGE overflow")]
    MergeOverflow,
    /// A merge would read more than its limit.
    #[error("CMS: too much work for one merge, merge fewer sources at a time")]
    TooMuchWork(#[from] TooMuchWork),
}

/// A count-min sketch.
///
/// All counts are in one block of `width × depth × cell_size` bytes, row by row and little-endian, which is also the
/// stored form.
///
/// # Example
///
/// ```
/// use roughly_sketch::count_min::{CellSize, CountMin, dimensions_for};
/// use roughly_sketch::memory::Budget;
///
/// # fn main() -> Result<(), roughly_sketch::count_min::CountMinError> {
/// // CMS.INITBYPROB fruit 0.001 0.01, CMS.INCRBY fruit apple 3
/// let (width, depth) = dimensions_for(0.001, 0.01)?;
/// let mut fruit = CountMin::new(width, depth, CellSize::default(), Budget::UNLIMITED)?;
/// assert_eq!(fruit.increment(b"apple", 3)?, 3);
/// assert_eq!(fruit.query(b"pear"), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct CountMin {
    cells: Buffer,
    /// Sum of all increments, at most [`MAX_TOTAL`].
    total: u64,
    rows: PackedRows,
}

/// The number of rows and the size of a cell in eight bytes. A sketch of the server is small enough for one cache line, because
/// the width follows from the cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PackedRows(u64);

impl PackedRows {
    /// The lower bits are the logarithm of the size of a cell. Rows in memory are fewer than 2^62, because each has at least
    /// one byte.
    const SIZE_BITS: u32 = 2;

    fn new(dimensions: Dimensions) -> Self {
        Self(dimensions.depth() << Self::SIZE_BITS | u64::from(dimensions.cell_size().log2()))
    }

    #[inline]
    fn depth(self) -> u64 {
        self.0 >> Self::SIZE_BITS
    }

    #[inline]
    fn cell_size(self) -> CellSize {
        match self.0 % (1 << Self::SIZE_BITS) {
            0 => CellSize::One,
            1 => CellSize::Two,
            2 => CellSize::Four,
            _ => CellSize::Eight,
        }
    }
}

impl CountMin {
    /// An empty sketch of `depth` rows of `width` cells.
    ///
    /// Requests the bytes of all cells from `budget` at once. The operating system provides pages when they are first
    /// used.
    ///
    /// # Errors
    /// [`CountMinError::InvalidDimensions`], [`CountMinError::OutOfMemory`].
    pub fn new(
        width: u64,
        depth: u64,
        cell_size: CellSize,
        budget: Budget<'_>,
    ) -> Result<Self, CountMinError> {
        let dimensions = Dimensions::new(width, depth, cell_size)?;
        Ok(Self::empty(dimensions, budget)?)
    }

    /// An empty sketch of these dimensions; see [`CountMin::new`].
    fn empty(dimensions: Dimensions, budget: Budget<'_>) -> Result<Self, OutOfMemory> {
        let bytes = dimensions.bytes().unwrap_or(u64::MAX);
        budget.request(bytes)?;
        Ok(Self::with_cells(dimensions, 0, Buffer::zeroed(bytes)?))
    }

    /// A sketch with these cells. The caller has checked that their number fits the dimensions and no count exceeds the
    /// maximum.
    fn with_cells(dimensions: Dimensions, total: u64, cells: Buffer) -> Self {
        debug_assert_eq!(dimensions.bytes(), Some(cells.len() as u64));
        debug_assert!(total <= MAX_TOTAL);
        Self {
            cells,
            total,
            rows: PackedRows::new(dimensions),
        }
    }

    /// Width, depth and cell size. Cost: a division.
    #[must_use]
    #[inline]
    pub fn dimensions(&self) -> Dimensions {
        let bytes = self.cells.len() as u64;
        Dimensions::of_cells(bytes, self.rows.depth(), self.rows.cell_size())
    }

    #[inline]
    fn cell_size(&self) -> CellSize {
        self.rows.cell_size()
    }

    /// Whether one command may hash these items. There is no limit for up to 32 rows; otherwise the limit is the work of
    /// hashing 512 MiB. Cost: one step per item if there is a limit.
    #[must_use]
    pub fn within_work_limit<'a>(&self, items: impl Iterator<Item = &'a [u8]>) -> bool {
        let rows = self.rows.depth();
        let work = items.map(|item| hash_work(item, rows));
        rows <= MAX_ROWS_WITHOUT_LIMIT || within_work_limit(work, rows, self.cells.len() as u64)
    }

    /// The sum of all increments, at most [`MAX_TOTAL`].
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }
}

impl Timed for CountMin {}

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
