//! CMS.INFO.

use super::texts::NOT_FOUND;
use super::types::Counts;
use crate::server::call::{Call, Error};
use roughly_sketch::count_min::CellSize;

/// CMS.INFO key
///
/// The reply contains the cell size only if it is not the default, which RedisBloom up to 8.10 always uses. Some client
/// libraries in use fail on unknown fields.
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read(1);
    let sketch = key.get::<Counts<'_>>().or_missing(NOT_FOUND)?;
    let (shape, total) = (sketch.shape(), sketch.total(sketch.panes(call)?));
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
