//! TODO.

use super::{CountMin, CountMinWindow};
use crate::accuracy::{Accuracy, Field};
use crate::memory::OutOfMemory;
use crate::stored::Stored;
use crate::window::Panes;

impl Accuracy for CountMin {
    fn accuracy(
        &self,
        _panes: Panes,
        _cache: &mut <Self as Stored>::Cache,
    ) -> Result<Vec<Field>, OutOfMemory> {
        todo!()
    }
}

impl Accuracy for CountMinWindow {
    fn accuracy(
        &self,
        _panes: Panes,
        _cache: &mut <Self as Stored>::Cache,
    ) -> Result<Vec<Field>, OutOfMemory> {
        todo!()
    }
}
