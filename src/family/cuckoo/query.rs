//! CF.EXISTS, CF.MEXISTS and CF.COUNT.

use super::CuckooSketch;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::{ReadKey, for_either};
use roughly_sketch::cuckoo::CuckooFilter;
use roughly_sketch::window::Timed;
use roughly_sketch::window_filter::WindowMultiset;

/// CF.EXISTS key item
pub fn exists(call: &mut Call<'_>) -> Result<(), Error> {
    let item = call.arg(2).bytes();
    let found = for_either!(call.read_either::<CuckooFilter, WindowMultiset>(1), key => {
        match key.get().lenient(call)? {
            None => false,
            Some(filter) => filter.contains_at(item, call.panes(Timed::timeline(filter))?),
        }
    });
    call.reply_boolean(found);
    Ok(())
}

/// CF.MEXISTS key item [item …]
pub fn mexists(call: &mut Call<'_>) -> Result<(), Error> {
    for_either!(call.read_either::<CuckooFilter, WindowMultiset>(1), key => {
        mexists_in(call, &key)
    })
}

fn mexists_in<T: CuckooSketch>(call: &mut Call<'_>, key: &ReadKey<T>) -> Result<(), Error> {
    let items = call.args_from(2);
    match key.get().lenient(call)? {
        Some(filter) => {
            let panes = call.panes(filter.timeline())?;
            call.reply_array(items.len());
            filter.contains_each_at(items.map(Argument::bytes), panes, |found| {
                call.reply_boolean(found);
            });
        }
        None => {
            call.reply_array(items.len());
            items.for_each(|_| call.reply_boolean(false));
        }
    }
    Ok(())
}

/// CF.COUNT key item
pub fn count(call: &mut Call<'_>) -> Result<(), Error> {
    let item = call.arg(2).bytes();
    let count = for_either!(call.read_either::<CuckooFilter, WindowMultiset>(1), key => {
        match key.get().lenient(call)? {
            None => 0,
            Some(filter) => filter.count_at(item, call.panes(Timed::timeline(filter))?),
        }
    });
    call.reply_count(count);
    Ok(())
}
