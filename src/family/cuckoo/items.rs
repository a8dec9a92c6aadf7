//! Items looked for and taken out: CF.EXISTS, CF.MEXISTS, CF.COUNT, CF.DEL, CF.COMPACT.

use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use roughly_sketch::cuckoo::CuckooFilter;
use roughly_sketch::memory::Budget;

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

/// CF.DEL key item
pub fn del(call: &mut Call<'_>) -> Result<(), Error> {
    let mut key = call.write::<CuckooFilter>(1);
    let filter = key.get().found().ok_or(c"Not found")?;
    let sub_filters = filter.num_sub_filters();
    let deleted = filter.delete(
        call.arg(2).bytes(),
        Budget::new(&|bytes| call.allows_temporary(bytes)),
    );
    if filter.num_sub_filters() != sub_filters {
        key.recount();
    }
    drop(key);
    if deleted {
        call.replicate_verbatim();
        call.signal_changed(1, c"cf.del");
    }
    call.reply_boolean(deleted);
    Ok(())
}

/// CF.COMPACT key
pub fn compact(call: &mut Call<'_>) -> Result<(), Error> {
    if call.len() != 2 {
        return Err(Error::WrongArity);
    }
    let mut key = call.write::<CuckooFilter>(1);
    let filter = (key.get().found()).ok_or(c"Cuckoo filter was not found")?;
    let sub_filters = filter.num_sub_filters();
    let changed = filter.compact(Budget::new(&|bytes| call.allows_temporary(bytes)));
    if filter.num_sub_filters() != sub_filters {
        key.recount();
    }
    drop(key);
    if changed {
        call.replicate_verbatim();
        call.signal_changed(1, c"cf.compact");
    }
    call.reply_ok();
    Ok(())
}
