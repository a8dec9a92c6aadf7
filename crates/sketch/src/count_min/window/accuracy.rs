//! How far the estimates of a sketch with a window are above the counts.

use super::super::accuracy::{absent_items, fields};
use super::{CountMinWindow, PaneCounts};
use crate::accuracy::{Accuracy, Field};
use crate::memory::{OutOfMemory, with_capacity};
use crate::window::Panes;

impl Accuracy for CountMinWindow {
    fn accuracy(&self, panes: Panes, (): &mut ()) -> Result<Vec<Field>, OutOfMemory> {
        let (mut cells, mut exact) = (0, 0);
        for pane in self.panes.counted(panes) {
            match pane.content.counts {
                PaneCounts::Exact(_) => {
                    cells += 1;
                    exact += pane.content.total;
                }
                PaneCounts::Array(_) => cells += self.grid.rows.depth,
            }
        }
        let items = absent_items(cells);
        let mut estimates = with_capacity(items.len())?;
        self.query_all(items, panes, |estimate| estimates.push(estimate));
        Ok(fields(estimates, self.total(panes), exact))
    }
}
