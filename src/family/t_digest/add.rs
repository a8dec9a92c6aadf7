//! TDIGEST.ADD and TDIGEST.RESET.

use super::numbers::{Numbers, parse_all};
use super::texts::{NO_MEMORY, NOT_FOUND, OVERFLOW};
use super::types::{Digest, DigestMut};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::{Entry, OneOf};
use roughly_sketch::memory::Purpose;
use roughly_sketch::t_digest::DigestError;

/// The digest in argument 1.
#[inline(always)]
fn find(call: &Call<'_>) -> Result<Entry, Error> {
    let key = call.write(1);
    key.find(call, Digest::TYPES.iter().copied())?
        .or_missing(NOT_FOUND)
}

/// TDIGEST.ADD key value [value …]
pub fn add(call: &mut Call<'_>) -> Result<(), Error> {
    let mut entry = find(call)?;
    let mut values = Numbers::new();
    parse_all(call, 2, &mut values, sample)?;
    let overflow = entry.advance_unless(call, |entry, later| {
        let overflows = entry.get::<DigestMut<'_>>().overflows(values.len(), later);
        overflows.then_some(DigestError::Overflow)
    });
    let digest = entry.get::<DigestMut<'_>>();
    let before = digest.block_bytes();
    let added = match overflow {
        Some(error) => Err(error),
        None => digest.add_within(&values, call.memory().budget(Purpose::Add)),
    };
    if entry.get::<DigestMut<'_>>().block_bytes() != before {
        entry.recount();
    }
    let stats = &entry.registration().stats;
    drop(entry);
    if let Err(error) = added {
        stats.count_refusals(values.len() as u64);
        return Err(match error {
            DigestError::Overflow => OVERFLOW.into(),
            _ => call.memory().error(NO_MEMORY),
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
    let mut entry = find(call)?;
    entry.advance(call);
    let changed = entry.get::<DigestMut<'_>>().reset();
    if changed {
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
