//! Top-k: `TOPK.*` and the types `TopK-TYPE` and, with a window, `tk-window` (spec: top-k.md, window.md).

mod add;
mod commands;
mod create;
mod info;
mod query;
mod sketch;

use crate::family::chunks::{self, Chunks};
use crate::server::call::{Call, Error};
use crate::server::callbacks;
use crate::server::command::Since;
use crate::server::data_type::{DataType, Registration};
use crate::server::module::Family;
use roughly_sketch::top_k::{TopK, TopKWindow};
use sketch::Sketch;
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"topk",
    since: Since::RedisBloom(c"2.0.0"),
    data_types: TYPES,
    commands: commands::COMMANDS,
    settings: &[],
    counters: &[],
};

const TYPES: &[&Registration] = &[&REGISTRATION, &WINDOW_REGISTRATION];

static REGISTRATION: Registration = callbacks::registration::<TopK>("");

impl DataType for TopK {
    const LOADCHUNK: &'static CStr = c"TOPK.LOADCHUNK";

    fn registration() -> &'static Registration {
        &REGISTRATION
    }

    fn defaults() {}
}

static WINDOW_REGISTRATION: Registration = callbacks::registration::<TopKWindow>("_window");

impl DataType for TopKWindow {
    const LOADCHUNK: &'static CStr = c"TOPK.LOADCHUNK";

    fn registration() -> &'static Registration {
        &WINDOW_REGISTRATION
    }

    fn defaults() {}
}

const NOT_FOUND: &CStr = c"TopK: key does not exist";
/// Not enough memory for an item or a reply.
const NO_MEMORY: &CStr = c"ERR Insufficient memory";

/// SCANDUMP and LOADCHUNK.
const CHUNKS: Chunks = Chunks {
    types: TYPES,
    replaced: None,
    not_found: NOT_FOUND,
    no_memory: NO_MEMORY,
    event: c"topk.loadchunk",
    error: chunks::chunk_error,
};

/// The argument of the first item.
const FIRST_ITEM: usize = 2;

const TOO_MUCH: &CStr = c"TopK: too much work for the depth of the sketch";

/// Refuses items and increments that would take too long, see [`TopK::within_work_limit`]. Commands from a primary or
/// an AOF are not refused.
fn check_work<'a>(
    call: &Call<'_>,
    sketch: &impl Sketch,
    items: impl Iterator<Item = (&'a [u8], u32)>,
) -> Result<(), Error> {
    if sketch.within_work_limit(items) || call.must_obey() {
        return Ok(());
    }
    Err(TOO_MUCH.into())
}
