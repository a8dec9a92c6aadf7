//! The parameters of a new filter.

use roughly_sketch::cuckoo::Parameters;

/// The options of CF.RESERVE.
#[derive(Debug, Clone, Copy)]
pub struct ReserveOptions {
    /// The approximate capacity in items.
    pub capacity: u64,
    /// The other parameters.
    pub parameters: Parameters,
}
