//! BF.EXISTS and BF.MEXISTS.

use super::dialect::Dialect;
use super::types::Filter;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};

/// BF.EXISTS key item
pub fn exists(call: &mut Call<'_>) -> Result<(), Error> {
    let dialect = Dialect::current();
    let key = call.read(1);
    let found = match dialect.lenient(call, key.get::<Filter<'_>>())? {
        None => false,
        Some(filter) => filter.contains(call.arg(2).bytes(), filter.panes(call)?),
    };
    drop(key);
    dialect.reply_flag(call, found);
    Ok(())
}

/// BF.MEXISTS key item [item …]
pub fn mexists(call: &mut Call<'_>) -> Result<(), Error> {
    let dialect = Dialect::current();
    let key = call.read(1);
    let items = call.args_from(2);
    match dialect.lenient(call, key.get::<Filter<'_>>())? {
        Some(filter) => {
            let panes = filter.panes(call)?;
            call.reply_array(items.len());
            let items = items.map(Argument::bytes);
            filter.contains_each(items, panes, |found| dialect.reply_flag(call, found));
        }
        None => {
            call.reply_array(items.len());
            items.for_each(|_| dialect.reply_flag(call, false));
        }
    }
    Ok(())
}
