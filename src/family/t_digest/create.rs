//! TDIGEST.CREATE.

use super::{NO_MEMORY, WRONG_KEYWORD};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::Slot;
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::TDigest;
use std::ffi::CStr;

/// The default compression. It is not a setting, so that the command has the same effect on every server.
const DEFAULT_COMPRESSION: i64 = 100;

const BAD_COMPRESSION: &CStr = c"ERR T-Digest: error parsing compression parameter";

/// TDIGEST.CREATE key [COMPRESSION compression]
pub fn create(call: &mut Call<'_>) -> Result<(), Error> {
    if !matches!(call.len(), 2 | 4) {
        return Err(Error::WrongArity);
    }
    let mut key = call.write::<TDigest>(1);
    match key.get() {
        Slot::Missing => {}
        Slot::WrongType => return Err(Error::WrongType),
        Slot::Found(_) => return Err(c"ERR T-Digest: key already exists".into()),
    }
    let compression = if call.len() == 2 {
        DEFAULT_COMPRESSION
    } else if call.arg(2).is("COMPRESSION") {
        compression(call.arg(3))?
    } else if call.arg(3).is("COMPRESSION") {
        // The keyword has no value.
        return Err(BAD_COMPRESSION.into());
    } else {
        return Err(WRONG_KEYWORD.into());
    };
    let digest = TDigest::new(compression, Budget::new(&|bytes| call.allows_bytes(bytes)));
    let entry = key.create(digest.map_err(|_| NO_MEMORY)?)?;
    call.replicate_verbatim();
    entry.store();
    call.signal_changed(1, c"tdigest.create");
    call.reply_ok();
    Ok(())
}

/// Parses a compression: a positive integer. Its maximum is checked by [`TDigest::new`].
pub fn compression(argument: Argument<'_>) -> Result<i64, Error> {
    let compression = argument.integer().ok_or(BAD_COMPRESSION)?;
    if compression <= 0 {
        return Err(c"ERR T-Digest: compression parameter needs to be a positive integer".into());
    }
    Ok(compression)
}
