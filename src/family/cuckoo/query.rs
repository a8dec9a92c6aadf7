//! The commands that read: CF.EXISTS, CF.MEXISTS, CF.COUNT, CF.INFO and CF.DEBUG.

use super::types::{CuckooType, Description, NOT_FOUND};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::ReadKey;
use crate::server::part::Part;

/// CF.EXISTS key item
pub fn exists(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    let key = ReadKey::open(call, 1);
    // A key of another type is like a missing key, also for the other commands here.
    let found = match key.get::<CuckooType>().lenient(part)? {
        None => false,
        Some(filter) => filter.contains(call.arg(2).bytes(), filter.panes(call, part)?),
    };
    drop(key);
    call.reply_boolean(found);
    Ok(())
}

/// CF.MEXISTS key item [item …]
pub fn mexists(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    let key = ReadKey::open(call, 1);
    let items = call.args_from(2);
    match key.get::<CuckooType>().lenient(part)? {
        Some(filter) => {
            let panes = filter.panes(call, part)?;
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
pub fn count(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    let key = ReadKey::open(call, 1);
    let count = match key.get::<CuckooType>().lenient(part)? {
        None => 0,
        Some(filter) => filter.count(call.arg(2).bytes(), filter.panes(call, part)?),
    };
    drop(key);
    call.reply_count(count);
    Ok(())
}

fn describe(call: &Call<'_>) -> Result<Description, Error> {
    let key = ReadKey::open(call, 1);
    let filter = key.get::<CuckooType>().or_missing(NOT_FOUND)?;
    Ok(filter.describe(filter.panes(call, Part::Whole)?))
}

/// CF.INFO key
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    let filter = describe(call)?;
    let fields = [
        (c"Size", filter.bytes),
        (c"Number of buckets", filter.buckets),
        (c"Number of filters", filter.sub_filters as u64),
        (c"Number of items inserted", filter.items),
        (c"Number of items deleted", filter.deletes),
        (c"Bucket size", filter.bucket_size.into()),
        (c"Expansion rate", filter.expansion.into()),
        (c"Max iterations", filter.max_iterations.into()),
    ];
    call.reply_map(fields.len());
    for (name, value) in fields {
        call.reply_simple(name);
        call.reply_count(value);
    }
    Ok(())
}

/// CF.DEBUG key
pub fn debug(call: &mut Call<'_>) -> Result<(), Error> {
    let filter = describe(call)?;
    let line = format!(
        "bktsize:{} buckets:{} items:{} deletes:{} filters:{} max_iterations:{} expansion:{}",
        filter.bucket_size,
        filter.buckets,
        filter.items,
        filter.deletes,
        filter.sub_filters,
        filter.max_iterations,
        filter.expansion,
    );
    call.reply_bulk(line.as_bytes());
    Ok(())
}
