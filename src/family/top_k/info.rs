//! TOPK.INFO.

use super::{NOT_FOUND, Sketch};
use crate::server::call::{Call, Error};
use crate::server::key::{ReadKey, for_either};
use roughly_sketch::top_k::{TopK, TopKWindow};

/// TOPK.INFO key
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    for_either!(call.read_either::<TopK, TopKWindow>(1), key => info_of(call, &key))
}

fn info_of<T: Sketch>(call: &mut Call<'_>, key: &ReadKey<T>) -> Result<(), Error> {
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
