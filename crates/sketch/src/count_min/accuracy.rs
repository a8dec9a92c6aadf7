//! How far the estimates of a sketch are above the counts.
//!
//! The estimate of an item that was never added is its error. The error of an item that was added depends on the other items of
//! its cells alone, so it is distributed as that of an absent one, or lower in a window.

use super::CountMin;
use crate::accuracy::{Accuracy, Field, Figure, share};
use crate::hash::rows::Rows;
use crate::memory::{OutOfMemory, with_capacity};
use crate::window::Panes;

/// The largest number of cells that are read.
const MAX_CELLS: usize = 100_000;

/// Items that nobody adds by accident: a text and a number.
static ABSENT_ITEMS: [[u8; 20]; 1000] = {
    let mut items = [*b"SKETCH.ACCURACY \0\0\0\0"; 1000];
    let mut number = 0;
    while number < items.len() {
        [.., items[number][18], items[number][19]] = (number as u32).to_be_bytes();
        number += 1;
    }
    items
};

/// As many absent items as can be looked up, if each has this many cells.
pub(super) fn absent_items(cells: usize) -> impl ExactSizeIterator<Item = &'static [u8]> {
    let len = (MAX_CELLS / cells.max(1)).clamp(1, ABSENT_ITEMS.len());
    ABSENT_ITEMS[..len].iter().map(|item| &item[..])
}

/// The fields of a sketch with these estimates of absent items, at least one, and this total, of which a part is counted exactly.
pub(super) fn fields(mut estimates: Vec<u64>, total: u64, exact: u64) -> Vec<Field> {
    estimates.sort_unstable();
    let quantile = |per_cent: usize| {
        let rank = (estimates.len() * per_cent).div_ceil(100);
        Figure::Ratio(estimates[rank - 1] as f64)
    };
    vec![
        (c"typical error", quantile(50)),
        (c"error p99", quantile(99)),
        (c"count", Figure::Count(total)),
        (c"items counted exactly", Figure::Ratio(share(exact, total))),
    ]
}

impl Accuracy for CountMin {
    fn accuracy(&self, _: Panes, (): &mut ()) -> Result<Vec<Field>, OutOfMemory> {
        // An estimate from fewer rows is not lower.
        let depth = self.rows().depth.min(MAX_CELLS);
        let rows = Rows {
            depth,
            ..self.rows()
        };
        let items = absent_items(depth);
        let mut estimates = with_capacity(items.len())?;
        self.query_rows(rows, items, |estimate| estimates.push(estimate));
        Ok(fields(estimates, self.total, 0))
    }
}
