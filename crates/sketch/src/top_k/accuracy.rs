//! How many counts of a list are confirmed, and how many items it misses.

use super::item_hash::Buckets;
use super::{ItemHash, TopK, TopKWindow};
use crate::accuracy::{Accuracy, Field, Figure, share};
use crate::memory::OutOfMemory;
use crate::stored::Stored;
use crate::window::Panes;
use crate::work_limit::{MAX_ROWS_WITHOUT_LIMIT, hash_work, within_work_limit};
use std::iter::once;

/// The fields of a list in descending order. `is_confirmed` returns whether the count of an item is confirmed, and `None` if it is
/// not examined. `missing` returns how many other items have counts above the smallest one of the list.
fn fields<I>(
    list: impl ExactSizeIterator<Item = (I, u32)>,
    mut is_confirmed: impl FnMut(I, u32) -> Option<bool>,
    missing: impl FnOnce(u32) -> u64,
) -> Vec<Field> {
    let len = list.len() as u64;
    let (mut confirmed, mut examined, mut smallest) = (0, 0, 0);
    for (item, count) in list {
        smallest = count;
        if let Some(is_confirmed) = is_confirmed(item, count) {
            examined += 1;
            confirmed += u64::from(is_confirmed);
        }
    }
    // Listed counts are above 0.
    let agreement = match smallest {
        0 => 1.0,
        _ => share(confirmed, examined) * share(len.saturating_sub(missing(smallest)), len),
    };
    vec![
        (c"agreement", Figure::Ratio(agreement)),
        (c"smallest listed count", Figure::Count(smallest.into())),
    ]
}

impl TopK {
    /// Whether more than half of the buckets of a listed item, and at least two, have its fingerprint and a count that differs from
    /// that of the list by at most 1 %. The rows count independently: buckets that have counted the item from its first occurrence
    /// on have equal counts, if they do not decay. Cost: as [`TopK::count`].
    #[must_use]
    pub fn is_confirmed(&self, item: &[u8], count: u32) -> bool {
        let rows = self.rows();
        let hash = &ItemHash::new(item, rows);
        let near = (self.table).near(Buckets { item, hash, rows }, count);
        near > u64::from(self.depth / 2).max(1)
    }
}

impl Accuracy for TopK {
    /// In a sketch with many rows, only the first items of the list are examined, within the limit of the work of a command.
    fn accuracy(
        &self,
        _: Panes,
        (): &mut <Self as Stored>::Cache,
    ) -> Result<Vec<Field>, OutOfMemory> {
        let (depth, bytes) = (u64::from(self.depth), self.table.buckets.bytes.len() as u64);
        let mut work = 0u64;
        let is_confirmed = |item: &[u8], count| {
            work = work.saturating_add(hash_work(item, depth));
            let is_examined =
                depth <= MAX_ROWS_WITHOUT_LIMIT || within_work_limit(once(work), depth, bytes);
            is_examined.then(|| self.is_confirmed(item, count))
        };
        // An addition whose count is above the smallest one enters the list.
        Ok(fields(self.list()?, is_confirmed, |_| 0))
    }
}

impl TopKWindow {
    /// Whether the heavy cells of an item with this hash ([`TopKWindow::hash`]) have at least ten times the count of the smallest heavy
    /// cells of its buckets, in the sums over these panes. Heavy cells do not decay. An item without one gets the smallest one of its buckets when its count exceeds
    /// that one. Until then it can lose occurrences. Cost: two buckets per pane.
    #[must_use]
    pub fn is_confirmed_at(&self, hash: &ItemHash, panes: Panes) -> bool {
        let [heavy, smallest] = self.heavy_counts(panes, hash);
        heavy > 0 && heavy / 10 >= smallest
    }
}

impl Accuracy for TopKWindow {
    fn accuracy(
        &self,
        panes: Panes,
        cache: &mut <Self as Stored>::Cache,
    ) -> Result<Vec<Field>, OutOfMemory> {
        let list = self.hashes_at(panes, cache)?;
        let is_full = list.len() == self.k() as usize;
        let is_confirmed = |hash: ItemHash, _| Some(self.is_confirmed_at(&hash, panes));
        Ok(fields(list, is_confirmed, |smallest| {
            self.unnamed_above(panes, if is_full { smallest } else { 0 })
        }))
    }
}
