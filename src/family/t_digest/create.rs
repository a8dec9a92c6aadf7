//! TDIGEST.CREATE.

use super::texts::{NO_MEMORY, WRONG_KEYWORD};
use super::types::Digest;
use crate::family::window::{DIGEST, WindowOption, replicate_creation};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use roughly_sketch::memory::Purpose;
use roughly_sketch::t_digest::{DEFAULT_COMPRESSION, DigestError, TDigest, TDigestWindow};
use std::ffi::CStr;

/// The number of arguments without and with a compression, and without a window.
const ARGUMENTS: [usize; 2] = [2, 4];

const BAD_COMPRESSION: &CStr = c"ERR T-Digest: error parsing compression parameter";

const TOO_LARGE_FOR_WINDOW: &CStr =
    c"ERR T-Digest: the compression of a digest with a window can be at most 200000";

/// TDIGEST.CREATE key [COMPRESSION compression] [WINDOW ms [PANES n] [FINEST r]]
pub fn create(call: &mut Call<'_>) -> Result<(), Error> {
    let (len, option) = WindowOption::at_end(call, &ARGUMENTS, DIGEST)?;
    let key = call.write(1);
    if !key.is_missing() {
        key.get::<Digest<'_>>().optional()?;
        return Err(c"ERR T-Digest: key already exists".into());
    }
    let compression = if len == 2 {
        DEFAULT_COMPRESSION
    } else if call.arg(2).is("COMPRESSION") {
        compression(call.arg(3))?
    } else if call.arg(3).is("COMPRESSION") {
        // The keyword has no value.
        return Err(BAD_COMPRESSION.into());
    } else {
        return Err(WRONG_KEYWORD.into());
    };
    let window = option
        .map(|option| option.parse::<TDigestWindow>()?.check_allowed(call))
        .transpose()?;
    let budget = call.memory().budget(Purpose::Create);
    match window {
        None => {
            let digest = TDigest::new(compression, budget);
            let entry = key.create(call, digest.map_err(|_| NO_MEMORY)?)?;
            call.replicate_verbatim();
            entry.store();
        }
        Some(window) => {
            let digest = TDigestWindow::new(compression, window.window, budget);
            let digest = digest.map_err(|error| match error {
                DigestError::CompressionTooLarge => TOO_LARGE_FOR_WINDOW,
                _ => NO_MEMORY,
            })?;
            let mut entry = key.create(call, digest)?;
            let before = call.args_from(1).take(len - 1).map(Argument::bytes);
            let before: Vec<_> = before.collect();
            replicate_creation(call, c"TDIGEST.CREATE", &before, &window.words(None));
            entry.advance(call);
            entry.store();
        }
    }
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
