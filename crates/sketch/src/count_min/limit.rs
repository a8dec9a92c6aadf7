//! Limits of the estimates: rate limits.
//!
//! An estimate is never too low, so an item whose increments are all limited never counts more than the limit. It can be
//! too high: an increment can be refused early.

use std::fmt::Debug;

/// The highest estimate that an increment may lead to.
///
/// A type per kind of limit, so that increments without a limit do not test for one.
pub trait Limit: Copy + Debug {
    /// The limit; `None` without one.
    fn max_estimate(self) -> Option<u64>;
}

/// Increments without a limit.
#[derive(Debug, Clone, Copy)]
pub struct NoLimit;

impl Limit for NoLimit {
    #[inline(always)]
    fn max_estimate(self) -> Option<u64> {
        None
    }
}

impl Limit for u64 {
    #[inline(always)]
    fn max_estimate(self) -> Option<u64> {
        Some(self)
    }
}
