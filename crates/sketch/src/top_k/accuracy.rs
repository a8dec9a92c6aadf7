//! How many counts of a list are confirmed.

use super::item_hash::Buckets;
use super::{ItemHash, TopK, TopKWindow};
use crate::accuracy::{Accuracy, Field, Figure, share};
use crate::memory::OutOfMemory;
use crate::stored::Stored;
use crate::window::Panes;
use crate::work_limit::{MAX_ROWS_WITHOUT_LIMIT, hash_work, within_work_limit};
use std::iter::once;

/// The fields of a list in descending order. `confirms` returns whether the count of an item is confirmed, and `None` if it is not
/// examined.
fn fields<'a>(
    list: impl Iterator<Item = (&'a [u8], u32)>,
    mut confirms: impl FnMut(&[u8], u32) -> Option<bool>,
) -> Vec<Field> {
    let (mut confirmed, mut examined, mut smallest) = (0, 0, 0);
    for (item, count) in list {
        smallest = count;
        if let Some(is_confirmed) = confirms(item, count) {
            examined += 1;
            confirmed += u64::from(is_confirmed);
        }
    }
    // Listed counts are above 0.
    let agreement = match smallest {
        0 => 1.0,
        _ => share(confirmed, examined),
    };
    vec![
        (c"agreement", Figure::Ratio(agreement)),
        (c"smallest listed count", Figure::Count(smallest.into())),
    ]
}

impl Accuracy for TopK {
    /// The count of an item is confirmed if more than half of its buckets, and at least two, have its fingerprint and a count that
    /// differs by at most 1 %. Buckets count independently: those of an item that was counted from its first occurrence on are equal,
    /// unless they decay. In a sketch with many rows, only the first items of the list are examined, within the limit of the work
    /// of a command.
    fn accuracy(
        &self,
        _: Panes,
        (): &mut <Self as Stored>::Cache,
    ) -> Result<Vec<Field>, OutOfMemory> {
        let (rows, depth) = (self.rows(), u64::from(self.depth));
        let bytes = self.table.bytes().len() as u64;
        let mut work = 0u64;
        Ok(fields(self.list()?, |item, count| {
            work = work.saturating_add(hash_work(item, depth));
            let is_examined =
                depth <= MAX_ROWS_WITHOUT_LIMIT || within_work_limit(once(work), depth, bytes);
            is_examined.then(|| {
                let hash = &ItemHash::new(item, rows);
                let equal = (self.table).near(Buckets { item, hash, rows }, count);
                equal > (depth / 2).max(1)
            })
        }))
    }
}

impl Accuracy for TopKWindow {
    /// The count of an item is confirmed if its heavy cells have at least ten times the count of the smallest heavy cells of its
    /// buckets, in the sums over the panes. Heavy cells do not decay. An item without one gets the smallest one of its buckets, once its
    /// count exceeds that one: until then, it can lose about as many occurrences.
    fn accuracy(
        &self,
        panes: Panes,
        cache: &mut <Self as Stored>::Cache,
    ) -> Result<Vec<Field>, OutOfMemory> {
        Ok(fields(self.list_at(panes, cache)?, |item, _| {
            let [heavy, smallest] = self.heavy_counts(panes, &self.hash(item));
            Some(heavy > 0 && heavy / 10 >= smallest)
        }))
    }
}
