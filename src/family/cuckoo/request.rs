//! The parameters of a new filter.

use crate::family::window_seed::FilterWindow;
use roughly_sketch::cuckoo::Parameters;

/// The parameters of a new filter.
#[derive(Debug, Clone, Copy)]
pub struct ReserveOptions {
    /// The approximate capacity in items.
    pub capacity: u64,
    /// The other parameters.
    pub parameters: Parameters,
    /// The window, if the filter has one.
    pub window: Option<FilterWindow>,
}
