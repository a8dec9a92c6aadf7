//! TOPK.QUERY, TOPK.COUNT, TOPK.LIST and TOPK.INFO.

use super::types::{FIRST_ITEM, NO_MEMORY, NOT_FOUND, TOO_MUCH, Top, TopType};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::ReadKey;
use crate::server::part::Part;
use roughly_sketch::memory::{OutOfMemory, try_collect, with_capacity};
use roughly_sketch::top_k::{BLOCK_ITEMS, ItemHash, RankingCache};
use std::ffi::CStr;

const KEYWORD_EXPECTED: &CStr = c"WITHCOUNT keyword expected";

/// The bytes of all items that the rows of a series may list: without a limit, a key of 16 MiB would have a reply of 4 GB.
const MAX_SERIES_BYTES: u64 = 64 << 20;
const SERIES_TOO_LARGE: &CStr =
    c"TopK: the lists of the rows hold more than 64 MiB, use longer steps or a shorter period";

/// TOPK.QUERY key item [item …]
pub fn query(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    let key = ReadKey::open(call, 1);
    let sketch = key.get::<TopType>().or_missing(NOT_FOUND)?;
    let panes = sketch.panes(call, part)?;
    let items = call.args_from(FIRST_ITEM).map(Argument::bytes);
    if let (Part::Series(series), Top::Windowed(sketch)) = (part, sketch) {
        let candidates = items.map(|item| sketch.candidate(item));
        let candidates = try_collect(candidates).map_err(|_| NO_MEMORY)?;
        let mut cache = RankingCache::default();
        let read = |panes| {
            let mut listed = with_capacity(candidates.len())?;
            for &candidate in &candidates {
                listed.push(sketch.lists_at(candidate, panes, &mut cache)?);
            }
            Ok(listed)
        };
        return series.reply(call, sketch.timeline(), read, |call, listed| {
            call.reply_array(listed.len());
            (listed.into_iter()).for_each(|is_listed| call.reply_boolean(is_listed));
        });
    }
    call.reply_array(items.len());
    sketch.query_each(items, panes, |is_listed| match is_listed {
        Ok(is_listed) => call.reply_boolean(is_listed),
        Err(_) => call.reply_error(NO_MEMORY),
    });
    Ok(())
}

/// TOPK.COUNT key item [item …]
pub fn count(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    let key = ReadKey::open(call, 1);
    let sketch = key.get::<TopType>().or_missing(NOT_FOUND)?;
    let panes = sketch.panes(call, part)?;
    let items = call.args_from(FIRST_ITEM).map(|item| (item.bytes(), 0));
    call.check_work(sketch.within_work_limit(items), TOO_MUCH)?;
    if let (Part::Series(series), Top::Windowed(sketch)) = (part, sketch) {
        let items = call.args_from(FIRST_ITEM).map(Argument::bytes);
        let hashes = try_collect(items.map(|item| sketch.hash(item))).map_err(|_| NO_MEMORY)?;
        return series.reply(call, sketch.timeline(), Ok, |call, panes| {
            call.reply_array(hashes.len());
            for hash in &hashes {
                call.reply_integer(sketch.count_hashed_at(hash, panes).into());
            }
        });
    }
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
pub fn list(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    refuse_if!(call.len() > 3 => Error::WrongArity);
    // RedisBloom accepts every prefix of WITHCOUNT, even the empty argument. Before another option is added here, its name must be
    // compared first, and it must not be such a prefix.
    let with_count = call.len() == 3;
    let is_valid = !with_count || is_prefix(call.arg(2).bytes(), b"WITHCOUNT");
    // A part is checked before it.
    refuse_if!(!is_valid && matches!(part, Part::Whole) => KEYWORD_EXPECTED.into());
    let key = ReadKey::open(call, 1);
    let missing = if is_valid {
        NOT_FOUND
    } else {
        KEYWORD_EXPECTED
    };
    let sketch = key.get::<TopType>().or_missing(missing)?;
    let panes = sketch.panes(call, part)?;
    refuse_if!(!is_valid => KEYWORD_EXPECTED.into());
    if let (Part::Series(series), Top::Windowed(sketch)) = (part, sketch) {
        let mut cache = RankingCache::default();
        let mut bytes = 0;
        let read = |panes| {
            let items = try_collect(sketch.list_at(panes, &mut cache)?)?;
            bytes += items.iter().map(|(item, _)| item.len() as u64).sum::<u64>();
            let items = (bytes <= MAX_SERIES_BYTES).then_some(items);
            items.ok_or(OutOfMemory { bytes })
        };
        let replied = series.reply(call, sketch.timeline(), read, |call, items| {
            reply_items(call, &mut items.into_iter(), with_count);
        });
        return match bytes > MAX_SERIES_BYTES {
            true => Err(SERIES_TOO_LARGE.into()),
            false => replied,
        };
    }
    let listed = sketch.list(panes, |items| reply_items(call, items, with_count));
    Ok(listed.map_err(|_| NO_MEMORY)?)
}

fn reply_items(
    call: &mut Call<'_>,
    items: &mut dyn ExactSizeIterator<Item = (&[u8], u32)>,
    with_count: bool,
) {
    call.reply_array(items.len() * if with_count { 2 } else { 1 });
    for (item, count) in items {
        call.reply_bulk(item);
        if with_count {
            call.reply_integer(count.into());
        }
    }
}

/// Whether an argument is a prefix of a keyword, in any case.
fn is_prefix(argument: &[u8], keyword: &[u8]) -> bool {
    let prefix = keyword.get(..argument.len());
    prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(argument))
}

/// TOPK.INFO key
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    let key = ReadKey::open(call, 1);
    let (k, width, depth, decay) = key.get::<TopType>().or_missing(NOT_FOUND)?.parameters();
    drop(key);
    call.reply_map(4);
    for (name, value) in [(c"k", k), (c"width", width), (c"depth", depth)] {
        call.reply_simple(name);
        call.reply_integer(value.into());
    }
    call.reply_simple(c"decay");
    call.reply_double(decay);
    Ok(())
}
