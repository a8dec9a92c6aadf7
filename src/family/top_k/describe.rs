//! What a sketch holds and is: TOPK.LIST, TOPK.INFO.

use super::{NO_MEMORY, NOT_FOUND};
use crate::server::call::{Call, Error};
use roughly_sketch::top_k::TopK;

/// TOPK.LIST key [WITHCOUNT]
pub fn list(call: &mut Call<'_>) -> Result<(), Error> {
    if call.len() > 3 {
        return Err(Error::WrongArity);
    }
    let with_count = call.len() == 3;
    if with_count && !is_prefix(call.arg(2).bytes(), b"WITHCOUNT") {
        return Err(c"WITHCOUNT keyword expected".into());
    }
    let key = call.read::<TopK>(1);
    let sketch = key.get().or_missing(NOT_FOUND)?;
    let items = sketch.list().map_err(|_| NO_MEMORY)?;
    call.reply_array(items.len() * if with_count { 2 } else { 1 });
    for (item, count) in items {
        call.reply_bulk(item);
        if with_count {
            call.reply_integer(count.into());
        }
    }
    Ok(())
}

/// Whether a word is the beginning of a keyword, in any case (as the peer has it: the empty word is one).
fn is_prefix(word: &[u8], keyword: &[u8]) -> bool {
    let beginning = keyword.get(..word.len());
    beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(word))
}

/// TOPK.INFO key
pub fn info(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<TopK>(1);
    let sketch = key.get().or_missing(NOT_FOUND)?;
    call.reply_map(4);
    for (name, value) in [
        (c"k", sketch.k()),
        (c"width", sketch.width()),
        (c"depth", sketch.depth()),
    ] {
        call.reply_simple(name);
        call.reply_integer(value.into());
    }
    call.reply_simple(c"decay");
    call.reply_double(sketch.decay());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::is_prefix;

    #[test]
    fn every_beginning_of_a_keyword_is_taken() {
        for word in ["", "w", "WITH", "wIthCount", "WITHCOUNT"] {
            assert!(is_prefix(word.as_bytes(), b"WITHCOUNT"), "{word}");
        }
        for word in ["WITHCOUNTS", "ITH", "WX", "WITHCOUNT "] {
            assert!(!is_prefix(word.as_bytes(), b"WITHCOUNT"), "{word}");
        }
    }
}
