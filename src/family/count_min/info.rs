//! CMS.INFO.

use super::NOT_FOUND;
use crate::server::call::{Call, Error};
use crate::server::data_type::DataType;
use crate::server::key::{ReadKey, for_either};
use roughly_sketch::count_min::{CellSize, CountMin, CountMinWindow, Sketch};

/// CMS.INFO key
///
/// The reply contains the cell size only if it is not the default, which RedisBloom up to 8.10 always uses. Some client
/// libraries in use fail on unknown fields.
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    for_either!(call.read_either::<CountMin, CountMinWindow>(1), key => info_of(call, &key))
}

fn info_of<T: Sketch + DataType>(call: &mut Call<'_>, key: &ReadKey<T>) -> Result<(), Error> {
    let sketch = key.get().or_missing(NOT_FOUND)?;
    let shape = sketch.shape();
    let total = sketch.total_in(call.panes(sketch.timeline())?);
    let is_default = shape.cell_size() == CellSize::default();
    call.reply_map(if is_default { 3 } else { 4 });
    call.reply_simple(c"width");
    call.reply_count(shape.width());
    call.reply_simple(c"depth");
    call.reply_count(shape.depth());
    call.reply_simple(c"count");
    call.reply_count(total);
    if !is_default {
        call.reply_simple(c"cell_size");
        call.reply_count(shape.cell_size().bytes());
    }
    Ok(())
}
