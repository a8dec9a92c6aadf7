//! CF.EXISTS, CF.MEXISTS and CF.COUNT.

use super::CuckooSketch;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::{ReadKey, for_either};
use roughly_sketch::cuckoo::CuckooFilter;
use roughly_sketch::window_filter::WindowMultiset;

/// CF.EXISTS key item
pub fn exists(call: &mut Call<'_>) -> Result<(), Error> {
    let item = call.arg(2).bytes();
    let found = for_either!(call.read_either::<CuckooFilter, WindowMultiset>(1), key => {
        let filter = key.get().found();
        filter.is_some_and(|filter| filter.contains_at(item, call.current_pane(filter)))
    });
    call.reply_boolean(found);
    Ok(())
}

/// CF.MEXISTS key item [item …]
pub fn mexists(call: &mut Call<'_>) -> Result<(), Error> {
    for_either!(call.read_either::<CuckooFilter, WindowMultiset>(1), key => {
        mexists_in(call, &key);
    });
    Ok(())
}

fn mexists_in<T: CuckooSketch>(call: &mut Call<'_>, key: &ReadKey<T>) {
    let items = call.args_from(2);
    call.reply_array(items.len());
    match key.get().found() {
        Some(filter) => {
            let current = call.current_pane(filter);
            filter.contains_each_at(items.map(Argument::bytes), current, |found| {
                call.reply_boolean(found);
            });
        }
        None => items.for_each(|_| call.reply_boolean(false)),
    }
}

/// CF.COUNT key item
pub fn count(call: &mut Call<'_>) -> Result<(), Error> {
    let item = call.arg(2).bytes();
    let count = for_either!(call.read_either::<CuckooFilter, WindowMultiset>(1), key => {
        let filter = key.get().found();
        filter.map_or(0, |filter| filter.count_at(item, call.current_pane(filter)))
    });
    call.reply_count(count);
    Ok(())
}
