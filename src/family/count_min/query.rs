//! CMS.QUERY.

use super::texts::NOT_FOUND;
use super::types::Counts;
use super::work;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};

/// CMS.QUERY key item [item …]
pub fn query(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read(1);
    let sketch = key.get::<Counts<'_>>().or_missing(NOT_FOUND)?;
    let panes = sketch.panes(call)?;
    work::check(call, sketch, 2, 1)?;
    let items = call.args_from(2).map(Argument::bytes);
    call.reply_array(items.len());
    sketch.query_all(items, panes, |estimate| call.reply_count(estimate));
    Ok(())
}
