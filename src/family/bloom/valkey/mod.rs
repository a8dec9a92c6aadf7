//! Keys of valkey-bloom: the type `bloomfltr` (spec: valkey-bloom.md).

pub mod config;
pub mod load;
pub mod options;

use crate::server::call::{Call, Error};
use crate::server::callbacks;
use crate::server::data_type::{DataType, PayloadCommand, Registration};
use roughly_sketch::format::{FormatError, Source};
use roughly_sketch::memory::OutOfMemory;
use roughly_sketch::valkey_bloom::{self, ValkeyChain};
use std::ffi::CStr;

/// What valkey-bloom replies if a filter would be larger than `bf.bloom-memory-usage-limit`.
pub const TOO_LARGE: &CStr = c"ERR operation exceeds bloom object memory limit";
const BAD_CAPACITY: &CStr = c"ERR bad capacity";

/// The keyspace event of added items.
pub const ADD_EVENT: &CStr = c"bloom.add";
/// The keyspace event of a new key.
pub const CREATION_EVENT: &CStr = c"bloom.reserve";

pub static REGISTRATION: Registration = callbacks::registration::<ValkeyChain>("_valkey");

impl DataType for ValkeyChain {
    const LOADCHUNK: &'static CStr = c"BF.LOADCHUNK";
    /// valkey-bloom loads it, unlike the chunks of BF.LOADCHUNK, which only Roughly loads.
    const PAYLOAD_COMMAND: Option<PayloadCommand<Self>> = Some(PayloadCommand {
        name: c"BF.LOAD",
        payload_bytes: Self::load_payload_bytes,
        payload: Self::load_payload,
    });

    fn registration() -> &'static Registration {
        &REGISTRATION
    }

    fn defaults() {}

    fn load_limited(
        source: &mut dyn Source,
        encoding_version: u16,
        is_limited: bool,
    ) -> Result<Self, FormatError> {
        let max_size = match is_limited {
            true => config::max_size(),
            false => u64::MAX,
        };
        Self::load_within(source, encoding_version, max_size)
    }

    fn check_limit(&self, call: &Call<'_>) -> Result<(), Error> {
        match self.size() > max_size(call) {
            true => Err(TOO_LARGE.into()),
            false => Ok(()),
        }
    }

    fn is_defragmented() -> bool {
        config::is_defragmented()
    }
}

/// The maximum size of a filter that the command creates or enlarges, in bytes as BF.INFO counts them. The limit does not
/// apply to commands that must be obeyed.
pub fn max_size(call: &Call<'_>) -> u64 {
    match call.must_obey() {
        true => u64::MAX,
        false => config::max_size(),
    }
}

/// The error texts that only valkey-bloom has; `other` if there is none.
pub fn error_text(error: valkey_bloom::Error, other: &'static CStr) -> &'static CStr {
    match error {
        valkey_bloom::Error::Full => c"ERR non scaling filter is full",
        valkey_bloom::Error::ErrorRate => c"ERR false positive degrades to 0 on scale out",
        valkey_bloom::Error::Capacity => BAD_CAPACITY,
        valkey_bloom::Error::Size => TOO_LARGE,
        valkey_bloom::Error::Hashes => c"ERR bloom object reached max number of filters",
        valkey_bloom::Error::OutOfMemory(OutOfMemory { .. }) => other,
    }
}
