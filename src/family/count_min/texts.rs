//! Error texts that several commands share.

use std::ffi::CStr;

/// A command needs a key that does not exist.
pub const NOT_FOUND: &CStr = c"CMS: key does not exist";
/// No memory for the counts of a pane.
pub const NO_PANE_MEMORY: &CStr = c"CMS: Insufficient memory for a pane";
/// Items that would take too long.
pub const TOO_MUCH: &CStr = c"CMS: too much work for the depth of the sketch";

/// The error of a negative increment or weight for a sketch with a window.
pub const NO_DECREMENTS: &CStr = c"CMS: a sketch with a window cannot be decremented";
