//! CF.INFO and CF.DEBUG.

use super::NOT_FOUND;
use crate::server::call::{Call, Error};
use roughly_sketch::cuckoo::CuckooFilter;

/// CF.INFO key
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<CuckooFilter>(1);
    let filter = key.get().or_missing(NOT_FOUND)?;
    let parameters = filter.parameters();
    let fields = [
        (c"Size", filter.nominal_bytes()),
        (c"Number of buckets", filter.num_buckets()),
        (c"Number of filters", filter.num_sub_filters() as u64),
        (c"Number of items inserted", filter.items()),
        (c"Number of items deleted", filter.deletes()),
        (c"Bucket size", parameters.bucket_size.into()),
        (c"Expansion rate", parameters.expansion.into()),
        (c"Max iterations", parameters.max_iterations.into()),
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
    let key = call.read::<CuckooFilter>(1);
    let filter = key.get().or_missing(NOT_FOUND)?;
    let parameters = filter.parameters();
    let line = format!(
        "bktsize:{} buckets:{} items:{} deletes:{} filters:{} max_iterations:{} expansion:{}",
        parameters.bucket_size,
        filter.num_buckets(),
        filter.items(),
        filter.deletes(),
        filter.num_sub_filters(),
        parameters.max_iterations,
        parameters.expansion,
    );
    call.reply_bulk(line.as_bytes());
    Ok(())
}
