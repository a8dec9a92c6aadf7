//! SKETCH.ADVANCE.

use super::query::NO_KEY;
use crate::MODULE;
use crate::server::call::{Call, Error};

/// SKETCH.ADVANCE key pane
pub fn advance(call: &mut Call<'_>) -> Result<(), Error> {
    let pane = call.arg(2).integer();
    let pane = pane.and_then(|pane| u64::try_from(pane).ok());
    let pane = pane.ok_or(c"ERR invalid pane")?;
    let found = call.write(1).find(call, MODULE.data_types())?;
    let advanced = call.advance_to_pane(found.or_missing(NO_KEY)?, pane)?;
    call.reply_integer(advanced.into());
    Ok(())
}
