//! TOPK.INFO.

use super::NOT_FOUND;
use crate::server::call::{Call, Error};
use roughly_sketch::top_k::TopK;

/// TOPK.INFO key
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<TopK>(1);
    let sketch = key.get().or_missing(NOT_FOUND)?;
    call.reply_map(4);
    for (name, value) in [
        (c"k", sketch.k()),
        (c"width", sketch.width()),
        (c"depth", sketch.depth()),
    ] {
        call.reply_simple(name);
        call.reply_integer(value.into());
    }
    call.reply_simple(c"decay");
    call.reply_double(sketch.decay());
    Ok(())
}
