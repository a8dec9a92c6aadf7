//! BF.SCANDUMP and BF.LOADCHUNK.

use super::key::{self, for_each_type};
use crate::family::chunks::{is_load_of, load_chunk, load_iterator, open_for_load, reply_chunk};
use crate::server::call::{Call, Error};
use crate::server::key::for_either;
use roughly_sketch::bloom::Chain;
use roughly_sketch::stored::Stored;
use roughly_sketch::valkey_bloom::ValkeyChain;
use roughly_sketch::window_filter::WindowSet;

/// BF.SCANDUMP key iterator
pub fn scandump(call: &mut Call<'_>) -> Result<(), Error> {
    for_each_type!(key::read(call), key => reply_chunk(call, &key))
}

/// BF.LOADCHUNK key iterator chunk
pub fn loadchunk(call: &mut Call<'_>) -> Result<(), Error> {
    let iterator = load_iterator(call)?;
    let key = call.write_any(1);
    if is_load_of::<ValkeyChain>(call, &key, iterator, ValkeyChain::HEADER_MARK) {
        return load_chunk(call, key.typed::<ValkeyChain>(call), iterator);
    }
    let key = open_for_load::<Chain, WindowSet>(call, key, iterator);
    for_either!(key, key => load_chunk(call, key, iterator))
}
