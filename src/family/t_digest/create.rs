//! TDIGEST.CREATE.

use super::types::{DigestType, NO_MEMORY, WRONG_KEYWORD};
use crate::family::new_key::{NewKey, create_and_store, replicate_with_window};
use crate::family::window_option::{DIGEST, NewWindow, WindowOption};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::data_type::{NewValue, Value};
use crate::server::key::WriteKey;
use crate::server::replicated::ReplicatedCommand;
use roughly_sketch::memory::Purpose;
use roughly_sketch::t_digest::{DEFAULT_COMPRESSION, DigestError, TDigest, TDigestWindow};
use std::ffi::CStr;

/// The number of arguments without and with a compression, and without a window.
const ARGUMENTS: [usize; 2] = [2, 4];

const BAD_COMPRESSION: &CStr = c"ERR T-Digest: error parsing compression parameter";

const TOO_LARGE_FOR_WINDOW: &CStr =
    c"ERR T-Digest: the compression of a digest with a window can be at most 200000";

struct NewDigest {
    compression: i64,
    /// The number of arguments before WINDOW.
    len: usize,
    window: Option<NewWindow>,
}

impl NewKey for NewDigest {
    type Types = DigestType;

    fn build(&self, call: &Call<'_>) -> Result<NewValue, Error> {
        let budget = call.memory().budget(Purpose::Create);
        let built = match self.window {
            None => TDigest::new(self.compression, budget).map(|digest| Value::new(digest) as _),
            Some(window) => TDigestWindow::new(self.compression, window.window, budget)
                .map(|digest| Value::new(digest) as _),
        };
        Ok(built.map_err(|error| match error {
            DigestError::CompressionTooLarge if self.window.is_some() => TOO_LARGE_FOR_WINDOW,
            _ => NO_MEMORY,
        })?)
    }

    fn replicate(&self, call: &mut Call<'_>) {
        static CREATE: ReplicatedCommand = ReplicatedCommand::new(c"TDIGEST.CREATE");
        let window = self.window.map(|window| (window, None));
        replicate_with_window(call, &CREATE, self.len, window);
    }
}

/// TDIGEST.CREATE key [COMPRESSION compression] [WINDOW ms [PANES n] [FINEST r]]
pub fn create(call: &mut Call<'_>) -> Result<(), Error> {
    let (len, option) = WindowOption::at_end(call, &ARGUMENTS, DIGEST)?;
    let key = WriteKey::open(call, 1);
    if !key.is_missing() {
        key.get::<DigestType>().optional()?;
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
    let new = NewDigest {
        compression,
        len,
        window: option
            .map(|option| option.parse::<TDigestWindow>(call)?.check_allowed(call))
            .transpose()?,
    };
    create_and_store(call, key, &new, c"tdigest.create")
}

/// Parses a compression: a positive integer. Its maximum is checked by [`TDigest::new`].
pub fn compression(argument: Argument<'_>) -> Result<i64, Error> {
    let compression = argument.integer().ok_or(BAD_COMPRESSION)?;
    refuse_if!(compression <= 0 => DigestError::CompressionNotPositive.into());
    Ok(compression)
}
