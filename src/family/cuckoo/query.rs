//! CF.EXISTS, CF.MEXISTS and CF.COUNT.

use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use roughly_sketch::cuckoo::CuckooFilter;

/// CF.EXISTS key item
pub fn exists(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<CuckooFilter>(1);
    let filter = key.get().found();
    let found = filter.is_some_and(|filter| filter.contains(call.arg(2).bytes()));
    drop(key);
    call.reply_boolean(found);
    Ok(())
}

/// CF.MEXISTS key item [item …]
pub fn mexists(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<CuckooFilter>(1);
    let items = call.args_from(2);
    call.reply_array(items.len());
    match key.get().found() {
        Some(filter) => {
            filter.contains_each(items.map(Argument::bytes), |found| {
                call.reply_boolean(found);
            });
        }
        None => items.for_each(|_| call.reply_boolean(false)),
    }
    Ok(())
}

/// CF.COUNT key item
pub fn count(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<CuckooFilter>(1);
    let filter = key.get().found();
    let count = filter.map_or(0, |filter| filter.count(call.arg(2).bytes()));
    drop(key);
    call.reply_count(count);
    Ok(())
}
