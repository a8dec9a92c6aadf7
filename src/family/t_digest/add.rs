//! TDIGEST.ADD and TDIGEST.RESET.

use super::{NO_MEMORY, NOT_FOUND, Numbers, OVERFLOW, parse_all};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::data_type::DataType;
use crate::server::key::{WriteKey, for_either};
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::{DigestError, QuantileSketch, TDigest, TDigestWindow};

/// TDIGEST.ADD key value [value …]
pub fn add(call: &mut Call<'_>) -> Result<(), Error> {
    for_either!(call.write_either::<TDigest, TDigestWindow>(1), key => add_to(call, key))
}

fn add_to<T: QuantileSketch + DataType>(
    call: &mut Call<'_>,
    key: WriteKey<T>,
) -> Result<(), Error> {
    let mut entry = key.find_or_create(call, || Err(NOT_FOUND.into()))?;
    let mut values = Numbers::new();
    parse_all(call, 2, &mut values, sample)?;
    entry.advance(call);
    let digest = entry.value();
    let blocks = digest.block_bytes();
    let added = digest.add_within(&values, Budget::new(&|more| call.allows_addition(more)));
    if digest.block_bytes() != blocks {
        entry.recount();
    }
    drop(entry);
    let stats = &T::registration().stats;
    if let Err(error) = added {
        stats.count_refusals(values.len() as u64);
        return Err(match error {
            DigestError::Overflow => OVERFLOW.into(),
            _ => call.memory_error(NO_MEMORY),
        });
    }
    stats.count_items(values.len() as u64);
    call.replicate_verbatim();
    call.signal_changed(1, c"tdigest.add");
    call.reply_ok();
    Ok(())
}

fn sample(argument: Argument<'_>) -> Result<f64, Error> {
    let value = argument
        .double()
        .ok_or(c"ERR T-Digest: error parsing val parameter")?;
    if !value.is_finite() {
        return Err(c"ERR T-Digest: val parameter needs to be a finite number".into());
    }
    Ok(value)
}

/// TDIGEST.RESET key
pub fn reset(call: &mut Call<'_>) -> Result<(), Error> {
    for_either!(call.write_either::<TDigest, TDigestWindow>(1), key => reset_in(call, key))
}

fn reset_in<T: QuantileSketch + DataType>(
    call: &mut Call<'_>,
    key: WriteKey<T>,
) -> Result<(), Error> {
    let mut entry = key.find_or_create(call, || Err(NOT_FOUND.into()))?;
    entry.advance(call);
    let digest = entry.value();
    let changed = !digest.is_new();
    if changed {
        digest.reset();
        entry.recount();
    }
    drop(entry);
    if changed {
        call.replicate_verbatim();
        call.signal_changed(1, c"tdigest.reset");
    }
    call.reply_ok();
    Ok(())
}
