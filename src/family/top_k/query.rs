//! TOPK.QUERY, TOPK.COUNT and TOPK.LIST.

use super::{FIRST_ITEM, NO_MEMORY, NOT_FOUND, Sketch, check_work};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::{ReadKey, Slot, for_either};
use roughly_sketch::top_k::{BLOCK_ITEMS, ItemHash, TopK, TopKWindow};
use std::ffi::CStr;

const KEYWORD_EXPECTED: &CStr = c"WITHCOUNT keyword expected";

/// TOPK.QUERY key item [item …]
pub fn query(call: &mut Call<'_>) -> Result<(), Error> {
    for_either!(call.read_either::<TopK, TopKWindow>(1), key => query_in(call, &key))
}

fn query_in<T: Sketch>(call: &mut Call<'_>, key: &ReadKey<T>) -> Result<(), Error> {
    let sketch = key.get().or_missing(NOT_FOUND)?;
    let panes = call.panes(sketch.timeline())?;
    call.reply_array(call.len() - FIRST_ITEM);
    let kept = sketch.has_kept_list();
    for item in call.args_from(FIRST_ITEM) {
        match sketch.query(item.bytes(), panes) {
            Ok(is_listed) => call.reply_boolean(is_listed),
            Err(_) => call.reply_error(NO_MEMORY),
        }
    }
    if sketch.has_kept_list() != kept {
        key.recount();
    }
    Ok(())
}

/// TOPK.COUNT key item [item …]
pub fn count(call: &mut Call<'_>) -> Result<(), Error> {
    for_either!(call.read_either::<TopK, TopKWindow>(1), key => count_in(call, &key))
}

fn count_in<T: Sketch>(call: &mut Call<'_>, key: &ReadKey<T>) -> Result<(), Error> {
    let sketch = key.get().or_missing(NOT_FOUND)?;
    let panes = call.panes(sketch.timeline())?;
    let items = call.args_from(FIRST_ITEM).map(|item| (item.bytes(), 0));
    check_work(call, sketch, items)?;
    call.reply_array(call.len() - FIRST_ITEM);
    let mut items = call.args_from(FIRST_ITEM).map(Argument::bytes);
    let mut block = [(&[][..], ItemHash::default()); BLOCK_ITEMS];
    while items.len() > 0 {
        let len = BLOCK_ITEMS.min(items.len());
        for (place, item) in block.iter_mut().zip(items.by_ref().take(len)) {
            *place = (item, sketch.hash(item));
        }
        for (item, hash) in &block[..len] {
            call.reply_integer(sketch.count_hashed(item, hash, panes).into());
        }
    }
    Ok(())
}

/// TOPK.LIST key [WITHCOUNT]
pub fn list(call: &mut Call<'_>) -> Result<(), Error> {
    if call.len() > 3 {
        return Err(Error::WrongArity);
    }
    let with_count = call.len() == 3;
    let is_valid = !with_count || is_prefix(call.arg(2).bytes(), b"WITHCOUNT");
    // SKETCH.WITHIN checks the key first.
    if !is_valid && !call.is_within() {
        return Err(KEYWORD_EXPECTED.into());
    }
    for_either!(call.read_either::<TopK, TopKWindow>(1), key => {
        list_of(call, &key, with_count, is_valid)
    })
}

fn list_of<T: Sketch>(
    call: &mut Call<'_>,
    key: &ReadKey<T>,
    with_count: bool,
    is_valid: bool,
) -> Result<(), Error> {
    let sketch = match key.get() {
        Slot::Missing if !is_valid => return Err(KEYWORD_EXPECTED.into()),
        slot => slot.or_missing(NOT_FOUND)?,
    };
    let kept = sketch.has_kept_list();
    let panes = call.panes(sketch.timeline())?;
    if !is_valid {
        return Err(KEYWORD_EXPECTED.into());
    }
    let items = sketch.list(panes).map_err(|_| NO_MEMORY)?;
    call.reply_array(items.len() * if with_count { 2 } else { 1 });
    for (item, count) in items {
        call.reply_bulk(item);
        if with_count {
            call.reply_integer(count.into());
        }
    }
    if sketch.has_kept_list() != kept {
        key.recount();
    }
    Ok(())
}

/// Whether an argument is a prefix of a keyword, in any case. As in RedisBloom, the empty argument is one.
fn is_prefix(argument: &[u8], keyword: &[u8]) -> bool {
    let prefix = keyword.get(..argument.len());
    prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(argument))
}

#[cfg(test)]
mod tests {
    use super::is_prefix;

    #[test]
    fn every_prefix_of_a_keyword_is_accepted() {
        for argument in ["", "w", "WITH", "wIthCount", "WITHCOUNT"] {
            assert!(is_prefix(argument.as_bytes(), b"WITHCOUNT"), "{argument}");
        }
        for argument in ["WITHCOUNTS", "ITH", "WX", "WITHCOUNT "] {
            assert!(!is_prefix(argument.as_bytes(), b"WITHCOUNT"), "{argument}");
        }
    }
}
