//! BF.LOAD: creates a filter from the payload of valkey-bloom's AOF (docs/formats.md, "Bloom filters of valkey-bloom").

use super::{CREATION_EVENT, TOO_LARGE, max_size};
use crate::family::bloom::key::{self, OneOf, for_each_type};
use crate::family::bloom::texts::NO_MEMORY;
use crate::server::call::{Call, Error};
use crate::server::key::Slot;
use roughly_sketch::memory::Purpose;
use roughly_sketch::valkey_bloom::{LoadError, ValkeyChain};

/// BF.LOAD key payload
pub fn load(call: &mut Call<'_>) -> Result<(), Error> {
    let mut key = key::write(call);
    for_each_type!(&mut key, key => match key.get() {
        Slot::Missing => Ok(()),
        Slot::WrongType => Err(Error::WrongType),
        Slot::Found(_) => Err(c"BUSYKEY Target key name already exists.".into()),
    })?;
    let OneOf::Classic(key) = key else {
        return Err(Error::WrongType);
    };
    let payload = call.arg(2).bytes();
    let value = ValkeyChain::from_load_payload(
        payload,
        max_size(call),
        call.memory().budget(Purpose::Create),
    );
    let value = value.map_err(|error| match error {
        LoadError::Version => c"ERR bloom object decoding failed. Unsupported version",
        LoadError::Rate => c"ERR (0 < error rate range < 1)",
        LoadError::Size => TOO_LARGE,
        LoadError::Invalid => c"ERR bloom object decoding failed",
        LoadError::OutOfMemory(_) => NO_MEMORY,
    })?;
    let entry = key.typed(call).create(value)?;
    call.replicate_verbatim();
    entry.store();
    call.signal_changed(1, CREATION_EVENT);
    call.reply_ok();
    Ok(())
}
