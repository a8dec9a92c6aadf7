//! The size of a sub-filter: buckets, fingerprints and states from the number of items, the error rate and the panes.

/// Slots are read as parts of 64-bit words that begin at a byte, so at most 57 bits are available.
const MAX_SLOT_BITS: u32 = 57;
/// The bucket and the fingerprint of an item are parts of one 64-bit hash. Two bits are left unused, so that no bucket
/// or fingerprint is noticeably more likely than others.
const MAX_HASH_BITS: u32 = 62;
/// The fewest fingerprints. With fewer, an entry has too few alternative buckets for evictions.
const MIN_FINGERPRINTS: u64 = 16;
/// Buckets in addition to those that the load requires. A few items may share two buckets by chance. In a small
/// sub-filter that would otherwise be likely enough to matter; see the tests of accuracy.
const EXTRA_BUCKETS: u64 = 12;
/// Slots per group, at most, so that the time to sweep one is limited. See [`super::sweep`].
const GROUP_SLOTS: u32 = 512;

/// The binary logarithm of the number of buckets per group.
pub fn log2_group_buckets(bucket_size: u8) -> u32 {
    (GROUP_SLOTS / u32::from(bucket_size.max(1))).ilog2()
}

/// The share of slots that the items of a full sub-filter use, per thousand. Higher shares save memory, but insertions
/// evict more. With one slot per bucket, the theoretical limit is 500; with two, 897; with four, 980 (Lehman and
/// Panigrahy, "3.5-Way Cuckoo Hashing for the Price of 2-and-a-Bit", ESA 2009).
fn load_per_thousand(bucket_size: u8) -> u64 {
    match bucket_size {
        0 | 1 => 400,
        2 => 800,
        3 => 880,
        4 => 913,
        _ => 930,
    }
}

/// The parameters of one sub-filter. They determine its layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubFilterSize {
    /// Items after which the sub-filter is full, at least 1.
    pub limit: u64,
    /// Number of buckets: even, at least 2.
    pub buckets: u64,
    /// Number of different fingerprints, at least 1.
    pub fingerprints: u64,
    /// Ticks per generation, at least 1. A group is swept before its first write in a generation.
    pub generation_ticks: u64,
}

impl SubFilterSize {
    /// The size for `limit` items in buckets of `bucket_size` slots, with a window of `panes` panes. In a full
    /// sub-filter, the probability of a false positive is at most `error_rate`. `None` if the size does not fit in 64
    /// bits, the slots would be longer than 57 bits, or `error_rate` is not above 0.
    pub fn for_items(limit: u64, error_rate: f64, bucket_size: u8, panes: u64) -> Option<Self> {
        if error_rate.is_nan() || error_rate <= 0.0 || limit == 0 {
            return None;
        }
        let slots = u128::from(limit) * 1000 / u128::from(load_per_thousand(bucket_size));
        let buckets = u64::try_from(slots / u128::from(bucket_size.max(1))).ok()?;
        let buckets = buckets.checked_add(EXTRA_BUCKETS + 1)? & !1;
        // A look-up compares the fingerprints of two buckets, which have `limit / buckets` items each on average.
        let fingerprints = (2.0 * limit as f64 / buckets as f64 / error_rate).ceil();
        if fingerprints >= (1u64 << MAX_SLOT_BITS) as f64 {
            return None;
        }
        let fingerprints = (fingerprints as u64).max(MIN_FINGERPRINTS);
        // The fewest generations that keep the cost of sweeping at about 20 slots per addition. If the slot has a spare
        // bit, twice as many.
        let fewest = (panes / 16).max(1);
        let values = fingerprints.checked_mul(panes + 1 + fewest)?;
        let slot_bits = u64::BITS - (values - 1).leading_zeros();
        if slot_bits > MAX_SLOT_BITS {
            return None;
        }
        let states = (1u64 << slot_bits) / fingerprints;
        let generation_ticks = (states - panes - 1).min((panes / 8).max(2));
        let size = Self {
            limit,
            buckets,
            fingerprints: (1 << slot_bits) / (panes + 1 + generation_ticks),
            generation_ticks,
        };
        size.is_valid(bucket_size, panes).then_some(size)
    }

