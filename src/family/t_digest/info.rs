//! TDIGEST.INFO.

use super::NOT_FOUND;
use crate::server::call::{Call, Error};
use crate::server::datatype::DataType;
use crate::server::key::{ReadKey, for_either};
use roughly_sketch::t_digest::{Info, QuantileSketch, TDigest, TDigestWindow};
use std::ffi::CStr;

/// A field of TDIGEST.INFO: its name in the reply, and its value.
type Field = (&'static CStr, fn(&Info) -> i64);

const FIELDS: [Field; 9] = [
    (c"Compression", |figures| i64::from(figures.compression)),
    (c"Capacity", |figures| i64::from(figures.capacity)),
    (c"Merged nodes", |figures| figures.merged_nodes as i64),
    (c"Unmerged nodes", |figures| figures.unmerged_nodes as i64),
    (c"Merged weight", |figures| figures.merged_weight),
    (c"Unmerged weight", |figures| figures.unmerged_weight),
    (c"Observations", |figures| figures.observations),
    (c"Total compressions", |figures| figures.total_compressions),
    (c"Memory usage", |figures| figures.memory_usage as i64),
];

/// TDIGEST.INFO key
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    let figures = for_either!(
        call.read_either::<TDigest, TDigestWindow>(1),
        key => figures(call, &key)?
    );
    call.reply_map(FIELDS.len());
    for (name, value) in FIELDS {
        call.reply_simple(name);
        call.reply_integer(value(&figures));
    }
    Ok(())
}

fn figures<T: QuantileSketch + DataType>(call: &Call<'_>, key: &ReadKey<T>) -> Result<Info, Error> {
    let digest = key.get().or_missing(NOT_FOUND)?;
    Ok(digest.info_at(call.current_pane(digest)))
}
