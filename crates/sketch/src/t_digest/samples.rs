//! The nodes of one sample each: plain doubles.

use crate::blocks::{BlockMover, BlockVisitor};
use crate::memory::{OutOfMemory, capacity_for, reserve_for};
use std::cmp::Ordering;

/// Samples in order of arrival, or already in stable order as far as a read or a compression has
/// sorted them. Sorting in place changes no state, since only the order among equal samples counts,
/// and the sort is stable. (Equal samples differ only as 0.0 and -0.0 do.)
#[derive(Debug, Default)]
pub(super) struct Samples {
    values: Vec<f64>,
    /// So many from the front are in order.
    sorted: usize,
}

/// Up to this many new samples are inserted one by one behind a sorted front: an insertion moves a
/// few kilobytes, which costs tens of nanoseconds, and sorting a full buffer anew costs several
/// microseconds.
const INSERTED_SINGLY: usize = 16;

impl Samples {
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn is_sorted(&self) -> bool {
        self.sorted == self.values.len()
    }

    /// The samples, in the order they lie in.
    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Whether `more` samples can be appended without an allocation.
    pub(super) fn has_room(&self, more: usize) -> bool {
        self.values.capacity() - self.values.len() >= more
    }

    /// Makes sure that `more` samples can be appended without an allocation, of which there are
    /// never more than `most`.
    pub(super) fn reserve(&mut self, more: usize, most: usize) -> Result<(), OutOfMemory> {
        let len = self.values.len() + more;
        reserve_for(&mut self.values, len, most)
    }

    /// Bytes of the block after [`Samples::reserve`] with these.
    pub(super) fn bytes_with(&self, more: usize, most: usize) -> usize {
        capacity_for(self.values.len() + more, most) * size_of::<f64>()
    }

    /// Appends samples; the room for them was reserved.
    pub(super) fn append(&mut self, values: &[f64]) {
        self.values.extend_from_slice(values);
    }

    /// Reverses samples that were appended from the last to the first in stable order.
    pub(super) fn reverse(&mut self) {
        self.values.reverse();
        self.sorted = self.values.len();
    }

    /// Forgets all samples and keeps the block.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.sorted = 0;
    }

    /// A copy with room for `more` further samples, as far as `most` in all.
    pub(super) fn try_clone(&self, more: usize, most: usize) -> Result<Self, OutOfMemory> {
        let mut values = Vec::new();
        reserve_for(&mut values, self.values.len() + more, most)?;
        values.extend_from_slice(&self.values);
        Ok(Self {
            values,
            sorted: self.sorted,
        })
    }

    /// Puts the samples in stable order, in place. Cost: n log n for n samples; linear for a few
    /// behind a sorted front.
    pub(super) fn sort(&mut self) {
        let len = self.values.len();
        if self.sorted > 0 && len - self.sorted <= INSERTED_SINGLY {
            for end in self.sorted..len {
                let value = self.values[end];
                let place = self.values[..end].partition_point(|&earlier| earlier <= value);
                self.values[place..=end].rotate_right(1);
            }
        } else {
            sort_stably(&mut self.values);
        }
        self.sorted = len;
    }

    /// Bytes asked for of the block.
    pub(super) fn block_bytes(&self) -> usize {
        self.values.capacity() * size_of::<f64>()
    }

    pub(super) fn visit(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.values);
    }

    pub(super) fn relocate(&mut self, mover: &mut impl BlockMover) {
        mover.relocate(&mut self.values);
    }
}

/// Sorts finite numbers so that 0.0 and -0.0 keep their order among each other. The standard
/// library's unstable sort is the faster one and takes no memory; so the zeros go to the front in
/// order of arrival, the rest is sorted, and the zeros go back between the negative and the
/// positive numbers.
fn sort_stably(values: &mut [f64]) {
    let mut zeros = 0;
    for at in 0..values.len() {
        if values[at] == 0.0 {
            values.swap(zeros, at);
            zeros += 1;
        }
    }
    let rest = &mut values[zeros..];
    // Neither nan nor zeros are left, and for such this order is the same as that of `total_cmp`, which
    // takes twice as long.
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
        fn the_order_is_that_of_a_stable_sort(
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
    fn the_block_never_outgrows_the_most_there_can_be() {
        let mut samples = Samples::default();
        for count in 0..100 {
            samples.reserve(1, 100).unwrap();
            samples.append(&[f64::from(count)]);
            assert!(samples.values.capacity() <= 100);
        }
    }
}
