//! How often a chain finds an item that was not added.

use super::{Chain, Filter, FilterShape, Layout};
use crate::accuracy::{Field, Figure, any_of, share};
use crate::math::pow;
use crate::prefetch::with_wide_vectors;

/// The two hashes of an item determine all its probes, so an item is also found if its probes are in a sequence with those of
/// an added item. The probability per added item, times the square of the number of bits; measured by
/// crates/models/tests/accuracy.
const SHARED_SEQUENCES: f64 = 7.0;

impl<L: Layout> Chain<L> {
    /// The fields of [`Accuracy`](crate::accuracy::Accuracy). `specified_rate` is the one for which the chain was created.
    pub(crate) fn accuracy_fields(&self, specified_rate: f64) -> Vec<Field> {
        let (mut ones, mut bits) = (0, 0);
        let rates = self.filters.iter().map(|filter| {
            let ones_of_filter = filter.count_ones();
            ones += ones_of_filter;
            bits += filter.num_bits();
            filter.false_positive_rate(ones_of_filter)
        });
        vec![
            (c"false positive rate", Figure::Ratio(any_of(rates))),
            (c"specified rate", Figure::Ratio(specified_rate)),
            (c"fill", Figure::Ratio(share(ones, bits))),
        ]
    }
}

impl<S: FilterShape> Filter<S> {
    /// The number of bits that are 1. Cost: linear in the bytes of the filter.
    pub(crate) fn count_ones(&self) -> u64 {
        with_wide_vectors(
            #[inline(always)]
            || {
                let (words, rest) = self.bits().as_chunks();
                let ones = words
                    .iter()
                    .map(|&word| u64::from_ne_bytes(word).count_ones());
                let in_rest = rest.iter().map(|byte| byte.count_ones());
                ones.map(u64::from).sum::<u64>() + in_rest.map(u64::from).sum::<u64>()
            },
        )
    }

    /// The probability that the filter contains an item that was not added, with this number of bits that are 1.
    fn false_positive_rate(&self, ones: u64) -> f64 {
        let bits = self.num_bits();
        let independent = pow(share(ones, bits), self.hashes().into());
        let in_sequence = SHARED_SEQUENCES * self.items() as f64 / (bits as f64 * bits as f64);
        (independent + in_sequence).min(1.0)
    }
}
