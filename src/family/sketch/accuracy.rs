//! SKETCH.ACCURACY.

use super::texts::{NO_KEY, NO_MEMORY};
use crate::MODULE;
use crate::server::call::{Call, Error};
use roughly_sketch::accuracy::Figure;

/// SKETCH.ACCURACY key
pub fn accuracy(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read(1);
    let value = key.value(MODULE.data_types()).or_missing(NO_KEY)?;
    let panes = call.panes(value.timeline())?;
    let fields = value.accuracy(panes).map_err(|_| NO_MEMORY)?;
    call.reply_map(fields.len());
    for (name, figure) in fields {
        call.reply_simple(name);
        match figure {
            Figure::Ratio(ratio) => call.reply_double(ratio),
            Figure::Count(count) => call.reply_count(count),
        }
    }
    Ok(())
}
