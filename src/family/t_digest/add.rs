//! TDIGEST.ADD and TDIGEST.RESET.

use super::types::{DigestType, NO_MEMORY, NOT_FOUND, Numbers, parse_all};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::{Entry, WriteKey};
use crate::server::stats::Statistic;
use roughly_sketch::memory::Purpose;
use roughly_sketch::t_digest::DigestError;

/// The digest in argument 1.
#[inline(always)]
fn find(call: &Call<'_>) -> Result<Entry<DigestType>, Error> {
    WriteKey::open(call, 1).find(call)?.or_missing(NOT_FOUND)
}

/// TDIGEST.ADD key value [value …]
pub fn add(call: &mut Call<'_>) -> Result<(), Error> {
    let mut entry = find(call)?;
    let mut values = Numbers::new();
    parse_all(call, 2, &mut values, |value| sample(call, value))?;
    if let Some(advance) = entry.begin_write(call) {
        if entry.get().overflows(values.len(), advance.later) {
            return Err(refuse(call, &entry, values.len(), DigestError::Overflow));
        }
        entry.advance(call, advance);
    }
    let digest = entry.get();
    let before = digest.block_bytes();
    let added = digest.add_within(&values, call.memory().budget(Purpose::Add));
    if entry.get().block_bytes() != before {
        entry.recount();
    }
    if let Err(error) = added {
        return Err(refuse(call, &entry, values.len(), error));
    }
    let stats = &entry.registration().stats;
    drop(entry);
    stats.count(Statistic::ItemsAdded, values.len() as u64);
    call.replicate_verbatim();
    call.signal_changed(1, c"tdigest.add");
    call.reply_ok();
    Ok(())
}

/// Counts refused samples, and returns the error of the command.
#[cold]
fn refuse(call: &Call<'_>, entry: &Entry<DigestType>, samples: usize, error: DigestError) -> Error {
    let stats = &entry.registration().stats;
    stats.count(Statistic::Refusals, samples as u64);
    match error {
        DigestError::OutOfMemory(_) => call.memory().error(NO_MEMORY),
        error => error.into(),
    }
}

fn sample(call: &Call<'_>, argument: Argument<'_>) -> Result<f64, Error> {
    let value = call.double(argument);
    let value = value.ok_or(c"ERR T-Digest: error parsing val parameter")?;
    refuse_if!(!value.is_finite() => DigestError::NotFinite.into());
    Ok(value)
}

/// TDIGEST.RESET key
pub fn reset(call: &mut Call<'_>) -> Result<(), Error> {
    let mut entry = find(call)?;
    if let Some(advance) = entry.begin_write(call) {
        entry.advance(call, advance);
    }
    let changed = entry.get().reset();
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
