//! The nodes that have one sample each, stored as doubles.

use crate::blocks::{BlockMover, BlockVisitor};
use crate::cache::Stamp;
use crate::memory::{OutOfMemory, Scratch, capacity_for, reserve_for};
use std::cmp::Ordering;

/// For sorted copies during a save or a read: 1 MiB, for digests with a compression of at most 21,843.
static SCRATCH: Scratch<f64, { (1 << 20) / size_of::<f64>() }> = Scratch::new(0.0);

/// Samples in the order of their addition, after a sorted front. Only the order of equal samples is part of the state of a
/// digest, and all sorts are stable. (Equal samples with different bits are 0.0 and -0.0.)
#[derive(Debug)]
pub(super) struct Samples {
    values: Vec<f64>,
    /// Number of samples at the front that are sorted.
    pub(super) sorted: usize,
    /// The number of the list, which changes when the list is replaced, not when it grows. Lists with equal numbers have
    /// equal samples, as far as both go.
    pub(super) list: u64,
}

/// Up to this many new samples are inserted one by one into the sorted front, which moves a few kilobytes each. More
/// are sorted together with all others.
const MAX_INSERTED: usize = 16;

impl Default for Samples {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            sorted: 0,
            list: Stamp::new().value(),
        }
    }
}

impl Samples {
    /// Number of samples.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether all samples are in stable order.
    pub(super) fn is_sorted(&self) -> bool {
        self.sorted == self.values.len()
    }

    /// Number of samples for which there is memory.
    pub(super) fn capacity(&self) -> usize {
        self.values.capacity()
    }

    /// The samples in their present order.
    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Reserves memory for `more` samples. There are never more than `max_len`.
    pub(super) fn reserve(&mut self, more: usize, max_len: usize) -> Result<(), OutOfMemory> {
        let len = self.values.len() + more;
        reserve_for(&mut self.values, len, max_len)
    }

    /// Bytes of the block after [`Samples::reserve`] with the same arguments.
    pub(super) fn bytes_with(&self, more: usize, max_len: usize) -> usize {
        capacity_for(self.values.len() + more, max_len) * size_of::<f64>()
    }

    /// Appends samples. The caller has reserved the memory.
    pub(super) fn append(&mut self, values: &[f64]) {
        self.values.extend_from_slice(values);
    }

    /// Removes all samples and keeps the block.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.sorted = 0;
        self.list = Stamp::new().value();
    }

    /// A copy with capacity for `more` samples, up to `max_len` in total.
    pub(super) fn try_clone(&self, more: usize, max_len: usize) -> Result<Self, OutOfMemory> {
        let mut values = Vec::new();
        reserve_for(&mut values, self.values.len() + more, max_len)?;
        values.extend_from_slice(&self.values);
        Ok(Self {
            values,
            sorted: self.sorted,
            list: Stamp::new().value(),
        })
    }

    /// Sorts the samples in stable order, in place. Cost: that of [`sort_after`].
    pub(super) fn sort(&mut self) {
        sort_after(&mut self.values, self.sorted);
        self.sorted = self.values.len();
        self.list = Stamp::new().value();
    }

    /// Passes the samples in stable order to `read`. Cost: a copy and that of [`sort_after`], unless they are sorted.
    pub(super) fn with_sorted<R>(&self, read: impl FnOnce(&[f64]) -> R) -> Result<R, OutOfMemory> {
        if self.is_sorted() {
            return Ok(read(&self.values));
        }
        with_sorted_copy(&self.values, self.sorted, |sorted| read(sorted))
    }

    /// Bytes of the block.
    #[inline]
    pub(super) fn block_bytes(&self) -> usize {
        self.values.capacity() * size_of::<f64>()
    }

    /// Passes the block to `visitor`.
    pub(super) fn visit(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.values);
    }

    /// Passes the block to `mover`, which may move it.
    pub(super) fn relocate(&mut self, mover: &mut impl BlockMover) {
        mover.relocate(&mut self.values);
    }
}

/// Passes a copy of the samples in stable order to `read`; the first `sorted` ones are sorted. Cost: that of [`sort_after`].
pub(super) fn with_sorted_copy<R>(
    values: &[f64],
    sorted: usize,
    read: impl FnOnce(&mut [f64]) -> R,
) -> Result<R, OutOfMemory> {
    SCRATCH.with(values.len(), 0.0, |copy| {
        copy.copy_from_slice(values);
        sort_after(copy, sorted);
        read(copy)
    })
}

/// Sorts samples, of which the first `sorted` ones are sorted, in stable order. Cost: O(n log n); linear for a few samples
/// after a sorted front.
fn sort_after(values: &mut [f64], sorted: usize) {
    if sorted == 0 || values.len() - sorted > MAX_INSERTED {
        return sort_stably(values);
    }
    for end in sorted..values.len() {
        let value = values[end];
        let place = values[..end].partition_point(|&earlier| earlier <= value);
        values[place..=end].rotate_right(1);
    }
}

/// Sorts finite numbers and keeps the order of the zeros (0.0 and -0.0). The standard library's unstable sort is faster
/// than its stable one and allocates nothing. So the zeros are moved to the front in their order, the other numbers are
/// sorted, and the zeros are rotated between the negative and the positive numbers.
fn sort_stably(values: &mut [f64]) {
    let mut zeros = 0;
    for at in 0..values.len() {
        if values[at] == 0.0 {
            values.swap(zeros, at);
            zeros += 1;
        }
    }
    let rest = &mut values[zeros..];
    // Without nan and zeros this is the order of `total_cmp`, which is slower.
    rest.sort_unstable_by(|one, other| one.partial_cmp(other).unwrap_or(Ordering::Equal));
    let negatives = rest.partition_point(|&value| value < 0.0);
    values[..zeros + negatives].rotate_left(zeros);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> impl Strategy<Value = f64> {
        prop_oneof![
            Just(0.0),
            Just(-0.0),
            (-3i8..4).prop_map(f64::from),
            -1e300..1e300f64,
            Just(f64::MAX),
            Just(5e-324),
        ]
    }

    proptest! {
        #[test]
        fn the_order_equals_that_of_a_stable_sort(
            batches in prop::collection::vec(prop::collection::vec(sample(), 0..40), 0..8),
        ) {
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            let mut samples = Samples::default();
            let mut model: Vec<f64> = Vec::new();
            for batch in batches {
                samples.reserve(batch.len(), 1000).unwrap();
                samples.append(&batch);
                samples.sort();
                prop_assert!(samples.is_sorted());
                model.extend(batch);
                let mut expected = model.clone();
                expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
                prop_assert_eq!(bits(&samples.values), bits(&expected));
            }
        }
    }

    #[test]
    fn the_capacity_never_exceeds_the_maximum_length() {
        let mut samples = Samples::default();
        for count in 0..100 {
            samples.reserve(1, 100).unwrap();
            samples.append(&[f64::from(count)]);
            assert!(samples.values.capacity() <= 100);
        }
    }
}
