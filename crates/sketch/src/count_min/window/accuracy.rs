//! How far the estimates of a sketch with a window are above the counts.

use super::super::accuracy::{absent_items, fields};
use super::CountMinWindow;
use crate::accuracy::{Accuracy, Field};
use crate::memory::{OutOfMemory, with_capacity};
use crate::window::Panes;

impl Accuracy for CountMinWindow {
    fn accuracy(&self, panes: Panes, (): &mut ()) -> Result<Vec<Field>, OutOfMemory> {
        let counted = self.panes.counted(panes);
        let items = absent_items(self.grid.rows.depth * counted.len());
        let mut estimates = with_capacity(items.len())?;
        self.query_all(items, panes, |estimate| estimates.push(estimate));
        let exact = counted.iter().filter(|pane| pane.content.array().is_none());
        let exact = exact.map(|pane| pane.content.total).sum();
        Ok(fields(estimates, self.total(panes), exact))
    }
}
