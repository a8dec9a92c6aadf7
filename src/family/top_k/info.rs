//! TOPK.INFO.

use super::texts::NOT_FOUND;
use super::types::Top;
use crate::server::call::{Call, Error};

/// TOPK.INFO key
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read(1);
    let parameters = key.get::<Top<'_>>().or_missing(NOT_FOUND)?.parameters();
    drop(key);
    call.reply_map(4);
    for (name, value) in [
        (c"k", parameters.k),
        (c"width", parameters.width),
        (c"depth", parameters.depth),
    ] {
        call.reply_simple(name);
        call.reply_integer(value.into());
    }
    call.reply_simple(c"decay");
    call.reply_double(parameters.decay);
    Ok(())
}
