//! How often a chain finds an item that was not added.

use super::{Chain, Filter, FilterShape, Layout};
use crate::accuracy::{Field, Figure, any_of, of_sub_filters, share};
use crate::math::pow;
use crate::prefetch::with_wide_vectors;

impl<L: Layout> Chain<L> {
    /// The fields of [`Accuracy`](crate::accuracy::Accuracy). `specified_rate` is the one for which the chain was created.
    pub(crate) fn accuracy_fields(&self, specified_rate: f64) -> Vec<Field> {
        let [rate, fill] = of_sub_filters(self.filters.iter().map(|filter| {
            let (ones, rate) = filter.ones_and_rate();
            (ones, filter.num_bits(), rate)
        }));
        vec![
            rate,
            (c"specified rate", Figure::Ratio(specified_rate)),
            fill,
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

    /// The number of bits that are 1, at most all that items use, and the false positive rate. Cost: as [`Filter::count_ones`].
    pub(crate) fn ones_and_rate(&self) -> (u64, f64) {
        // A damaged file can have ones beyond the bits.
        let ones = self.count_ones().min(self.num_bits());
        (ones, self.false_positive_rate(ones, self.items()))
    }

    /// The false positive rate of the filter if `ones` bits were 1 after the addition of `items` items.
    ///
    /// If the probes of an item were independent, it would be `fill` to the power of their number. But they are a sequence
    /// with a constant difference modulo 2^64, so in a small filter an item is more often found:
    ///
    /// - Its sequence overlaps with that of an added item. The factor was fitted: crates/models/tests/accuracy measures it.
    /// - It has few places. If the number of bits is an odd number q times a power of two, there are differences with which a
    ///   sequence has at most q places, as many with which it has 2 q places, twice as many with 4 q, and so on.
    pub(crate) fn false_positive_rate(&self, ones: u64, items: u64) -> f64 {
        let (bits, probes) = (self.num_bits(), u64::from(self.hashes()));
        let fill = share(ones, bits);
        let all_ones = |places| pow(fill, places as f64);
        let overlaps = 1.25 * pow(1.0 - fill, -2.5) * share(items, bits);
        let mut places = bits.unbounded_shr(bits.trailing_zeros());
        let mut few_places = 0.0;
        let mut differences = places;
        while places < probes {
            few_places += differences as f64 * all_ones(places);
            differences = places;
            places *= 2;
        }
        let in_sequence = (overlaps + few_places) / bits as f64;
        let by_sequence = all_ones(S::PROBES_APART) * in_sequence;
        // Not a number if there are no bits, or if all are 1 and there are no items.
        any_of([all_ones(probes), by_sequence.min(1.0)])
    }
}
