//! Top-k: `TOPK.*` and the types `TopK-TYPE` and, with a window, `tk-window` (spec: top-k.md, window.md).

mod add;
mod commands;
mod create;
mod info;
mod query;
mod sketch;

use crate::family::chunks::Chunked;
use crate::server::call::{Call, Error};
use crate::server::command::Since;
use crate::server::datatype::{DataType, Registration};
use crate::server::module::{self, Family};
use roughly_sketch::stored::Stored;
use roughly_sketch::top_k::{TopK, TopKWindow};
use sketch::Sketch;
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"topk",
    since: Since::RedisBloom(c"2.0.0"),
    data_types: &[
        module::data_type::<TopK>(),
        module::windowed_type::<TopKWindow>(),
    ],
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

static WINDOW_REGISTRATION: Registration = Registration::new(TopKWindow::TYPE_NAME);

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

impl Chunked for TopK {
    const NOT_FOUND: &'static CStr = NOT_FOUND;
    const LOADCHUNK_EVENT: &'static CStr = c"topk.loadchunk";
    const NO_MEMORY: &'static CStr = NO_MEMORY;
}

impl Chunked for TopKWindow {
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
    sketch: &impl Sketch,
    items: impl Iterator<Item = (&'a [u8], u32)>,
) -> Result<(), Error> {
    if sketch.within_work_limit(items) || call.must_obey() {
        return Ok(());
    }
    Err(TOO_MUCH.into())
}
