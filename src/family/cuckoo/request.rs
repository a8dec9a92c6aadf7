//! The parameters of a new filter.

use crate::family::window_option::NewWindow;
use roughly_sketch::cuckoo::Parameters;

/// The parameters of a new filter.
#[derive(Debug, Clone, Copy)]
pub struct ReserveOptions {
    /// The approximate capacity in items.
    pub capacity: u64,
    /// The other parameters.
    pub parameters: Parameters,
    /// The window, if the filter has one.
    pub window: Option<NewWindow>,
}

/// The options of CF.INSERT and CF.INSERTNX.
#[derive(Debug)]
pub struct InsertOptions {
    /// Options of a missing filter.
    pub reserve: ReserveOptions,
    /// Whether a missing filter is created.
    pub create: bool,
    /// Whether every server accepts the options. The smallest valid capacity depends on the bucket size that a server
    /// is configured with, even if the key exists.
    pub accepted_everywhere: bool,
    /// The argument of the first item.
    pub first_item: usize,
}
