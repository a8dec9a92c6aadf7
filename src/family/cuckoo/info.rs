//! CF.INFO and CF.DEBUG.

use super::texts::NOT_FOUND;
use super::types::{Cuckoo, Description};
use crate::server::call::{Call, Error};

/// The description of the filter in argument 1.
fn describe(call: &Call<'_>) -> Result<Description, Error> {
    let key = call.read(1);
    let filter = key.get::<Cuckoo<'_>>().or_missing(NOT_FOUND)?;
    Ok(filter.describe(filter.panes(call)?))
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
