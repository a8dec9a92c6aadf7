//! [`Accuracy`]: how wrong the answers of a sketch are now (docs/commands/sketch.accuracy.md).

use crate::math::{expm1, ln_1p};
use crate::memory::OutOfMemory;
use crate::stored::Stored;
use crate::window::Panes;
use std::ffi::CStr;

/// The name of a field, and its value.
pub type Field = (&'static CStr, Figure);

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// A rate, an error or a share, at least 0.
    Ratio(f64),
    /// A number of items, increments or samples.
    Count(u64),
}

/// A sketch that reports how wrong its answers are.
pub trait Accuracy: Stored {
    /// The fields of the type in the order of the reply. They describe the reads of these panes, and depend only on the state and
    /// the panes.
    ///
    /// Cost: linear in the bytes of Bloom and cuckoo filters, and at most 100,000 cells of a count-min sketch; that of a read of
    /// other types, and about 500,000 cells of a top-k with a window.
    ///
    /// # Errors
    /// [`OutOfMemory`], if the read needs memory that is refused.
    fn accuracy(&self, panes: Panes, cache: &mut Self::Cache) -> Result<Vec<Field>, OutOfMemory>;
}

/// The probability that at least one of several independent events occurs.
pub(crate) fn any_of(probabilities: impl IntoIterator<Item = f64>) -> f64 {
    let none = probabilities
        .into_iter()
        .map(|probability| ln_1p(-probability));
    // A difference, because a negated sum of no terms is -0.
    0.0 - expm1(none.sum())
}

/// The probability that one of `compared` slots has the fingerprint of an item that was not added, if a share of all slots is
/// used.
pub(crate) fn any_match(used: f64, fingerprints: u64, compared: u64) -> f64 {
    let of_slot = (used / fingerprints as f64).min(1.0);
    0.0 - expm1(ln_1p(-of_slot) * compared as f64)
}

/// A share of a total; 0 of nothing.
pub(crate) fn share(part: u64, total: u64) -> f64 {
    match total {
        0 => 0.0,
        total => part as f64 / total as f64,
    }
}

/// The fields of a filter: the rate and the fill. Each sub-filter has its used places, all places, and its rate.
pub(crate) fn of_sub_filters(sub_filters: impl Iterator<Item = (u64, u64, f64)>) -> [Field; 2] {
    let (mut used, mut all) = (0, 0);
    let rate = any_of(sub_filters.map(|(used_of_each, all_of_each, rate)| {
        used += used_of_each;
        all += all_of_each;
        rate
    }));
    [
        (c"false positive rate", Figure::Ratio(rate)),
        (c"fill", Figure::Ratio(share(used, all))),
    ]
}
