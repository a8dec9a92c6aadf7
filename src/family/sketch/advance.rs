//! SKETCH.ADVANCE.

use super::parts::NO_KEY;
use crate::server::call::{ADVANCE_EVENT, Call, Error};
use crate::server::key::WriteKey;
use crate::server::load::module;
use crate::server::window::check_pane;

/// SKETCH.ADVANCE key pane: makes `pane` the newest pane, if it is not yet, and frees memory of expired panes.
///
/// An advance before a write removes nothing of the expired panes, and copies must do the same. So a copy only advances
/// if the pane is new, and only frees if it is not. A call that does both is replicated twice.
pub fn advance(call: &mut Call<'_>) -> Result<(), Error> {
    let pane = call.arg(2).integer();
    let pane = pane.and_then(|pane| u64::try_from(pane).ok());
    let pane = pane.ok_or(c"ERR invalid pane")?;
    let found = WriteKey::open(call, 1).find_in(call, module().data_types())?;
    let mut entry = found.or_missing(NO_KEY)?;
    let value = entry.any();
    let timeline = value.timeline();
    let timeline = timeline.ok_or(c"ERR the sketch has no window")?;
    check_pane(call, timeline, pane)?;
    let advanced = value.advance(pane);
    let freed = !(advanced && call.must_obey()) && value.expire();
    drop(entry);
    for _ in 0..u8::from(advanced) + u8::from(freed) {
        call.replicate_verbatim();
    }
    if advanced || freed {
        call.signal_changed(1, ADVANCE_EVENT);
    }
    call.reply_integer(advanced.into());
    Ok(())
}
