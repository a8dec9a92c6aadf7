//! CMS.QUERY and CMS.INFO.

use super::types::{Counter, CounterType, NOT_FOUND};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::ReadKey;
use crate::server::panes::NO_MEMORY;
use crate::server::part::Part;
use roughly_sketch::count_min::CellSize;
use roughly_sketch::memory::try_collect;

/// CMS.QUERY key item [item …]
pub fn query(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    let key = ReadKey::open(call, 1);
    let sketch = key.get::<CounterType>().or_missing(NOT_FOUND)?;
    let panes = sketch.panes(call, part)?;
    sketch.check_work(call, 2, 1)?;
    let items = call.args_from(2).map(Argument::bytes);
    if let (Part::Series(series), Counter::Windowed(sketch)) = (part, sketch) {
        let hashes = try_collect(items.map(|item| sketch.hash(item)));
        let hashes = hashes.map_err(|_| NO_MEMORY)?;
        return series.reply(call, sketch.timeline(), Ok, |call, panes| {
            call.reply_array(hashes.len());
            let hashes = hashes.iter().copied();
            sketch.query_hashed(hashes, panes, |estimate| call.reply_count(estimate));
        });
    }
    call.reply_array(items.len());
    sketch.query_all(items, panes, |estimate| call.reply_count(estimate));
    Ok(())
}

/// CMS.INFO key
///
/// The reply contains the cell size only if it is not the default, which RedisBloom up to 8.10 always uses. Some client
/// libraries in use fail on unknown fields.
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    let key = ReadKey::open(call, 1);
    let sketch = key.get::<CounterType>().or_missing(NOT_FOUND)?;
    let (dimensions, total) = (
        sketch.dimensions(),
        sketch.total(sketch.panes(call, Part::Whole)?),
    );
    let is_default = dimensions.cell_size() == CellSize::default();
    call.reply_map(if is_default { 3 } else { 4 });
    call.reply_simple(c"width");
    call.reply_count(dimensions.width());
    call.reply_simple(c"depth");
    call.reply_count(dimensions.depth());
    call.reply_simple(c"count");
    call.reply_count(total);
    if !is_default {
        call.reply_simple(c"cell_size");
        call.reply_count(dimensions.cell_size().bytes());
    }
    Ok(())
}
