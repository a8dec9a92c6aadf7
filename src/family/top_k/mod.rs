//! Top-k: `TOPK.*` and the type `TopK-TYPE` (spec: top-k.md).

mod add;
mod commands;
mod create;
mod info;
mod query;

use crate::family::chunks::Chunked;
use crate::server::call::{Call, Error};
use crate::server::datatype::{DataType, Registration};
use crate::server::module::{self, Family};
use crate::server::stats::Stats;
use roughly_sketch::stored::Stored;
use roughly_sketch::top_k::TopK;
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"topk",
    since: c"2.0.0",
    data_types: &[module::data_type::<TopK>()],
    commands: commands::COMMANDS,
    settings: &[],
    counters: &[],
};

static REGISTRATION: Registration = Registration::new(TopK::TYPE_NAME);

impl DataType for TopK {
    const LOADCHUNK: &'static CStr = c"TOPK.LOADCHUNK";

    fn registration() -> &'static Registration {
        &REGISTRATION
    }

    fn defaults() {}
}

/// The family's counters.
pub fn stats() -> &'static Stats {
    &TopK::registration().stats
}

const NOT_FOUND: &CStr = c"TopK: key does not exist";
/// Not enough memory for an item or a reply.
const NO_MEMORY: &CStr = c"ERR Insufficient memory";

impl Chunked for TopK {
    const NOT_FOUND: &'static CStr = NOT_FOUND;
    const LOADCHUNK_EVENT: &'static CStr = c"topk.loadchunk";
    const NO_MEMORY: &'static CStr = NO_MEMORY;
}

/// The argument of the first item.
const FIRST_ITEM: usize = 2;

const TOO_MUCH: &CStr = c"TopK: too much work for the depth of the sketch";

/// Refuses items and increments that would take too long, see [`TopK::within_work_limit`]. Commands from a primary or
/// an AOF are not refused.
fn check_work<'a>(
    call: &Call<'_>,
    sketch: &TopK,
    items: impl Iterator<Item = (&'a [u8], u32)>,
) -> Result<(), Error> {
    if sketch.within_work_limit(items) || call.must_obey() {
        return Ok(());
    }
    Err(TOO_MUCH.into())
}
