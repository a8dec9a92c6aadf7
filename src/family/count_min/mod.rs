//! Count-min sketches: `CMS.*` and the types `CMSk-TYPE` and, with a window, `cmswindow` (spec: count-min-sketch.md,
//! window.md).

mod add;
mod commands;
mod create;
mod info;
mod merge;
mod query;

use crate::family::chunks::{self, BAD_DATA, Chunks};
use crate::server::call::{Call, Error};
use crate::server::callbacks;
use crate::server::command::Since;
use crate::server::data_type::{DataType, Registration};
use crate::server::module::Family;
use roughly_sketch::count_min::{CountMin, CountMinWindow, Sketch};
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"cms",
    since: Since::RedisBloom(c"2.0.0"),
    data_types: TYPES,
    commands: commands::COMMANDS,
    settings: &[],
    counters: &[],
};

const TYPES: &[&Registration] = &[&REGISTRATION, &WINDOW_REGISTRATION];

static REGISTRATION: Registration = callbacks::registration::<CountMin>("");

impl DataType for CountMin {
    const LOADCHUNK: &'static CStr = c"CMS.LOADCHUNK";

    fn registration() -> &'static Registration {
        &REGISTRATION
    }

    fn defaults() {}
}

static WINDOW_REGISTRATION: Registration = callbacks::registration::<CountMinWindow>("_window");

impl DataType for CountMinWindow {
    const LOADCHUNK: &'static CStr = c"CMS.LOADCHUNK";

    fn registration() -> &'static Registration {
        &WINDOW_REGISTRATION
    }

    fn defaults() {}
}

const NOT_FOUND: &CStr = c"CMS: key does not exist";

/// SCANDUMP and LOADCHUNK.
const CHUNKS: Chunks = Chunks {
    types: TYPES,
    replaced: None,
    not_found: NOT_FOUND,
    no_memory: BAD_DATA,
    event: c"cms.loadchunk",
    error: chunks::chunk_error,
};

/// No memory for the counts of a pane.
const NO_PANE_MEMORY: &CStr = c"CMS: Insufficient memory for a pane";

const TOO_MUCH: &CStr = c"CMS: too much work for the depth of the sketch";

/// Refuses items that would take too long to hash for all rows, see [`CountMin::within_work_limit`]. Each item has
/// `args_per_item` arguments. Commands from a primary or an AOF are not refused.
fn check_work(call: &Call<'_>, sketch: &impl Sketch, args_per_item: usize) -> Result<(), Error> {
    let items = call
        .args_from(2)
        .step_by(args_per_item)
        .map(|item| item.bytes());
    if sketch.within_work_limit(items) || call.must_obey() {
        return Ok(());
    }
    Err(TOO_MUCH.into())
}
