//! SKETCH.WINDOW and SKETCH.ADVANCE.

use super::texts::{NO_KEY, NO_MEMORY};
use crate::MODULE;
use crate::server::call::{Call, Error};

/// SKETCH.WINDOW key
pub fn window(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read(1);
    let value = key.value(MODULE.data_types()).or_missing(NO_KEY)?;
    let panes = call.panes(value.timeline())?;
    let Some(timeline) = value.timeline() else {
        call.reply_null();
        return Ok(());
    };
    let (window, unix_ms) = (timeline.window(), call.unix_ms());
    let ranges = timeline.counted_panes(panes).map_err(|_| NO_MEMORY)?;
    call.reply_map(7);
    for (name, value) in [
        (c"window", window.ms()),
        (c"panes", window.panes()),
        (c"pane length", window.pane_ms()),
        (c"newest pane", window.start_of(timeline.newest())),
        (c"covered", timeline.covered_ms(unix_ms, panes)),
    ] {
        call.reply_simple(name);
        call.reply_count(value);
    }
    call.reply_simple(c"items per pane");
    call.reply_array(ranges.len());
    for range in &ranges {
        call.reply_count(value.pane_total(range.first));
    }
    call.reply_simple(c"pane starts");
    call.reply_array(ranges.len());
    for range in ranges {
        call.reply_count(window.start_of(range.first));
    }
    Ok(())
}

/// SKETCH.ADVANCE key pane
pub fn advance(call: &mut Call<'_>) -> Result<(), Error> {
    let pane = call.arg(2).integer();
    let pane = pane.and_then(|pane| u64::try_from(pane).ok());
    let pane = pane.ok_or(c"ERR invalid pane")?;
    let found = call.write(1).find(call, MODULE.data_types())?;
    let advanced = call.advance_to_pane(found.or_missing(NO_KEY)?, pane)?;
    call.reply_integer(advanced.into());
    Ok(())
}
