//! The parameters of a new filter.

use super::config::{self, CAPACITIES, DEFAULT_EXPANSION, EXPANSIONS};
use super::dialect;
use super::texts::{BAD_CAPACITY, BAD_EXPANSION};
use super::valkey_config;
use crate::family::error_rate::capped;
use crate::family::window_option::NewWindow;
use crate::server::call::{Call, Error};
use roughly_sketch::bloom::Parameters;
use roughly_sketch::valkey_bloom;
use std::ops::RangeInclusive;

/// The parameters of a new filter that a command specifies. The settings supply the others.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request {
    /// Items before the filter grows; at least 1.
    pub capacity: Option<u64>,
    /// The error rate, between 0 and 1.
    pub error_rate: Option<f64>,
    /// The growth factor; 0 stands for a non-scaling filter. Above 32 bits only in commands that must be obeyed: RedisBloom 2.x
    /// stores the lower 32 bits.
    pub expansion: Option<u64>,
    /// Whether the filter does not grow.
    pub nonscaling: bool,
    /// The window, if the filter has one.
    pub window: Option<NewWindow>,
    /// The ratio of a sub-filter's error rate to that of the previous sub-filter. Only valkey-bloom has it.
    pub tightening: Option<f64>,
    /// The seed of the hashes of a filter of valkey-bloom's type.
    pub seed: Option<[u8; 32]>,
    /// Whether another option requires valkey-bloom's type.
    pub is_valkey: bool,
}

impl Request {
    /// Whether the new filter has valkey-bloom's type: an option or, for a client, the setting `bf-new-keys` decides.
    pub fn creates_valkey(&self, call: &Call<'_>) -> bool {
        self.is_valkey
            || self.seed.is_some()
            || self.tightening.is_some()
            || dialect::new_keys_are_valkey() && !call.must_obey()
    }

    /// The parameters of a filter of RedisBloom's type, or with a window.
    ///
    /// # Errors
    /// If one is out of range. The syntax of RedisBloom has checked the ranges already, that of valkey-bloom has wider
    /// ones.
    pub fn parameters(&self, call: &Call<'_>) -> Result<Parameters, Error> {
        // RedisBloom 2.x has wider ranges, but no windows.
        let is_limited = self.window.is_some() || !call.must_obey();
        let defaults = config::defaults();
        let capacity = self.capacity.unwrap_or(defaults.capacity);
        if is_limited && !is_in(&CAPACITIES, capacity) {
            return Err(BAD_CAPACITY.into());
        }
        let expansion = self
            .expansion
            .unwrap_or_else(|| default_expansion(call, self.nonscaling).into());
        if is_limited && !is_in(&EXPANSIONS, expansion) {
            return Err(BAD_EXPANSION.into());
        }
        Ok(Parameters {
            capacity,
            error_rate: match self.error_rate {
                None => defaults.error_rate,
                Some(rate) if is_limited => capped(rate),
                Some(rate) => rate,
            },
            expansion: expansion as u32,
            scaling: !self.nonscaling && expansion != 0,
        })
    }

    /// The parameters of a filter of valkey-bloom's type.
    pub fn valkey_parameters(&self, call: &Call<'_>) -> valkey_bloom::Parameters {
        let seed = self
            .seed
            .unwrap_or_else(|| match valkey_config::uses_random_seed() {
                true => call.random_bytes(),
                false => valkey_bloom::FIXED_SEED,
            });
        valkey_bloom::Parameters {
            capacity: self.capacity.unwrap_or_else(valkey_config::capacity),
            error_rate: self.error_rate.unwrap_or_else(valkey_config::error_rate),
            tightening: self.tightening.unwrap_or_else(valkey_config::tightening),
            expansion: match self.nonscaling {
                true => 0,
                false => (self.expansion)
                    .and_then(|given| u32::try_from(given).ok())
                    .unwrap_or_else(valkey_config::expansion),
            },
            seed,
            seed_is_random: seed != valkey_bloom::FIXED_SEED,
        }
    }
}

fn is_in(range: &RangeInclusive<i64>, number: u64) -> bool {
    i64::try_from(number).is_ok_and(|number| range.contains(&number))
}

/// The growth factor that a filter stores if none is specified: the configured one. For a non-scaling filter that a
/// primary or the AOF creates it is 2, whatever is configured here, because a replicated creation has no option for it.
fn default_expansion(call: &Call<'_>, nonscaling: bool) -> u32 {
    if nonscaling && call.must_obey() {
        DEFAULT_EXPANSION
    } else {
        config::expansion()
    }
}

/// The options of BF.INSERT.
#[derive(Debug)]
pub struct InsertOptions {
    /// Parameters of a missing filter.
    pub request: Request,
    /// Whether a missing filter is created.
    pub create: bool,
    /// The argument of the first item. There may be none.
    pub first_item: usize,
}
