//! SKETCH.AGE.

use crate::server::call::{Call, Error};
use crate::server::command::User;
use crate::server::key::ReadKey;
use crate::server::load::module;
use roughly_sketch::window::{Panes, Timeline};
use roughly_sketch::window_filter::{BloomWindow, CuckooWindow};
use std::ffi::CStr;

/// A filter with a window.
#[derive(Debug, Clone, Copy)]
pub enum Filter<'a> {
    Bloom(&'a BloomWindow),
    Cuckoo(&'a CuckooWindow),
}

impl<'a> Filter<'a> {
    /// The filter in a key; `None` if the key holds none.
    pub fn of(key: &'a ReadKey) -> Option<Self> {
        let bloom = key.state().map(Self::Bloom);
        bloom.or_else(|| key.state().map(Self::Cuckoo))
    }
}

impl Filter<'_> {
    fn timeline(self) -> Timeline {
        match self {
            Self::Bloom(set) => *set.timeline(),
            Self::Cuckoo(multiset) => *multiset.timeline(),
        }
    }

    /// The command whose permission the user needs, because ages show what it shows.
    fn command(self) -> &'static CStr {
        match self {
            Self::Bloom(_) => c"bf.exists",
            Self::Cuckoo(_) => c"cf.exists",
        }
    }

    /// The pane of the last addition of this item.
    fn last_pane(self, item: &[u8], panes: Panes) -> Option<u64> {
        match self {
            Self::Bloom(set) => set.last_pane(item, panes),
            Self::Cuckoo(multiset) => multiset.last_pane(item, panes),
        }
    }
}

/// SKETCH.AGE key item [item …]
pub fn age(call: &mut Call<'_>) -> Result<(), Error> {
    let items = call.args_from(2);
    // Before the key is opened, because finding the user can run other modules.
    let user = User::of(call);
    let key = ReadKey::open(call, 1);
    let Some(filter) = Filter::of(&key) else {
        if !key.is_missing() {
            let is_sketch = key.value(module().data_types()).found().is_some();
            return Err(match is_sketch {
                true => c"ERR SKETCH.AGE needs a Bloom or cuckoo filter with a window".into(),
                false => Error::WrongType,
            });
        }
        call.reply_array(items.len());
        items.for_each(|_| call.reply_null());
        return Ok(());
    };
    // The command has one item; Redis 8.0 checks the number of arguments.
    user.check_permission_for(filter.command(), call.arguments(1..3))?;
    let (timeline, unix_ms) = (filter.timeline(), call.unix_ms());
    let panes = timeline.panes_at(unix_ms);
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
