//! CF.EXISTS, CF.MEXISTS and CF.COUNT.

use super::types::Cuckoo;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};

/// CF.EXISTS key item
pub fn exists(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read(1);
    // A key of another type is like a missing key, also for the other commands here.
    let found = match key.get::<Cuckoo<'_>>().lenient(call)? {
        None => false,
        Some(filter) => filter.contains(call.arg(2).bytes(), filter.panes(call)?),
    };
    drop(key);
    call.reply_boolean(found);
    Ok(())
}

/// CF.MEXISTS key item [item …]
pub fn mexists(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read(1);
    let items = call.args_from(2);
    match key.get::<Cuckoo<'_>>().lenient(call)? {
        Some(filter) => {
            let panes = filter.panes(call)?;
            call.reply_array(items.len());
            let items = items.map(Argument::bytes);
            filter.contains_each(items, panes, |found| call.reply_boolean(found));
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
    let key = call.read(1);
    let count = match key.get::<Cuckoo<'_>>().lenient(call)? {
        None => 0,
        Some(filter) => filter.count(call.arg(2).bytes(), filter.panes(call)?),
    };
    drop(key);
    call.reply_count(count);
    Ok(())
}
