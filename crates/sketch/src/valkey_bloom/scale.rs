//! The largest capacity that a chain can reach within a memory limit.
//!
//! For MAXSCALEDCAPACITY of BF.INFO and VALIDATESCALETO of BF.INSERT.

use super::sizes::{
    MAX_CAPACITY, bit_array_bytes, hashes_for, is_rate_allowed, rate_of, size, slots_for,
};
use super::{Error, Parameters};
use crate::chain::MAX_TOTAL_HASHES;

/// The largest number of runs of equal filters that are simulated. A chain has at most about √(2 · limit) runs, so
/// the result is exact for limits up to 8 GiB. It bounds the time of BF.INFO for a crafted chain under a larger limit.
const MAX_RUNS: u32 = 1 << 17;

/// Filters of the simulated chain.
#[derive(Debug)]
struct Simulation<'a> {
    parameters: &'a Parameters,
    /// The capacity of the next filter.
    capacity: u64,
    filters: u64,
    /// The sum of their capacities.
    total: u64,
    /// Bytes of their bit arrays.
    bit_bytes: u64,
    /// The sum of their hash functions.
    hashes: u64,
}

impl Simulation<'_> {
    /// Adds filters until the total capacity is `target`, or until one does not fit: returns why. A filter that exceeds the
    /// limit on hash functions also returns [`Error::Size`].
    fn run(&mut self, target: u64, max_size: u64) -> Result<Option<Error>, Error> {
        for _ in 0..MAX_RUNS {
            let Some(bytes) = self.bytes_of(self.filters) else {
                return Ok(Some(Error::ErrorRate));
            };
            let slots = slots_for(self.filters + 1);
            let run = self.run_length(bytes, slots);
            // Filters of the run that fit into the limits.
            let used = size(slots, self.filters, self.bit_bytes);
            let each = size(0, 1, bytes) - size(0, 0, 0);
            let hashes = u64::from(hashes_for(bytes, self.capacity));
            let fitting = (max_size.saturating_sub(used) / each)
                .min((MAX_TOTAL_HASHES - self.hashes) / hashes)
                .min(run);
            let missing = target - self.total;
            if missing.div_ceil(self.capacity) <= fitting {
                return Ok(None);
            }
            self.total = (self.total).saturating_add(self.capacity.saturating_mul(fitting));
            if self.total > MAX_CAPACITY {
                return Err(Error::Capacity);
            }
            if fitting < run {
                return Ok(Some(Error::Size));
            }
            self.filters += run;
            self.hashes += hashes * run;
            self.bit_bytes = (self.bit_bytes).saturating_add(bytes.saturating_mul(run));
            match self.parameters.expansion {
                0 => return Ok(Some(Error::Full)),
                1 => {}
                expansion => {
                    self.capacity = (self.capacity.checked_mul(u64::from(expansion)))
                        .filter(|&capacity| capacity <= MAX_CAPACITY)
                        .ok_or(Error::Capacity)?;
                }
            }
        }
        Ok(Some(Error::Size))
    }

    /// Bytes of the bit array of filter `index` with the current capacity. `None` if its error rate is too small.
    fn bytes_of(&self, index: u64) -> Option<u64> {
        let Parameters {
            error_rate,
            tightening,
            ..
        } = *self.parameters;
        let error_rate = rate_of(error_rate, tightening, index);
        is_rate_allowed(error_rate).then(|| bit_array_bytes(self.capacity, error_rate))
    }

    /// The number of filters from the next one on that have the same capacity, bytes and slots, at least 1.
    ///
    /// Only an expansion of 1 has runs. The bytes of its filters never decrease, so the end of the run is found by
    /// galloping and bisection. A chain can have millions of equal filters.
    fn run_length(&self, bytes: u64, slots: u64) -> u64 {
        if self.parameters.expansion != 1 {
            return 1;
        }
        let max = slots - self.filters;
        let is_in_run = |length: u64| self.bytes_of(self.filters + length - 1) == Some(bytes);
        let mut known = 1;
        let mut step = 1;
        while known < max {
            let next = (known + step).min(max);
            if !is_in_run(next) {
                // The run ends between `known` and `next`.
                let mut beyond = next;
                while beyond - known > 1 {
                    let middle = known + (beyond - known) / 2;
                    if is_in_run(middle) {
                        known = middle;
                    } else {
                        beyond = middle;
                    }
                }
                return known;
            }
            known = next;
            step *= 2;
        }
        known
    }
}

/// Simulates a chain. Returns why it ended before `target`, and the sum of the capacities.
pub(super) fn simulate(
    parameters: &Parameters,
    target: u64,
    max_size: u64,
) -> Result<(Option<Error>, u64), Error> {
    parameters.check()?;
    let mut simulation = Simulation {
        parameters,
        capacity: parameters.capacity,
        filters: 0,
        total: 0,
        bit_bytes: 0,
        hashes: 0,
    };
    let end = simulation.run(target, max_size)?;
    Ok((end, simulation.total))
}

/// Checks that a chain with these parameters can grow to a capacity of `target` items within `max_size` bytes of
/// [`ValkeyChain::size`](super::ValkeyChain::size): VALIDATESCALETO. Nothing is allocated.
///
/// # Errors
/// The error that stops the growth: [`Error::Size`], [`Error::ErrorRate`], [`Error::Capacity`], or [`Error::Full`] if the
/// expansion is 0.
pub fn check_scales_to(parameters: &Parameters, target: u64, max_size: u64) -> Result<(), Error> {
    let (end, _) = simulate(parameters, target, max_size)?;
    end.map_or(Ok(()), Err)
}
