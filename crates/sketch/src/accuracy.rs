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
    /// other types.
    ///
    /// # Errors
    /// [`OutOfMemory`], if the read needs memory that is refused.
    fn accuracy(&self, panes: Panes, cache: &mut Self::Cache) -> Result<Vec<Field>, OutOfMemory>;
}

/// The probability that at least one of several independent events occurs.
pub(crate) fn any_of(probabilities: impl Iterator<Item = f64>) -> f64 {
    let none = probabilities.map(|probability| ln_1p(-probability));
    // A difference, because a negated sum of no terms is -0.
    0.0 - expm1(none.sum())
}

/// The probability that at least one of `trials` independent events of this probability occurs.
pub(crate) fn any_of_equal(probability: f64, trials: u64) -> f64 {
    0.0 - expm1(ln_1p(-probability) * trials as f64)
}

/// A share of a total; 0 of nothing.
pub(crate) fn share(part: u64, total: u64) -> f64 {
    match total {
        0 => 0.0,
        total => part as f64 / total as f64,
    }
}
