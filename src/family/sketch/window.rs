//! SKETCH.WINDOW and SKETCH.ADVANCE.

use crate::MODULE;
use crate::server::call::{Call, Error};
use crate::server::key::AnyKey;
use crate::server::module::TypeRegistrar;
use std::ffi::CStr;

const NO_KEY: &CStr = c"ERR no such key";

/// SKETCH.WINDOW key
pub fn window(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read_any(1);
    let Some(access) = sketch_type(&key)?.window else {
        call.reply_null();
        return Ok(());
    };
    let description = (access.describe)(key, call.unix_ms());
    let description = description
        .map_err(|_| c"ERR Insufficient memory")?
        .ok_or(NO_KEY)?;
    let window = description.window;
    call.reply_map(6);
    for (name, value) in [
        (c"window", window.ms()),
        (c"panes", window.panes()),
        (c"pane length", window.pane_ms()),
        (c"newest pane", window.start_of(description.newest)),
        (c"covered", description.covered_ms),
    ] {
        call.reply_simple(name);
        call.reply_count(value);
    }
    call.reply_simple(c"items per pane");
    call.reply_array(description.totals.len());
    for total in description.totals {
        call.reply_count(total);
    }
    Ok(())
}

/// SKETCH.ADVANCE key pane
pub fn advance(call: &mut Call<'_>) -> Result<(), Error> {
    let pane = call.arg(2).integer();
    let pane = pane.and_then(|pane| u64::try_from(pane).ok());
    let pane = pane.ok_or(c"ERR invalid pane")?;
    let key = call.write_any(1);
    let access = sketch_type(&key)?.window;
    let access = access.ok_or(c"ERR the sketch has no window")?;
    let advanced = (access.advance)(call, key, pane)?;
    call.reply_integer(advanced.into());
    Ok(())
}

/// The type of the sketch that the key holds.
fn sketch_type<A>(key: &AnyKey<A>) -> Result<&'static TypeRegistrar, Error> {
    if key.is_missing() {
        return Err(NO_KEY.into());
    }
    let mut types = MODULE.families.iter().flat_map(|family| family.data_types);
    let found = types.find(|data_type| key.holds(data_type.registration()));
    found.ok_or(Error::WrongType)
}
