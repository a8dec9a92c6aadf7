//! BF.EXISTS and BF.MEXISTS.

use super::dialect::{replies_are_valkey, reply_flag};
use super::key::{self, for_each_type};
use super::sketch::Sketch;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::ReadKey;

/// BF.EXISTS key item
pub fn exists(call: &mut Call<'_>) -> Result<(), Error> {
    for_each_type!(key::read(call), key => exists_in(call, key))
}

fn exists_in<T: Sketch>(call: &mut Call<'_>, key: ReadKey<T>) -> Result<(), Error> {
    let filter = filter_of(call, &key)?;
    let item = call.arg(2).bytes();
    let found = match filter {
        None => false,
        Some(filter) => filter.contains_at(item, call.panes(filter.timeline())?),
    };
    drop(key);
    reply_flag(call, found);
    Ok(())
}

/// The filter of the key. RedisBloom treats a key of another type like a missing key, valkey-bloom replies with an error.
#[inline(always)]
fn filter_of<'a, T: Sketch>(call: &Call<'_>, key: &'a ReadKey<T>) -> Result<Option<&'a T>, Error> {
    match replies_are_valkey() {
        true => key.get().optional(),
        false => key.get().lenient(call),
    }
}

/// BF.MEXISTS key item [item …]
pub fn mexists(call: &mut Call<'_>) -> Result<(), Error> {
    for_each_type!(key::read(call), key => mexists_in(call, &key))
}

fn mexists_in<T: Sketch>(call: &mut Call<'_>, key: &ReadKey<T>) -> Result<(), Error> {
    let filter = filter_of(call, key)?;
    let items = call.args_from(2);
    match filter {
        Some(filter) => {
            let panes = call.panes(filter.timeline())?;
            call.reply_array(items.len());
            let items = items.map(Argument::bytes);
            filter.contains_each_at(items, panes, |found| reply_flag(call, found));
        }
        None => {
            call.reply_array(items.len());
            items.for_each(|_| reply_flag(call, false));
        }
    }
    Ok(())
}
