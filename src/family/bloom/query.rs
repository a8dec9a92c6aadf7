//! BF.EXISTS and BF.MEXISTS.

use super::sketch::Sketch;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::{ReadKey, for_either};
use roughly_sketch::bloom::Chain;
use roughly_sketch::window_filter::WindowSet;

/// BF.EXISTS key item
pub fn exists(call: &mut Call<'_>) -> Result<(), Error> {
    for_either!(call.read_either::<Chain, WindowSet>(1), key => exists_in(call, key))
}

fn exists_in<T: Sketch>(call: &mut Call<'_>, key: ReadKey<T>) -> Result<(), Error> {
    let filter = key.get().found();
    let item = call.arg(2).bytes();
    let found = filter.is_some_and(|filter| filter.contains_at(item, call.current_pane(filter)));
    drop(key);
    call.reply_boolean(found);
    Ok(())
}

/// BF.MEXISTS key item [item …]
pub fn mexists(call: &mut Call<'_>) -> Result<(), Error> {
    for_either!(call.read_either::<Chain, WindowSet>(1), key => mexists_in(call, &key))
}

fn mexists_in<T: Sketch>(call: &mut Call<'_>, key: &ReadKey<T>) -> Result<(), Error> {
    let items = call.args_from(2);
    call.reply_array(items.len());
    match key.get().found() {
        Some(filter) => {
            let current = call.current_pane(filter);
            let items = items.map(Argument::bytes);
            filter.contains_each_at(items, current, |found| call.reply_boolean(found));
        }
        None => items.for_each(|_| call.reply_boolean(false)),
    }
    Ok(())
}
