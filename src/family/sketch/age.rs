//! SKETCH.AGE.

use crate::server::call::{Call, Error};
use crate::server::command::User;
use crate::server::key::ReadKey;
use crate::server::load::module;
use roughly_sketch::window_filter::{BloomWindow, CuckooWindow, Kind, WindowFilter};
use std::ffi::CStr;

/// Whether a key holds a filter with a window.
pub fn is_filter(key: &ReadKey) -> bool {
    key.state::<BloomWindow>().is_some() || key.state::<CuckooWindow>().is_some()
}

/// SKETCH.AGE key item [item …]
pub fn age(call: &mut Call<'_>) -> Result<(), Error> {
    // Before the key is opened, because finding the user can run other modules.
    let user = User::of(call);
    let key = ReadKey::open(call, 1);
    if let Some(filter) = key.state::<BloomWindow>() {
        return reply_ages(call, &user, filter, c"bf.exists");
    }
    if let Some(filter) = key.state::<CuckooWindow>() {
        return reply_ages(call, &user, filter, c"cf.exists");
    }
    if !key.is_missing() {
        let is_sketch = key.value(module().data_types()).found().is_some();
        return Err(match is_sketch {
            true => c"ERR SKETCH.AGE needs a Bloom or cuckoo filter with a window".into(),
            false => Error::WrongType,
        });
    }
    let items = call.args_from(2);
    call.reply_array(items.len());
    items.for_each(|_| call.reply_null());
    Ok(())
}

/// Replies with the ages of the items. `command` is the command whose permission the user needs, because ages show what it
/// shows.
fn reply_ages<K: Kind>(
    call: &mut Call<'_>,
    user: &User<'_>,
    filter: &WindowFilter<K>,
    command: &CStr,
) -> Result<(), Error> {
    // The command has one item; Redis 8.0 checks the number of arguments.
    user.check_permission_for(command, call.arguments(1..3))?;
    let (timeline, unix_ms) = (filter.timeline(), call.unix_ms());
    let panes = timeline.panes_at(unix_ms);
    let items = call.args_from(2);
    call.reply_array(items.len());
    for item in items {
        match filter.last_pane(item.bytes(), panes) {
            Some(pane) => {
                call.reply_count(unix_ms.saturating_sub(timeline.window().start_of(pane)));
            }
            None => call.reply_null(),
        }
    }
    Ok(())
}
