//! TDIGEST.INFO.

use super::texts::NOT_FOUND;
use super::types::Digest;
use crate::server::call::{Call, Error};
use roughly_sketch::t_digest::Info;
use std::ffi::CStr;

/// A field of TDIGEST.INFO: its name in the reply, and its value.
type Field = (&'static CStr, fn(&Info) -> i64);

const FIELDS: [Field; 8] = [
    (c"Compression", |info| i64::from(info.compression)),
    (c"Capacity", |info| i64::from(info.capacity)),
    (c"Merged nodes", |info| info.merged_nodes as i64),
    (c"Unmerged nodes", |info| info.unmerged_nodes as i64),
    (c"Merged weight", |info| info.merged_weight),
    (c"Unmerged weight", |info| info.unmerged_weight),
    (c"Observations", |info| info.observations),
    (c"Total compressions", |info| info.total_compressions),
];

const MEMORY_USAGE: &CStr = c"Memory usage";

/// TDIGEST.INFO key
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read(1);
    let digest = key.get::<Digest<'_>>().or_missing(NOT_FOUND)?;
    let (info, bytes) = (digest.info(digest.panes(call)?), digest.memory_usage());
    drop(key);
    call.reply_map(FIELDS.len() + 1);
    for (name, value) in FIELDS {
        call.reply_simple(name);
        call.reply_integer(value(&info));
    }
    call.reply_simple(MEMORY_USAGE);
    call.reply_integer(i64::try_from(bytes).unwrap_or(i64::MAX));
    Ok(())
}
