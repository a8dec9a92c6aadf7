//! CMS.QUERY.

use super::{NOT_FOUND, check_work};
use crate::server::call::{Call, Error};
use roughly_sketch::count_min::CountMin;

/// CMS.QUERY key item [item …]
pub fn query(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<CountMin>(1);
    let sketch = key.get().or_missing(NOT_FOUND)?;
    check_work(call, sketch, 1)?;
    let items = call.args_from(2).map(|item| item.bytes());
    call.reply_array(items.len());
    sketch.query_all(items, |estimate| call.reply_count(estimate));
    Ok(())
}
