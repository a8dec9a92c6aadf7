//! BF.LOAD: creates a filter from the payload of valkey-bloom's AOF (docs/contributing/formats.md, "Bloom filters of valkey-bloom").

use super::texts::{NO_MEMORY, TOO_LARGE, VALKEY_CREATION_EVENT};
use super::types::Filter;
use super::valkey_config::max_size_for;
use crate::server::call::{Call, Error};
use crate::server::key::Lookup;
use roughly_sketch::memory::Purpose;
use roughly_sketch::valkey_bloom::{LoadError, ValkeyChain};

/// BF.LOAD key payload
pub fn load(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.write(1);
    match key.get::<Filter<'_>>() {
        Lookup::Missing => {}
        Lookup::WrongType => return Err(Error::WrongType),
        Lookup::Found(_) => return Err(c"BUSYKEY Target key name already exists.".into()),
    }
    let payload = call.arg(2).bytes();
    let budget = call.memory().budget(Purpose::Create);
    let value = ValkeyChain::from_load_payload(payload, max_size_for(call), budget);
    let value = value.map_err(|error| match error {
        LoadError::Version => c"ERR bloom object decoding failed. Unsupported version",
        LoadError::Rate => c"ERR (0 < error rate range < 1)",
        LoadError::Size => TOO_LARGE,
        LoadError::Invalid => c"ERR bloom object decoding failed",
        LoadError::OutOfMemory(_) => NO_MEMORY,
    })?;
    let entry = key.create(call, value)?;
    call.replicate_verbatim();
    entry.store();
    call.signal_changed(1, VALKEY_CREATION_EVENT);
    call.reply_ok();
    Ok(())
}
