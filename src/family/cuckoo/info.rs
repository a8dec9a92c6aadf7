//! CF.INFO and CF.DEBUG.

use super::{CuckooSketch, NOT_FOUND};
use crate::server::call::{Call, Error};
use crate::server::key::{ReadKey, for_either};
use roughly_sketch::cuckoo::CuckooFilter;
use roughly_sketch::window_filter::WindowMultiset;

/// CF.INFO key
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    for_either!(call.read_either::<CuckooFilter, WindowMultiset>(1), key => info_of(call, &key))
}

fn info_of<T: CuckooSketch>(call: &mut Call<'_>, key: &ReadKey<T>) -> Result<(), Error> {
    let filter = key.get().or_missing(NOT_FOUND)?;
    let fields = [
        (c"Size", filter.reported_bytes()),
        (c"Number of buckets", filter.num_buckets()),
        (c"Number of filters", filter.num_sub_filters() as u64),
        (
            c"Number of items inserted",
            filter.items_at(call.panes(filter.timeline())?),
        ),
        (c"Number of items deleted", filter.deletes()),
        (c"Bucket size", filter.bucket_size().into()),
        (c"Expansion rate", filter.expansion().into()),
        (c"Max iterations", filter.max_iterations().into()),
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
    for_either!(call.read_either::<CuckooFilter, WindowMultiset>(1), key => debug_of(call, &key))
}

fn debug_of<T: CuckooSketch>(call: &mut Call<'_>, key: &ReadKey<T>) -> Result<(), Error> {
    let filter = key.get().or_missing(NOT_FOUND)?;
    let line = format!(
        "bktsize:{} buckets:{} items:{} deletes:{} filters:{} max_iterations:{} expansion:{}",
        filter.bucket_size(),
        filter.num_buckets(),
        filter.items_at(call.panes(filter.timeline())?),
        filter.deletes(),
        filter.num_sub_filters(),
        filter.max_iterations(),
        filter.expansion(),
    );
    call.reply_bulk(line.as_bytes());
    Ok(())
}
