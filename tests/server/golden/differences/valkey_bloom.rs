//! Intended differences from the recordings of valkey-bloom.

use super::Change::Whole;
use super::Effect::ReplyOnly;
use super::{Difference, everywhere};

/// All intended differences from valkey-bloom.
pub const DIFFERENCES: &[Difference] = &[];