    /// Whether all numbers are in range and a sub-filter of this size has less than 2^60 bytes.
    pub fn is_valid(&self, bucket_size: u8, panes: u64) -> bool {
        let in_range = bucket_size > 0
            && self.limit > 0
            && self.buckets >= 2
            && self.buckets.is_multiple_of(2)
            && self.buckets < 1 << 52
            && self.fingerprints > 0
            && (1..=panes.max(2)).contains(&self.generation_ticks);
        if !in_range {
            return false;
        }
        let Some(hashes) = self.buckets.checked_mul(self.fingerprints) else {
            return false;
        };
        let Some(values) = self.fingerprints.checked_mul(self.states(panes)) else {
            return false;
        };
        hashes <= 1 << MAX_HASH_BITS
            && values <= 1 << MAX_SLOT_BITS
            && self.slots(bucket_size) < 1 << 56
            && self.limit <= self.slots(bucket_size)
    }

    /// The number of states of a slot per fingerprint: one for each tick that can be stored, and one for an empty slot.
    pub fn states(&self, panes: u64) -> u64 {
        panes + self.generation_ticks + 1
    }

    pub fn slots(&self, bucket_size: u8) -> u64 {
        self.buckets * u64::from(bucket_size)
    }

    /// Bits per slot.
    pub fn slot_bits(&self, panes: u64) -> u32 {
        u64::BITS - (self.fingerprints * self.states(panes) - 1).leading_zeros()
    }

    /// Bytes of the slots. They end with eight unused bytes, so that each slot is part of a 64-bit word.
    pub fn slot_bytes(&self, bucket_size: u8, panes: u64) -> u64 {
        let bits = u128::from(self.slots(bucket_size)) * u128::from(self.slot_bits(panes));
        bits.div_ceil(8) as u64 + 8
    }

    pub fn groups(&self, bucket_size: u8) -> u64 {
        self.buckets.div_ceil(1 << log2_group_buckets(bucket_size))
    }

    /// Bytes of the generations: two per group.
    pub fn generation_bytes(&self, bucket_size: u8) -> u64 {
        self.groups(bucket_size) * 2
    }

    /// The probability of a false positive in a full sub-filter.
    pub fn error_rate(&self) -> f64 {
        2.0 * self.limit as f64 / self.buckets as f64 / self.fingerprints as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn slots_have_the_fewest_bits() {
        for (error_rate, panes, bits) in [
            (0.001, 96, 20),
            (0.01, 48, 16),
            (0.0001, 96, 23),
            (0.001, 12, 17),
            (0.001, 1000, 23),
        ] {
            let rate = error_rate * 15.0 / 16.0;
            let size = SubFilterSize::for_items(1 << 20, rate, 4, panes).unwrap();
            assert_eq!(size.slot_bits(panes), bits, "{error_rate} {panes}");
        }
    }

    #[test]
    fn groups_have_a_limited_number_of_slots() {
        for bucket_size in 1..=255 {
            let slots = u32::from(bucket_size) << log2_group_buckets(bucket_size);
            assert!(slots <= GROUP_SLOTS && slots * 2 > GROUP_SLOTS);
        }
    }

    proptest! {
        #[test]
        fn a_full_sub_filter_has_the_error_rate(
            limit in 1u64..1 << 40, rate in 1u32..30, panes in 1u64..=1000, bucket_size in 1u8..=255,
        ) {
            let error_rate = 0.5f64.powi(rate as i32);
            if let Some(size) = SubFilterSize::for_items(limit, error_rate, bucket_size, panes) {
                prop_assert!(size.error_rate() <= error_rate);
                prop_assert!(size.slot_bits(panes) <= MAX_SLOT_BITS);
                prop_assert!(size.slots(bucket_size) >= limit);
                prop_assert!(size.generation_ticks >= (panes / 16).max(1));
            } else {
                prop_assert!(rate > 17);
            }
        }
    }
}
