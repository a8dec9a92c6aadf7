//! Count-min sketches: `CMS.*` and the types `CMSk-TYPE` and, with a window, `cmswindow` (spec: count-min-sketch.md,
//! window.md).

mod add;
mod commands;
mod create;
mod info;
mod limit;
mod merge;
mod query;

use crate::family::chunks::{BAD_DATA, Chunked};
use crate::server::call::{Call, Error};
use crate::server::command::Since;
use crate::server::datatype::{DataType, Registration};
use crate::server::module::{self, Family};
use crate::server::stats::ExtraCounter;
use crate::server::window::Panes;
use roughly_sketch::count_min::{CountMin, CountMinWindow, Sketch};
use roughly_sketch::stored::Stored;
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"cms",
    since: Since::RedisBloom(c"2.0.0"),
    data_types: &[
        module::data_type::<CountMin>(),
        module::windowed_type::<CountMinWindow>(),
    ],
    commands: commands::COMMANDS,
    settings: &[],
    counters: &[ExtraCounter::LimitRefusals],
};

static REGISTRATION: Registration = Registration::new(CountMin::TYPE_NAME);

impl DataType for CountMin {
    const LOADCHUNK: &'static CStr = c"CMS.LOADCHUNK";

    fn registration() -> &'static Registration {
        &REGISTRATION
    }

    fn defaults() {}
}

static WINDOW_REGISTRATION: Registration = Registration::new(CountMinWindow::TYPE_NAME);

impl DataType for CountMinWindow {
    const LOADCHUNK: &'static CStr = c"CMS.LOADCHUNK";
    const PANES: Option<Panes<Self>> = Some(Panes::of_sketch());

    fn registration() -> &'static Registration {
        &WINDOW_REGISTRATION
    }

    fn defaults() {}
}

const NOT_FOUND: &CStr = c"CMS: key does not exist";

impl Chunked for CountMin {
    const NOT_FOUND: &'static CStr = NOT_FOUND;
    const LOADCHUNK_EVENT: &'static CStr = c"cms.loadchunk";
    const NO_MEMORY: &'static CStr = BAD_DATA;
}

impl Chunked for CountMinWindow {
    const NOT_FOUND: &'static CStr = NOT_FOUND;
    const LOADCHUNK_EVENT: &'static CStr = c"cms.loadchunk";
    const NO_MEMORY: &'static CStr = BAD_DATA;
}

/// No memory for the counts of a pane.
const NO_PANE_MEMORY: &CStr = c"CMS: Insufficient memory for a pane";

const TOO_MUCH: &CStr = c"CMS: too much work for the depth of the sketch";

/// Refuses items that would take too long to hash for all rows, see [`CountMin::within_work_limit`]. The items start at
/// argument `first`, and each has `args_per_item` arguments. Commands from a primary or an AOF are not refused.
fn check_work(
    call: &Call<'_>,
    sketch: &impl Sketch,
    first: usize,
    args_per_item: usize,
) -> Result<(), Error> {
    let items = call
        .args_from(first)
        .step_by(args_per_item)
        .map(|item| item.bytes());
    if sketch.within_work_limit(items) || call.must_obey() {
        return Ok(());
    }
    Err(TOO_MUCH.into())
}
