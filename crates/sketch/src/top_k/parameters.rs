//! The parameters of a sketch and their ranges.

use super::pairs::PAIR_BYTES;
use super::records::RECORD_BYTES;
use crate::memory::{Budget, OutOfMemory};
use crate::window::WindowError;

/// Default width, in buckets per row.
pub const DEFAULT_WIDTH: u64 = 8;
/// Default depth, in rows.
pub const DEFAULT_DEPTH: u64 = 7;
/// Default decay.
pub const DEFAULT_DECAY: f64 = 0.9;

/// Bytes of a heap element in memory and in the RDB format, see [`super::TopK::new`].
pub(super) const ELEMENT_BYTES: u64 = PAIR_BYTES + RECORD_BYTES as u64;

/// Why a sketch was not created, with the text that a command replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TopKError {
    /// k is not in [1, 2^32 - 1].
    #[error("TopK: invalid k")]
    InvalidK,
    /// The width is not in [1, 2^32 - 1].
    #[error("TopK: invalid width")]
    InvalidWidth,
    /// The depth is not in [1, 2^32 - 1].
    #[error("TopK: invalid depth")]
    InvalidDepth,
    /// The decay is not in (0, 1].
    #[error("TopK: invalid decay value. must be '<= 1' & '> 0'")]
    InvalidDecay,
    /// The depth of a sketch with a window is above [`MAX_DEPTH`](super::window::MAX_DEPTH).
    #[error("TopK: a sketch with a window can have at most 32 rows")]
    TooDeepForWindow,
    /// The table of a pane of a sketch with a window is above [`MAX_TABLE_BYTES`](super::window::MAX_TABLE_BYTES) or
    /// [`MAX_MERGED_TABLE_BYTES`](super::window::MAX_MERGED_TABLE_BYTES).
    #[error("TopK: invalid width")]
    TooWideForWindow,
    /// k is too large for the number of panes of the window; see [`TopKWindow::new`](super::TopKWindow::new).
    #[error("TopK: k is too large for a window with this many panes")]
    TooManyCandidates,
    /// The window has too many panes for a sketch.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// The memory was refused, or its size does not fit in 64 bits.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

/// Valid parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Parameters {
    pub k: u32,
    pub width: u32,
    pub depth: u32,
    pub decay: f64,
}

impl Parameters {
    /// Checks k, width, depth and decay, in this order.
    pub fn new(k: u64, width: u64, depth: u64, decay: f64) -> Result<Self, TopKError> {
        let positive = |number: u64| u32::try_from(number).ok().filter(|&number| number > 0);
        Ok(Self {
            k: positive(k).ok_or(TopKError::InvalidK)?,
            width: positive(width).ok_or(TopKError::InvalidWidth)?,
            depth: positive(depth).ok_or(TopKError::InvalidDepth)?,
            decay: Some(decay)
                .filter(|&decay| decay > 0.0 && decay <= 1.0)
                .ok_or(TopKError::InvalidDecay)?,
        })
    }

    /// Buckets of all rows.
    pub fn bucket_count(self) -> u64 {
        u64::from(self.width) * u64::from(self.depth)
    }

    /// Bytes of the bucket array; `None` if they do not fit in 64 bits.
    pub fn bucket_bytes(self) -> Option<u64> {
        self.bucket_count().checked_mul(PAIR_BYTES)
    }

    /// Requests the memory of an empty sketch.
    pub fn request_memory(self, budget: Budget<'_>) -> Result<(), OutOfMemory> {
        let bytes = self
            .bucket_bytes()
            .and_then(|bytes| bytes.checked_add(u64::from(self.k) * ELEMENT_BYTES));
        budget.request(bytes.unwrap_or(u64::MAX))
    }

    /// Feeds the parameters, as 32 bytes.
    pub fn digest(self, feed: &mut dyn FnMut(&[u8])) {
        for number in [self.k, self.width, self.depth] {
            feed(&u64::from(number).to_le_bytes());
        }
        feed(&self.decay.to_le_bytes());
    }
}
