//! What a sketch is: CMS.INFO.

use super::NOT_FOUND;
use crate::server::call::{Call, Error};
use roughly_sketch::count_min::{CellSize, CountMin};

/// CMS.INFO key
///
/// The cell size is told only where it is not the one that RedisBloom up to 8.10 always has: client
/// releases in use fail on a field they do not know.
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<CountMin>(1);
    let sketch = key.get().or_missing(NOT_FOUND)?;
    let shape = sketch.shape();
    let plain = shape.cell_size() == CellSize::default();
    call.reply_map(if plain { 3 } else { 4 });
    call.reply_simple(c"width");
    call.reply_count(shape.width());
    call.reply_simple(c"depth");
    call.reply_count(shape.depth());
    call.reply_simple(c"count");
    call.reply_count(sketch.total());
    if !plain {
        call.reply_simple(c"cell_size");
        call.reply_count(shape.cell_size().bytes());
    }
    Ok(())
}
