//! The parameters of a cuckoo filter, their ranges, and the sizes of its sub-filters.

/// Layout and growth of a filter, apart from its capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Slots per bucket: 1 to 255.
    pub bucket_size: u8,
    /// Fingerprints that one insertion may evict before the filter grows: 1 to 65535.
    pub max_iterations: u16,
    /// Each sub-filter has this many times the buckets of the previous one: 0 to [`MAX_EXPANSION`], rounded up to a power
    /// of two. With 0 the filter does not grow.
    pub expansion: u16,
}

impl Parameters {
    /// Those of a filter that the server creates without a specification.
    pub const DEFAULT: Self = Self {
        bucket_size: 2,
        max_iterations: 20,
        expansion: 1,
    };
}

impl Default for Parameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The largest capacity that CF.RESERVE accepts. The smallest has two buckets.
pub const MAX_CAPACITY: u64 = 1 << 30;
/// The capacity of a filter that the server creates without a specification.
pub const DEFAULT_CAPACITY: u64 = 1024;
/// By default, the server adds no item to a filter with this many sub-filters.
pub const DEFAULT_MAX_SUB_FILTERS: u64 = 32;
/// The largest [`Parameters::expansion`].
pub const MAX_EXPANSION: u16 = 32768;
/// The largest number of sub-filters of a filter. (The server's configuration may set a lower limit.)
pub const MAX_SUB_FILTERS: usize = 65535;
/// The number of buckets of a sub-filter is a power of two that fits in 56 bits.
const MAX_LOG2_BUCKETS: u32 = 55;

/// Valid parameters, which determine the number of buckets of each sub-filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Bucket size and iterations are at least 1, the expansion is 0 or a power of two.
    pub parameters: Parameters,
    /// log2 of the buckets of the first sub-filter, at most 55.
    log2_buckets: u8,
}

impl Sizes {
    /// Validates the numbers and rounds the expansion up to a power of two. The error names the number that is out of
    /// range.
    pub fn new(num_buckets: u64, parameters: Parameters) -> Result<Self, &'static str> {
        if parameters.bucket_size == 0 {
            return Err("bucket size out of range");
        }
        if parameters.max_iterations == 0 {
            return Err("maximum of iterations out of range");
        }
        if parameters.expansion > MAX_EXPANSION {
            return Err("expansion out of range");
        }
        if !num_buckets.is_power_of_two() || num_buckets.ilog2() > MAX_LOG2_BUCKETS {
            return Err("number of buckets out of range or not a power of two");
        }
        let expansion = match parameters.expansion {
            0 => 0,
            factor => factor.next_power_of_two(),
        };
        Ok(Self {
            parameters: Parameters {
                expansion,
                ..parameters
            },
            log2_buckets: num_buckets.ilog2() as u8,
        })
    }

    /// Buckets of the first sub-filter: a power of two up to 2^55.
    pub fn num_buckets(&self) -> u64 {
        1 << self.log2_buckets
    }

    /// Validates the numbers. The number of buckets is `capacity / bucket_size`, rounded down, then up to a power
    /// of two.
    pub fn for_capacity(capacity: u64, parameters: Parameters) -> Result<Self, &'static str> {
        let num_buckets = capacity
            .checked_div(u64::from(parameters.bucket_size))
            .ok_or("bucket size out of range")?
            .checked_next_power_of_two()
            .ok_or("capacity out of range")?;
        Self::new(num_buckets, parameters)
    }

    /// Buckets of sub-filter `index` (from 0): `num_buckets * expansion^index`. `None` if that exceeds 56 bits, or if
    /// `index` is above 0 and the filter does not grow.
    pub fn num_buckets_of(&self, index: usize) -> Option<u64> {
        if index == 0 {
            return Some(self.num_buckets());
        }
        let doublings = u64::from(self.parameters.expansion.checked_ilog2()?) * index as u64;
        let log2_buckets = doublings + u64::from(self.log2_buckets);
        (log2_buckets <= u64::from(MAX_LOG2_BUCKETS)).then(|| 1 << log2_buckets)
    }

    /// Slots of sub-filter `index`, each one byte. `None` as for [`Sizes::num_buckets_of`].
    pub fn slots_of(&self, index: usize) -> Option<u64> {
        // Below 2^63: at most 2^55 buckets of at most 255 slots.
        Some(self.num_buckets_of(index)? * u64::from(self.parameters.bucket_size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parameters(bucket_size: u8, expansion: u16) -> Parameters {
        Parameters {
            bucket_size,
            max_iterations: 20,
            expansion,
        }
    }

    #[test]
    fn capacity_is_divided_before_it_is_rounded() {
        let buckets = |capacity, bucket_size| {
            Sizes::for_capacity(capacity, parameters(bucket_size, 1))
                .map(|sizes| sizes.num_buckets())
        };
        assert_eq!(buckets(1024, 2), Ok(512));
        assert_eq!(buckets(1025, 2), Ok(512));
        assert_eq!(buckets(1026, 2), Ok(1024));
        assert_eq!(buckets(0, 2), Ok(1));
        assert_eq!(buckets(500, 7), Ok(128));
        assert_eq!(buckets(1 << 55, 1), Ok(1 << 55));
        for capacity in [(1 << 55) + 1, 1 << 56, 1 << 63, u64::MAX] {
            assert!(buckets(capacity, 1).is_err());
        }
        assert!(buckets(100, 0).is_err());
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let good = parameters(2, 1);
        assert!(Sizes::new(8, good).is_ok());
        for num_buckets in [0, 3, 7, 1 << 56, u64::MAX] {
            assert!(Sizes::new(num_buckets, good).is_err());
        }
        let max_iterations = 0;
        for bad in [
            parameters(0, 1),
            parameters(2, 32769),
            Parameters {
                max_iterations,
                ..good
            },
        ] {
            assert!(Sizes::new(8, bad).is_err());
        }
    }

    proptest! {
        #[test]
        fn sizes_follow_from_expansion_or_are_none(
            log2_first in 0u32..56, expansion in 0u16..=MAX_EXPANSION, index in 0usize..70,
        ) {
            let sizes = Sizes::new(1 << log2_first, parameters(3, expansion)).unwrap();
            let factor = f64::from(if expansion == 0 { 0 } else { expansion.next_power_of_two() });
            let exact = f64::from(log2_first).exp2() * factor.powf(index as f64);
            let expected = (exact >= 1.0 && exact < 56f64.exp2()).then_some(exact as u64);
            prop_assert_eq!(sizes.num_buckets_of(index), expected);
            prop_assert_eq!(sizes.slots_of(index), expected.map(|buckets| buckets * 3));
        }
    }
}
