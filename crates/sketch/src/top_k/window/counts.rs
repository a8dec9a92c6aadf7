//! The counts of all candidates after a step to a later pane.
//!
//! The candidates are processed in batches. The items of a batch are hashed once. Then the tables of the panes are read
//! one after another, so that a table stays in the caches while the counts of all items of the batch are read from it.

use super::{ItemHash, MAX_DEPTH, TopKWindow};
use crate::memory::reserve_exact;
use crate::prefetch::prefetch;
use std::ops::RangeInclusive;

/// Bytes of the largest batch.
const BATCH_BYTES: usize = 4 << 20;

/// Items and buckets are prefetched this many candidates ahead.
const AHEAD: usize = 8;

/// The panes whose counts change the sums of the candidates when a later pane becomes the current one.
#[derive(Debug)]
pub(super) struct Step {
    /// The panes that are dropped.
    pub dropped: RangeInclusive<u64>,
    /// The panes that are kept, without `newest`.
    pub kept: RangeInclusive<u64>,
    /// The newest pane if the known sums do not include it.
    pub newest: Option<u64>,
    /// Whether to subtract the dropped panes from the known sums, instead of adding up the kept ones.
    pub subtract: bool,
    /// Whether the counts stay the same: neither a pane that is dropped nor `newest` has a table.
    pub is_idle: bool,
    /// Whether all panes are dropped.
    pub drops_all: bool,
}

/// The counts of a candidate after a step.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    /// The candidate.
    pub number: u32,
    /// In all panes that are kept.
    pub sum: u64,
    /// In the newest pane, if the step reads it apart.
    pub newest: u32,
    fingerprint: u32,
}

/// Candidates that are counted together.
pub(super) struct Batch {
    depth: usize,
    /// Empty if the allocator refused the memory; then a batch has one candidate.
    counts: Vec<Counts>,
    /// For each candidate, its columns in all rows.
    columns: Vec<u32>,
    one: ([Counts; 1], [u32; MAX_DEPTH as usize]),
}

impl Batch {
    /// A batch for a sketch with this many candidates.
    pub fn new(candidates: u32, depth: usize) -> Self {
        let bytes = size_of::<Counts>() + depth * size_of::<u32>();
        let len = (candidates as usize).min(BATCH_BYTES / bytes);
        let (mut counts, mut columns) = (Vec::new(), Vec::new());
        if reserve_exact(&mut counts, len).is_ok()
            && reserve_exact(&mut columns, len * depth).is_ok()
        {
            counts.resize(len, Counts::default());
            columns.resize(len * depth, 0);
        }
        Self {
            depth,
            counts,
            columns,
            one: ([Counts::default()], [0; MAX_DEPTH as usize]),
        }
    }

    /// Counts the next candidates of `numbers`, as many as the batch can hold. `known` returns the sum of a candidate from
    /// which the step starts. Cost: one pass over each item per 64 rows, and one bucket per row of each pane.
    pub fn count(
        &mut self,
        sketch: &TopKWindow,
        step: &Step,
        numbers: impl Iterator<Item = u32>,
        known: impl Fn(u32) -> u64,
    ) -> &[Counts] {
        let (counts, columns) = match &mut self.counts[..] {
            [] => (&mut self.one.0[..], &mut self.one.1[..self.depth]),
            counts => (counts, &mut self.columns[..]),
        };
        let mut len = 0;
        let places = counts.iter_mut().zip(columns.chunks_exact_mut(self.depth));
        // The places first: a number that finds no place must stay in the iterator.
        for ((counts, columns), number) in places.zip(numbers) {
            let later = number.saturating_add(AHEAD as u32);
            if later < sketch.candidates.len() {
                prefetch(sketch.candidates.item(later), 0);
            }
            let item = sketch.candidates.item(number);
            let hash = ItemHash::new(item, sketch.rows);
            hash.all_rows(item, sketch.rows, columns);
            *counts = Counts {
                number,
                sum: if step.subtract { known(number) } else { 0 },
                newest: 0,
                fingerprint: hash.fingerprint,
            };
            len += 1;
        }
        let counts = &mut counts[..len];
        let read = |pane: u64, counts: &mut [Counts], add: fn(&mut Counts, u32)| {
            let table = &sketch.pane(pane).table;
            if !table.is_allocated() {
                return;
            }
            for (index, counts) in counts.iter_mut().enumerate() {
                let columns_of = |index: usize| &columns[index * self.depth..][..self.depth];
                if index + AHEAD < len {
                    table.prefetch_at(columns_of(index + AHEAD), sketch.rows);
                }
                add(
                    counts,
                    table.estimate_at(counts.fingerprint, columns_of(index), sketch.rows),
                );
            }
        };
        if step.subtract {
            for pane in step.dropped.clone() {
                read(pane, counts, |counts, count| {
                    counts.sum = counts.sum.saturating_sub(count.into());
                });
            }
        } else {
            for pane in step.kept.clone() {
                read(pane, counts, |counts, count| {
                    counts.sum = counts.sum.saturating_add(count.into());
                });
            }
        }
        if let Some(newest) = step.newest {
            read(newest, counts, |counts, count| {
                counts.newest = count;
                counts.sum = counts.sum.saturating_add(count.into());
            });
        }
        counts
    }
}
