//! TODO.

use super::{TDigest, TDigestWindow};
use crate::accuracy::{Accuracy, Field};
use crate::memory::OutOfMemory;
use crate::stored::Stored;
use crate::window::Panes;

impl Accuracy for TDigest {
    fn accuracy(
        &self,
        _panes: Panes,
        _cache: &mut <Self as Stored>::Cache,
    ) -> Result<Vec<Field>, OutOfMemory> {
        todo!()
    }
}

impl Accuracy for TDigestWindow {
    fn accuracy(
        &self,
        _panes: Panes,
        _cache: &mut <Self as Stored>::Cache,
    ) -> Result<Vec<Field>, OutOfMemory> {
        todo!()
    }
}
