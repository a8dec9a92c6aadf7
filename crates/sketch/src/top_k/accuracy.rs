//! TODO.

use super::{TopK, TopKWindow};
use crate::accuracy::{Accuracy, Field};
use crate::memory::OutOfMemory;
use crate::stored::Stored;
use crate::window::Panes;

impl Accuracy for TopK {
    fn accuracy(
        &self,
        _panes: Panes,
        _cache: &mut <Self as Stored>::Cache,
    ) -> Result<Vec<Field>, OutOfMemory> {
        todo!()
    }
}

impl Accuracy for TopKWindow {
    fn accuracy(
        &self,
        _panes: Panes,
        _cache: &mut <Self as Stored>::Cache,
    ) -> Result<Vec<Field>, OutOfMemory> {
        todo!()
    }
}
