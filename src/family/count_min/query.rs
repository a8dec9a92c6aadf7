//! CMS.QUERY.

use super::{NOT_FOUND, check_work};
use crate::server::call::{Call, Error};
use crate::server::datatype::DataType;
use crate::server::key::{ReadKey, for_either};
use roughly_sketch::count_min::{CountMin, CountMinWindow, Sketch};

/// CMS.QUERY key item [item …]
pub fn query(call: &mut Call<'_>) -> Result<(), Error> {
    for_either!(call.read_either::<CountMin, CountMinWindow>(1), key => query_in(call, &key))
}

fn query_in<T: Sketch + DataType>(call: &mut Call<'_>, key: &ReadKey<T>) -> Result<(), Error> {
    let sketch = key.get().or_missing(NOT_FOUND)?;
    check_work(call, sketch, 2, 1)?;
    let items = call.args_from(2).map(|item| item.bytes());
    call.reply_array(items.len());
    let current = call.current_pane(sketch);
    sketch.query_all_at(items, current, |estimate| call.reply_count(estimate));
    Ok(())
}
