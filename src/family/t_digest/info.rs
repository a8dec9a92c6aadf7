//! TDIGEST.INFO.

use super::NOT_FOUND;
use crate::server::call::{Call, Error};
use crate::server::data_type::DataType;
use crate::server::key::{ReadKey, for_either};
use roughly_sketch::t_digest::{Info, QuantileSketch, TDigest, TDigestWindow};
use std::ffi::CStr;

/// A field of TDIGEST.INFO: its name in the reply, and its value.
type Field = (&'static CStr, fn(&Info) -> i64);

const FIELDS: [Field; 8] = [
    (c"Compression", |figures| i64::from(figures.compression)),
    (c"Capacity", |figures| i64::from(figures.capacity)),
    (c"Merged nodes", |figures| figures.merged_nodes as i64),
    (c"Unmerged nodes", |figures| figures.unmerged_nodes as i64),
    (c"Merged weight", |figures| figures.merged_weight),
    (c"Unmerged weight", |figures| figures.unmerged_weight),
    (c"Observations", |figures| figures.observations),
    (c"Total compressions", |figures| figures.total_compressions),
];

const MEMORY_USAGE: &CStr = c"Memory usage";

/// TDIGEST.INFO key
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    let (figures, bytes) = for_either!(
        call.read_either::<TDigest, TDigestWindow>(1),
        key => figures(call, &key)?
    );
    call.reply_map(FIELDS.len() + 1);
    for (name, value) in FIELDS {
        call.reply_simple(name);
        call.reply_integer(value(&figures));
    }
    call.reply_simple(MEMORY_USAGE);
    call.reply_integer(i64::try_from(bytes).unwrap_or(i64::MAX));
    Ok(())
}

/// The fields, and the bytes that the value takes.
fn figures<T: QuantileSketch + DataType>(
    call: &Call<'_>,
    key: &ReadKey<T>,
) -> Result<(Info, usize), Error> {
    let digest = key.get().or_missing(NOT_FOUND)?;
    let figures = digest.info_at(call.panes(digest.timeline())?);
    Ok((figures, key.memory_usage()))
}
